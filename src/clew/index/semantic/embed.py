"""Embedding: bring the vectors up to date with the index, newest sessions first.

Embedded are titles, prompts, and the texts that end a turn; not what was said between two calls, nor what tools were asked
and said. What a file should have and what it has are compared, so growth, changes and removals are one case. Texts and
how far a file has come are kept together after every batch, and a kill at any moment loses one batch.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from zlib import crc32

import apsw

from clew.index.base64_filter import strip_base64
from clew.index.index_schema import FIELDS
from clew.index.index_writer import fingerprint
from clew.index.results import Embedded
from clew.index.semantic.minilm import MiniLm
from clew.index.semantic.vectors import TITLE_AT, EmbeddedFile, Lock, VectorRow, Vectors, digest_of, packed
from clew.index.semantic.wordpiece import Stretch
from clew.index.session_index import Index
from clew.index.snippet import text_at
from clew.system.sqlite_file import DAMAGE, WriteTransaction

BATCH = 4096  # word pieces that are embedded and kept together: about a second's work
_PROMPT, _REPLY, _INPUT = (FIELDS.index(name) for name in ("prompt", "reply", "input"))
_FILES = (
    "SELECT id, path, inode, offset, mark, mtime, custom, made, summary, agent FROM file WHERE side=''"
    " ORDER BY mtime DESC"
)

Text = tuple[int, int, str]  # offset, part, field
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class EmbedTask:
    """What is to be embedded of one file."""

    path: str
    state: tuple[int, int, bytes]
    was: EmbeddedFile | None
    title: str
    missing: list[Text]
    extra: list[tuple[int, int]]


def embed(
    index: Index, vectors: Vectors, model: Callable[[], MiniLm], budget: float | None, progress: Progress | None
) -> Embedded:
    """Embed what is new, for at most so many seconds; one process does it, and others need not wait for it."""
    lock = Lock(os.path.join(index.folder, "meaning.lock"))
    try:
        if not lock.take():
            return Embedded(is_elsewhere=True)
        try:
            return _embed(index, vectors, model, budget, progress)
        except DAMAGE:
            vectors.clear()
            return _embed(index, vectors, model, budget, progress)
    finally:
        lock.close()


def mend(index: Index, vectors: Vectors) -> None:
    """Begin anew with vectors that were found to be damaged, unless another process is at them."""
    lock = Lock(os.path.join(index.folder, "meaning.lock"))
    try:
        if lock.take():
            vectors.clear()
    finally:
        lock.close()


def _embed(
    index: Index, vectors: Vectors, model: Callable[[], MiniLm], budget: float | None, progress: Progress | None
) -> Embedded:
    end = None if budget is None else time.monotonic() + budget
    tasks = plan(index, vectors)
    total = sum(len(task.missing) for task in tasks)
    done = Embedded(left=total)
    if not tasks:
        return done
    batch = _Batch(vectors, model, done)
    for task in tasks:
        if end is not None and time.monotonic() >= end:
            break
        source = _begin(vectors, task)
        for text, stretches in _read(task, model):
            batch.hold(source, text, stretches)
            if batch.size >= BATCH:
                batch.keep()
                if progress:
                    progress(done.texts, total)
                if end is not None and time.monotonic() >= end:
                    break
        else:
            batch.whole.append(source)
    batch.keep()
    if progress and total:
        progress(done.texts, total)
    return done


class _Batch:
    """Stretches that wait to be embedded together."""

    def __init__(self, vectors: Vectors, model: Callable[[], MiniLm], done: Embedded) -> None:
        self.vectors, self.model, self.done = vectors, model, done
        self.size = self.texts = 0
        self.held: list[tuple[int, int, int, Stretch]] = []
        self.whole: list[int] = []

    def hold(self, source: int, text: Text, stretches: list[Stretch]) -> None:
        self.held += [(source, text[0], text[1], stretch) for stretch in stretches]
        self.size += sum(len(stretch.pieces) for stretch in stretches)
        self.texts += 1

    def keep(self) -> None:
        digests = [digest_of(stretch.pieces) for _, _, _, stretch in self.held]
        known = self.vectors.known(set(digests))
        fresh = {d: held[3] for d, held in zip(digests, self.held, strict=True) if d not in known}
        if fresh:
            known |= zip(fresh, packed(self.model().embed(list(fresh.values()))), strict=True)
        rows = [
            VectorRow(source, offset, part, stretch.start, stretch.stop, digest, known[digest])
            for (source, offset, part, stretch), digest in zip(self.held, digests, strict=True)
        ]
        if rows or self.whole:
            self.vectors.add(rows, self.whole)
        self.done.texts += self.texts
        self.done.left -= self.texts
        self.done.passages += len(rows)
        self.held, self.whole, self.size, self.texts = [], [], 0, 0


def _begin(vectors: Vectors, task: EmbedTask) -> int:
    """Note the state that is being embedded, and drop what no longer belongs to it."""
    with WriteTransaction(vectors.base):
        source = vectors.claim(task.path, task.state, task.was)
        vectors.drop(source, task.extra)
    return source


def _read(task: EmbedTask, model: Callable[[], MiniLm]) -> Iterator[tuple[Text, list[Stretch]]]:
    for text in task.missing:
        offset, part, field = text
        said = task.title if offset == TITLE_AT else text_at(task.path, offset, field, part, ())
        yield text, list(model().words.stretches(strip_base64(said)))


def plan(index: Index, vectors: Vectors) -> list[EmbedTask]:
    """What is to be done, newest file first. Vectors of files that the index and the disk no longer have are dropped."""
    rows = [(*row, shard) for shard in index.shards for row in shard.execute(_FILES)]
    rows.sort(key=lambda row: (-row[5], row[1]))
    known = vectors.sources()
    paths = {row[1] for row in rows}
    strays = {source.inode: source for path, source in known.items() if path not in paths}
    tasks = []
    for number, path, inode, offset, mark, _, custom, made, summary, agent, shard in rows:
        state = (inode, offset, mark)
        was = known.get(path)
        if was is None and inode in strays and is_same(path, strays[inode], state):
            was = strays.pop(inode)  # it has moved
        if was is not None and was.is_whole and was.path == path and (was.inode, was.offset, was.mark) == state:
            continue
        title = "" if agent else "\n".join(text for text in dict.fromkeys((custom, made, summary)) if text)
        wanted = _wanted(shard, number, title)
        have = vectors.texts(was.id) if was else set()
        extra = have if was is None or not is_same(path, was, state) else have - {text[:2] for text in wanted}
        missing = [text for text in wanted if text[:2] not in have or text[:2] in extra]
        tasks.append(EmbedTask(path, state, was, title, missing, sorted(extra)))
    vectors.forget(source.id for source in strays.values() if not os.path.exists(source.path))
    return tasks


def is_same(path: str, was: EmbeddedFile, state: tuple[int, int, bytes]) -> bool:
    """Whether a file has only grown since it was embedded: still the same one, with the same bytes before the offset."""
    inode, offset, mark = state
    if was.inode != inode or offset < was.offset:
        return False
    if offset == was.offset:
        return mark == was.mark
    try:
        with open(path, "rb") as file:
            return fingerprint(file, was.offset) == was.mark
    except OSError:
        return False


def _wanted(shard: apsw.Connection, file: int, title: str) -> list[Text]:
    """The texts of a file that are to be embedded, the newest first; a title is known by its words."""
    rows = shard.execute(
        "SELECT offset, part, field FROM piece WHERE file=? AND field IN (?,?,?) ORDER BY offset DESC, part DESC",
        (file, _PROMPT, _REPLY, _INPUT),
    )
    found: list[Text] = [(TITLE_AT, crc32(title.encode()), "title")] if title else []
    is_last = True
    for offset, part, field in rows:
        if field == _INPUT:
            is_last = False
        elif field == _PROMPT:
            is_last = True
            found.append((offset, part, "prompt"))
        elif is_last:
            found.append((offset, part, "reply"))
    return found
