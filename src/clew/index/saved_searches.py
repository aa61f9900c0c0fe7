"""Recalls: what a search found, kept for later in a file that anybody can read.

A recall is a source, not a cache: it is made once and never written over. What it quotes is masked before it is kept.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Literal
from unicodedata import normalize

import msgspec
from msgspec import Struct

from clew.errors import Ambiguous, NotFound
from clew.facts.secrets.mask_secrets import mask
from clew.index.gone_sessions import describe_gone
from clew.index.results import next_command
from clew.wire.layout import Tree
from clew.wire.session_writer import create

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.index.results import SearchResult
    from clew.index.snippet import Passage

FORM = 1  # of the file; raised when a field changes its meaning or goes
LONGEST = 60  # characters of a name
Tidy = Callable[[str], str]


class Quote(Struct, frozen=True, omit_defaults=True):
    """A passage as it was found, and where it stands."""

    text: str
    field: str = ""
    tool: str = ""
    agent: str = ""
    time: datetime | None = None
    path: str = ""
    offset: int = -1


class Remembered(Struct, frozen=True, omit_defaults=True):
    """A session that answered, with all that helps to know it again.

    `gone` says where it was known from if its transcript was gone, and `note` what there was to do about that.
    """

    session: str
    title: str = ""
    project: str = ""
    branch: str = ""
    messages: int = 0
    matches: int = 0
    started: datetime | None = None
    ended: datetime | None = None
    path: str = ""
    quotes: tuple[Quote, ...] = ()
    gone: str = ""
    note: str = ""

    @property
    def command(self) -> str:
        """The command that resumes it; if its transcript was gone, the one that restores or shows it, or nothing."""
        return next_command(self.session, self.gone)


class Recall(Struct, frozen=True, kw_only=True, rename={"form": "clew"}):
    """A query, when it was asked, and what it found."""

    form: int = FORM
    kind: Literal["recall"] = "recall"
    query: str
    saved: datetime
    results: tuple[Remembered, ...]


class SavedSearch(Struct, frozen=True):
    """A recall in its file; one that cannot be read has a reason instead."""

    path: Path
    recall: Recall | None
    reason: str = ""

    @property
    def name(self) -> str:
        return self.path.stem


def remember(result: SearchResult, tidy: Tidy) -> Remembered:
    """A result as it may be kept or shown: tidied first, since a control code in a secret would hide it, then masked."""
    return Remembered(
        session=result.session,
        title=_safe(result.title, tidy),
        project=_safe(result.cwd, tidy),
        branch=_safe(result.branch, tidy),
        messages=result.messages,
        matches=result.matches,
        started=_time(result.started),
        ended=_time(result.ended),
        path=_absolute(result.path),
        quotes=tuple(_quote(passage, tidy) for passage in result.passages),
        gone=result.gone,
        note=_safe(describe_gone(result), tidy) if result.gone else "",
    )


def recall(query: str, results: Iterable[SearchResult], now: datetime, tidy: Tidy = str) -> Recall:
    """What is to be kept of a search."""
    found = tuple(remember(result, tidy) for result in results)
    return Recall(query=_safe(query, tidy), saved=now.astimezone(UTC).replace(microsecond=0), results=found)


def save(tree: Tree, made: Recall, name: str = "") -> Path:
    """Keep a recall; a name that was not asked for is made from the query and gets a number if it is taken."""
    folder = tree.recalls_dir(create=True)
    lines = [line.encode() for line in as_json(made).split("\n")]
    if name:
        return create(folder / f"{slug(name)}.json", lines)
    base = slug(made.query)
    for number in count(1):
        try:
            return create(folder / f"{base}{f'-{number}' if number > 1 else ''}.json", lines)
        except FileExistsError:
            continue
    raise AssertionError("numbers do not end")


def saved(tree: Tree) -> list[SavedSearch]:
    """Every recall, newest first; those that cannot be read are last, with the reason."""
    found = [_read(path) for path in sorted(tree.recalls_dir().glob("*.json")) if path.is_file()]
    return sorted(found, key=lambda each: (-each.recall.saved.timestamp() if each.recall else 1.0, each.name))


def find(tree: Tree, asked: str) -> SavedSearch:
    """A recall by its name, by its number in the list, or by the beginning of its name."""
    there = saved(tree)
    if same := [each for each in there if each.name == asked or each.name == slug(asked)]:
        return same[0]
    if asked.isdecimal() and 1 <= int(asked) <= len(there):
        return there[int(asked) - 1]
    near = [each for each in there if each.name.startswith(slug(asked))]
    if len(near) > 1:
        raise Ambiguous(asked, [each.name for each in near], kind="recalls")
    if not near:
        missing = NotFound(asked, "recall", [each.name for each in there if asked.lower() in each.name][:3])
        if not missing.near:
            missing.hint = "List what there is with: clew recall list"
        raise missing
    return near[0]


def slug(text: str) -> str:
    """A name for a file: letters and figures of any script, with dashes between."""
    words = re.findall(r"[^\W_]+", normalize("NFC", text).lower())
    return "-".join(words)[:LONGEST].strip("-") or "recall"


def as_json(made: Recall) -> str:
    """The recall as indented JSON, every letter as it is."""
    return json.dumps(msgspec.to_builtins(made), ensure_ascii=False, indent=2).encode("utf-8", "replace").decode()


def _read(path: Path) -> SavedSearch:
    try:
        return SavedSearch(path, msgspec.json.decode(path.read_bytes(), type=Recall))
    except OSError as error:
        return SavedSearch(path, None, f"it cannot be read: {error.strerror}")
    except (msgspec.DecodeError, UnicodeDecodeError) as error:  # a wrong type is a DecodeError too
        return SavedSearch(path, None, f"it is no recall: {error}")


def _quote(passage: Passage, tidy: Tidy) -> Quote:
    return Quote(
        text=_safe(passage.text, tidy),
        field=passage.field,
        tool=_safe(passage.tool, tidy),
        agent=passage.agent,
        time=_time(passage.time),
        path=_absolute(passage.path),
        offset=passage.offset,
    )


def _safe(text: str, tidy: Tidy) -> str:
    return mask(tidy(text))[0]


def _absolute(path: str) -> str:
    return os.path.abspath(path) if path else ""


def _time(seconds: int | None) -> datetime | None:
    """A time of the index; one that no calendar holds is none."""
    try:
        return datetime.fromtimestamp(seconds, UTC) if seconds else None
    except (ValueError, OverflowError, OSError):
        return None
