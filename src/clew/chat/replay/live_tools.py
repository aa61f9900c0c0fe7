"""Run the calls of a recording again, and compare each result with the recorded one.

The model gets the present results. A call that would need permission is not made: its recorded result is used, and
that is reported. The same holds for missing tools, and for those that only a user can answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from clew.chat.config.settings import Settings
from clew.chat.deps import PermissionPolicy
from clew.chat.permission.decide import Permissions
from clew.chat.replay.recording import Recording
from clew.chat.replay.recording_playback import RecordedTool, RecordingPlayer
from clew.chat.tools.input_schema import failure_result, validate_input
from clew.chat.tools.tool import CallResult, Tool, ToolContext, ToolFailed, text_of
from clew.chat.tools.toolbox import create_tools
from clew.conversation.agent_sessions import SUBAGENT_TOOLS
from clew.facts.unified_diff import unified
from clew.wire.json_codec import Json

_USER_TOOLS = ("AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "Skill")
CONTEXT_LINES = 3  # lines around a change

State = Literal["same", "other", "not run"]


class RepeatedCall(Struct, frozen=True):
    """One call that was run again."""

    call: str
    name: str
    state: State
    why: str = ""
    recorded: str = ""
    made: str = ""

    @property
    def diff(self) -> list[str]:
        """The difference between the recorded and the present result."""
        return unified(self.recorded.splitlines(), self.made.splitlines(), ("recorded", "now"), CONTEXT_LINES)


class LiveTools:
    """All calls of a replay that are run again."""

    def __init__(self, recording: Recording, folder: Path, permits: PermissionPolicy) -> None:
        self.folder = folder
        self.runs: list[RepeatedCall] = []
        self._recording = recording
        self._permits = permits
        self._recorded_folder = recording.cwd.rstrip("/")

    def tools(self, player: RecordingPlayer) -> Sequence[Tool]:
        """Return the tools for a replay."""
        names = dict.fromkeys(["Read", *(name for each in self._recording.all() for name in each.names.values())])
        known = create_tools()
        return [
            _RepeatedTool(known[name], player, self)
            if name in known and name not in (*SUBAGENT_TOOLS, *_USER_TOOLS)
            else _UnrepeatableTool(name, player, self)
            for name in names
        ]

    def to_local_paths(self, value: Any) -> Any:
        """Return a value with the paths of this folder instead of the recorded ones."""
        return _replace_paths(value, self._recorded_folder, str(self.folder)) if self._recorded_folder else value

    def to_recorded_paths(self, value: Any) -> Any:
        """Return a value with the recorded paths instead of those of this folder."""
        return _replace_paths(value, str(self.folder), self._recorded_folder) if self._recorded_folder else value

    def why_refused(self, name: str, given: Json, scene: ToolContext) -> str:
        """Return why a call is not made; empty if it is."""
        decision = self._permits.decide(name, given, scene.state.cwd, "acceptEdits")
        return "" if decision.kind == "allow" else decision.reason or "it needs permission"


class _UnrepeatableTool(RecordedTool):
    """A tool that cannot be run again."""

    def __init__(self, name: str, player: RecordingPlayer, live: LiveTools) -> None:
        super().__init__(name, player)
        self._live = live

    async def call(self, input: Json, scene: ToolContext) -> CallResult:
        if self.name not in SUBAGENT_TOOLS:
            why = "only the user can answer it" if self.name in _USER_TOOLS else "clew has no such tool"
            self._live.runs.append(RepeatedCall(scene.call_id, self.name, "not run", why))
        return await super().call(input, scene)


class _RepeatedTool:
    """A tool that is run again."""

    def __init__(self, tool: Tool, player: RecordingPlayer, live: LiveTools) -> None:
        self.name = tool.name
        self.description = tool.description
        self.schema: Json = {"type": "object"}
        self._tool = tool
        self._player = player
        self._live = live

    def is_read_only(self, input: Json) -> bool:
        return self._tool.is_read_only(input)

    async def check(self, input: Json, scene: ToolContext) -> None:
        """Accept any input: a call that fails now is compared too."""

    async def call(self, input: Json, scene: ToolContext) -> CallResult:
        recorded = self._player.settle(scene)
        given = self._live.to_local_paths(input)
        try:
            given = validate_input(self._tool, given)
            if why := self._live.why_refused(self.name, given, scene):
                self._live.runs.append(RepeatedCall(scene.call_id, self.name, "not run", why))
                return recorded
            result = await self._tool.call(given, scene)
        except ToolFailed as failed:
            result = failure_result(failed)
        except OSError as error:
            result = failure_result(ToolFailed(f"{type(error).__name__}: {error}", is_misuse=False))
        content, detail = self._live.to_recorded_paths(result.content), self._live.to_recorded_paths(result.detail)
        repeated = CallResult(content, detail, result.is_error, result.notes)
        self._live.runs.append(_compare_results(scene.call_id, self.name, recorded, repeated))
        return repeated


def load_permissions(folder: Path, claude: Path, home: Path, allowed: Sequence[str]) -> Permissions:
    """Return permissions for a folder without prompts: what changes nothing outside of it, and what is allowed."""
    settings = Settings.load(folder, claude, (), cli={"permissions": {"allow": list(allowed)}})
    return Permissions(settings, folder, home, claude_home=claude)


def _compare_results(call: str, name: str, recorded: CallResult, repeated: CallResult) -> RepeatedCall:
    before, after = text_of(recorded.content), text_of(repeated.content)
    if before == after and recorded.is_error == repeated.is_error:
        return RepeatedCall(call, name, "same")
    why = "" if recorded.is_error == repeated.is_error else "it fails now" if repeated.is_error else "it failed then"
    return RepeatedCall(call, name, "other", why, before, after)


def _replace_paths(value: Any, old: str, new: str) -> Any:
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, dict):
        return {key: _replace_paths(each, old, new) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_paths(each, old, new) for each in value]
    return value
