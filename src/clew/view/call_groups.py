"""Find runs of calls that are shown as one line, such as `12 reads, 3 edits`.

Quiet calls (reads, searches, commands) that follow each other form a group. One or two edits among them stay outside,
open; a run with more edits is grouped as a whole. Agents, decisions of a person and unfinished calls stay outside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from clew.conversation.agent_sessions import AGENT_TOOLS
from clew.facts.tool_catalog import tool_name
from clew.system.plural import plural
from clew.view.nesting import EXPANDED_TOOLS, NestingStep, contains
from clew.view.row_types import CallRow, Row

MIN_CALLS = 3  # of a group
MAX_SHOWN_EDITS = 2  # in a run whose other calls are grouped
_NOUNS = {
    **dict.fromkeys(("Edit", "MultiEdit", "NotebookEdit"), "edit"),
    **dict.fromkeys(("Grep", "Glob", "LS", "ToolSearch", "WebSearch"), "search"),
    **dict.fromkeys(("Bash", "PowerShell"), "command"),
    "Read": "read",
    "Write": "write",
    "WebFetch": "fetch",
    "TodoWrite": "todo update",
}


class CallGroup(Struct, frozen=True):
    """Calls that are shown as one line."""

    calls: tuple[CallRow, ...]

    @property
    def label(self) -> str:
        """The calls by kind, in the order of their first calls."""
        counts = Counter(_NOUNS.get(call.tool) or f"{tool_name(call.tool)} call".strip() for call in self.calls)
        return ", ".join(plural(count, noun) for noun, count in counts.items())

    @property
    def seconds(self) -> float:
        return sum(call.seconds or 0 for call in self.calls)

    @property
    def failures(self) -> int:
        return sum(call.failed for call in self.calls)

    @property
    def changes(self) -> dict[str, tuple[int, int]]:
        """The added and removed lines of each file."""
        totals: dict[str, tuple[int, int]] = {}
        for call in self.calls:
            if call.changes and call.path:
                added, removed = totals.get(call.path, (0, 0))
                totals[call.path] = (added + call.changes[0], removed + call.changes[1])
        return totals


Grouped = tuple[NestingStep, CallGroup | None, bool]  # a step, the group it starts, whether a group ends before it


def group_calls(steps: Iterable[NestingStep]) -> Iterator[Grouped]:
    """Yield every step, with the groups that start at it and end before it."""
    run: list[NestingStep] = []
    ends = False
    for step in steps:  # the last step has no row, so every run ends
        if run and _continues(run[0].row, step.row):
            run.append(step)
            continue
        for part, group in _parts(run):
            for number, member in enumerate(part):
                yield member, None if number else group, ends and not number
            ends = group is not None
        run = []
        if isinstance(step.row, CallRow) and _may_be_grouped(step.row):
            run = [step]
        else:
            yield step, None, ends
            ends = False


def _continues(first: Row | None, row: Row | None) -> bool:
    if first is None or row is None:
        return False
    if isinstance(row, CallRow) and row.depth == first.depth:
        return _may_be_grouped(row)
    return isinstance(first, CallRow) and contains(first, row)


def _may_be_grouped(call: CallRow) -> bool:
    is_personal = bool(call.decision) or call.tool in ("AskUserQuestion", "ExitPlanMode")
    return not (call.is_open or is_personal or call.tool in AGENT_TOOLS)


def _parts(run: Sequence[NestingStep]) -> list[tuple[list[NestingStep], CallGroup | None]]:
    """Divide a run into groups and steps outside of groups."""
    depth = run[0].row.depth if run and run[0].row else 0
    calls: list[list[NestingStep]] = []
    for step in run:
        if isinstance(step.row, CallRow) and step.row.depth == depth:
            calls.append([])
        calls[-1].append(step)
    edits = sum(_is_edit(steps) for steps in calls)
    parts: list[tuple[list[NestingStep], CallGroup | None]] = []
    for is_outside, members in groupby(calls, lambda steps: edits <= MAX_SHOWN_EDITS and _is_edit(steps)):
        some = list(members)
        heads = tuple(steps[0].row for steps in some if isinstance(steps[0].row, CallRow))
        group = CallGroup(heads) if len(heads) >= MIN_CALLS and not is_outside else None
        parts.append(([step for steps in some for step in steps], group))
    return parts


def _is_edit(steps: Sequence[NestingStep]) -> bool:
    row = steps[0].row
    return isinstance(row, CallRow) and row.tool in EXPANDED_TOOLS
