"""The plan: what a session would become, as a value. Nothing is written before `write`, and never over the original.

    plan(session).drop_turns([3]).strip_tools(keep=10).write()

Each step works on the conversation as the steps before it left it: planning two things at once is the same as writing
the first and planning the second on what was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from clew.conversation.load import request
from clew.conversation.resume_request import Request
from clew.conversation.session import Session
from clew.edit import drop_turns
from clew.edit.plan_diff import EntryChange, entry_changes
from clew.edit.summary.age_levels import DEFAULT
from clew.system.plural import noun
from clew.wire.entry import Damaged, Entry, Item
from clew.wire.entry_edit import parse_at
from clew.wire.json_codec import encode

if TYPE_CHECKING:
    from clew.edit.plan_report import PlanReport
    from clew.edit.redactor import Redactor
    from clew.edit.summary.summariser import Summarise
    from clew.edit.trim_presets import Trim
    from clew.edit.write_plan import Written


@dataclass(frozen=True)
class Plan:
    """A session and what it would become.

    `agents` are those that change; the others come along as they are. `extra` are files of other sessions that come
    too, by their place (`subagents/…`, `tool-results/…`, `file-history/…`). The `veil` is for files that are no transcripts.
    """

    source: Session
    session: Session
    steps: tuple[str, ...] = ()
    cwd: str | None = None
    agents: Mapping[str, Session] = field(default_factory=dict)
    extra: Mapping[str, Path | Session] = field(default_factory=dict)
    redactor: Redactor | None = None

    # -- turns

    def drop_turns(self, numbers: Iterable[int]) -> Plan:
        """Without these turns."""
        chosen = sorted(set(numbers))
        return self._cut(drop_turns.drop_turns(self.session, chosen), f"drop {_turns(chosen)}")

    def drop_turn(self, number: int) -> Plan:
        return self.drop_turns([number])

    def keep_turns(self, numbers: Iterable[int]) -> Plan:
        """With these turns alone."""
        chosen = sorted(set(numbers))
        return self._cut(drop_turns.keep_turns(self.session, chosen), f"keep {_turns(chosen)}")

    def end_with(self, place: int | str) -> Plan:
        """Up to a place: the end of a turn by its number, of a branch (`b2`), or an entry by its uuid."""
        named = str(place)
        return self._cut(
            drop_turns.end_with(self.session, named),
            f"end with {'turn ' if named.lstrip('-').isdigit() else ''}{named}",
        )

    # -- what it holds

    def trim(self, what: Trim | str) -> Plan:
        """Without what a trim takes out: one of the presets, or any other."""
        from clew.edit.trim_presets import PRESETS, trim_session

        asked = PRESETS[what] if isinstance(what, str) else what
        return replace(self._cut(trim_session(self.session, asked), ""), steps=(*self.steps, *asked.steps))

    def strip_tools(
        self,
        *,
        keep: int | None = None,
        calls: int | None = None,
        percent: float | None = None,
        names: Iterable[str] = (),
        how: Literal["remove", "truncate"] = "remove",
    ) -> Plan:
        """Without tool calls and their results, or with both made short; `Tools` says which are meant."""
        from clew.edit.trim_presets import Trim
        from clew.edit.trim_tools import Tools

        return self.trim(Trim(Tools(how, keep, calls, percent, tuple(names))))

    # -- what it says

    def redact(self, *, secrets: bool = True, patterns: Iterable[str] = ()) -> Plan:
        """Without its secrets and what fits the patterns, in every file of it."""
        from clew.edit.redact_session import redact
        from clew.edit.redactor import make_redactor

        return redact(self, make_redactor(secrets, patterns))[0]

    # -- in fewer words

    def compact(self, words: str | Summarise, *, turns: tuple[int, int] | None = None, keep_last: int = 0) -> Plan:
        """With turns summed up in one text: those from one to another, or all but the last. Raises ApiError."""
        from clew.edit.summary.compact_session import choose, compact

        chosen = choose(self.session, turns, keep_last)
        return self._cut(compact(self.session, chosen, words), f"compact {chosen.name}")

    def compress(
        self, summarise: Summarise | None = None, *, bands: str = DEFAULT, tools: Literal["drop", "keep"] = "drop"
    ) -> Plan:
        """With the replies of older turns in fewer words, by extracts unless a summariser is given.

        What it fails at stays as it was, which the step tells.
        """
        from clew.edit.summary.age_levels import bands as parsed
        from clew.edit.summary.compress_session import compress
        from clew.edit.summary.summariser import extractive

        made = compress(self.session, parsed(bands), summarise or extractive, tools)
        return self._cut(made.items, made.step) if made.turns else self

    def repair(self) -> Plan:
        """With every flaw mended that hides prompts or ends a version."""
        from clew.edit.fix.repair_session import repair

        return repair(self)[0]

    def merge(self, other: Session) -> Plan:
        """With all that the same session has elsewhere: both branches, and the files of both."""
        from clew.edit.merge_sessions import merge

        return merge(self, other)[0]

    # -- the place

    def move(self, cwd: str) -> Plan:
        """To the project of another folder; every working directory at or below the old one moves along."""
        return replace(self, cwd=cwd, steps=(*self.steps, f"move to {cwd}"))

    # -- what becomes of it

    def report(self) -> PlanReport:
        """How much there was and how much is left: entries, turns, calls, bytes, and tokens by category."""
        from clew.edit.plan_report import compare_sizes

        return compare_sizes(self.source, self.session)

    def then(self, items: tuple[Item, ...], step: str) -> Plan:
        """One more step: the items that it leaves."""
        session = self.session if items is self.session.items else Session(items, file=self.source.file)
        return replace(self, session=session, steps=(*self.steps, step))

    def _cut(self, items: tuple[Item, ...], step: str) -> Plan:
        """One more step that removes something, and with it the results that would answer no call."""
        from clew.edit.trim_tools import drop_orphans

        made = self.then(items, step)
        return made if made.session is self.session else self.then(drop_orphans(made.session), step)

    @cached_property
    def request(self) -> Request:
        """What a resume of the new session would send."""
        return request(self.session)

    @cached_property
    def violations(self) -> tuple[str, ...]:
        """Why it may not be written; nothing if it may."""
        from clew.edit.verify import find_violations

        return find_violations(self.source, self.session, self.request)

    def diff(self) -> tuple[EntryChange, ...]:
        """The entries that go, come and change."""
        return tuple(entry_changes(self.source, self.session))

    def write(self, *, id: str | None = None, folder: str | Path | None = None) -> Written:
        """Make the new session, and read it back to see that it is what was planned. Raises Refused."""
        from clew.edit.write_plan import write_plan

        return write_plan(self, id=id, folder=folder)


def plan(session: Session) -> Plan:
    """A plan that changes nothing yet. What was saved from damaged lines stands on lines of its own."""
    if not any(isinstance(item, Damaged) and item.salvaged for item in session.items):
        return Plan(session, session)
    return Plan(session, Session(tuple(whole(session.items)), file=session.file))


def whole(items: Iterable[Item]) -> Iterable[Item]:
    """The items with each entry that was saved from a damaged line on a line of its own."""
    for item in items:
        if isinstance(item, Damaged) and item.salvaged:
            yield from (_line(entry) for entry in item.salvaged)
        else:
            yield item


def _line(entry: Entry) -> Entry:
    """A saved entry as a line of its own."""
    try:
        return parse_at(entry.line.json, entry.line)
    except ValueError:  # read more loosely than JSON allows
        return parse_at(encode(entry.data), entry.line)


def _turns(numbers: list[int]) -> str:
    return f"{noun(len(numbers), 'turn')} {', '.join(map(str, numbers))}"
