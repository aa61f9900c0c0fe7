"""Save search results as recalls: JSON files that people and programs can read.

A recall is a source, not a cache: it is written once and never overwritten. Secrets in it are masked.
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
from clew.facts.secrets import mask_secrets
from clew.index import gone_sessions, results
from clew.wire import session_writer
from clew.wire.layout import Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.index.results import SearchResult
    from clew.index.snippet import Passage

FORMAT = 1  # of the file; raised when a field changes its meaning or is removed
MAX_NAME = 60  # characters of a name
Sanitizer = Callable[[str], str]


class Quote(Struct, frozen=True, omit_defaults=True):
    """A passage as it was found, and its position."""

    text: str
    field: str = ""
    tool: str = ""
    agent: str = ""
    time: datetime | None = None
    path: str = ""
    offset: int = -1


class SavedResult(Struct, frozen=True, omit_defaults=True):
    """A session that matched, with everything needed to recognize it.

    `gone` is its source if its transcript was gone, and `note` the next step in that case.
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
    looseness: str = ""  # how it matches, if not exactly

    @property
    def command(self) -> str:
        """The command that resumes it; if its transcript was gone, the one that restores or shows it, or ""."""
        return results.next_command(self.session, self.gone)


class Recall(Struct, frozen=True, kw_only=True, rename={"form": "clew"}):
    """A query, when it was run, and its results."""

    form: int = FORMAT
    kind: Literal["recall"] = "recall"
    query: str
    saved: datetime
    results: tuple[SavedResult, ...]


class SavedSearch(Struct, frozen=True):
    """A recall and its file; an unreadable one has a reason instead."""

    path: Path
    recall: Recall | None
    reason: str = ""

    @property
    def name(self) -> str:
        return self.path.stem


def save_result(result: SearchResult, sanitize: Sanitizer) -> SavedResult:
    """Copy a result, sanitized first (a control code inside a secret would hide it) and then masked."""
    return SavedResult(
        session=result.session,
        title=_sanitize_and_mask(result.title, sanitize),
        project=_sanitize_and_mask(result.cwd, sanitize),
        branch=_sanitize_and_mask(result.branch, sanitize),
        messages=result.messages,
        matches=result.matches,
        started=_to_datetime(result.started),
        ended=_to_datetime(result.ended),
        path=_absolute(result.path),
        quotes=tuple(_quote(passage, sanitize) for passage in result.passages),
        gone=result.gone,
        looseness=_sanitize_and_mask(result.looseness, sanitize),
        note=_sanitize_and_mask(gone_sessions.describe_gone(result), sanitize) if result.gone else "",
    )


def make_recall(query: str, results: Iterable[SearchResult], now: datetime, sanitize: Sanitizer = str) -> Recall:
    """Return the recall of a search."""
    saved_results = tuple(save_result(result, sanitize) for result in results)
    return Recall(
        query=_sanitize_and_mask(query, sanitize),
        saved=now.astimezone(UTC).replace(microsecond=0),
        results=saved_results,
    )


def save_recall(tree: Tree, recall: Recall, name: str = "") -> Path:
    """Write a recall. Without a name, one is made from the query and numbered if it exists. Raises FileExistsError."""
    folder = tree.recalls_dir(create=True)
    lines = [line.encode() for line in as_json(recall).split("\n")]
    if name:
        return session_writer.create(folder / f"{slug(name)}.json", lines)
    base = slug(recall.query)
    for number in count(1):
        try:
            return session_writer.create(folder / f"{base}{f'-{number}' if number > 1 else ''}.json", lines)
        except FileExistsError:
            continue
    raise AssertionError("numbers do not end")


def list_saved(tree: Tree) -> list[SavedSearch]:
    """Return every recall, newest first; unreadable ones are last, with the reason."""
    searches = [_read_saved(path) for path in sorted(tree.recalls_dir().glob("*.json")) if path.is_file()]
    return sorted(searches, key=lambda each: (-each.recall.saved.timestamp() if each.recall else 1.0, each.name))


def find_saved(tree: Tree, name: str) -> SavedSearch:
    """Return a recall by its name, its number in the list, or a prefix of its name. Raises NotFound and Ambiguous."""
    searches = list_saved(tree)
    if exact := [search for search in searches if search.name == name or search.name == slug(name)]:
        return exact[0]
    if name.isdecimal() and 1 <= int(name) <= len(searches):
        return searches[int(name) - 1]
    matches = [search for search in searches if search.name.startswith(slug(name))]
    if len(matches) > 1:
        raise Ambiguous(name, [search.name for search in matches], kind="recalls")
    if not matches:
        near = [search.name for search in searches if name.lower() in search.name][:3]
        raise NotFound(name, "recall", near, hint="" if near else "List the recalls with: clew recall list")
    return matches[0]


def slug(text: str) -> str:
    """Return a file name: letters and digits of any script, joined by dashes."""
    words = re.findall(r"[^\W_]+", normalize("NFC", text).lower())
    return "-".join(words)[:MAX_NAME].strip("-") or "recall"


def as_json(recall: Recall) -> str:
    """Return the recall as indented JSON without ASCII escapes."""
    return json.dumps(msgspec.to_builtins(recall), ensure_ascii=False, indent=2).encode("utf-8", "replace").decode()


def _read_saved(path: Path) -> SavedSearch:
    try:
        return SavedSearch(path, msgspec.json.decode(path.read_bytes(), type=Recall))
    except OSError as error:
        return SavedSearch(path, None, f"cannot be read: {error.strerror}")
    except (msgspec.DecodeError, UnicodeDecodeError) as error:  # ValidationError is a DecodeError too
        return SavedSearch(path, None, f"not a recall: {error}")


def _quote(passage: Passage, sanitize: Sanitizer) -> Quote:
    return Quote(
        text=_sanitize_and_mask(passage.text, sanitize),
        field=passage.field,
        tool=_sanitize_and_mask(passage.tool, sanitize),
        agent=passage.agent,
        time=_to_datetime(passage.time),
        path=_absolute(passage.path),
        offset=passage.offset,
    )


def _sanitize_and_mask(text: str, sanitize: Sanitizer) -> str:
    return mask_secrets.mask(sanitize(text))[0]


def _absolute(path: str) -> str:
    return os.path.abspath(path) if path else ""


def _to_datetime(seconds: int | None) -> datetime | None:
    """Return a timestamp of the index as a datetime; None if it is out of range."""
    try:
        return datetime.fromtimestamp(seconds, UTC) if seconds else None
    except (ValueError, OverflowError, OSError):
        return None
