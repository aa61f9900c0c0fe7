"""Compaction: some turns summed up, as `/compact` does, but with a choice of turns.

    boundary (logically below the last turn summed up)
      └ [turns before those] → summary → turns after those, as they were

What was summed up stays in the file, above the boundary, where no version sends it. The turns that are kept are hung
below the summary by their parents: the lists by which newer versions preserve messages are unknown to those before
2.1.80, which would lose them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from clew.conversation.session import Session
from clew.conversation.speaker import has_caveat
from clew.conversation.turns import Turn, strip_caveats
from clew.edit.relink import caveats_before, pin_leaf
from clew.edit.summary.compact_boundary import ResumeContent, behind, boundary, sent, settled, summary
from clew.edit.summary.summariser import Summarise, SummaryTask, TurnText, said
from clew.errors import ApiError, NotFound, Refused
from clew.wire.entry import Entry, Item
from clew.wire.entry_edit import renumber, revise
from clew.wire.entry_types import Compaction
from clew.wire.json_codec import encode

LIMIT = 12_000  # characters of a summary
LEAST = 1_500  # of each part of one, however many there are
CHUNK = 160_000  # characters that are summed up at once, about 40,000 tokens


@dataclass(frozen=True, slots=True)
class Range:
    """The turns to be summed up, and those around them that stay."""

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
        """The last entry that is summed up; the caveat of a command that stays is not."""
        entries = self.middle[-1].entries
        return (strip_caveats(entries) if self.tail and has_caveat(self.tail[0].prompt) else entries)[-1]


def compact(session: Session, chosen: Range, words: str | Summarise) -> tuple[Item, ...]:
    """The session with a range of turns summed up: in these words, or by a summariser. Raises ApiError if that fails."""
    text = words if isinstance(words, str) else _summarised(session, chosen, words)
    if not text.strip():
        raise Refused(["the summary is empty"])
    return _items(session, chosen, _framed(text, chosen))


def choose(session: Session, turns: tuple[int, int] | None = None, keep_last: int = 0) -> Range:
    """The turns to sum up: those given, or all but the last few, of what no earlier compaction summed up.

    A call and its result are not parted: a turn that holds one of them stays with the other.
    """
    found = sent(session)
    live = found.hanging
    if not live:
        raise Refused(["no turn is left to sum up"])
    first, last = turns or (1, live[-1].number - keep_last)
    for number in (first, last) if turns else ():
        if not 1 <= number <= len(session.turns):
            missing = NotFound(str(number), kind="turn")
            missing.hint = f"{session.id[:8]} has the turns 1 to {len(session.turns)}."
            raise missing
    while True:
        head = tuple(turn for turn in live if turn.number < first)
        middle = tuple(turn for turn in live if first <= turn.number <= last)
        tail = tuple(turn for turn in live if turn.number > last)
        if not middle:
            raise Refused([_nothing(first, last, live)])
        if _parted(middle, tail) or _parted(head, tail):
            last = middle[-1].number - 1
        elif _parted(head, middle):
            first = head[-1].number
        else:
            break
    if head and found.top is not None and _preserves(found.top):
        raise Refused([f"the compaction before turn {live[0].number} preserved messages; begin with that turn"])
    return Range(found, head, middle, tail)


def pieces(session: Session, chosen: Range) -> list[SummaryTask]:
    """What is to be summed up, in pieces that a model can take."""
    found = [*_earlier(chosen), *(said(turn, turn.number, session.cwd) for turn in chosen.middle)]
    groups: list[list[TurnText]] = []
    room = 0
    for each in found:
        size = len(each.prompt) + len(each.text) + sum(map(len, each.calls))
        if not groups or size > room:
            groups.append([])
            room = CHUNK
        groups[-1].append(each)
        room -= size
    limit = max(LEAST, LIMIT // max(len(groups), 1))
    return [SummaryTask(tuple(group), limit, with_prompts=True) for group in groups]


def _earlier(chosen: Range) -> list[TurnText]:
    """What stands for the time before: an earlier summary, and the turns that it preserved."""
    if chosen.head:
        return []
    texts = [entry.text for entry in chosen.sent.before if entry.is_compact_summary]
    live = {turn.prompt.uuid for turn in chosen.sent.hanging}
    kept = [said(turn, turn.number, None) for turn in chosen.sent.turns if turn.prompt.uuid not in live]
    return [*(TurnText(None, "", text) for text in texts), *kept]


def _summarised(session: Session, chosen: Range, summarise: Summarise) -> str:
    results = summarise(pieces(session, chosen))
    for result in results:
        if isinstance(result, ApiError):
            raise result
    return "\n\n".join(str(result).strip() for result in results)


def _framed(text: str, chosen: Range) -> str:
    """The summary as the model is to read it."""
    goes_on = "\n\nThe conversation goes on below, word for word." if chosen.tail else ""
    return f"An earlier part of this conversation ({chosen.name}) was summed up:\n\n{text.strip()}{goes_on}"


# -- the lines


def _items(session: Session, chosen: Range, text: str) -> tuple[Item, ...]:
    begin, end = _times(session, chosen)
    mark = boundary(session, chosen.last, begin, chosen.last.uuid, "compact")
    top = _first(session, chosen.middle[0])
    over = session.links.parent(top) if chosen.head else mark
    told = summary(session, chosen.last, end, over.uuid if over else None, text)
    changed: dict[int, Entry] = {}
    if chosen.head:
        first = next(entry for entry in chosen.sent.chain if not entry.is_boundary)
        changed[first.offset] = _below(first, mark.uuid)
        changed[top.offset] = _below(top, first.parent)
    if chosen.tail:
        follows = _first(session, chosen.tail[0])
        changed[follows.offset] = _below(follows, told.uuid)
    found = renumber(_placed(session, chosen, changed, mark, told))
    made = Session(found, file=session.file)
    leaf = session.leaf.uuid if chosen.tail and session.leaf else told.uuid
    return settled(session, pin_leaf(found, made, leaf), mark.uuid)


def _placed(session: Session, chosen: Range, changed: dict[int, Entry], mark: Entry, told: Entry) -> Iterable[Item]:
    """The boundary before all that is kept, the summary before what follows it."""
    kept = [entry for turn in (*chosen.head, *chosen.tail) for entry in turn.entries]
    kept += chosen.sent.before if chosen.head else ()
    kept += [_first(session, chosen.tail[0])] if chosen.tail else []
    first = min((e.offset for e in kept if not e.is_boundary), default=None)
    then = _first(session, chosen.tail[0]).offset if chosen.tail else None
    for item in session.items:
        offset = item.line.offset
        if offset == first:
            yield mark
        if offset == then:
            yield told
        yield changed.get(offset, item)
    if first is None:
        yield mark
    if then is None:
        yield told


def _first(session: Session, turn: Turn) -> Entry:
    """The entry that a turn begins with: the caveat of a command, else the prompt."""
    return next(iter(caveats_before(session, turn.prompt)), turn.prompt)


def _below(entry: Entry, parent: str | None) -> Entry:
    return revise(entry, {"parentUuid": encode(parent)})


def _times(session: Session, chosen: Range) -> tuple[datetime, datetime]:
    """Older versions go on from the newest entry: the new ones are newer than all only if nothing follows them."""
    if chosen.tail:
        early = behind([chosen.last.time, _first(session, chosen.tail[0]).time])
        return early, early
    return behind([session.ended], 1), behind([session.ended], 2)


# -- what cannot be parted


def _preserves(top: Entry) -> bool:
    made = Compaction.of(top)
    return made.segment is not None or made.messages is not None


def _parted(earlier: Sequence[Turn], later: Sequence[Turn]) -> bool:
    """Whether a call of some turns is answered in others."""
    asked = {use.id for turn in earlier for entry in turn.entries if entry.type == "assistant" for use in entry.uses}
    answered = {block.tool_use_id for turn in later for entry in turn.entries for block in entry.results}
    return bool(asked & answered)


def _nothing(first: int, last: int, live: Sequence[Turn]) -> str:
    if last < live[0].number and first <= last:
        return f"turns {first} to {last} were summed up before"
    return "no turn would be summed up"
