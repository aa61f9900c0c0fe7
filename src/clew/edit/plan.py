"""Plan edits of a session as an immutable value. Nothing is written before `write`, and never over the original.

    plan(session).drop_turns([3]).strip_tools(keep=10).write()

Each step works on the result of the steps before it: planning two steps equals writing the first and planning the second
on the written session.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from clew.conversation import load
from clew.conversation.session import Session
from clew.edit import drop_turns, plan_diff
from clew.edit.salvaged_entries import split_damaged
from clew.edit.summary.age_levels import DEFAULT
from clew.system.plural import noun
from clew.wire.entry import Item
from clew.wire.entry_edit import move_to_start

if TYPE_CHECKING:
    from clew.conversation.resume_request import Request
    from clew.edit.plan_diff import EntryChange
    from clew.edit.plan_report import PlanReport
    from clew.edit.redactor import Redactor
    from clew.edit.summary.summariser import Summarise
    from clew.edit.trim_presets import Trim
    from clew.edit.write_plan import Written


class Plan(Struct, frozen=True, dict=True):
    """A session (`source`) and the edited session that would be written.

    `agents` are the agents that change; others are copied. `extra` are files of other sessions to add, by their path
    (`subagents/…`, `tool-results/…`, `file-history/…`). `redactor` is applied to side files that are not transcripts.
    `searched` are the items in which it found nothing.
    """

    source: Session
    session: Session
    steps: tuple[str, ...] = ()
    cwd: str | None = None
    agents: Mapping[str, Session] = field(default_factory=dict)
    extra: Mapping[str, Path | Session] = field(default_factory=dict)
    redactor: Redactor | None = None
    searched: tuple[Item, ...] = ()

    # -- turns

    def drop_turns(self, numbers: Iterable[int]) -> Plan:
        """Remove these turns."""
        chosen = sorted(set(numbers))
        return self._cut(drop_turns.drop_turns(self.session, chosen), f"drop {_turns(chosen)}")

    def drop_turn(self, number: int) -> Plan:
        return self.drop_turns([number])

    def keep_turns(self, numbers: Iterable[int]) -> Plan:
        """Remove all other turns."""
        chosen = sorted(set(numbers))
        return self._cut(drop_turns.keep_turns(self.session, chosen), f"keep {_turns(chosen)}")

    def end_with(self, position: int | str) -> Plan:
        """Remove everything after a position: a turn number, a branch (`b2`) or a uuid."""
        named = str(position)
        return self._cut(
            drop_turns.end_with(self.session, named),
            f"end with {'turn ' if named.lstrip('-').isdigit() else ''}{named}",
        )

    # -- content

    def trim(self, what: Trim | str) -> Plan:
        """Remove what a trim selects; a string names a preset."""
        from clew.edit.trim_presets import PRESETS, trim_session

        chosen = PRESETS[what] if isinstance(what, str) else what
        return replace(self._cut(trim_session(self.session, chosen), ""), steps=(*self.steps, *chosen.steps))

    def strip_tools(
        self,
        *,
        keep: int | None = None,
        calls: int | None = None,
        percent: float | None = None,
        names: Iterable[str] = (),
        how: Literal["remove", "truncate"] = "remove",
    ) -> Plan:
        """Remove or truncate tool calls and their results; `Tools` describes which."""
        from clew.edit.trim_presets import Trim
        from clew.edit.trim_tools import Tools

        return self.trim(Trim(Tools(how, keep, calls, percent, tuple(names))))

    def redact(self, *, secrets: bool = True, patterns: Iterable[str] = ()) -> Plan:
        """Redact secrets and matches of the patterns, in every file of the session."""
        from clew.edit.redact_session import redact
        from clew.edit.redactor import make_redactor

        return redact(self, make_redactor(secrets, patterns))[0]

    # -- summaries

    def compact(self, summary: str | Summarise, *, turns: tuple[int, int] | None = None, keep_last: int = 0) -> Plan:
        """Summarise turns in one text: a range, or all but the last `keep_last`. Raises ApiError."""
        from clew.edit.summary.compact_session import choose_range, compact

        chosen = choose_range(self.session, turns, keep_last)
        return self._cut(compact(self.session, chosen, summary), f"compact {chosen.name}")

    def compress(
        self, summarise: Summarise | None = None, *, bands: str = DEFAULT, tools: Literal["drop", "keep"] = "drop"
    ) -> Plan:
        """Shorten the replies of older turns, by extracts unless a summariser is given.

        A turn for which the summariser fails is not changed; the step names it.
        """
        from clew.edit.summary.age_levels import parse_bands as parsed
        from clew.edit.summary.compress_session import compress
        from clew.edit.summary.summariser import summarise_by_extract

        result = compress(self.session, parsed(bands), summarise or summarise_by_extract, tools)
        return self._cut(result.items, result.step) if result.turns else self

    def repair(self) -> Plan:
        """Repair every flaw that hides prompts or that some version cannot read."""
        from clew.edit.fix.repair_session import repair

        return repair(self)[0]

    def merge(self, other: Session) -> Plan:
        """Add what another copy of the same session has: its branch and its files."""
        from clew.edit.merge_sessions import merge

        return merge(self, other)[0]

    # -- location

    def move(self, cwd: str) -> Plan:
        """Move to the project of another folder; working directories at or below the old one are changed too."""
        return replace(self, cwd=cwd, steps=(*self.steps, f"move to {cwd}"))

    # -- result

    def report(self) -> PlanReport:
        """Compare entries, turns, calls, bytes and tokens by category before and after."""
        from clew.edit.plan_report import compare_sizes

        return compare_sizes(self.source, self.session)

    def then(self, items: tuple[Item, ...], step: str) -> Plan:
        """Add a step that results in these items."""
        return replace(self, session=self.session.with_items(move_to_start(items)), steps=(*self.steps, step))

    def _cut(self, items: tuple[Item, ...], step: str) -> Plan:
        """Add a step that removes something, and remove results that lose their call."""
        from clew.edit.trim_tools import drop_orphans

        next_plan = self.then(items, step)
        return next_plan if next_plan.session is self.session else self.then(drop_orphans(next_plan.session), step)

    @cached_property
    def request(self) -> Request:
        """What a resume of the new session would send."""
        return load.request(self.session)

    @cached_property
    def violations(self) -> tuple[str, ...]:
        """The reasons why the plan cannot be written; empty if it can."""
        from clew.edit.verify import find_violations

        return find_violations(self.source, self.session)

    def diff(self) -> tuple[EntryChange, ...]:
        """Return the removed, added and changed entries."""
        return tuple(plan_diff.entry_changes(self.source, self.session))

    def write(self, *, id: str | None = None, folder: str | Path | None = None) -> Written:
        """Write the new session, read it back and compare it with the plan. Raises Refused."""
        from clew.edit.write_plan import write_plan

        return write_plan(self, id=id, folder=folder)


def plan(session: Session) -> Plan:
    """Return a plan that changes nothing yet. Each entry salvaged from a damaged line gets a separate line."""
    return Plan(session, split_damaged(session))


def _turns(numbers: list[int]) -> str:
    return f"{noun(len(numbers), 'turn')} {', '.join(map(str, numbers))}"
