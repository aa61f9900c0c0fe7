"""The door: what an editor may ask of us, each answered by the official package's rules."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

from acp import PROTOCOL_VERSION, Client, RequestError
from acp.schema import (
    AcpMcpServer,
    AgentCapabilities,
    AuthenticateResponse,
    AuthMethodAgent,
    ClientCapabilities,
    CloseSessionResponse,
    FileSystemCapabilities,
    ForkSessionResponse,
    HttpMcpServer,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpCapabilities,
    McpServerStdio,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionAdditionalDirectoriesCapabilities,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionForkCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
    SseMcpServer,
)

from clew.acp import modes, session_updates
from clew.acp.editor_session import Editor, EditorSession
from clew.acp.prompt_content import Given
from clew.acp.unsaved_files import Buffers
from clew.acp.update_queue import UpdateQueue
from clew.chat.assemble_session import SessionOptions
from clew.chat.session_factory import Wishes
from clew.conversation.load import read
from clew.conversation.session_listing import newest_conversations
from clew.errors import ApiError, ClewError, NotFound
from clew.version import __version__
from clew.wire.json_codec import encode
from clew.wire.layout import Project, SessionFile, Tree, slugs
from clew.wire.lookup import find_session
from clew.wire.timestamps import format_timestamp

Wish = Callable[[Path], Wishes]  # what a person wishes for a session in this folder; raises ApiError if there is no key
McpServer = HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio
PAGE = 50  # sessions in one answer
KEY = "api-key"


class AcpAgent:
    """One editor, and its sessions."""

    def __init__(self, wish: Wish, tree: Tree, remark: Callable[[str], None]) -> None:
        self._wish = wish
        self._tree = tree
        self._remark = remark
        self._seats: dict[str, EditorSession] = {}
        self._files = FileSystemCapabilities()
        self._editor: Editor

    def on_connect(self, client: Client) -> None:
        self._editor = Editor(client, UpdateQueue(client), self._remark)

    async def close(self) -> None:
        """The editor has gone: what runs is broken off and written down."""
        await asyncio.gather(*(seat.close() for seat in self._seats.values()))
        self._seats.clear()
        await self._editor.post.close()

    # -- greeting

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,
        **_: Any,
    ) -> InitializeResponse:
        offered = client_capabilities or ClientCapabilities()
        self._files = offered.fs or FileSystemCapabilities()
        has_forms = offered.elicitation is not None and offered.elicitation.form is not None
        self._editor = replace(self._editor, has_forms=has_forms)
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=True, audio=False, embedded_context=True),
                mcp_capabilities=McpCapabilities(http=True, sse=False),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(),
                    additional_directories=SessionAdditionalDirectoriesCapabilities(),
                    fork=SessionForkCapabilities(),
                    resume=SessionResumeCapabilities(),
                    close=SessionCloseCapabilities(),
                ),
            ),
            auth_methods=[
                AuthMethodAgent(
                    id=KEY,
                    name="API key",
                    description="Set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN where the editor starts clew acp.",
                )
            ],
            agent_info=Implementation(name="clew", title="clew", version=__version__),
        )

    async def authenticate(self, method_id: str, **_: Any) -> AuthenticateResponse:
        """Nothing is logged in to: there is a key, or there is none."""
        with _answering():
            self._wish(Path.cwd())
        return AuthenticateResponse()

    # -- sessions

    async def new_session(
        self,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[McpServer] | None = None,
        **_: Any,
    ) -> NewSessionResponse:
        seat = await self._open(str(uuid4()), cwd, additional_directories, mcp_servers)
        return NewSessionResponse(
            session_id=seat.id, modes=modes.mode_state(seat.session), config_options=modes.options(seat.session)
        )

    async def load_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: list[McpServer] | None = None,
        additional_directories: list[str] | None = None,
        **_: Any,
    ) -> LoadSessionResponse:
        """Go on with a session, and tell all that was said in it before."""
        seat = await self._old(session_id, cwd, additional_directories, mcp_servers)
        path = seat.session.engine.conversation.journal.path
        if path.exists():
            for update in session_updates.history(await asyncio.to_thread(read, path), cwd):
                self._editor.post.put(seat.id, update)
        await self._editor.post.is_out()
        return LoadSessionResponse(modes=modes.mode_state(seat.session), config_options=modes.options(seat.session))

    async def resume_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[McpServer] | None = None,
        **_: Any,
    ) -> ResumeSessionResponse:
        seat = await self._old(session_id, cwd, additional_directories, mcp_servers)
        return ResumeSessionResponse(modes=modes.mode_state(seat.session), config_options=modes.options(seat.session))

    async def fork_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[McpServer] | None = None,
        **_: Any,
    ) -> ForkSessionResponse:
        """Go on in a copy."""
        with _answering():
            file = self._file(session_id)
        seat = await self._open(
            str(uuid4()), cwd, additional_directories, mcp_servers, resume=str(file.path), is_fork=True
        )
        return ForkSessionResponse(
            session_id=seat.id, modes=modes.mode_state(seat.session), config_options=modes.options(seat.session)
        )

    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None, **_: Any) -> ListSessionsResponse:
        """The conversations of a folder or of all, the newest first, a page at a time."""
        if cursor is not None and not cursor.isdecimal():
            raise RequestError.invalid_params({"details": f"{cursor!r} is no place in the list."})
        start = int(cursor or 0)
        found = await asyncio.to_thread(self._listed, cwd, start)
        further = str(start + PAGE) if len(found) > PAGE else None
        return ListSessionsResponse(sessions=found[:PAGE], next_cursor=further)

    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        seat = self._seat(session_id)
        del self._seats[session_id]
        await seat.close()
        return CloseSessionResponse()

    # -- within a session

    async def prompt(self, session_id: str, prompt: list[Given], **_: Any) -> PromptResponse:
        with _answering():
            return await self._seat(session_id).prompt(prompt)

    async def cancel(self, session_id: str, **_: Any) -> None:
        if seat := self._seats.get(session_id):
            seat.cancel()

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> SetSessionModeResponse:
        self._seat(session_id).use_mode(mode_id)
        return SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> SetSessionConfigOptionResponse:
        return SetSessionConfigOptionResponse(config_options=self._seat(session_id).use(config_id, value))

    # -- what only some editors know

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        raise RequestError.method_not_found(f"_{method}")

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        self._remark(f"clew: passed over: the notification _{method}")

    # -- seats

    def _seat(self, session_id: str) -> EditorSession:
        if session_id not in self._seats:
            raise RequestError(-32002, f"No open session matches {session_id!r}.", {"uri": session_id})
        return self._seats[session_id]

    async def _old(
        self, session_id: str, cwd: str, roots: Sequence[str] | None, servers: Sequence[McpServer] | None
    ) -> EditorSession:
        """A session by its id: the seat if it has one, else a new one."""
        if session_id in self._seats:
            return self._seats[session_id]
        with _answering():
            file = self._file(session_id)
        return await self._open(session_id, cwd, roots, servers, resume=str(file.path))

    async def _open(
        self,
        session_id: str,
        cwd: str,
        roots: Sequence[str] | None,
        servers: Sequence[McpServer] | None,
        **how: Any,
    ) -> EditorSession:
        folder = Path(cwd)
        if not folder.is_absolute() or not folder.is_dir():
            raise RequestError.invalid_params({"details": f"{cwd!r} is no folder with an absolute path."})
        seat = EditorSession(session_id, self._editor)
        buffers = Buffers(self._editor.client, session_id, self._files)
        with _answering():
            wishes = self._wish(folder)
            options: SessionOptions = replace(
                wishes.options,
                session_id=session_id,
                roots=(*wishes.options.roots, *(Path(root).resolve() for root in roots or ())),
                **how,
            )
            named = encode({"mcpServers": {server.name: _config(server) for server in servers or ()}}).decode()
            await seat.open(replace(wishes, options=options, servers=(*wishes.servers, named), around=buffers.around))
        self._seats[session_id] = seat
        asyncio.get_running_loop().call_soon(seat.greet)  # behind the answer that names the session
        return seat

    def _file(self, session_id: str) -> SessionFile:
        found = find_session(self._tree, session_id)
        if found.id != session_id:
            raise NotFound(session_id)
        return found

    def _listed(self, cwd: str | None, start: int) -> list[SessionInfo]:
        """One more than a page, to know whether there is another."""
        names = slugs(cwd) if cwd else None
        folders = self._tree.projects() if names is None else [Project(self._tree.root / "projects" / n) for n in names]
        outlines = newest_conversations(file for folder in folders for file in folder.sessions())
        here = (o for o in outlines if cwd is None or o.cwd in (None, cwd))
        return [
            SessionInfo(
                session_id=outline.id,
                cwd=outline.cwd or cwd or "/",
                title=outline.title or None,
                updated_at=format_timestamp(outline.when.astimezone(UTC)),
            )
            for outline in islice(here, start, start + PAGE + 1)
        ]


def _config(server: McpServer) -> dict[str, Any]:
    """A server as our own configurations name it. Raises Refused for a kind that was not offered."""
    match server:
        case McpServerStdio():
            variables = {each.name: each.value for each in server.env}
            return {"type": "stdio", "command": server.command, "args": server.args, "env": variables}
        case HttpMcpServer():
            headers = {each.name: each.value for each in server.headers}
            return {"type": "http", "url": server.url, "headers": headers}
    raise RequestError.invalid_params({"details": f"The MCP server {server.name} is of a kind that was not offered."})


@contextmanager
def _answering() -> Iterator[None]:
    """Errors of ours, as an editor is told of them: the sentence, and the next step."""
    try:
        yield
    except ApiError as error:
        raise RequestError(-32000 if error.kind == "endpoint" else -32603, _told(error)) from error
    except NotFound as error:
        raise RequestError(-32002, _told(error), {"uri": error.asked}) from error
    except ClewError as error:
        raise RequestError(-32603, _told(error)) from error
    except (OSError, ValueError) as error:
        raise RequestError(-32603, str(error)) from error


def _told(error: ClewError) -> str:
    return f"{error} {error.hint}".strip()
