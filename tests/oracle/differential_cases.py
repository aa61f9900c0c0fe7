"""Scripts of the model and set-ups of the user, each of which is tried with each on both programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clew.api.mock.scripts import AnyStep, Fault, ScriptStep
from tests.chat.chat_fixture import use

Json = dict[str, Any]
Steps = Callable[[Path], list[AnyStep]]

INNER = "inner work"  # the prompt of a subagent


@dataclass(frozen=True)
class SetUp:
    """What the user has set up: files of the project, settings, and options of the command."""

    files: Mapping[str, str] = field(default_factory=dict)
    settings: Json = field(default_factory=dict)
    options: tuple[str, ...] = ()


def _write(project: Path, name: str, content: str = "new\n") -> str | Json:
    return use("Write", file_path=str(project / name), content=content)


def _edit(project: Path, name: str = "a.txt", old: str = "one", new: str = "1") -> str | Json:
    return use("Edit", file_path=str(project / name), old_string=old, new_string=new)


def _read(project: Path, name: str = "a.txt") -> str | Json:
    return use("Read", file_path=str(project / name))


def _bash(command: str) -> str | Json:
    return use("Bash", command=command, description="Try")


def _thought(text: str) -> Json:
    return {"type": "thinking", "thinking": text, "signature": "c2ln"}


OVERLOADED = Fault(status=529, kind="overloaded_error", message="Overloaded", times=1)
INVALID = Fault(status=400, kind="invalid_request_error", message="No such thing.")
SCRIPTS: dict[str, Steps] = {
    "text": lambda project: ["Hello."],
    "two texts": lambda project: [["One.", "Two."]],
    "thinking": lambda project: [[_thought("Well."), "Hello."]],
    "thinking and a call": lambda project: [[_thought("Look."), "I look.", _read(project)], "Done."],
    "read": lambda project: [[_read(project)], "Done."],
    "read nothing": lambda project: [[_read(project, "none.txt")], "Done."],
    "read a folder": lambda project: [[_read(project, "")], "Done."],
    "read twice": lambda project: [[_read(project)], [_read(project)], "Done."],
    "parallel reads": lambda project: [[_read(project), _read(project, "b.txt")], "Done."],
    "write": lambda project: [[_write(project, "new.txt")], "Done."],
    "write over": lambda project: [[_write(project, "a.txt")], "Done."],
    "write twice": lambda project: [[_write(project, "new.txt")], [_write(project, "new.txt", "again\n")], "Done."],
    "edit unread": lambda project: [[_edit(project)], "Done."],
    "edit": lambda project: [[_read(project)], [_edit(project)], "Done."],
    "edit what is not there": lambda project: [[_read(project)], [_edit(project, old="none")], "Done."],
    "edit to the same": lambda project: [[_read(project)], [_edit(project, new="one")], "Done."],
    "command": lambda project: [[_bash("echo hi")], "Done."],
    "failing command": lambda project: [[_bash("ls none.txt")], "Done."],
    "silent command": lambda project: [[_bash("true")], "Done."],
    "changing command": lambda project: [[_bash("touch made.txt")], "Done."],
    "parallel commands": lambda project: [[_bash("echo 1"), _bash("echo 2")], "Done."],
    "mixed calls": lambda project: [[_read(project), _bash("echo 1"), _write(project, "new.txt")], "Done."],
    "outside": lambda project: [[_write(project.parent, "outside.txt")], "Done."],
    "unknown tool": lambda project: [[use("Nope", x=1)], "Done."],
    "wrong input": lambda project: [[use("Read", x=1)], "Done."],
    "three rounds": lambda project: [[_bash("echo 1")], [_bash("echo 2")], [_bash("echo 3")], "Done."],
    "agent": lambda project: [
        [use("Task", description="Look", prompt=INNER, subagent_type="general-purpose", run_in_background=False)],
        "Done.",
    ],
    "retry": lambda project: [ScriptStep(content="Hello.", fault=OVERLOADED)],
    "refused request": lambda project: [ScriptStep(fault=INVALID)],
}
BLOCKING_HOOK = "echo no >&2; exit 2"
HOOKS = {
    "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": BLOCKING_HOOK}]}],
    "PostToolUse": [{"matcher": "Read", "hooks": [{"type": "command", "command": "true"}]}],
}
SET_UPS: dict[str, SetUp] = {
    "plain": SetUp(),
    "accepting edits": SetUp(options=("--permission-mode", "acceptEdits")),
    "bypassing": SetUp(options=("--dangerously-skip-permissions",)),
    "planning": SetUp(options=("--permission-mode", "plan")),
    "allowed tools": SetUp(options=("--allowedTools", "Write,Bash(touch:*)")),
    "denied tools": SetUp(options=("--disallowedTools", "Bash")),
    "allow rules": SetUp(settings={"permissions": {"allow": ["Edit", "Bash(ls:*)"]}}),
    "deny rules": SetUp(settings={"permissions": {"deny": ["Read(./b.txt)", "Bash(echo:*)"]}}),
    "hooks": SetUp(settings={"hooks": HOOKS}, options=("--permission-mode", "acceptEdits")),
    "memory": SetUp(files={"CLAUDE.md": "Always be brief.\n"}, options=("--model", "claude-sonnet-5-5")),
    "one turn": SetUp(options=("--max-turns", "1", "--dangerously-skip-permissions")),
    "own system prompt": SetUp(options=("--system-prompt", "You are a clock.")),
}
SAMPLE = (
    ("thinking and a call", "plain"),
    ("mixed calls", "allowed tools"),
    ("edit", "accepting edits"),
    ("parallel commands", "hooks"),
    ("agent", "bypassing"),
    ("three rounds", "one turn"),
)


def settings_text(set_up: SetUp) -> str:
    return json.dumps(set_up.settings)
