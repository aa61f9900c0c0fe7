"""Answer the requests of an editor (Agent Client Protocol): open, list, resume, fork and prompt sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
from msgspec.structs import replace

from clew.acp import modes, session_updates
from clew.acp.editor_session import Editor, EditorSession
from clew.acp.prompt_content import ContentBlock
from clew.acp.unsaved_files import UnsavedFiles
from clew.acp.update_queue import UpdateQueue
from clew.chat.session_spec import SessionSpec
from clew.conversation.load import read
from clew.conversation.session_listing import newest_conversations
from clew.errors import ApiError, ClewError, NotFound
from clew.version import __version__
from clew.wire.json_codec import encode
from clew.wire.layout import Project, SessionFile, Tree, slugs
from clew.wire.lookup import find_session
from clew.wire.timestamps import format_timestamp

SessionSpecFactory = Callable[[Path], SessionSpec]  # describes a session in a folder; raises ApiError without a key
McpServer = HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio
PAGE_SIZE = 50  # sessions in one response
AUTH_METHOD = "api-key"


class AcpAgent:
    """The agent side of one connection, with its open sessions by id."""

    def __init__(self, session_spec: SessionSpecFactory, tree: Tree, remark: Callable[[str], None]) -> None:
        self._session_spec = session_spec
        self._tree = tree
        self._remark = remark
        self._sessions: dict[str, EditorSession] = {}
        self._files = FileSystemCapabilities()
        self._editor: Editor

    def on_connect(self, client: Client) -> None:
        self._editor = Editor(client, UpdateQueue(client), self._remark)

    async def close(self) -> None:
        """Interrupt and close all sessions when the editor has disconnected."""
        await asyncio.gather(*(session.close() for session in self._sessions.values()))
        self._sessions.clear()
        await self._editor.updates.close()

    # -- connection

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,
        **_: Any,
    ) -> InitializeResponse:
        capabilities = client_capabilities or ClientCapabilities()
        self._files = capabilities.fs or FileSystemCapabilities()
        has_forms = capabilities.elicitation is not None and capabilities.elicitation.form is not None
        self._editor = replace(self._editor, has_forms=has_forms)
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=True, audio=False, embedded_context=True),
                mcp_capabilities=McpCapabilities(http=True, sse=True),
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
                    id=AUTH_METHOD,
                    name="API key",
                    description="Set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN where the editor starts clew acp.",
                )
            ],
            agent_info=Implementation(name="clew", title="clew", version=__version__),
        )

    async def authenticate(self, method_id: str, **_: Any) -> AuthenticateResponse:
        """Check that there is an API key; clew has no login."""
        with _convert_errors():
            self._session_spec(Path.cwd())
        return AuthenticateResponse()

    # -- sessions

    async def new_session(
        self,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[McpServer] | None = None,
        **_: Any,
    ) -> NewSessionResponse:
        opened = await self._open_session(str(uuid4()), cwd, additional_directories, mcp_servers)
        return NewSessionResponse(
            session_id=opened.id,
            modes=modes.mode_state(opened.session),
            config_options=modes.config_options(opened.session),
        )

    async def load_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: list[McpServer] | None = None,
        additional_directories: list[str] | None = None,
        **_: Any,
    ) -> LoadSessionResponse:
        """Resume a session and send its history as updates before the response."""
        opened = await self._reopen_session(session_id, cwd, additional_directories, mcp_servers)
        path = opened.session.engine.conversation.journal.path
        if path.exists():
            for update in session_updates.history_updates(await asyncio.to_thread(read, path), cwd):
                self._editor.updates.put(opened.id, update)
        await self._editor.updates.drain()
        return LoadSessionResponse(
            modes=modes.mode_state(opened.session), config_options=modes.config_options(opened.session)
        )

    async def resume_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[McpServer] | None = None,
        **_: Any,
    ) -> ResumeSessionResponse:
        opened = await self._reopen_session(session_id, cwd, additional_directories, mcp_servers)
        return ResumeSessionResponse(
            modes=modes.mode_state(opened.session), config_options=modes.config_options(opened.session)
        )

    async def fork_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[McpServer] | None = None,
        **_: Any,
    ) -> ForkSessionResponse:
        """Resume a copy of a session under a new id."""
        with _convert_errors():
            file = self._find_file(session_id)
        opened = await self._open_session(
            str(uuid4()), cwd, additional_directories, mcp_servers, resume=str(file.path), is_fork=True
        )
        return ForkSessionResponse(
            session_id=opened.id,
            modes=modes.mode_state(opened.session),
            config_options=modes.config_options(opened.session),
        )

    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None, **_: Any) -> ListSessionsResponse:
        """List the conversations of a folder or of all folders, newest first, one page at a time."""
        if cursor is not None and not cursor.isdecimal():
            raise RequestError.invalid_params({"details": f"{cursor!r} is not a valid cursor."})
        start = int(cursor or 0)
        sessions = await asyncio.to_thread(self._list_sessions, cwd, start)
        next_cursor = str(start + PAGE_SIZE) if len(sessions) > PAGE_SIZE else None
        return ListSessionsResponse(sessions=sessions[:PAGE_SIZE], next_cursor=next_cursor)

    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        session = self._find_session(session_id)
        del self._sessions[session_id]
        await session.close()
        return CloseSessionResponse()

    # -- requests to an open session

    async def prompt(self, session_id: str, prompt: list[ContentBlock], **_: Any) -> PromptResponse:
        with _convert_errors():
            return await self._find_session(session_id).prompt(prompt)

    async def cancel(self, session_id: str, **_: Any) -> None:
        if session := self._sessions.get(session_id):
            session.cancel()

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> SetSessionModeResponse:
        self._find_session(session_id).use_mode(mode_id)
        return SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> SetSessionConfigOptionResponse:
        return SetSessionConfigOptionResponse(
            config_options=await self._find_session(session_id).set_option(config_id, value)
        )

    # -- extensions

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        raise RequestError.method_not_found(f"_{method}")

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        self._remark(f"clew: ignored the notification _{method}")

    # -- open sessions

    def _find_session(self, session_id: str) -> EditorSession:
        if session_id not in self._sessions:
            raise RequestError(-32002, f"No open session matches {session_id!r}.", {"uri": session_id})
        return self._sessions[session_id]

    async def _reopen_session(
        self, session_id: str, cwd: str, roots: Sequence[str] | None, servers: Sequence[McpServer] | None
    ) -> EditorSession:
        """Return the open session of this id, or open it from its file."""
        if session_id in self._sessions:
            return self._sessions[session_id]
        with _convert_errors():
            file = self._find_file(session_id)
        return await self._open_session(session_id, cwd, roots, servers, resume=str(file.path))

    async def _open_session(
        self,
        session_id: str,
        cwd: str,
        roots: Sequence[str] | None,
        servers: Sequence[McpServer] | None,
        **how: Any,
    ) -> EditorSession:
        folder = Path(cwd)
        if not folder.is_absolute() or not folder.is_dir():
            raise RequestError.invalid_params({"details": f"{cwd!r} is not the absolute path of a folder."})
        buffers = UnsavedFiles(self._editor.client, session_id, self._files)
        with _convert_errors():
            spec = self._session_spec(folder)
            server_config = encode(
                {"mcpServers": {server.name: _server_config(server) for server in servers or ()}}
            ).decode()
            spec = replace(
                spec,
                session_id=session_id,
                roots=(*spec.roots, *(Path(root).resolve() for root in roots or ())),
                servers=(*spec.servers, server_config),
                wrap_tool=buffers.wrap_tool,
                **how,
            )
            opened = await EditorSession.open(session_id, self._editor, spec)
        self._sessions[session_id] = opened
        asyncio.get_running_loop().call_soon(opened.send_commands)  # after the response, which names the session
        return opened

    def _find_file(self, session_id: str) -> SessionFile:
        file = find_session(self._tree, session_id)
        if file.id != session_id:
            raise NotFound(session_id)
        return file

    def _list_sessions(self, cwd: str | None, start: int) -> list[SessionInfo]:
        """Return one session more than a page, so that the caller knows whether there is another page."""
        names = slugs(cwd) if cwd else None
        folders = self._tree.projects() if names is None else [Project(self._tree.root / "projects" / n) for n in names]
        outlines = newest_conversations(file for folder in folders for file in folder.sessions())
        in_folder = (o for o in outlines if cwd is None or o.cwd in (None, cwd))
        return [
            SessionInfo(
                session_id=outline.id,
                cwd=outline.cwd or cwd or "/",
                title=outline.title or None,
                updated_at=format_timestamp(outline.when.astimezone(UTC)),
            )
            for outline in islice(in_folder, start, start + PAGE_SIZE + 1)
        ]


def _server_config(server: McpServer) -> dict[str, Any]:
    """Return an MCP server in the form of our configuration files. Raises RequestError for a kind that was not
    offered.
    """
    match server:
        case McpServerStdio():
            variables = {each.name: each.value for each in server.env}
            return {"type": "stdio", "command": server.command, "args": server.args, "env": variables}
        case HttpMcpServer() | SseMcpServer():
            headers = {each.name: each.value for each in server.headers}
            kind = "http" if isinstance(server, HttpMcpServer) else "sse"
            return {"type": kind, "url": server.url, "headers": headers}
    raise RequestError.invalid_params({"details": f"The MCP server {server.name} is of a kind that was not offered."})


@contextmanager
def _convert_errors() -> Iterator[None]:
    """Convert our errors to those of the protocol: the sentence and the next step."""
    try:
        yield
    except ApiError as error:
        raise RequestError(-32000 if error.kind == "endpoint" else -32603, _error_text(error)) from error
    except NotFound as error:
        raise RequestError(-32002, _error_text(error), {"uri": error.asked}) from error
    except ClewError as error:
        raise RequestError(-32603, _error_text(error)) from error
    except (OSError, ValueError) as error:
        raise RequestError(-32603, str(error)) from error


def _error_text(error: ClewError) -> str:
    return f"{error} {error.hint}".strip()
