"""Trace each line of a file back to the recorded change that wrote it.

The recorded changes are replayed in order. Where the file was changed between two of them by something else, the two
states are aligned. A line whose author is not certain, because equal lines could have been moved or inserted, has no
author: an origin is never a guess.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from msgspec import Struct, field

from clew.conversation.replies import Call
from clew.facts.file_changes import contents_around, executed_edits, replaced_text
from clew.facts.tool_catalog import objects

BEFORE = -1  # the line was there before the first recorded change
OUTSIDE = -2  # something else wrote it between the recorded changes, or after them
AMBIGUOUS = -3  # equal lines have several possible origins
_NUMBERED = re.compile(r" *(\d{1,7})[→\t]")  # the number that a Read shows before a line
_MAX_SHOWN = 2000  # a Read shows at most this number of lines, and of characters of a line
_IDENTIFYING = 16  # letters and digits of a line that is recognized by its text alone


class LineOrigin(Struct, frozen=True):
    """The index of the change that wrote a line (or BEFORE, OUTSIDE, AMBIGUOUS), and whether only its text says so."""

    change: int
    by_content: bool = False


class _Step(NamedTuple):
    """A text of the file, and the numbers of lines at both ends that the step to it did not touch."""

    text: str
    untouched: tuple[int, int] = (0, 0)


class Replay(Struct):
    """The state of a file after the changes so far. `lines` and `origins` are those of the last known state."""

    lines: list[str] | None = None
    origins: list[int] = field(default_factory=list)
    text: str | None = None  # None if the changes since the last known state are not known
    pending: list[tuple[int, Call]] = field(default_factory=list)  # changes since the last known state
    states: dict[str, list[int]] = field(default_factory=dict)  # the origins of each text that the file had
    first_seen: dict[str, int] = field(default_factory=dict)  # the number of the first state with a line
    added: dict[str, set[int]] = field(default_factory=dict)  # the changes that added each line
    starts: dict[int, int] = field(default_factory=dict)  # the number of the state that each change found
    state_number: int = 0
    actor: str = ""  # the conversation whose call is the last one

    def apply(self, index: int, call: Call, actor: str = "") -> None:
        """Continue with a change that succeeded, or with what a Read showed. `actor` is the conversation of the call.

        Claude Code refuses to change a file that was changed since the conversation read it.
        """
        is_known = self.text is not None and bool(actor) and actor == self.actor
        self.actor = actor
        if call.name == "Read":
            shown = _text_shown(call)
            if shown is not None and (self.text is None or split_lines(shown) != self.lines):
                self.reach(shown)
            return
        before = contents_around(call)[0]
        if before.text is not None or not before.is_there or _creates_file(call):
            is_known = True
            self.reach(normalize(before.text or ""))
        steps = _steps(call, self.text)
        self.starts[index] = self.state_number
        if not steps:
            for line in _added_by_input(call):
                self.added.setdefault(line, set()).add(index)
            self.text = None
            self.pending.append((index, call))
        elif self.text is None:  # it replaced a content that is not known, and may have kept some of its lines
            self._enter(steps[-1].text, [AMBIGUOUS] * len(split_lines(steps[-1].text)))
            self.pending.clear()
        else:
            # If the content before is old, something else can have added the lines that a Write seems to add.
            author = index if is_known or call.name in ("Edit", "MultiEdit") else AMBIGUOUS
            doubtful = self._ambiguous_lines()
            for step in steps:
                self._carry(step, author)
            doubtful = self._ambiguous_lines() - doubtful
            for line, origin in zip(self.lines or [], self.origins, strict=True):
                if origin == index or line in doubtful:
                    self.added.setdefault(line, set()).add(index)

    def _carry(self, step: _Step, author: int) -> None:
        origins = carry_origins(self.lines or [], self.origins, split_lines(step.text), author, step.untouched)
        self._enter(step.text, origins)

    def _ambiguous_lines(self) -> Counter[str]:
        pairs = zip(self.lines or [], self.origins, strict=True)
        return Counter(line for line, origin in pairs if origin == AMBIGUOUS)

    def reach(self, text: str) -> None:
        """Continue with a text that the file is known to have at this point."""
        if text == self.text:
            return
        texts = [text]
        undone: list[int] = []
        for index, call in reversed(self.pending):
            earlier = _text_before(call, texts[-1])
            if earlier is None:
                break
            texts.append(earlier)
            undone.append(index)
        start = split_lines(texts[-1])
        if texts[-1] in self.states:  # the file was restored
            self._enter(texts[-1], self.states[texts[-1]])
        elif self.lines is not None:
            self._enter(texts[-1], carry_origins(self.lines, self.origins, start, OUTSIDE))
        else:
            unknown = AMBIGUOUS if len(undone) < len(self.pending) else BEFORE
            self._enter(texts[-1], [unknown] * len(start))
        for index, later in zip(reversed(undone), reversed(texts[:-1]), strict=True):
            self.starts[index] = self.state_number
            self._carry(_Step(later), index)
        self.pending.clear()

    @property
    def first_text(self) -> str | None:
        """The first text that the file is known to have had."""
        return next(iter(self.states), None)

    def _enter(self, text: str, origins: list[int]) -> None:
        self.text, self.lines, self.origins = text, split_lines(text), origins
        self.states[text] = origins
        self.state_number += 1
        for line in self.lines:
            self.first_seen.setdefault(line, self.state_number)

    def finish(self, text: str) -> list[LineOrigin]:
        """Return the origin of each line of the file as it is now."""
        self.reach(text)
        counts = Counter(self.lines)
        origins = []
        for line, origin in zip(self.lines or [], self.origins, strict=True):
            is_open = origin in (OUTSIDE, AMBIGUOUS) and counts[line] == 1
            author = self._author_by_content(line) if is_open else None
            origins.append(LineOrigin(origin) if author is None else LineOrigin(author, True))
        return origins

    def _author_by_content(self, line: str) -> int | None:
        """Return the only change that added a distinctive line which the file did not have before it."""
        authors = self.added.get(line, ())
        if len(authors) != 1 or not is_distinctive(line, _IDENTIFYING):
            return None
        [author] = authors
        return author if self.first_seen.get(line, 0) > self.starts[author] else None


def is_distinctive(line: str, least: int = 10) -> bool:
    """Return True if a line has enough letters and digits to tell it from other lines."""
    return sum(map(str.isalnum, line)) >= least


def normalize(text: str) -> str:
    """Return a text as Claude Code records it: with one kind of line end, and without a byte order mark."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def split_lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _creates_file(call: Call) -> bool:
    """Return True if the model was told that a file is new: the record of a sub-agent's call can be missing."""
    return call.name == "Write" and call.output.startswith("File created successfully")


def _edits(call: Call) -> list[tuple[str, str, bool]] | None:
    """Return (old, new, everywhere) for each replacement of an Edit or MultiEdit; None if they are not known."""
    if call.name not in ("Edit", "MultiEdit") or _is_modified(call):
        return None
    edits = objects(executed_edits(call))
    pairs = [(e.get("old_string"), e.get("new_string"), bool(e.get("replace_all"))) for e in edits]
    texts = [(normalize(o), normalize(n), a) for o, n, a in pairs if isinstance(o, str) and isinstance(n, str)]
    return texts if texts and len(texts) == len(pairs) else None


def _is_modified(call: Call) -> bool:
    return isinstance(call.detail, dict) and bool(call.detail.get("userModified"))


def _steps(call: Call, before: str | None) -> list[_Step]:
    """Return the texts that a change must have left, one after each edit; none if they are not certain."""
    if call.name in ("Write", "NotebookEdit"):
        after = contents_around(call)[1].text
        return [] if after is None or _is_modified(call) else [_Step(normalize(after))]
    steps: list[_Step] = []
    text = before
    for old, new, everywhere in _edits(call) or ():
        if old == "" and new and not text:
            text, untouched = new, (0, 0)
        else:
            old = replaced_text(text or "", old, new)
            if text is None or not old or not (text.count(old) == 1 or (everywhere and old in text)):
                return []
            lead, tail = text[: text.index(old)], text[text.rindex(old) + len(old) :]
            after_lines = len(split_lines(tail)) - (not old.endswith("\n") and bool(tail))
            untouched = (lead.count("\n"), max(0, after_lines))
            text = text.replace(old, new)
        steps.append(_Step(text, untouched))
    return steps


def _text_shown(call: Call) -> str | None:
    """Return the text of a file that a Read showed completely; None if it showed a part, or a picture."""
    detail = call.detail if isinstance(call.detail, dict) else {}
    file = detail.get("file")
    if isinstance(file, dict) and detail.get("type") == "text":
        is_whole = file.get("startLine") == 1 and file.get("numLines") == file.get("totalLines")
        content = file.get("content")
        return normalize(content) if is_whole and isinstance(content, str) else None
    if call.failed or call.input.get("offset") or call.input.get("limit"):
        return None
    lines = []
    for number, line in enumerate(normalize(call.output).split("\n"), 1):
        shown = _NUMBERED.match(line)
        if shown is None or int(shown[1]) != number:
            break
        lines.append(line[shown.end() :])
    is_whole = 0 < len(lines) < _MAX_SHOWN and max(map(len, lines)) < _MAX_SHOWN
    return "\n".join(lines) if is_whole else None


def _text_before(call: Call, after: str) -> str | None:
    """Return the text that edits found, if each of their new texts is in the file exactly once. Deletions are skipped:
    where they were does not matter for the lines that are left.
    """
    text = after
    for old, new, everywhere in reversed(_edits(call) or [("", "", True)]):
        if everywhere or (new and (text.count(new) != 1 or not is_distinctive(new))):
            return None
        text = text.replace(new, old) if new else text
    return text


def _added_by_input(call: Call) -> Iterator[str]:
    """Yield the lines that edits add to those that they replace."""
    for old, new, _ in _edits(call) or ():
        yield from set(split_lines(new)) - set(split_lines(old))


def carry_origins(
    old: Sequence[str], origins: Sequence[int], new: Sequence[str], author: int, untouched: tuple[int, int] = (0, 0)
) -> list[int]:
    """Return the origin of each line after `author` turned `old` into `new`.

    Lines that are certainly kept retain their origins, and lines that were certainly added get `author`. `untouched`
    are the numbers of lines at the beginning and at the end that the author did not replace.
    """
    size = min(len(old), len(new))
    start = next((i for i in range(size) if old[i] != new[i]), size)
    stop = next((i for i in range(size) if old[-1 - i] != new[-1 - i]), size)
    first, last = start, min(stop, size - start)
    changed = {*old[first : len(old) - last], *new[first : len(new) - last]}
    while first > untouched[0] and _is_repeated(old[first - 1], changed):
        first -= 1
    while last > untouched[1] and _is_repeated(old[-last], changed):
        last -= 1
    if first == start and start + stop >= size and last == size - start:
        return _carry_around(origins, len(new), (size - stop, start), author)
    middle = slice(first, len(old) - last)
    block = _carry_changed(old[middle], origins[middle], new[first : len(new) - last], author)
    return [*origins[:first], *block, *origins[len(old) - last :]]


def _is_repeated(line: str, changed: set[str]) -> bool:
    """Return True if a line beside changed lines can be one of them: "a, }" became "a, b, }, c, }"."""
    return line in changed and not is_distinctive(line, _IDENTIFYING)


def _carry_around(origins: Sequence[int], count: int, places: tuple[int, int], author: int) -> list[int]:
    """Return the origins after one insertion or deletion, which can have been at any of the `places`.

    "a, }, b, }" after "a, }" can have got "}, b" before the brace or "b, }" after it.
    """
    first, last = places
    shift = count - len(origins)  # lines that were added, or minus those that were removed
    result = []
    for i in range(count):
        candidates = set(origins[i : i + 1]) if i < last else set()
        if i >= first + max(shift, 0):
            candidates.add(origins[i - shift])
        if shift > 0 and first <= i < last + shift:
            candidates.add(author)
        result.append(candidates.pop() if len(candidates) == 1 else AMBIGUOUS)
    return result


def _carry_changed(old: Sequence[str], origins: Sequence[int], new: Sequence[str], author: int) -> list[int]:
    """Return the origins of a block of lines that was replaced by another.

    A distinctive line that occurs once in both, and has not moved past another such line, was kept; what is between
    two of them is compared separately. A line that did not occur was added.
    """
    possible: dict[str, set[int]] = {}
    for line, origin in zip(old, origins, strict=True):
        possible.setdefault(line, {author}).add(origin)
    certain = [len(possible.get(line, {author})) == 1 for line in new]
    kept = _kept_lines(old, new)
    if not kept:
        return [author if is_certain else AMBIGUOUS for is_certain in certain]
    result: list[int] = []
    first = second = 0
    for a, b in [*kept, (len(old), len(new))]:
        result += carry_origins(old[first:a], origins[first:a], new[second:b], author)
        result += origins[a : a + 1]
        first, second = a + 1, b + 1
    return [origin if origin != author or ok else AMBIGUOUS for origin, ok in zip(result, certain, strict=True)]


def _kept_lines(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the positions of distinctive lines that occur once in both, in the same order with all others of them."""
    old_counts, new_counts = Counter(old), Counter(new)
    places = {line: i for i, line in enumerate(new)}
    pairs = [(i, places[line]) for i, line in enumerate(old) if old_counts[line] == 1 == new_counts.get(line)]
    pairs = [(a, b) for a, b in pairs if is_distinctive(old[a], _IDENTIFYING)]
    below = [-1, *accumulate((b for _, b in pairs), max)]
    above = [*reversed([len(new), *accumulate((b for _, b in reversed(pairs)), min)])]
    return [(a, b) for k, (a, b) in enumerate(pairs) if below[k] < b < above[k + 1]]
