"""Update the vectors with new and changed texts of the index, newest sessions first.

Embedded are titles, prompts, and the texts that end a turn; not replies between two calls, nor tool inputs and
results. The texts of a file are compared with its vectors, so growth, changes and removals are one case. Every batch
is committed with the progress of its files, so a killed process loses one batch at most.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from zlib import crc32

import apsw

from clew.index.base64_filter import strip_base64
from clew.index.entry_text import read_text
from clew.index.index_files import IndexFiles
from clew.index.query_syntax import SEARCH_FIELDS
from clew.index.results import Embedded
from clew.index.semantic.vectors import TITLE_OFFSET, EmbeddedFile, Lock, VectorRow, Vectors, digest_of, quantize
from clew.index.semantic.word_table import WordTable
from clew.index.semantic.wordpiece import Stretch
from clew.system.sqlite_file import DAMAGE, WriteTransaction
from clew.wire.growth import ReadState, has_only_grown

BATCH = 200_000  # word pieces embedded and committed together: about a second
_PROMPT, _REPLY, _INPUT = (SEARCH_FIELDS.index(name) for name in ("prompt", "reply", "input"))
_FILES = (
    "SELECT id, path, inode, offset, mark, mtime, custom, made, summary, agent FROM file WHERE side=''"
    " ORDER BY mtime DESC"
)

Text = tuple[int, int, str]  # offset, part, field
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class EmbedTask:
    """What must be embedded or removed for one file."""

    path: str
    state: tuple[int, int, bytes]
    was: EmbeddedFile | None
    title: str
    missing: list[Text]
    extra: list[tuple[int, int]]


def embed_new(
    index: IndexFiles, vectors: Vectors, table: Callable[[], WordTable], budget: float | None, progress: Progress | None
) -> Embedded:
    """Embed new texts for at most `budget` seconds. Only one process embeds at a time; others return immediately."""
    lock = Lock(os.path.join(index.folder, "meaning.lock"))
    try:
        if not lock.take():
            return Embedded(is_elsewhere=True)
        try:
            return _embed(index, vectors, table, budget, progress)
        except DAMAGE:
            vectors.clear()
            return _embed(index, vectors, table, budget, progress)
    finally:
        lock.close()


def clear_damaged(index: IndexFiles, vectors: Vectors) -> None:
    """Clear damaged vectors, unless another process is embedding."""
    lock = Lock(os.path.join(index.folder, "meaning.lock"))
    try:
        if lock.take():
            vectors.clear()
    finally:
        lock.close()


def _embed(
    index: IndexFiles, vectors: Vectors, table: Callable[[], WordTable], budget: float | None, progress: Progress | None
) -> Embedded:
    deadline = None if budget is None else time.monotonic() + budget
    tasks = plan_tasks(index, vectors)
    total = sum(len(task.missing) for task in tasks)
    done = Embedded(left=total)
    if not tasks:
        return done
    batch = _EmbeddingBatch(vectors, table, done)
    for task in tasks:
        if deadline is not None and time.monotonic() >= deadline:
            break
        source = _claim_source(vectors, task)
        for text, stretches in _read_texts(task, table):
            batch.hold(source, text, stretches)
            if batch.size >= BATCH:
                batch.keep()
                if progress:
                    progress(done.texts, total)
                if deadline is not None and time.monotonic() >= deadline:
                    break
        else:
            batch.whole.append(source)
    batch.keep()
    if progress and total:
        progress(done.texts, total)
    return done


class _EmbeddingBatch:
    """Stretches to be embedded together."""

    def __init__(self, vectors: Vectors, table: Callable[[], WordTable], done: Embedded) -> None:
        self.vectors, self.table, self.done = vectors, table, done
        self.size = self.texts = 0
        self.held: list[tuple[int, int, int, Stretch]] = []
        self.whole: list[int] = []

    def hold(self, source: int, text: Text, stretches: list[Stretch]) -> None:
        self.held += [(source, text[0], text[1], stretch) for stretch in stretches]
        self.size += sum(len(stretch.pieces) for stretch in stretches)
        self.texts += 1

    def keep(self) -> None:
        vectors = quantize(self.table().embed([stretch for *_, stretch in self.held])) if self.held else []
        rows = [
            VectorRow(source, offset, part, stretch.start, stretch.stop, digest_of(stretch.pieces), vector)
            for (source, offset, part, stretch), vector in zip(self.held, vectors, strict=True)
        ]
        if rows or self.whole:
            self.vectors.add(rows, self.whole)
        self.done.texts += self.texts
        self.done.left -= self.texts
        self.done.passages += len(rows)
        self.held, self.whole, self.size, self.texts = [], [], 0, 0


def _claim_source(vectors: Vectors, task: EmbedTask) -> int:
    """Record the state that is being embedded, and drop the vectors that no longer belong to it."""
    with WriteTransaction(vectors.base):
        source = vectors.claim(task.path, task.state, task.was)
        vectors.drop(source, task.extra)
    return source


def _read_texts(task: EmbedTask, table: Callable[[], WordTable]) -> Iterator[tuple[Text, list[Stretch]]]:
    for text in task.missing:
        offset, part, field = text
        content = task.title if offset == TITLE_OFFSET else read_text(task.path, offset, field, part, ())
        yield text, list(table().words.stretches(strip_base64(content)))


def plan_tasks(index: IndexFiles, vectors: Vectors) -> list[EmbedTask]:
    """Return the tasks, newest file first. Drops vectors of files that neither the index nor the disk has."""
    rows = [(*row, shard) for shard in index.shards for row in shard.execute(_FILES)]
    rows.sort(key=lambda row: (-row[5], row[1]))
    known = vectors.sources()
    paths = {row[1] for row in rows}
    unmatched = {source.inode: source for path, source in known.items() if path not in paths}
    tasks = []
    for number, path, inode, offset, mark, _, custom, ai_title, summary, agent, shard in rows:
        state = (inode, offset, mark)
        was = known.get(path)
        if was is None and inode in unmatched and extends_embedded(path, unmatched[inode], state):
            was = unmatched.pop(inode)  # moved
        if was is not None and was.is_whole and was.path == path and (was.inode, was.offset, was.mark) == state:
            continue
        title = "" if agent else title_text(custom, ai_title, summary)
        texts = _texts_to_embed(shard, number, title)
        embedded = vectors.texts(was.id) if was else set()
        extra = (
            embedded
            if was is None or not extends_embedded(path, was, state)
            else embedded - {text[:2] for text in texts}
        )
        missing = [text for text in texts if text[:2] not in embedded or text[:2] in extra]
        tasks.append(EmbedTask(path, state, was, title, missing, sorted(extra)))
    vectors.forget(source.id for source in unmatched.values() if not os.path.exists(source.path))
    return tasks


def title_text(*titles: str | None) -> str:
    """Return the different titles of a session as one text."""
    return "\n".join(text for text in dict.fromkeys(titles) if text)


def extends_embedded(path: str, was: EmbeddedFile, state: tuple[int, int, bytes]) -> bool:
    """Return whether a file of the index is the one that was embedded, and has only grown since."""
    inode, offset, mark = state
    if offset == was.offset:  # the index has its fingerprint at this offset
        return (was.inode, was.mark) == (inode, mark)
    try:
        with open(path, "rb") as file:
            return has_only_grown(file, ReadState(was.inode, was.offset, was.mark), inode, offset)
    except OSError:
        return False


def _texts_to_embed(shard: apsw.Connection, file: int, title: str) -> list[Text]:
    """Return the texts of a file to embed, newest first; a title is identified by a hash of its words."""
    rows = shard.execute(
        "SELECT offset, part, field FROM piece WHERE file=? AND field IN (?,?,?) ORDER BY offset DESC, part DESC",
        (file, _PROMPT, _REPLY, _INPUT),
    )
    texts: list[Text] = [(TITLE_OFFSET, crc32(title.encode()), "title")] if title else []
    is_last = True
    for offset, part, field in rows:
        if field == _INPUT:
            is_last = False
        elif field == _PROMPT:
            is_last = True
            texts.append((offset, part, "prompt"))
        elif is_last:
            texts.append((offset, part, "reply"))
    return texts
