"""Passages: the place in a transcript where a match is, cut out of its line.

The line is decoded by the C part of the standard library alone: importing the rest of it would take longer than the search.
"""

from __future__ import annotations

from clew.index.text import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from clew.index.query import Term

WIDTH = 240
_BEFORE = WIDTH // 3
_LOOKS = 8  # places of a word that are tried for the best cut
_ASIDE = ("system-reminder", "ide_selection", "ide_opened_file", "ide_diagnostics")


class Passage:
    """Text around a match; `marks` are where in it the words that were asked for stand.

    For a title `kind` says which: custom title, title, summary, last prompt or first prompt.
    """

    __slots__ = ("agent", "failed", "field", "kind", "marks", "offset", "part", "path", "score", "text", "time", "tool")

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

    def __repr__(self) -> str:
        return f"Passage({self.field}, {self.text!r})"


class _Plain:
    """How the decoder is to go about it: as the standard one, but with control characters let through."""

    strict = False
    object_hook = object_pairs_hook = None
    parse_float = parse_int = parse_constant = str


def _scanner() -> Callable[[str, int], tuple[Any, int]]:
    try:
        from _json import make_scanner

        return make_scanner(_Plain)  # type: ignore[no-any-return]
    except (ImportError, AttributeError, TypeError):  # another Python
        from json import JSONDecoder

        return JSONDecoder(strict=False).scan_once


def text_at(path: str, offset: int, field: str, part: int, terms: Sequence[Term]) -> str:
    """The text of a piece; of several of its kind in the line the one that holds the most of the terms."""
    pieces = list(_pieces(_line(path, offset)))
    mine = [text for kind, text in pieces if kind == field]
    if not terms and part < len(pieces) and pieces[part][0] == field:
        return pieces[part][1]
    if len(mine) < 2:
        return mine[0] if mine else ""
    return max(mine, key=lambda text: sum(bool(_found(text, text.lower(), term)) for term in terms))


def _line(path: str, offset: int) -> dict[str, Any]:
    """The entry that begins at an offset; nothing if the file has gone or has changed."""
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            line = file.readline().decode("utf-8", "replace").lstrip("\ufeff \t")
        value = _scanner()(line, 0)[0]
    except (OSError, ValueError, StopIteration, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


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
        if kind == "text" and block.get("text"):
            yield "reply", str(block["text"])
        elif kind == "thinking" and block.get("thinking"):
            yield "thinking", str(block["thinking"])
        elif kind in ("tool_use", "server_tool_use"):
            if text := "\n".join(_strings(block.get("input"))):
                yield "input", text


def _text(content: object) -> str:
    """The text of some content: a string, or blocks that hold one."""
    if isinstance(content, list):
        return "\n".join(text for part in content if (text := _text(part)))
    if isinstance(content, dict):
        return str(content.get("text") or content.get("tool_name") or "")
    return content if isinstance(content, str) else ""


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


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
    start = max(0, at - _BEFORE)
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
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    found = [_found(text, lowered, term) for term in terms]
    best = (0, 0)
    for at in sorted(at for each in found for at in each):
        near = sum(any(at <= other < at + WIDTH - _BEFORE for other in each) for each in found)
        if near > best[0]:
            best = (near, at)
    return best[1]


def _found(text: str, lowered: str, term: Term) -> list[int]:
    """Some of the places where a term stands."""
    first = term.words[0]
    places_: list[int] = []
    at, looks = lowered.find(first), 0
    while at >= 0 and len(places_) < _LOOKS and looks < 50:
        around = text[max(0, at - 1) : at + len(term.text) + 40]
        if any(start <= 1 for start, _ in marks(around, (term,))):
            places_.append(at)
        at, looks = lowered.find(first, at + len(first)), looks + 1
    return places_


def marks(text: str, terms: Sequence[Term]) -> tuple[tuple[int, int], ...]:
    """Where terms stand in a text, without overlaps."""
    words = places(text)
    found: list[tuple[int, int]] = []
    for term in terms:
        wanted, size = term.words, len(term.words)
        for at in range(len(words) - size + 1):
            is_there = all(words[at + i][2] == wanted[i] for i in range(size - 1))
            last = words[at + size - 1][2]
            if is_there and (last.startswith(wanted[-1]) if term.is_prefix else last == wanted[-1]):
                found.append((words[at][0], words[at + size - 1][1]))
    kept: list[tuple[int, int]] = []
    for start, stop in sorted(found):
        if kept and start <= kept[-1][1]:
            kept[-1] = (kept[-1][0], max(stop, kept[-1][1]))
        else:
            kept.append((start, stop))
    return tuple(kept)
