"""Hooks: the person's own programs (or callbacks) that are told of events and may have a say."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from clew.chat.config.settings import Settings, SettingsSource, table
from clew.chat.hooks.hook_output import HookAnswer, HookOutcome, Ran, merge, read_answer
from clew.chat.tools.process import Ended, run_shell
from clew.errors import BadQuery
from clew.system.environment import child_environment
from clew.system.regex_deadline import pattern
from clew.wire.json_codec import Json

Callback = Callable[[Json], Awaitable[Json]]  # takes the payload, gives the hook's JSON answer ({}: no opinion)

TIMEOUT = 60.0
# Each event, and the field of its payload that a matcher is held against.
EVENTS: dict[str, str] = {
    "SessionStart": "source",
    "UserPromptSubmit": "",
    "PreToolUse": "tool_name",
    "PostToolUse": "tool_name",
    "PostToolUseFailure": "tool_name",
    "PermissionRequest": "tool_name",
    "Notification": "notification_type",
    "SubagentStart": "agent_type",
    "SubagentStop": "agent_type",
    "Stop": "",
    "PreCompact": "trigger",
    "SessionEnd": "reason",
}
_NAMES_ONLY = re.compile(r"[\w\s|,-]*")
_OTHER_NAME = {"Task": "Agent", "Agent": "Task"}

__all__ = ["EVENTS", "TIMEOUT", "Callback", "Hook", "HookOutcome", "Hooks", "Ran"]


class Hook(Struct, frozen=True):
    """One hook: a command for the shell, or a callback. `blocks_on_failure`: if it cannot answer, that is a no."""

    event: str
    run: str | Callback
    matcher: str = ""
    timeout: float = TIMEOUT
    blocks_on_failure: bool = False

    @property
    def name(self) -> str:
        return self.run if isinstance(self.run, str) else "callback"

    def is_for(self, target: str) -> bool:
        """Whether the matcher names this tool (or source, trigger, …). An empty one and `*` name all."""
        if self.matcher in ("", "*"):
            return True
        names = (target, _OTHER_NAME.get(target, target))
        if _NAMES_ONLY.fullmatch(self.matcher):
            return any(name in re.split(r"\s*[|,]\s*", self.matcher.strip()) for name in names)
        try:
            return any(pattern(self.matcher).search(name) for name in names)
        except BadQuery:  # it takes too long: a hook that guards must not be passed over
            return True


class Hooks:
    """The hooks of a session."""

    def __init__(self, settings: Settings, project: Path, further: Sequence[Hook] = ()) -> None:
        """`further` are hooks that no settings file names: callbacks of an SDK."""
        notices: list[str] = []
        found = [hook for source in _sources(settings) for hook in _read(source, notices)]
        self.hooks = (*found, *further)
        self.notices = tuple(notices)
        self.project = project
        variables = table(settings.merged.get("env"))
        self._variables = {k: v for k, v in variables.items() if isinstance(v, str)}

    async def run(self, event: str, payload: Json) -> HookOutcome:
        """Tell all hooks of an event, at once. `payload` holds session_id, transcript_path, cwd, permission_mode and
        what the event adds; `hook_event_name` is added here. Cancelling ends the programs."""
        field = EVENTS.get(event, "")
        target = str(payload.get(field, "")) if field else ""
        chosen = [hook for hook in self.hooks if hook.event == event and (not field or hook.is_for(target))]
        chosen = list({hook.run: hook for hook in chosen}.values())
        whole = {**payload, "hook_event_name": event}
        answers = await asyncio.gather(*(self._ask(hook, whole, target) for hook in chosen))
        return merge(answers)

    async def _ask(self, hook: Hook, payload: Json, target: str) -> HookAnswer:
        began = time.monotonic()
        if isinstance(hook.run, str):
            ended = await self._start(hook.run, hook.timeout, payload)
        else:
            ended = await _call(hook.run, hook.timeout, payload)
        ran = Ran(hook.name, ended.code, ended.stdout, ended.stderr, time.monotonic() - began)
        return read_answer(payload["hook_event_name"], target, ran, ended.is_late, hook.blocks_on_failure)

    async def _start(self, command: str, timeout: float, payload: Json) -> Ended:
        cwd = Path(str(payload.get("cwd") or self.project))
        variables = child_environment(**{**self._variables, "CLAUDE_PROJECT_DIR": str(self.project)})
        said = json.dumps(payload, ensure_ascii=False, default=str).encode("utf-8", "replace")
        return await run_shell(command, cwd if cwd.is_dir() else self.project, variables, said, timeout)


async def _call(callback: Callback, timeout: float, payload: Json) -> Ended:
    """Run a callback. That it failed is told to the person, as with a program."""
    try:
        answer = await asyncio.wait_for(callback(payload), timeout)
    except TimeoutError:
        return Ended(-1, "", "", is_late=True)
    except (ValueError, TypeError, LookupError, RuntimeError, OSError) as error:
        return Ended(1, "", str(error) or type(error).__name__)
    return Ended(0, json.dumps(answer, ensure_ascii=False) if answer else "", "")


def _sources(settings: Settings) -> Iterator[SettingsSource]:
    """The sources whose hooks count: an administrator may allow none but their own."""
    managed = [source for source in settings.sources if source.scope == "managed"]
    if any(source.data.get("disableAllHooks") for source in managed):
        return
    only_managed = any(source.data.get("allowManagedHooksOnly") for source in managed)
    switched_off = any(source.data.get("disableAllHooks") for source in settings.sources)
    for source in settings.sources:
        if source.scope == "managed" or not (only_managed or switched_off):
            yield source


def _read(source: SettingsSource, notices: list[str]) -> Iterator[Hook]:
    where = source.path or f"the {source.scope} settings"
    for event, groups in table(source.data.get("hooks")).items():
        if event not in EVENTS:
            notices.append(f"{where}: there is no event {event} here; its hooks are not run.")
            continue
        for group in groups if isinstance(groups, list) else ():
            matcher = str(table(group).get("matcher") or "")
            if not _is_pattern(matcher):
                notices.append(f"{where}: the matcher {matcher!r} of {event} is not a pattern; its hooks are not run.")
                continue
            stated = table(group).get("hooks")
            for hook in stated if isinstance(stated, list) else ():
                read = _read_one(event, matcher, table(hook))
                if read:
                    yield read
                else:
                    notices.append(f"{where}: a hook of {event} is not a command and is not run.")


def _read_one(event: str, matcher: str, hook: Json) -> Hook | None:
    command = hook.get("command")
    if hook.get("type", "command") != "command" or not isinstance(command, str) or not command.strip():
        return None
    timeout: Any = hook.get("timeout")
    is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool) and timeout > 0
    return Hook(event, command, matcher, float(timeout) if is_number else TIMEOUT)


def _is_pattern(text: str) -> bool:
    try:
        re.compile(text if text != "*" else "")
    except re.error:
        return False
    return True
