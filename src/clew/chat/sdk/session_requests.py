"""Control requests that change the running session: mode, model, thinking, title, tasks, files and queue."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from clew.chat.config.model_alias import resolve_choice
from clew.chat.config.permission_mode import MODES, Mode, parse_mode
from clew.chat.sdk.sdk_connection import ControlError, Handler, SdkConnection, SdkSession
from clew.chat.sdk.sdk_rewind import rewind_files
from clew.chat.tools.read_tracking import mark_read_before
from clew.chat.turn.model_switch import ModelSwitchBlocked
from clew.errors import NotFound
from clew.wire.json_codec import Json

BYPASS = "--dangerously-skip-permissions or --allow-dangerously-skip-permissions"
MAX_TAIL = 8192  # bytes of a task's output that get_task_output returns


class SessionRequests(Struct):
    """Answers the requests that change the session of one connection."""

    connection: SdkConnection
    cancel: Callable[[list[str]], list[str]]  # drops queued prompts by uuid, and returns those that it dropped
    end_input: Callable[[], None]  # read no further line
    may_bypass: bool = True  # whether bypassPermissions mode may be set
    first_model: str = ""  # the model at the start, which `default` stands for

    def handlers(self) -> dict[str, Handler]:
        return {
            "set_permission_mode": self._set_mode,
            "set_model": self._set_model,
            "set_max_thinking_tokens": self._set_thinking,
            "rename_session": self._rename,
            "rewind_files": self._rewind,
            "seed_read_state": self._seed_read_state,
            "stop_task": self._stop_task,
            "background_tasks": self._background_tasks,
            "get_task_output": self._task_output,
            "cancel_async_message": self._cancel_prompt,
            "end_session": self._end,
        }

    # -- mode and model

    async def _set_mode(self, request: Json) -> Json:
        name = str(request.get("mode"))
        if name not in MODES:
            raise ControlError(f"Cannot set permission mode: must be one of {', '.join(sorted(MODES))}", "invalid_mode")
        mode, _ = parse_mode(name)
        self.use_mode(await self.connection.ensure_started(), mode)
        return {"mode": mode}

    def use_mode(self, session: SdkSession, mode: Mode) -> None:
        """Set the permission mode. Raises ControlError if the session may not have it."""
        if mode == "bypassPermissions" and not self.may_bypass:
            text = f"The session was not started with {BYPASS}, and the mode cannot be bypassPermissions."
            raise ControlError(text, "bypass_not_launched")
        session.engine.use_mode(mode)

    async def _set_model(self, request: Json) -> Json:
        return {"model": await self.use_model(request.get("model"))}

    async def use_model(self, name: object) -> str:
        """Choose another model (without a name the first one) and print it as `/model` does."""
        engine = (await self.connection.ensure_started()).engine
        is_default = not isinstance(name, str) or name in ("", "default")
        model = self.first_model if is_default else resolve_choice(str(name))
        try:
            await engine.use_model(model, None if is_default else str(name), "sdk")
        except ModelSwitchBlocked as blocked:
            raise ControlError(str(blocked), "blocked_by_hook", {"model": engine.conversation.model}) from None
        self.connection.print_output(f"Set model to `{model}`")
        return model

    async def _set_thinking(self, request: Json) -> None:
        budget = request.get("max_thinking_tokens")
        if budget is not None and (not isinstance(budget, int) or isinstance(budget, bool)):
            raise ControlError("set_max_thinking_tokens: max_thinking_tokens must be an integer or null")
        if "max_thinking_tokens" in request:
            (await self.connection.ensure_started()).engine.use_thinking(budget)

    # -- title and files

    async def _rename(self, request: Json) -> None:
        title = str(request.get("title") or "").strip()
        if not title:
            raise ControlError("title must be non-empty")
        (await self.connection.ensure_started()).engine.rename(title)
        self.connection.send(self.connection.system_frame("session_title_changed", title=title))

    async def _rewind(self, request: Json) -> Json:
        message, is_dry = str(request.get("user_message_id")), bool(request.get("dry_run"))
        return await rewind_files((await self.connection.ensure_started()).engine, message, is_dry=is_dry)

    async def _seed_read_state(self, request: Json) -> None:
        """Count a file as read in the state that it had at `mtime` (in ms); one that changed since must be read."""
        state = (await self.connection.ensure_started()).engine.conversation.state
        path, mtime = request.get("path"), request.get("mtime")
        if isinstance(path, str) and isinstance(mtime, int | float):
            mark_read_before(Path(os.path.join(state.cwd, path)), mtime, state)

    # -- background tasks

    async def _stop_task(self, request: Json) -> Json:
        engine = (await self.connection.ensure_started()).engine
        try:
            await engine.stop_task(str(request.get("task_id")))
        except NotFound:  # it may have ended meanwhile
            pass
        return {}

    async def _background_tasks(self, request: Json) -> Json:
        """Let the running command or subagents continue in the background."""
        engine = (await self.connection.ensure_started()).engine
        if engine.is_busy:
            engine.send_to_background()
        return {}

    async def _task_output(self, request: Json) -> Json:
        engine = (await self.connection.ensure_started()).engine
        task = engine.tasks.get(str(request.get("task_id")))
        if task is None or task.kind != "local_bash":
            raise ControlError("get_task_output: no background command of this session has that task_id")
        try:
            data = task.path.read_bytes()
        except FileNotFoundError:
            data = b""
        output = data[-MAX_TAIL:].decode(errors="replace")
        return {"output": output, "total_bytes": len(data), "truncated": len(data) > MAX_TAIL}

    # -- queue and end

    async def _cancel_prompt(self, request: Json) -> Json:
        uuid = request.get("message_uuid")
        return {"cancelled": isinstance(uuid, str) and bool(self.cancel([uuid]))}

    async def _end(self, request: Json) -> None:
        """End the session as the end of the input does, after what is already queued."""
        self.end_input()
