"""Passages: the place in a transcript where a match is, cut out of its line.

The line is decoded by the C part of the standard library alone: importing the rest of it would take longer than the search.
"""

from __future__ import annotations

from itertools import islice

from clew.index.tokenizer import is_wide

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from clew.index.query_syntax import Term

LONG_OUTPUT = 1 << 20  # parts from here on are pieces of a file beside the transcript
WIDTH = 240
BEFORE = WIDTH // 3
_PART = 1 << 13
_LOOKS = 8  # places of a word that are tried for the best cut
_ASIDE = ("system-reminder", "ide_selection", "ide_opened_file", "ide_diagnostics")


class Passage:
    """Text around a match; `marks` are where in it the words that were asked for stand.

    For a title `kind` says which: custom title, title or summary; of prompts it tells the first prompt.
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
        self.round, self.input = 0, ""  # the round that it stands in, and the kind of input if it is one
        self.similarity: float | None = None  # if it was found by meaning

    def __repr__(self) -> str:
        return f"Passage({self.field}, {self.text!r})"


class _Plain:
    """How the decoder is to go about it: as the standard one, but with control characters let through."""

    strict = False
    object_hook = object_pairs_hook = None
    parse_float = parse_int = parse_constant = str


_held: list[Callable[[str, int], tuple[Any, int]]] = []


def _decode(line: str) -> Any:
    """The JSON value that a text begins with. The decoder is made once. Raises ValueError or StopIteration."""
    if not _held:
        try:
            from _json import make_scanner

            _held.append(make_scanner(_Plain))  # type: ignore[arg-type]
        except (ImportError, AttributeError, TypeError):  # another Python
            from json import JSONDecoder

            _held.append(JSONDecoder(strict=False).raw_decode)
    return _held[0](line, 0)[0]


def text_at(path: str, offset: int, field: str, part: int, terms: Sequence[Term]) -> str:
    """The text of a piece; of several of its kind in the line the one that holds the most of the terms."""
    entry = _line(path, offset)
    if part >= LONG_OUTPUT:
        from clew.index.long_outputs import piece_text

        if text := piece_text(path, entry, part):
            return text
    pieces = list(_pieces(entry))
    mine = [text for kind, text in pieces if kind == field]
    if not terms and part < len(pieces) and pieces[part][0] == field:
        return pieces[part][1]
    if len(mine) < 2:
        return mine[0] if mine else ""
    return max(mine, key=lambda text: sum(any(_spans(_lowered(text), term)) for term in terms))


def _line(path: str, offset: int) -> dict[str, Any]:
    """The entry that begins at an offset; nothing if the file has gone or has changed."""
    try:
        value = _decode(_read(path, offset).decode("utf-8", "replace").lstrip("\ufeff \t"))
    except (OSError, ValueError, StopIteration, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _read(path: str, offset: int) -> bytes:
    """A line. Most are short, and the first reading is enough."""
    with open(path, "rb", buffering=0) as file:
        file.seek(offset)
        line = file.read(_PART)
        while (stop := line.find(b"\n")) < 0 and (more := file.read(8 * len(line))):
            line += more
    return line if stop < 0 else line[:stop]


def _pieces(entry: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(field, text) for each piece of an entry, in the order of the index."""
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if entry.get("type") == "attachment":
        attachment = entry.get("attachment")
        yield "prompt", _text(attachment.get("prompt")) if isinstance(attachment, dict) else ""
    elif isinstance(content, str):
        yield ("reply", content) if entry.get("type") == "assistant" else ("prompt", _said(content))
    elif isinstance(content, list) and entry.get("type") == "assistant":
        yield from _replied([block for block in content if isinstance(block, dict)])
    elif isinstance(content, list):
        results = [b for b in content if isinstance(b, dict) and b.get("type") == "tool_result"]
        for block in results:
            if text := _text(block.get("content")):
                yield "result", text
        if not results:
            yield "prompt", _said(_text(content))


def _replied(blocks: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for block in blocks:
        kind = block.get("type")
        if kind == "text" and isinstance(text := block.get("text"), str) and text:
            yield "reply", text
        elif kind == "thinking" and isinstance(text := block.get("thinking"), str) and text:
            yield "thinking", text
        elif kind in ("tool_use", "server_tool_use") and (text := "\n".join(_strings(block.get("input")))):
            yield "input", text


def _text(content: object) -> str:
    """The text of some content: a string, or blocks that hold one."""
    if isinstance(content, list):
        return "\n".join(text for part in content if not isinstance(part, list) and (text := _text(part)))
    if isinstance(content, dict):
        text = content.get("text") or content.get("tool_name") or ""
        return text if isinstance(text, str) else ""
    return content if isinstance(content, str) else ""


def _strings(value: object) -> Iterator[str]:
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict | list):
            todo += [*(item.values() if isinstance(item, dict) else item)][::-1]


def _said(text: str) -> str:
    """A prompt as a person would quote it: a command as it was typed, and nothing that the editor put in."""
    if text.lstrip().startswith("<command-"):
        parts = (_tagged(text, tag) for tag in ("command-name", "command-args"))
        return " ".join(part for part in parts if part)
    for tag in _ASIDE:
        while f"<{tag}>" in text and f"</{tag}>" in text:
            before, _, rest = text.partition(f"<{tag}>")
            text = before + rest.partition(f"</{tag}>")[2]
    return text


def _tagged(text: str, tag: str) -> str:
    return text.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0].strip()


def cut(text: str, terms: Sequence[Term], width: int = WIDTH) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The best stretch of a text for some terms, on one line, and where the terms stand in it."""
    at = _place(text, terms)
    start = max(0, at - BEFORE)
    if start:
        start = next((i + 1 for i in range(start, at) if text[i].isspace()), start)
    stop = min(len(text), start + width)
    if stop < len(text):
        stop = next((i for i in range(stop, max(at, stop - 30), -1) if text[i].isspace()), stop)
    short = " ".join(text[start:stop].split())
    short = f"{'…' if text[:start].strip() else ''}{short}{'…' if text[stop:].strip() else ''}"
    return short, marks(short, terms)


def _place(text: str, terms: Sequence[Term]) -> int:
    """Where to cut: at the word that has the most of the terms around it."""
    lowered = _lowered(text)
    looks = _LOOKS if len(terms) > 1 else 1
    found = [[start for start, _ in islice(_spans(lowered, term), looks)] for term in terms]
    best = (0, 0)
    for at in sorted(at for each in found for at in each):
        near = sum(any(at <= other < at + WIDTH - BEFORE for other in each) for each in found)
        if near > best[0]:
            best = (near, at)
    return best[1]


def marks(text: str, terms: Sequence[Term]) -> tuple[tuple[int, int], ...]:
    """Where terms stand in a text, without overlaps."""
    lowered = _lowered(text)
    kept: list[tuple[int, int]] = []
    for start, stop in sorted(span for term in terms for span in _spans(lowered, term)):
        if kept and start <= kept[-1][1]:
            kept[-1] = (kept[-1][0], max(stop, kept[-1][1]))
        else:
            kept.append((start, stop))
    return tuple(kept)


def _lowered(text: str) -> str:
    """The text in small letters, each where it was."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(c if len(c.lower()) > 1 else c.lower() for c in text)


def _spans(text: str, term: Term) -> Iterator[tuple[int, int]]:
    """Where a term stands in a text of small letters: its words in sequence, with no letter between them."""
    first = term.words[0]
    at = text.find(first)
    while at >= 0:
        stop = _end(text, at, term)
        if stop:
            yield at, stop
        at = text.find(first, stop or at + 1)


def _end(text: str, at: int, term: Term) -> int:
    """Where the term that begins here ends; 0 if it does not stand here."""
    if at and _joins(text, at):
        return 0
    stop, size = at, len(text)
    for number, word in enumerate(term.words):
        while number and stop < size and not text[stop].isalnum():
            stop += 1
        if not text.startswith(word, stop) or (number and _joins(text, stop)):
            return 0
        stop += len(word)
    while term.is_prefix and stop < size and _joins(text, stop):
        stop += 1
    return 0 if stop < size and _joins(text, stop) else stop


def _joins(text: str, at: int) -> bool:
    """Whether two characters belong to one word."""
    one, two = text[at - 1], text[at]
    return one.isalnum() and two.isalnum() and not is_wide(one) and not is_wide(two)
