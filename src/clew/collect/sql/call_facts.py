"""What calls of tools tell beyond their result: refusals by the user, kinds of agents, skills, commits, pull requests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from clew.conversation.agent_sessions import SUBAGENT_TOOLS
from clew.conversation.replies import Call
from clew.wire.entry import Entry
from clew.wire.entry_types import PrLink

OF_AGENT, OF_SKILL = "attributionAgent", "attributionSkill"
_REFUSED_KIND = "user-rejected"  # from 2.1.205 on
_REFUSALS = ("The user doesn't want to ", "[Request interrupted by user for tool use]")  # what Claude Code writes
_SHELLS = frozenset({"Bash", "PowerShell"})
_COMMITS = re.compile(r"\bgit\b.*\b(?:commit|cherry-pick|revert|merge|am|rebase)\b", re.DOTALL)
_COMMIT = re.compile(r"^\[(.{1,200}?)(?: \(root-commit\))? ([0-9a-f]{7,40})\] (.*)$", re.MULTILINE)
_CREATES_PULL_REQUEST = re.compile(r"\b(?:gh\s+pr|glab\s+mr)\s+create\b")
_PULL_REQUEST = re.compile(r"https://[^\s/]+/([^\s]+?)(?:/-)?/(?:pull|merge_requests)/[0-9]+")


class GitEvent(NamedTuple):
    """A commit by its hash, or a pull request by its address."""

    kind: str
    name: str
    entry: Entry
    call: str = ""
    repository: str = ""
    branch: str = ""
    message: str = ""


def is_refused(call: Call) -> bool:
    """Return whether the user refused a call, or interrupted it; other failures are those of the tool or of a rule."""
    if not call.failed or call.result_entry is None:
        return False
    kind = call.result_entry.data.get("toolDenialKind")
    if isinstance(kind, str) and kind:
        return kind == _REFUSED_KIND
    return call.output.startswith(_REFUSALS)


def agent_type(call: Call) -> str:
    """Return the type of agent that a call asked for."""
    return _input_text(call, "subagent_type") if call.name in SUBAGENT_TOOLS else ""


def skill_name(call: Call) -> str:
    """Return the skill that a call loaded."""
    return _input_text(call, "skill") if call.name == "Skill" else ""


def attribution(entries: Sequence[Entry], field: str) -> str:
    """Return the skill or agent that Claude Code noted in one of some entries; empty if there is none."""
    noted = (e for e in entries if e.line.contains(field.encode()))  # few have it: the others are not decoded
    return next((value for e in noted if isinstance(value := e.data.get(field), str) and value), "")


def linked_pull_requests(entries: Iterable[Entry]) -> Iterator[GitEvent]:
    """Yield pull requests, by the lines that link them."""
    for entry in entries:
        link = PrLink.of(entry)
        if link.url:
            yield GitEvent("pull_request", link.url, entry, repository=link.repository)


def git_events(calls: Iterable[Call]) -> Iterator[GitEvent]:
    """Yield commits, by the line that git prints for each, and pull requests, by what `gh` printed."""
    for call in calls:
        command = _input_text(call, "command") if call.name in _SHELLS else ""
        if "git" in command and _COMMITS.search(command):
            for branch, hash, message in _COMMIT.findall(call.output):
                yield GitEvent("commit", hash, call.entry, call.id, branch=branch, message=message)
        if not call.failed and _CREATES_PULL_REQUEST.search(command):
            for found in _PULL_REQUEST.finditer(call.output):
                yield GitEvent("pull_request", found[0], call.entry, call.id, repository=found[1])


def _input_text(call: Call, name: str) -> str:
    value: Any = call.input.get(name)
    return value if isinstance(value, str) else ""
