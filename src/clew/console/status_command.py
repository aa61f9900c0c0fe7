"""Run the user's status line command (`statusLine` of the settings) and format what it prints.

It is run when what it shows can have changed: a reply, the mode, the model, the effort, the session. A run that has not
ended when the next is due is stopped.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from prompt_toolkit.formatted_text import ANSI, to_formatted_text

from clew.chat import events
from clew.chat.config.repository import origin_repository
from clew.chat.config.settings import as_object
from clew.chat.tools.process import run_shell
from clew.models import model_of, short_names
from clew.system.environment import child_environment
from clew.version import __version__
from clew.view.sanitize import columns

if TYPE_CHECKING:
    from clew.chat.session_factory import ChatSession
    from clew.wire.json_codec import Json

PAUSE = 0.3  # seconds after a change before the command is run
_SECONDS = 60.0  # that a run may take
_INDENT = 2
_LONG_CONTEXT = 200_000
_LINK = re.compile(r"\x1b\].*?(?:\x07|\x1b\\)", re.DOTALL)
_OTHER_SEQUENCE = re.compile(r"\x1b(?!\[[0-9;:]*m)(?:\[[0-?]*[ -/]*[@-~]|.)?", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]")


class StatusCommand:
    """The status line command of a session, and the lines that it printed last."""

    def __init__(self, session: ChatSession, redraw: Callable[[], None]) -> None:
        self.session = session
        self._redraw = redraw
        merged = session.settings.merged
        setting = as_object(merged.get("statusLine"))
        command = setting.get("command") if setting.get("type", "command") == "command" else None
        is_off = merged.get("disableAllHooks") is True
        self.command = command if isinstance(command, str) and not is_off else ""
        self._padding = _number(setting.get("padding"))
        self._interval = _number(setting.get("refreshInterval"))
        self._text = ""
        self._known: object = None
        self._task: asyncio.Task[None] | None = None
        self._usage: Json = {}
        self._added = self._removed = 0

    def observe(self, event: events.Event) -> None:
        """Take what an event says about usage and changed lines."""
        if isinstance(event, events.ReplyCompleted) and not event.agent:
            self._usage = event.usage
        elif isinstance(event, events.CallFinished) and isinstance(event.result.detail, dict):
            for hunk in event.result.detail.get("structuredPatch") or ():
                self._added += sum(line.startswith("+") for line in hunk["lines"])
                self._removed += sum(line.startswith("-") for line in hunk["lines"])

    def check(self) -> None:
        """Run the command again if what it shows has changed."""
        if not self.command:
            return
        engine = self.session.engine
        conversation = engine.conversation
        shown = (conversation.session_id, conversation.mode, conversation.model, conversation.reasoning, self._usage)
        if shown != self._known:
            self._known = shown
            self._start(PAUSE)

    def _start(self, pause: float) -> None:
        if self._task is not None:
            self._task.cancel()
        self._task = asyncio.get_running_loop().create_task(self._run(pause))

    async def _run(self, pause: float) -> None:
        await asyncio.sleep(pause)
        while True:
            state = self.session.engine.conversation.state
            variables = child_environment(
                **{**state.variables, "CLAUDE_PROJECT_DIR": str(state.project), "CLAUDECODE": "1"}
            )
            data = json.dumps(self.payload(), ensure_ascii=False).encode()
            ended = await run_shell(self.command, state.project, variables, data, _SECONDS)
            self._text = "" if ended.code or ended.is_late else ended.stdout.strip("\n")
            self._redraw()
            if not self._interval:
                return
            await asyncio.sleep(max(self._interval, 1))

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def payload(self) -> Json:
        """Return what the command is told, in the form that Claude Code gives it."""
        engine = self.session.engine
        conversation = engine.conversation
        model, state = conversation.model, conversation.state
        effort = conversation.reasoning.effort or model_of(model).effort
        return {
            "session_id": conversation.session_id,
            "transcript_path": str(conversation.root.journal.path),
            "cwd": str(state.cwd),
            **({"prompt_id": conversation.prompt_id} if conversation.prompt_id else {}),
            **({"session_name": engine.title} if engine.title else {}),
            **({"effort": {"level": effort}} if model_of(model).effort else {}),
            "model": {"id": model, "display_name": _display_name(model)},
            "workspace": {
                "current_dir": str(state.cwd),
                "project_dir": str(state.project),
                "added_dirs": [str(folder) for folder in state.roots if folder != state.project],
                **({"repo": repository} if (repository := origin_repository(state.project)) else {}),
            },
            "version": __version__,
            "output_style": {"name": self.session.style},
            "cost": {
                "total_cost_usd": engine.deps.cost.dollars,
                "total_duration_ms": engine.milliseconds,
                "total_api_duration_ms": engine.api_milliseconds,
                "total_lines_added": self._added,
                "total_lines_removed": self._removed,
            },
            "context_window": self._window(engine.window),
            "exceeds_200k_tokens": _input_tokens(self._usage) > _LONG_CONTEXT,
            "fast_mode": False,
            "thinking": {"enabled": bool(model_of(model).thinking) and not conversation.reasoning.is_off},
        }

    def _window(self, size: int) -> Json:
        names = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        used = _input_tokens(self._usage)
        share = round(100 * used / size) if size else 0
        return {
            "total_input_tokens": used,
            "total_output_tokens": self._usage.get("output_tokens") or 0,
            "context_window_size": size,
            "current_usage": {name: self._usage.get(name) or 0 for name in names} if self._usage else None,
            "used_percentage": share if self._usage else None,
            "remaining_percentage": 100 - share if self._usage else None,
        }

    def fragments(self, width: int) -> list[tuple[str, str]]:
        """Return the printed lines, each cut to the width and followed by a line break."""
        found: list[tuple[str, str]] = []
        for line in sanitize_output(self._text).splitlines():
            indent = " " * (_INDENT + int(self._padding))
            found += [("class:status", indent), *_cut(line, width - len(indent) - 1), ("", "\n")]
        return found


def sanitize_output(text: str) -> str:
    """Return the text with colours, and without all other sequences and control characters."""
    return _CONTROL.sub("", _OTHER_SEQUENCE.sub("", _LINK.sub("", text)).expandtabs())


def _cut(line: str, room: int) -> list[tuple[str, str]]:
    """Return a line with its colours, cut to a number of columns."""
    parts: list[tuple[str, str]] = []
    left = room
    for fragment in to_formatted_text(ANSI(line)):
        style, text = fragment[0] or "class:status", fragment[1]
        if columns(text) > left:
            return [*parts, (style, "…")] if left < 1 or not parts else [*parts[:-1], (parts[-1][0], "…")]
        parts.append((style, text))
        left -= columns(text)
    return parts


def _display_name(model: str) -> str:
    """Return a name to show: "Opus 5.5" for claude-opus-5-5."""
    found = re.match(r"claude-([a-z]+)-(\d+)(?:-(\d{1,2}))?(?!\d)", model)
    if not found:
        return next((name.capitalize() for name, full in short_names().items() if full == model), model)
    return f"{found[1].capitalize()} {found[2]}{f'.{found[3]}' if found[3] else ''}"


def _input_tokens(usage: Json) -> int:
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(usage.get(name) or 0 for name in names)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else 0.0
