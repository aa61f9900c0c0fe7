"""Replace turns by a summary, as `/compact` does, with a choice of turns.

boundary (logically below the last summarised turn)
      └ [turns before those] → summary → turns after those, unchanged

Summarised turns stay in the file, above the boundary, where no version sends them. The kept turns are linked below
the summary by their parents: versions before 2.1.80 do not know the lists by which newer ones preserve messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct

from clew.conversation.session import Session
from clew.conversation.speaker import has_caveat
from clew.conversation.turns import Turn, strip_caveats
from clew.edit.relink import caveats_before, pin_leaf
from clew.edit.summary.compact_boundary import (
    ResumeContent,
    earliest_time,
    make_boundary,
    make_summary,
    restate_sizes,
    resume_content,
)
from clew.edit.summary.summariser import Summarise, SummaryTask, TurnText, describe_turn
from clew.errors import ApiError, NotFound, Refused
from clew.wire.entry import Entry, Item
from clew.wire.entry_edit import renumber, revise
from clew.wire.entry_types import Compaction
from clew.wire.json_codec import encode

LIMIT = 12_000  # characters of a summary
LEAST = 1_500  # characters of each part, however many there are
CHUNK = 160_000  # characters summarised by one request, about 40,000 tokens


class Range(Struct, frozen=True):
    """The turns to summarise, and the turns around them."""

    sent: ResumeContent
    head: tuple[Turn, ...]
    middle: tuple[Turn, ...]
    tail: tuple[Turn, ...]

    @property
    def name(self) -> str:
        first, last = self.middle[0].number, self.middle[-1].number
        return f"turn {first}" if first == last else f"turns {first} to {last}"

    @property
    def last(self) -> Entry:
        """The last summarised entry; the caveat of a command that is kept does not count."""
        entries = self.middle[-1].entries
        return (strip_caveats(entries) if self.tail and has_caveat(self.tail[0].prompt) else entries)[-1]


def compact(session: Session, chosen: Range, summary: str | Summarise) -> tuple[Item, ...]:
    """Return the items with a range of turns replaced by a text or by a summariser's result. Raises ApiError if it
    fails.
    """
    text = summary if isinstance(summary, str) else _summarise_range(session, chosen, summary)
    if not text.strip():
        raise Refused(["the summary is empty"])
    return _compact_items(session, chosen, _frame_summary(text, chosen))


def choose_range(session: Session, turns: tuple[int, int] | None = None, keep_last: int = 0) -> Range:
    """Return the turns to summarise: the given ones, or all but the last `keep_last` that no compaction summarised.

    A call and its result are not separated: a turn that contains one of them stays with the other.
    """
    content = resume_content(session)
    live = content.hanging
    if not live:
        raise Refused(["no turn is left to summarise"])
    first, last = turns or (1, live[-1].number - keep_last)
    for number in (first, last) if turns else ():
        if not 1 <= number <= len(session.turns):
            raise NotFound(str(number), kind="turn", hint=f"{session.id[:8]} has the turns 1 to {len(session.turns)}.")
    # Example: turns 3 and 4 are chosen, and a call of turn 4 has its result in turn 5. The range becomes turn 3 alone.
    while True:
        head = tuple(turn for turn in live if turn.number < first)
        middle = tuple(turn for turn in live if first <= turn.number <= last)
        tail = tuple(turn for turn in live if turn.number > last)
        if not middle:
            raise Refused([_nothing_message(first, last, live)])
        if _splits_call(middle, tail) or _splits_call(head, tail):
            last = middle[-1].number - 1
        elif _splits_call(head, middle):
            first = head[-1].number
        else:
            break
    if head and content.top is not None and _preserves(content.top):
        raise Refused(
            [f"the compaction before turn {live[0].number} preserved messages; start the range with that turn"]
        )
    return Range(content, head, middle, tail)


def summary_tasks(session: Session, chosen: Range) -> list[SummaryTask]:
    """Return the tasks for a range, in parts that a model can process."""
    texts = [*_earlier_texts(chosen), *(describe_turn(turn, turn.number, session.cwd) for turn in chosen.middle)]
    groups: list[list[TurnText]] = []
    room = 0
    for turn_text in texts:
        size = len(turn_text.prompt) + len(turn_text.text) + sum(map(len, turn_text.calls))
        if not groups or size > room:
            groups.append([])
            room = CHUNK
        groups[-1].append(turn_text)
        room -= size
    limit = max(LEAST, LIMIT // max(len(groups), 1))
    return [SummaryTask(tuple(group), limit, with_prompts=True) for group in groups]


def _earlier_texts(chosen: Range) -> list[TurnText]:
    """Return the text of what came before: an earlier summary, and the turns that it preserved."""
    if chosen.head:
        return []
    texts = [entry.text for entry in chosen.sent.before if entry.is_compact_summary]
    live = {turn.prompt.uuid for turn in chosen.sent.hanging}
    preserved = [describe_turn(turn, turn.number, None) for turn in chosen.sent.turns if turn.prompt.uuid not in live]
    return [*(TurnText(None, "", text) for text in texts), *preserved]


def _summarise_range(session: Session, chosen: Range, summarise: Summarise) -> str:
    results = summarise(summary_tasks(session, chosen))
    for result in results:
        if isinstance(result, ApiError):
            raise result
    return "\n\n".join(str(result).strip() for result in results)


def _frame_summary(text: str, chosen: Range) -> str:
    """Return the summary as the model reads it."""
    goes_on = "\n\nThe conversation goes on below, word for word." if chosen.tail else ""
    return f"An earlier part of this conversation ({chosen.name}) was summed up:\n\n{text.strip()}{goes_on}"


# -- lines


def _compact_items(session: Session, chosen: Range, text: str) -> tuple[Item, ...]:
    begin, end = _new_times(session, chosen)
    mark = make_boundary(session, chosen.last, begin, chosen.last.uuid, "compact")
    top = _first_entry(session, chosen.middle[0])
    parent = session.links.parent(top) if chosen.head else mark
    replacement = make_summary(session, chosen.last, end, parent.uuid if parent else None, text)
    changed: dict[int, Entry] = {}
    if chosen.head:
        first = next(entry for entry in chosen.sent.chain if not entry.is_boundary)
        changed[first.offset] = _link_below(first, mark.uuid)
        changed[top.offset] = _link_below(top, first.parent)
    if chosen.tail:
        follows = _first_entry(session, chosen.tail[0])
        changed[follows.offset] = _link_below(follows, replacement.uuid)
    items = renumber(_insert_lines(session, chosen, changed, mark, replacement))
    compacted = Session(items, file=session.file)
    leaf = session.leaf.uuid if chosen.tail and session.leaf else replacement.uuid
    return restate_sizes(session, pin_leaf(items, compacted, leaf), mark.uuid)


def _insert_lines(
    session: Session, chosen: Range, changed: dict[int, Entry], mark: Entry, replacement: Entry
) -> Iterable[Item]:
    """Yield the items with the boundary before everything that is kept, and the summary before what follows it."""
    remaining = [entry for turn in (*chosen.head, *chosen.tail) for entry in turn.entries]
    remaining += chosen.sent.before if chosen.head else ()
    remaining += [_first_entry(session, chosen.tail[0])] if chosen.tail else []
    first = min((e.offset for e in remaining if not e.is_boundary), default=None)
    then = _first_entry(session, chosen.tail[0]).offset if chosen.tail else None
    for item in session.items:
        offset = item.line.offset
        if offset == first:
            yield mark
        if offset == then:
            yield replacement
        yield changed.get(offset, item)
    if first is None:
        yield mark
    if then is None:
        yield replacement


def _first_entry(session: Session, turn: Turn) -> Entry:
    """Return the first entry of a turn: the caveat of a command, else the prompt."""
    return next(iter(caveats_before(session, turn.prompt)), turn.prompt)


def _link_below(entry: Entry, parent: str | None) -> Entry:
    return revise(entry, {"parentUuid": encode(parent)})


def _new_times(session: Session, chosen: Range) -> tuple[datetime, datetime]:
    """Return the times of boundary and summary. Older versions continue from the newest entry, so the new ones are
    newest only if nothing follows.
    """
    if chosen.tail:
        early = earliest_time([chosen.last.time, _first_entry(session, chosen.tail[0]).time])
        return early, early
    return earliest_time([session.ended], 1), earliest_time([session.ended], 2)


# -- calls and results


def _preserves(top: Entry) -> bool:
    compaction = Compaction.of(top)
    return compaction.segment is not None or compaction.messages is not None


def _splits_call(earlier: Sequence[Turn], later: Sequence[Turn]) -> bool:
    """Return whether a call of some turns is answered in others."""
    calls = {use.id for turn in earlier for entry in turn.entries if entry.type == "assistant" for use in entry.uses}
    answered = {block.tool_use_id for turn in later for entry in turn.entries for block in entry.results}
    return bool(calls & answered)


def _nothing_message(first: int, last: int, live: Sequence[Turn]) -> str:
    if last < live[0].number and first <= last:
        return f"turns {first} to {last} were already summarised"
    return "no turn would be summarised"
