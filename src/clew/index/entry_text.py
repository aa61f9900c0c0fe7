"""Read the text of an indexed piece again from its transcript, fast enough for a search.

`facts.searchable_text.words` decides what the texts of an entry are. Importing it takes longer than a whole search, so plain
entries, which are most, are read here with the C scanner of the standard library alone. An entry with anything special
(tags, flags, attachments, possible base64) is left to `words`. A test compares the two on generated and on real entries.
"""

from __future__ import annotations

import os

from clew.index.index_schema import LONG_OUTPUT
from clew.index.snippet import find_spans, lower_in_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from clew.index.query_syntax import Term

    Pieces = list[tuple[str, str]]  # (field, text)

_READ_SIZE = 1 << 13
_READ_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0)
_SHORT = 256  # strings shorter than this are never base64 for `words`
_SPECIAL = ("isMeta", "isCompactSummary")  # flags of user entries that were not typed as they are
_ADDED = ("ide_selection", "ide_opened_file", "ide_diagnostics", "system-reminder")  # what is added to a prompt


class _ScannerOptions:
    """Options of the C scanner: like the standard decoder, but control characters are allowed in strings."""

    strict = False
    object_hook = object_pairs_hook = None
    parse_float = parse_constant = float
    parse_int = int


_scanner: list[Callable[[str, int], tuple[Any, int]]] = []


def read_text(path: str, offset: int, field: str, part: int, terms: Sequence[Term]) -> str:
    """Return the text of a piece. If the line changed, return the text of that field with the most terms, or ""."""
    try:
        line = _read_line(path, offset)
    except OSError:
        return ""
    entry = _decode_entry(line)
    if part >= LONG_OUTPUT:
        from clew.index.long_outputs import piece_text

        if text := piece_text(path, entry, part):
            return text
    pieces = _plain_pieces(entry)
    if pieces is None:
        pieces = _all_pieces(line)
    if part < len(pieces) and pieces[part][0] == field:
        return pieces[part][1]
    texts = [text for kind, text in pieces if kind == field]
    return max(texts, key=lambda text: sum(any(find_spans(lower_in_place(text), term)) for term in terms), default="")


def _read_line(path: str, offset: int) -> bytes:
    """Read the line at an offset. Most lines are short, and the first read is enough."""
    file = os.open(path, _READ_FLAGS)
    try:
        os.lseek(file, offset, os.SEEK_SET)
        line = os.read(file, _READ_SIZE)
        while (stop := line.find(b"\n")) < 0 and (more := os.read(file, 8 * len(line))):
            line += more
    finally:
        os.close(file)
    return line if stop < 0 else line[:stop]


def _decode_entry(line: bytes) -> dict[str, Any]:
    """Return the JSON object of a line; {} if it is not one."""
    try:
        value = _scan_json(line.decode("utf-8", "replace").lstrip("\ufeff \t"))
    except (ValueError, StopIteration, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _scan_json(text: str) -> Any:
    """Return the JSON value at the start of a text. Raises ValueError or StopIteration."""
    if not _scanner:
        try:
            from _json import make_scanner

            _scanner.append(make_scanner(_ScannerOptions))  # type: ignore[arg-type]
        except (ImportError, AttributeError, TypeError):  # another Python
            from json import JSONDecoder

            _scanner.append(JSONDecoder(strict=False).raw_decode)
    return _scanner[0](text, 0)[0]


def _all_pieces(line: bytes) -> Pieces:
    """Return the texts of any entry, as they were indexed."""
    from clew.facts.searchable_text import words
    from clew.wire.bulk_scan import scan

    entries = [entry for batch in scan(line + b"\n", finished=True) for entry in batch.spoken]
    return [(item.field, item.text) for item in words(entries[0])] if entries else []


def _plain_pieces(entry: dict[str, Any]) -> Pieces | None:
    """Return the texts of an entry as `words` does; None if the entry is not plain.

    {"type": "user", "message": {"content": "fix it"}} gives [("prompt", "fix it")], but a content such as
    "<bash-input>ls</bash-input>" gives None, because `words` shows it as "! ls".
    """
    message = entry.get("message")
    if not isinstance(message, dict):
        return None
    content = message.get("content")
    is_error = entry.get("isApiErrorMessage") is True
    if entry.get("type") == "assistant" and isinstance(content, list):
        return _reply_pieces(content) if is_error or message.get("model") != "<synthetic>" else None
    is_typed = entry.get("origin") in (None, {"kind": "human"}) and not any(entry.get(name) for name in _SPECIAL)
    if entry.get("type") == "user" and is_typed:
        if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
            block = content[0]
            if block.get("type") == "tool_result" and isinstance(text := block.get("content"), str):
                return [("result", text)] if text else []
        text = content if isinstance(content, str) else _typed_text(content)
        return _prompt_pieces(text) if text is not None else None
    return None


def _typed_text(content: Any) -> str | None:
    """Return the texts of blocks without those of images; None if there are other blocks."""
    if not isinstance(content, list):
        return None
    texts: list[str] = []
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text" and isinstance(text := block.get("text"), str):
            texts.append(text)
        elif kind != "image":
            return None
    return "\n".join(texts)


def _prompt_pieces(text: str) -> Pieces | None:
    """Return a prompt, and what an editor or Claude Code added to it; None if it is something else than a prompt."""
    added, kept = [], ""
    while (start := min([at for tag in _ADDED if (at := text.find(f"<{tag}>")) >= 0], default=-1)) >= 0:
        tag, _, rest = text[start + 1 :].partition(">")
        inner, end, rest = rest.partition(f"</{tag}>")
        if not end or any(f"<{other}>" in inner for other in _ADDED):
            return None
        added.append(inner.strip())
        kept, text = kept + text[:start], rest.lstrip()
    text = (kept + text).strip()
    if text[:1] in ("<", "["):
        return None
    return [(field, piece) for field, piece in (("prompt", text), ("meta", "\n".join(added))) if piece]


def _reply_pieces(blocks: list[Any]) -> Pieces | None:
    pieces = []
    for block in blocks:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text" and isinstance(text := block.get("text"), str):
            field = "reply"
        elif kind == "thinking" and isinstance(text := block.get("thinking"), str):
            field = "thinking"
        elif kind in ("tool_use", "server_tool_use") and isinstance(values := block.get("input"), dict):
            strings = _plain_strings(values)
            if strings is None:
                return None
            field, text = "input", "\n".join(strings)
        else:
            return None
        if text:
            pieces.append((field, text))
    return pieces


def _plain_strings(values: object) -> list[str] | None:
    """Return the strings of a tool input in order; None if one may be base64, which `words` leaves out.

    {"name": "review", "args": {"modules": ["valve"]}} gives ["review", "valve"].
    """
    strings: list[str] = []
    stack = [values]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            if len(value) >= _SHORT and " " not in value:  # base64 contains no spaces
                return None
            strings.append(value)
        elif isinstance(value, dict):
            if "media_type" in value:
                return None
            stack.extend(reversed(value.values()))
        elif isinstance(value, list):
            stack.extend(reversed(value))
    return strings
