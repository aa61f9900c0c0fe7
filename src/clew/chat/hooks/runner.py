"""Run hooks: shell commands, requests, prompts and tools from the settings, and callbacks of an SDK."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from uuid import uuid4

from msgspec.structs import replace

from clew.chat.config.settings import Settings, SettingsSource
from clew.chat.hooks import env_file
from clew.chat.hooks.hook import EVENTS, TIMEOUT, Callback, Hook
from clew.chat.hooks.hook_output import HookAnswer, HookOutcome, HookReport, HookRun, interpret, merge
from clew.chat.hooks.hook_settings import read_hooks
from clew.chat.hooks.remote_hooks import RemoteHooks, allowed_urls, allowed_variables
from clew.chat.tools.process import CompletedCommand, run_shell
from clew.errors import ClewError
from clew.system.environment import child_environment
from clew.wire.json_codec import Json

__all__ = ["EVENTS", "TIMEOUT", "Callback", "Hook", "HookOutcome", "HookRun", "Hooks"]


class Hooks:
    """The hooks of a session."""

    def __init__(self, settings: Settings, project: Path, further: Sequence[Hook] = ()) -> None:
        """`further` are hooks that are not in a settings file: those of plugins and callbacks of an SDK."""
        notices: list[str] = []
        sources = list(_sources(settings))
        self.hooks = (
            *(hook for source in sources for hook in read_hooks(source, _where(source), notices)),
            *(hook for hook in further if hook.kind == "callback" or callable(hook.run) or not _only_managed(settings)),
        )
        self.notices = tuple(notices)
        self.project = project
        self.remote = RemoteHooks(allowed_urls=allowed_urls(settings), allowed_variables=allowed_variables(settings))
        self.report: Callable[[HookReport], None] = lambda report: None  # is told when a hook starts and ends
        self._variables = settings.variables
        self._background: set[asyncio.Task[HookAnswer]] = set()
        self._late: list[str] = []  # what hooks in the background said for the model

    async def run(self, event: str, payload: Json) -> HookOutcome:
        """Run all hooks of an event in parallel and merge their answers. `payload` contains session_id,
        transcript_path, cwd, permission_mode and the fields of the event; `hook_event_name` is added here.
        Cancellation ends the programs.
        """
        field = EVENTS.get(event, "")
        target = str(payload.get(field, "")) if field else ""
        chosen = [hook for hook in self.hooks if hook.event == event and (not field or hook.matches(target))]
        full_payload = {**payload, "hook_event_name": event}
        chosen = [hook for hook in chosen if hook.applies(full_payload, self.project)]
        chosen = list({(hook.kind, hook.run): hook for hook in chosen}.values())
        for hook in chosen:
            if hook.is_async:
                task = asyncio.create_task(self._run_hook(hook, full_payload, target))
                self._background.add(task)
                task.add_done_callback(self._end_background)
        waited = [hook for hook in chosen if not hook.is_async]
        if not waited or event not in env_file.EVENTS:
            return merge(await asyncio.gather(*(self._run_hook(hook, full_payload, target) for hook in waited)))
        with tempfile.TemporaryDirectory(prefix="clew-") as folder:
            path = Path(folder) / "variables"
            given = [replace(hook, variables={**hook.variables, env_file.VARIABLE: str(path)}) for hook in waited]
            outcome = merge(await asyncio.gather(*(self._run_hook(hook, full_payload, target) for hook in given)))
            found = await env_file.read_env_file(path, self.project, child_environment(**self._variables))
            return replace(outcome, variables=found)

    def take_late(self) -> tuple[str, ...]:
        """Return what hooks in the background have said for the model since the last call."""
        said, self._late = tuple(self._late), []
        return said

    def _end_background(self, task: asyncio.Task[HookAnswer]) -> None:
        self._background.discard(task)
        if not task.cancelled() and task.exception() is None:
            self._late += filter(None, (task.result().message, task.result().context))

    async def close(self) -> None:
        """End the hooks that still run in the background."""
        running = list(self._background)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _run_hook(self, hook: Hook, payload: Json, target: str) -> HookAnswer:
        started = time.monotonic()
        event = str(payload["hook_event_name"])
        report = HookReport(str(uuid4()), event, f"{event}:{target}" if target else event)
        if not isinstance(hook.run, str):
            ended = await _call(hook.run, hook.timeout, payload)
        else:
            self.report(report)
            is_command = hook.kind == "command"
            ended = await (self._start(hook, hook.run, payload) if is_command else self.remote.run(hook, payload))
            self.report(replace(report, ended=ended))
        ran = HookRun(hook.name, ended.code, ended.stdout, ended.stderr, time.monotonic() - started)
        return interpret(event, target, ran, ended.is_late, hook.blocks_on_failure)

    async def _start(self, hook: Hook, command: str, payload: Json) -> CompletedCommand:
        cwd = Path(str(payload.get("cwd") or self.project))
        project = {"CLAUDE_PROJECT_DIR": str(self.project)}
        variables = child_environment(**{**self._variables, **hook.variables, **project})
        stdin = json.dumps(payload, ensure_ascii=False, default=str).encode("utf-8", "replace")
        return await run_shell(command, cwd if cwd.is_dir() else self.project, variables, stdin, hook.timeout)


async def _call(callback: Callback, timeout: float, payload: Json) -> CompletedCommand:
    """Run a callback. Its failure is reported like that of a program."""
    try:
        answer = await asyncio.wait_for(callback(payload), timeout)
    except TimeoutError:
        return CompletedCommand(-1, "", "", is_late=True)
    except (ClewError, ValueError, TypeError, LookupError, RuntimeError, OSError) as error:
        return CompletedCommand(1, "", str(error) or type(error).__name__)
    return CompletedCommand(0, json.dumps(answer, ensure_ascii=False) if answer else "", "")


def _where(source: SettingsSource) -> str:
    return str(source.path or f"the {source.scope} settings")


def _only_managed(settings: Settings) -> bool:
    """Return True if only the hooks of an administrator count."""
    managed = [source for source in settings.sources if source.scope == "managed"]
    only_managed = any(source.data.get("allowManagedHooksOnly") for source in managed)
    return only_managed or any(source.data.get("disableAllHooks") for source in settings.sources)


def _sources(settings: Settings) -> Iterator[SettingsSource]:
    """Yield the sources whose hooks count: an administrator can disable all others."""
    managed = [source for source in settings.sources if source.scope == "managed"]
    if any(source.data.get("disableAllHooks") for source in managed):
        return
    for source in settings.sources:
        if source.scope == "managed" or not _only_managed(settings):
            yield source
