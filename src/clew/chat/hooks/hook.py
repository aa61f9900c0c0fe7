"""One hook: what runs, at which event, and for which tools."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from clew.chat.permission.permission_rules import matches_call, parse_rule
from clew.errors import BadQuery
from clew.system.regex_deadline import pattern
from clew.wire.json_codec import Json

Callback = Callable[[Json], Awaitable[Json]]  # takes the payload, returns the hook's JSON answer ({}: no opinion)
Kind = Literal["command", "callback", "http", "prompt", "agent", "mcp_tool"]

TIMEOUT = 60.0
_NAMES_ONLY = re.compile(r"[\w\s|,-]*")
_OTHER_NAME = {"Task": "Agent", "Agent": "Task"}
# Each event, and the field of its payload that matchers are compared with.
EVENTS: dict[str, str] = {
    "SessionStart": "source",
    "InstructionsLoaded": "load_reason",
    "UserPromptSubmit": "",
    "UserPromptExpansion": "command_name",
    "PreToolUse": "tool_name",
    "PostToolUse": "tool_name",
    "PostToolUseFailure": "tool_name",
    "PostToolBatch": "",
    "PermissionRequest": "tool_name",
    "Notification": "notification_type",
    "SubagentStart": "agent_type",
    "SubagentStop": "agent_type",
    "Stop": "",
    "StopFailure": "error",
    "PreCompact": "trigger",
    "PostCompact": "trigger",
    "PreModelSwitch": "to_model",
    "PostModelSwitch": "to_model",
    "DirectoryAdded": "source",
    "CwdChanged": "",
    "MessageDisplay": "",
    "SessionEnd": "reason",
}
# Events of Claude Code that clew does not raise.
NOT_RAISED = (
    *("PermissionDenied", "Setup", "TeammateIdle", "TaskCreated", "TaskCompleted", "Elicitation", "ElicitationResult"),
    *("ConfigChange", "WorktreeCreate", "WorktreeRemove", "FileChanged"),
)


class Hook(Struct, frozen=True):
    """One hook. `run` is the shell command, the callback, or for other kinds its prompt, address or tool.

    With `blocks_on_failure` a hook that fails blocks.
    """

    event: str
    run: str | Callback
    matcher: str = ""
    timeout: float = TIMEOUT
    blocks_on_failure: bool = False
    kind: Kind = "command"
    details: Mapping[str, object] = field(default_factory=dict)  # further fields of the settings
    variables: Mapping[str, str] = field(default_factory=dict)  # for its environment
    is_async: bool = False  # nobody waits for it
    condition: str = ""  # a permission rule that a call must match

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

    def applies(self, payload: Json, project: Path) -> bool:
        """Return whether its condition holds for the call of an event; events without a call have no condition."""
        tool, given = payload.get("tool_name"), payload.get("tool_input")
        if not self.condition or not isinstance(tool, str) or not isinstance(given, dict):
            return True
        rule = parse_rule(self.condition, "ask", "session", project)
        return rule is None or matches_call(rule, tool, given)
