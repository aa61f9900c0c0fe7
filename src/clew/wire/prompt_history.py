"""Read and extend `history.jsonl`, which contains every typed prompt of every project.

It contains no replies and is not a conversation.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Container, Iterable, Iterator
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.json import Decoder

from clew.wire.entry import DECODE_ERRORS, Damaged, Entry, salvage_line
from clew.wire.json_codec import as_text, decode_readable
from clew.wire.line import Line, Source, lines
from clew.wire.session_writer import append, create
from clew.wire.timestamps import parse_timestamp

_MARKER = re.compile(r"\[(?:Pasted text|\.\.\.Truncated text) #([0-9]{1,18})[^\]\n]*\]")


class Pasted(Struct, frozen=True):
    """Content pasted into a prompt, or only the hash under which the program stores it."""

    id: int
    kind: str = "text"
    content: str | None = None
    hash: str | None = None


class HistoryPrompt(Struct, frozen=True):
    """One typed prompt, slash commands and `!` lines included."""

    display: str
    pasted: tuple[Pasted, ...]
    time: datetime | None
    project: str | None
    session_id: str | None
    line: Line

    @property
    def text(self) -> str:
        """The prompt with its pasted texts inserted; content stored elsewhere stays a marker."""
        known = {p.id: p.content for p in self.pasted if p.content is not None and p.kind == "text"}

        def fill(marker: re.Match[str]) -> str:
            return known.get(int(marker[1]), marker[0])

        return _MARKER.sub(fill, self.display)


class _OnlySession(Struct, gc=False):
    sessionId: str = ""  # noqa: N815 (its name in the file)


_decode_session = Decoder(_OnlySession).decode


def append_prompt(
    path: str | os.PathLike[str], display: str, pasted: dict[str, Any], project: str, session_id: str
) -> None:
    """Append a prompt that was just typed, as Claude Code does."""
    line = {
        "display": display,
        "pastedContents": pasted,
        "timestamp": time.time_ns() // 1_000_000,
        "project": project,
        "sessionId": session_id,
    }
    if os.path.exists(path):
        append(path, [line])
    else:
        create(path, [line])


def read_history(source: Source, skip: Container[str] = ()) -> Iterator[HistoryPrompt | Damaged]:
    """Yield every line in file order, a damaged one as `Damaged`; a missing file has no prompts.

    Prompts of the sessions in `skip` (ids in lower case) are left out; only their id is decoded.
    """
    try:
        yield from _read(source, skip)
    except (FileNotFoundError, NotADirectoryError):
        return


def prompts(items: Iterable[HistoryPrompt | Damaged]) -> Iterator[HistoryPrompt]:
    """Yield the prompts among items, including those saved from damaged lines."""
    for item in items:
        if isinstance(item, HistoryPrompt):
            yield item
        else:
            yield from filter(None, map(_salvaged_prompt, item.salvaged))


def _read(source: Source, skip: Container[str]) -> Iterator[HistoryPrompt | Damaged]:
    for line in lines(source):
        json = line.json
        if json and not (skip and _session_of(json) in skip):
            yield _parse(line, json)


def _session_of(json: bytes) -> str:
    try:
        return _decode_session(json).sessionId.lower()
    except DECODE_ERRORS:
        return ""


def _parse(line: Line, json: bytes) -> HistoryPrompt | Damaged:
    try:
        value = decode_readable(json)
    except ValueError as error:
        return salvage_line(line, str(error))
    if not isinstance(value, dict):
        return salvage_line(line, "not a JSON object")
    return _prompt(value, line)


def _salvaged_prompt(entry: Entry) -> HistoryPrompt | None:
    try:
        value = entry.data
    except ValueError:  # an object with a control character in a string: complete, but not JSON
        return None
    return _prompt(value, entry.line) if "display" in value else None


def _prompt(value: dict[str, Any], line: Line) -> HistoryPrompt:
    return HistoryPrompt(
        display=_text(value.get("display")) or "",
        pasted=tuple(_pasted(value.get("pastedContents"))),
        time=parse_timestamp(moment) if isinstance(moment := value.get("timestamp"), str | int | float) else None,
        project=_text(value.get("project")),
        session_id=_text(value.get("sessionId")),
        line=line,
    )


def _pasted(value: Any) -> Iterator[Pasted]:
    """Yield the pasted contents in the order of the line; a bare string is a text."""
    if isinstance(value, list):
        value = dict(enumerate(value, 1))
    pairs = value.items() if isinstance(value, dict) else ()
    for key, item in pairs:
        number = as_text(item.get("id", key) if isinstance(item, dict) else key)
        if not re.fullmatch(r"[0-9]{1,18}", number):
            continue
        if isinstance(item, str):
            yield Pasted(int(number), content=item)
        elif isinstance(item, dict):
            kind, content, hash = (_text(item.get(name)) for name in ("type", "content", "contentHash"))
            yield Pasted(int(number), kind or "text", content, hash)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
