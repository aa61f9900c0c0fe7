"""The history of prompts: `history.jsonl`, one line for each prompt that was typed, in any project.

It is a source of its own and no conversation: the answers are not in it.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from msgspec import Struct

from clew.wire.entry import Damaged, Entry
from clew.wire.json_codec import as_text, decode_readable
from clew.wire.line import Line, Source, lines
from clew.wire.salvage import damaged
from clew.wire.session_writer import append, create
from clew.wire.timestamps import instant

_MARKER = re.compile(r"\[(?:Pasted text|\.\.\.Truncated text) #([0-9]{1,18})[^\]\n]*\]")


class Pasted(Struct, frozen=True):
    """Something pasted into a prompt: its content, or only the hash under which the program keeps it."""

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
        """The prompt with its pasted texts in place; what is kept elsewhere stays a marker."""
        known = {p.id: p.content for p in self.pasted if p.content is not None and p.kind == "text"}

        def fill(marker: re.Match[str]) -> str:
            return known.get(int(marker[1]), marker[0])

        return _MARKER.sub(fill, self.display)


def remember(path: str | os.PathLike[str], display: str, pasted: dict[str, Any], project: str, session_id: str) -> None:
    """Write down a prompt that was typed just now, as Claude Code does."""
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


def read_history(source: Source) -> Iterator[HistoryPrompt | Damaged]:
    """Every line in file order, a damaged one as `Damaged`; a missing file holds no prompts."""
    try:
        yield from _read(source)
    except (FileNotFoundError, NotADirectoryError):
        return


def prompts(items: Iterable[HistoryPrompt | Damaged]) -> Iterator[HistoryPrompt]:
    """The prompts among items, those saved from damage included."""
    for item in items:
        if isinstance(item, HistoryPrompt):
            yield item
        else:
            yield from filter(None, map(_saved, item.salvaged))


def _read(source: Source) -> Iterator[HistoryPrompt | Damaged]:
    for line in lines(source):
        json = line.json
        if json:
            yield _parse(line, json)


def _parse(line: Line, json: bytes) -> HistoryPrompt | Damaged:
    try:
        value = decode_readable(json)
    except ValueError as error:
        return damaged(line, str(error))
    if not isinstance(value, dict):
        return damaged(line, "not a JSON object")
    return _prompt(value, line)


def _saved(entry: Entry) -> HistoryPrompt | None:
    try:
        value = entry.data
    except ValueError:  # an object with a control character in a string: whole, but no JSON
        return None
    return _prompt(value, entry.line) if "display" in value else None


def _prompt(value: dict[str, Any], line: Line) -> HistoryPrompt:
    return HistoryPrompt(
        display=_text(value.get("display")) or "",
        pasted=tuple(_pasted(value.get("pastedContents"))),
        time=instant(moment) if isinstance(moment := value.get("timestamp"), str | int | float) else None,
        project=_text(value.get("project")),
        session_id=_text(value.get("sessionId")),
        line=line,
    )


def _pasted(value: Any) -> Iterator[Pasted]:
    """Pasted things as the line lists them; a bare string is a text."""
    if isinstance(value, list):
        value = dict(enumerate(value, 1))
    found = value.items() if isinstance(value, dict) else ()
    for key, item in found:
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
