"""Send permission requests and questions of the model to the SDK, and set their answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct

from clew.chat import events
from clew.chat.mcp.mcp_client import McpTool
from clew.chat.sdk import sdk_permission
from clew.chat.sdk.sdk_connection import SdkConnection, SdkSession
from clew.chat.tools.tool import ToolFailed
from clew.errors import ClewError
from clew.wire.json_codec import Json, decode


class SdkQuestions(Struct):
    """The questions of one connection; while any is open, the state of the session is `requires_action`."""

    connection: SdkConnection
    apply_update: Callable[[SdkSession, Json], None]
    interrupt: Callable[[], None]
    emit_state: Callable[[str], None]
    prompt_tool: str = ""  # the MCP tool that decides instead of the SDK, unless it is `stdio`
    _open: int = 0

    async def ask_permission(self, request: events.PermissionRequested) -> None:
        """Ask whether a call may run, and apply the updates that come with the answer."""
        session = await self.connection.ensure_started()
        self._count(1)
        try:
            fields = sdk_permission.permission_request(request, session.engine)
            answer = await self._decide(session, fields)
            for update in sdk_permission.permission_updates(answer):
                self.apply_update(session, update)
        except ClewError as error:
            answer = {"behavior": "deny", "message": str(error)}
        finally:
            self._count(-1)
        if answer.get("interrupt"):
            self.interrupt()
        with suppress(asyncio.InvalidStateError):  # the turn was interrupted meanwhile
            request.answer.set_result(sdk_permission.read_decision(answer))

    async def _decide(self, session: SdkSession, fields: Json) -> Json:
        """Return the answer of the SDK, or of the MCP tool that the user named for it. Raises ClewError."""
        if not self.prompt_tool.startswith("mcp__"):
            return await self.connection.send_request("can_use_tool", fields)
        tool = session.engine.deps.tools.get(self.prompt_tool)
        if not isinstance(tool, McpTool):
            raise ClewError(f"There is no MCP tool {self.prompt_tool} to ask for permission.")
        given = {name: fields[name] for name in ("tool_name", "input", "tool_use_id")}
        try:
            result = await tool.call_server(tool.server_name, given)
            said = "".join(str(part.get("text") or "") for part in result.get("content") or ())
            answer = decode(said.encode())
        except (ToolFailed, ValueError) as error:
            raise ClewError(f"{self.prompt_tool} did not decide: {error}") from None
        return answer if isinstance(answer, dict) else {}

    async def ask_user(self, question: events.QuestionRequested) -> None:
        """Send a question of the model as a permission request; the answers are in the returned input."""
        fields = {"tool_name": "AskUserQuestion", "input": {"questions": list(question.questions)}}
        self._count(1)
        try:
            answer = await self.connection.send_request("can_use_tool", {**fields, "tool_use_id": question.call_id})
        except ClewError:
            answer = {}
        finally:
            self._count(-1)
        updated = answer.get("updatedInput") or {}
        with suppress(asyncio.InvalidStateError):
            question.answer.set_result(updated.get("answers") or {})

    def _count(self, change: int) -> None:
        self._open += change
        if self._open == (change > 0):
            self.emit_state("requires_action" if change > 0 else "running")
