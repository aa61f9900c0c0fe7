"""Run hooks: shell commands from the settings and callbacks of an SDK."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from clew.chat.config.settings import Settings, SettingsSource, as_object
from clew.chat.hooks.hook_output import HookAnswer, HookOutcome, HookRun, interpret, merge
from clew.chat.tools.process import CompletedCommand, run_shell
from clew.errors import BadQuery
from clew.system.environment import child_environment
from clew.system.regex_deadline import pattern
from clew.wire.json_codec import Json

Callback = Callable[[Json], Awaitable[Json]]  # takes the payload, returns the hook's JSON answer ({}: no opinion)

TIMEOUT = 60.0
# Each event, and the field of its payload that matchers are compared with.
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

__all__ = ["EVENTS", "TIMEOUT", "Callback", "Hook", "HookOutcome", "HookRun", "Hooks"]


class Hook(Struct, frozen=True):
    """One hook: a shell command or a callback. With `blocks_on_failure` a hook that fails blocks."""

    event: str
    run: str | Callback
    matcher: str = ""
    timeout: float = TIMEOUT
    blocks_on_failure: bool = False

    @property
    def name(self) -> str:
        return self.run if isinstance(self.run, str) else "callback"

    def matches(self, target: str) -> bool:
        """Return whether the matcher applies to this tool (or source, trigger, …). An empty matcher and `*` apply to
        all.
        """
        if self.matcher in ("", "*"):
            return True
        names = (target, _OTHER_NAME.get(target, target))
        if _NAMES_ONLY.fullmatch(self.matcher):
            return any(name in re.split(r"\s*[|,]\s*", self.matcher.strip()) for name in names)
        try:
            return any(pattern(self.matcher).search(name) for name in names)
        except BadQuery:  # the pattern takes too long: run the hook rather than skip a guard
            return True


class Hooks:
    """The hooks of a session."""

    def __init__(self, settings: Settings, project: Path, further: Sequence[Hook] = ()) -> None:
        """`further` are hooks that are not in a settings file: callbacks of an SDK."""
        notices: list[str] = []
        from_settings = [hook for source in _sources(settings) for hook in _read(source, notices)]
        self.hooks = (*from_settings, *further)
        self.notices = tuple(notices)
        self.project = project
        self._variables = settings.variables

    async def run(self, event: str, payload: Json) -> HookOutcome:
        """Run all hooks of an event in parallel and merge their answers. `payload` contains session_id,
        transcript_path, cwd, permission_mode and the fields of the event; `hook_event_name` is added here.
        Cancellation ends the programs.
        """
        field = EVENTS.get(event, "")
        target = str(payload.get(field, "")) if field else ""
        chosen = [hook for hook in self.hooks if hook.event == event and (not field or hook.matches(target))]
        chosen = list({hook.run: hook for hook in chosen}.values())
        full_payload = {**payload, "hook_event_name": event}
        answers = await asyncio.gather(*(self._run_hook(hook, full_payload, target) for hook in chosen))
        return merge(answers)

    async def _run_hook(self, hook: Hook, payload: Json, target: str) -> HookAnswer:
        started = time.monotonic()
        if isinstance(hook.run, str):
            ended = await self._start(hook.run, hook.timeout, payload)
        else:
            ended = await _call(hook.run, hook.timeout, payload)
        ran = HookRun(hook.name, ended.code, ended.stdout, ended.stderr, time.monotonic() - started)
        return interpret(payload["hook_event_name"], target, ran, ended.is_late, hook.blocks_on_failure)

    async def _start(self, command: str, timeout: float, payload: Json) -> CompletedCommand:
        cwd = Path(str(payload.get("cwd") or self.project))
        variables = child_environment(**{**self._variables, "CLAUDE_PROJECT_DIR": str(self.project)})
        stdin = json.dumps(payload, ensure_ascii=False, default=str).encode("utf-8", "replace")
        return await run_shell(command, cwd if cwd.is_dir() else self.project, variables, stdin, timeout)


async def _call(callback: Callback, timeout: float, payload: Json) -> CompletedCommand:
    """Run a callback. Its failure is reported like that of a program."""
    try:
        answer = await asyncio.wait_for(callback(payload), timeout)
    except TimeoutError:
        return CompletedCommand(-1, "", "", is_late=True)
    except (ValueError, TypeError, LookupError, RuntimeError, OSError) as error:
        return CompletedCommand(1, "", str(error) or type(error).__name__)
    return CompletedCommand(0, json.dumps(answer, ensure_ascii=False) if answer else "", "")


def _sources(settings: Settings) -> Iterator[SettingsSource]:
    """Yield the sources whose hooks count: an administrator can disable all others."""
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
    for event, groups in as_object(source.data.get("hooks")).items():
        if event not in EVENTS:
            notices.append(f"{where}: unknown hook event {event}; its hooks are not run.")
            continue
        for group in groups if isinstance(groups, list) else ():
            matcher = str(as_object(group).get("matcher") or "")
            if not _is_pattern(matcher):
                notices.append(f"{where}: the matcher {matcher!r} of {event} is not a pattern; its hooks are not run.")
                continue
            stated = as_object(group).get("hooks")
            for hook in stated if isinstance(stated, list) else ():
                read = _read_one(event, matcher, as_object(hook))
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
