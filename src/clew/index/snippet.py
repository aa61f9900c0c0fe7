"""Cut a snippet of one line around the matches in a text, and mark them."""

from __future__ import annotations

from itertools import islice

from clew.index.tokenizer import is_wide

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clew.index.query_syntax import Query, Term

WIDTH = 240  # characters of a snippet
BEFORE = WIDTH // 3  # of them before the match
_MAX_TRIES = 8  # occurrences of a term that are tried for the best position
_MAX_SPANS = 100  # occurrences of a term that are looked at for the smallest window


class Passage:
    """Text around a match; `marks` are the spans of the matching terms.

    `kind` says which title it is (custom title, title or summary), or marks the first prompt.
    """

    __slots__ = (
        *("agent", "failed", "field", "kind", "marks", "offset", "part", "path", "score", "similarity", "text", "time"),
        *("input", "round", "tool"),
    )

    def __init__(
        self,
        path: str,
        offset: int,
        field: str,
        *,
        text: str = "",
        marks: tuple[tuple[int, int], ...] = (),
        tool: str = "",
        failed: bool = False,
        time: int | None = None,
        agent: str = "",
        score: float = 0.0,
        part: int = 0,
        kind: str = "",
    ) -> None:
        self.path, self.offset, self.field, self.part, self.kind = path, offset, field, part, kind
        self.text, self.marks = text, marks
        self.tool, self.failed, self.time, self.agent, self.score = tool, failed, time, agent, score
        self.round, self.input = 0, ""  # number of its round, and the kind of input if it is one
        self.similarity: float | None = None  # if it was found by a semantic search

    def __repr__(self) -> str:
        return f"Passage({self.field}, {self.text!r})"


def cut(text: str, terms: Sequence[Term], width: int = WIDTH) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return the best part of a text for some terms, on one line, and the spans of the terms in it.

    cut("…\nretry with\n  backoff…", [retry]) gives ("retry with backoff", ((0, 5),)): white space is collapsed, and the
    start moves to the next word after at most BEFORE characters of context.
    """
    at = _best_position(text, terms)
    start = max(0, at - BEFORE)
    if start:
        start = next((i + 1 for i in range(start, at) if text[i].isspace()), start)
    stop = min(len(text), start + width)
    if stop < len(text):
        stop = next((i for i in range(stop, max(at, stop - 30), -1) if text[i].isspace()), stop)
    short = " ".join(text[start:stop].split())
    has_more_before = bool(text[max(0, start - WIDTH) : start].strip() or text[:start].strip())
    has_more_after = bool(text[stop : stop + WIDTH].strip() or text[stop:].strip())
    short = f"{'…' if has_more_before else ''}{short}{'…' if has_more_after else ''}"
    return short, find_marks(short, terms)


def _best_position(text: str, terms: Sequence[Term]) -> int:
    """Return the start of the occurrence that is followed by the most other terms within one snippet."""
    lowered = lower_in_place(text)
    if len(terms) == 1:
        return next(find_spans(lowered, terms[0]), (0, 0))[0]
    positions = [[start for start, _ in islice(find_spans(lowered, term), _MAX_TRIES)] for term in terms]
    best = (0, 0)
    for at in sorted(at for starts in positions for at in starts):
        near = sum(any(at <= other < at + WIDTH - BEFORE for other in starts) for starts in positions)
        if near > best[0]:
            best = (near, at)
    return best[1]


def find_marks(text: str, terms: Sequence[Term]) -> tuple[tuple[int, int], ...]:
    """Return the spans of terms in a text, overlapping ones merged."""
    lowered = lower_in_place(text)
    spans: list[tuple[int, int]] = []
    for start, stop in sorted(span for term in terms for span in find_spans(lowered, term)):
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(stop, spans[-1][1]))
        else:
            spans.append((start, stop))
    return tuple(spans)


def smallest_window(text: str, query: Query) -> int:
    """Return the length of the shortest part of a text that has a term of each positive clause; 0 if there is none."""
    lowered = lower_in_place(text)
    clauses = query.positive_clauses
    spans = sorted(
        (*span, number)
        for number, clause in enumerate(clauses)
        for term in clause.terms
        for span in islice(find_spans(lowered, term), _MAX_SPANS)
    )
    last_starts: dict[int, int] = {}
    shortest = 0
    for start, stop, number in spans:
        last_starts[number] = start
        if len(last_starts) == len(clauses):
            length = stop - min(last_starts.values())
            shortest = min(shortest or length, length)
    return shortest


def lower_in_place(text: str) -> str:
    """Return the text in lower case with unchanged positions: `İ`, which would become two characters, stays."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(c if len(c.lower()) > 1 else c.lower() for c in text)


def find_spans(text: str, term: Term) -> Iterator[tuple[int, int]]:
    """Yield the spans of a term in lower-case text: its words in sequence, with no letter or digit between them."""
    first = term.words[0]
    at = text.find(first)
    while at >= 0:
        stop = _match_end(text, at, term)
        if stop:
            yield at, stop
        at = text.find(first, stop or at + 1)


def _match_end(text: str, at: int, term: Term) -> int:
    """Return the end of a term whose first word is at a position; 0 if it is only a part of a word there."""
    if at and _is_inside_word(text, at):
        return 0
    stop, size = at + len(term.words[0]), len(text)
    for word in term.words[1:]:
        while stop < size and not text[stop].isalnum():
            stop += 1
        if not text.startswith(word, stop) or _is_inside_word(text, stop):
            return 0
        stop += len(word)
    while term.is_prefix and stop < size and _is_inside_word(text, stop):
        stop += 1
    return 0 if stop < size and _is_inside_word(text, stop) else stop


def _is_inside_word(text: str, at: int) -> bool:
    """Return whether the characters before and at a position belong to one word."""
    before, after = text[at - 1], text[at]
    return before.isalnum() and after.isalnum() and not is_wide(before) and not is_wide(after)
