"""Refreshing: bring a shard up to date with the transcripts.

What was read of a file and the rows made of it are committed together, so a kill at any moment leaves an index that is right
as far as it goes. A file is known by its path, its inode, the bytes consumed and a hash of those before them; one that was
rewritten is read anew, one that moved keeps its rows, and one that is gone loses them, but only after a complete walk.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import apsw
from msgspec import field as renamed

from clew.conversation.prompt import is_prompt, prompt_text
from clew.facts.words import words
from clew.index.schema import FIELDS, SAID, writing
from clew.index.state import stale
from clew.index.text import spaced
from clew.wire.entry import Spoken
from clew.wire.scan import scan
from clew.wire.time import instant
from clew.wire.walk import Found

BATCH = 8 << 20  # bytes of transcripts for one transaction
TAIL = 256
_PAGES = 200
_FIELD = {name: number for number, name in enumerate(FIELDS)}


class Indexed(Spoken, frozen=True, gc=False, eq=False):
    """What an index wants of an entry beyond its words."""

    cwd: str | None = None
    branch: str | None = renamed(default=None, name="gitBranch")
    session_id: str | None = renamed(default=None, name="sessionId")
    custom: str | None = renamed(default=None, name="customTitle")
    made: str | None = renamed(default=None, name="aiTitle")
    last: str | None = renamed(default=None, name="lastPrompt")
    summary: str | None = None


@dataclass
class Counts:
    """What a refresh did, and whether it came to an end."""

    files: int = 0
    pieces: int = 0
    bytes: int = 0
    removed: int = 0
    is_complete: bool = True


@dataclass
class Facts:
    """What is known of the session in a file; kept in its row and carried on as the file grows."""

    session: str
    custom: str | None = None
    made: str | None = None
    last: str | None = None
    summary: str | None = None
    first: str | None = None
    title: int | None = None
    cwd: str | None = None
    branches: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    started: int | None = None
    ended: int | None = None
    prompts: int = 0
    messages: int = 0

    @property
    def name(self) -> str:
        return self.custom or self.made or self.last or self.summary or self.first or ""


def update(
    shard: apsw.Connection,
    found: list[Found],
    deadline: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> Counts:
    """Read what has changed, until a deadline on the monotonic clock; `progress` is told the bytes consumed."""
    changed, gone, ids = stale(shard, found)
    counts = Counts()
    if not changed and not gone:
        return counts
    moved = _moved(shard, changed, gone, ids)
    writer = _Writer(shard, counts, progress)
    for file in changed:
        if deadline is not None and time.monotonic() > deadline:
            counts.is_complete = False
            break
        writer.read(file, ids.get(file.path) or moved.get(file.path))
    writer.flush()
    _remember_cold(shard, counts)
    if counts.is_complete:
        with writing(shard):
            for file_id in gone - set(moved.values()):
                counts.removed += 1
                _forget(shard, file_id)
                shard.execute("DELETE FROM file WHERE id=?", (file_id,))
    return counts


def merge(shard: apsw.Connection, deadline: float | None) -> None:
    """Merge the full-text segments in small steps, while there is time: few segments make searches fast."""
    for table in ("said", "done"):
        while deadline is None or time.monotonic() < deadline:
            before = shard.total_changes()
            with writing(shard):
                shard.execute(f"INSERT INTO {table}({table}, rank) VALUES('merge', ?)", (_PAGES,))
            if shard.total_changes() - before < 2:
                break


def _remember_cold(shard: apsw.Connection, counts: Counts) -> None:
    """Up to which row the first build went: it read the newest files first, so there later rows are older."""
    if counts.pieces and not shard.execute("SELECT 1 FROM note WHERE key='cold'").get:
        with writing(shard):
            shard.execute("INSERT OR IGNORE INTO note SELECT 'cold', max(id) FROM piece")


def _moved(shard: apsw.Connection, changed: list[Found], gone: set[int], ids: dict[str, int]) -> dict[str, int]:
    """New paths whose bytes are those of a file that is gone from its old one."""
    if not gone:
        return {}
    rows = shard.execute("SELECT id, inode, offset, tail FROM file")
    old = {inode: (i, offset, tail) for i, inode, offset, tail in rows if i in gone}
    found = {}
    for file in changed:
        match = old.get(file.inode) if file.path not in ids else None
        if match and file.size >= match[1] and _tail(file.path, match[1]) == match[2]:
            found[file.path] = match[0]
    return found


def _tail(path: str, offset: int) -> bytes:
    """A hash of the bytes before an offset: whether a file is still what it was up to there."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, offset - TAIL))
            return hashlib.blake2b(file.read(min(TAIL, offset)), digest_size=8).digest()
    except OSError:
        return b""


def _forget(shard: apsw.Connection, file_id: int) -> None:
    said = tuple(_FIELD[name] for name in SAID)
    marks = ",".join("?" * len(said))
    shard.execute(
        f"DELETE FROM said WHERE rowid IN (SELECT id FROM piece WHERE file=? AND field IN ({marks}))", (file_id, *said)
    )
    shard.execute(
        f"DELETE FROM done WHERE rowid IN (SELECT id FROM piece WHERE file=? AND field NOT IN ({marks}))",
        (file_id, *said),
    )
    shard.execute("DELETE FROM piece WHERE file=?", (file_id,))


class _Writer:
    """Collects rows and commits them together with how far each file has been read."""

    def __init__(self, shard: apsw.Connection, counts: Counts, progress: Callable[[int], None] | None) -> None:
        self.shard = shard
        self.counts = counts
        self.progress = progress
        self.tools = {name: i for i, name in shard.execute("SELECT id, name FROM tool")}
        self.next = int(shard.execute("SELECT max(id) FROM piece").get or 0) + 1
        self.said: list[tuple[int, str]] = []
        self.done: list[tuple[int, str]] = []
        self.pieces: list[tuple[Any, ...]] = []
        self.work: list[Callable[[], None]] = []
        self.held = 0

    def read(self, found: Found, file_id: int | None) -> None:
        """Read a file from where it was left, or anew if it is no longer what it was."""
        row = self._row(file_id)
        offset, tail, facts = row if row else (0, b"", Facts(found.session))
        rewritten = row is not None and (found.size < offset or _tail(found.path, offset) != tail)
        if rewritten and file_id is not None:
            self.flush()
            with writing(self.shard):
                _forget(self.shard, file_id)
                self.shard.execute("UPDATE file SET offset=0, tail=x'', title=NULL WHERE id=?", (file_id,))
            offset, facts = 0, Facts(found.session)
        file_id = file_id or self._new(found)
        for piece in scan(found.path, offset=offset, finished=True, shape=Indexed):
            for entry, at in zip(piece.spoken, piece.offsets, strict=True):
                self._add(entry, at, file_id, facts)
            self.held += piece.stop - offset
            offset = piece.stop
            if self.held >= BATCH:
                self._keep(file_id, found, offset, facts)
                self.flush()
        self.counts.files += 1
        self._keep(file_id, found, offset, facts)

    def _row(self, file_id: int | None) -> tuple[int, bytes, Facts] | None:
        if file_id is None:
            return None
        row = self.shard.execute(
            "SELECT offset, tail, session, custom, made, last, summary, first, title, cwd, branches, models,"
            " started, ended, prompts, messages FROM file WHERE id=?",
            (file_id,),
        ).get
        offset, tail, *rest = tuple(row)
        facts = Facts(*rest)
        facts.branches, facts.models = rest[8].split("\n") if rest[8] else [], rest[9].split("\n") if rest[9] else []
        return offset, tail, facts

    def _new(self, found: Found) -> int:
        with writing(self.shard):
            self.shard.execute(
                "INSERT INTO file(path, folder, session, agent, inode, size, mtime, offset, tail) VALUES(?,?,?,?,?,-1,-1,0,x'')",
                (found.path, found.folder, found.session, found.agent, found.inode),
            )
        return int(self.shard.last_insert_rowid())

    def _add(self, entry: Indexed, at: int, file_id: int, facts: Facts) -> None:
        """The pieces of one entry, and what it says of the session."""
        when = _seconds(entry.timestamp)
        _learn(entry, facts, when)
        node = hash_of(entry.uuid)
        for part, said in enumerate(words(entry)):
            number = _FIELD[said.field]
            tool = self._tool(said.tool) if said.tool else None
            self._put(said.field, (self.next, file_id, at, part, number, tool, int(said.failed), when, node), said.text)

    def _put(self, name: str, row: tuple[Any, ...], text: str) -> None:
        self.pieces.append(row)
        (self.said if name in SAID else self.done).append((self.next, spaced(text)))
        self.next += 1

    def _tool(self, name: str) -> int:
        if name not in self.tools:
            self.tools[name] = len(self.tools) + 1
            identity = self.tools[name]
            self.work.append(lambda: self._run("INSERT OR IGNORE INTO tool VALUES(?, ?)", (identity, name)))
        return self.tools[name]

    def _run(self, statement: str, values: tuple[Any, ...]) -> None:
        self.shard.execute(statement, values)

    def _keep(self, file_id: int, found: Found, offset: int, facts: Facts) -> None:
        """Note how far a file has been read; it is written with the rows that were made of it."""
        title = facts.title
        if facts.name and not found.agent:
            facts.title = self.next
            row = (self.next, file_id, -1, 0, _FIELD["title"], None, 0, facts.ended, 0)
            self._put("title", row, facts.name)
        if title is not None:
            self.work.append(lambda: self._run("DELETE FROM said WHERE rowid=?", (title,)))
            self.work.append(lambda: self._run("DELETE FROM piece WHERE id=?", (title,)))
        values = (
            *(
                found.path,
                found.folder,
                facts.session or found.session,
                *(found.inode, found.size, found.mtime_ns),
                offset,
                _tail(found.path, offset),
            ),
            *(facts.custom, facts.made, facts.last, facts.summary, facts.first, facts.title, facts.cwd),
            *(
                "\n".join(facts.branches),
                "\n".join(facts.models),
                facts.started,
                facts.ended,
                facts.prompts,
                facts.messages,
            ),
        )
        self.work.append(lambda: self._run(_KEEP, (*values, file_id)))

    def flush(self) -> None:
        if not self.work and not self.pieces:
            return
        with writing(self.shard):
            self.shard.executemany("INSERT INTO piece VALUES(?,?,?,?,?,?,?,?,?)", self.pieces)
            self.shard.executemany("INSERT INTO said(rowid, text) VALUES(?, ?)", self.said)
            self.shard.executemany("INSERT INTO done(rowid, text) VALUES(?, ?)", self.done)
            for each in self.work:
                each()
        self.counts.pieces += len(self.pieces)
        self.counts.bytes += self.held
        if self.progress:
            self.progress(self.counts.bytes)
        self.said, self.done, self.pieces, self.work, self.held = [], [], [], [], 0


_KEEP = """UPDATE file SET path=?, folder=?, session=?, inode=?, size=?, mtime=?, offset=?, tail=?,
 custom=?, made=?, last=?, summary=?, first=?, title=?, cwd=?, branches=?, models=?, started=?, ended=?, prompts=?, messages=?
 WHERE id=?"""


def _learn(entry: Indexed, facts: Facts, when: int | None) -> None:
    if entry.type in ("user", "assistant"):
        facts.messages += 1
        if entry.type == "user" and is_prompt(entry):
            facts.prompts += 1
            facts.first = facts.first or " ".join(prompt_text(entry).split())[:200]
        elif entry.message and entry.message.model and entry.message.model not in facts.models:
            facts.models.append(entry.message.model)
    if when is not None:
        facts.started = when if facts.started is None else min(facts.started, when)
        facts.ended = when if facts.ended is None else max(facts.ended, when)
    facts.cwd = facts.cwd or entry.cwd
    facts.session = facts.session or entry.session_id or ""
    if entry.branch and entry.branch not in facts.branches:
        facts.branches.append(entry.branch)
    facts.custom = entry.custom or facts.custom
    facts.made = entry.made or facts.made
    facts.last = entry.last or facts.last
    if entry.type == "summary":
        facts.summary = entry.summary or facts.summary


def _seconds(timestamp: str | int | float | None) -> int | None:
    moment = instant(timestamp)
    return int(moment.timestamp()) if moment else None


def hash_of(uuid: str | None) -> int:
    """A small stand-in for a uuid: forks repeat entries, and repetitions are to be known again."""
    if not uuid:
        return 0
    return int.from_bytes(hashlib.blake2b(uuid.encode("utf-8", "replace"), digest_size=7).digest(), "big")
