"""Send permission requests and questions of the model to the SDK, and set their answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from clew.chat import events
from clew.chat.sdk import sdk_permission
from clew.chat.sdk.sdk_connection import SdkConnection, SdkSession
from clew.errors import ClewError
from clew.wire.json_codec import Json


@dataclass
class SdkQuestions:
    """The questions of one connection; while any is open, the state of the session is `requires_action`."""

    connection: SdkConnection
    apply_update: Callable[[SdkSession, Json], None]
    interrupt: Callable[[], None]
    emit_state: Callable[[str], None]
    _open: int = 0

    async def ask_permission(self, request: events.PermissionRequested) -> None:
        """Ask whether a call may run, and apply the updates that come with the answer."""
        session = await self.connection.ensure_started()
        self._count(1)
        try:
            fields = sdk_permission.permission_request(request, session.engine)
            answer = await self.connection.send_request("can_use_tool", fields)
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
