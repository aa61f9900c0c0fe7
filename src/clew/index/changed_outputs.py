"""Find transcripts whose long outputs changed after they were indexed, so that they are read again.

A long output can appear, grow or disappear while its transcript stays the same. Each shard therefore keeps a hash and
a listing of every `tool-results` folder. A transcript is read again only if its indexed part names a changed file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping

import apsw

from clew.index.file_rows import delete_pieces
from clew.index.long_outputs import session_folder
from clew.system.sqlite_file import BUSY_MS, WriteTransaction
from clew.wire.tree_walk import OutputFile, hash_outputs, list_outputs

_CHUNK = 4 << 20  # bytes of a transcript that are searched at a time


def forget_changed_outputs(shard: apsw.Connection, folders: Mapping[str, int], paths: Collection[str]) -> None:
    """Reset the rows of transcripts that name a changed long output; the refresh that follows reads them again.

    `folders` are the session folders of a complete walk with the hashes of their long outputs, `paths` its
    transcripts. While another process writes to the shard nothing is changed: the next refresh does it.
    """
    known: dict[str, int] = dict(shard.execute("SELECT folder, hash FROM output"))
    shard.set_busy_timeout(1)
    try:
        with WriteTransaction(shard):
            for folder in known.keys() | folders.keys():
                if known.get(folder) != folders.get(folder):
                    _update_folder(shard, folder, paths)
    except apsw.BusyError:
        return
    finally:
        shard.set_busy_timeout(BUSY_MS)


def _update_folder(shard: apsw.Connection, folder: str, paths: Collection[str]) -> None:
    """Store the current listing of a session folder, and reset the transcripts that name a changed file."""
    row = shard.execute("SELECT files FROM output WHERE folder=?", (folder,)).get
    before = {OutputFile(*item) for item in json.loads(str(row))} if row else set()
    now = list_outputs(folder)
    names = {mention for file in before.symmetric_difference(now) for mention in _mentions(file.name)}
    session = os.path.basename(folder)
    for file_id, path, offset in _indexed_files(shard, session):
        if path in paths and str(session_folder(path, session)) == folder and _contains_any(path, offset, names):
            delete_pieces(shard, file_id)
            shard.execute("UPDATE file SET size=-1, mtime=-1, offset=0, mark=x'' WHERE id=?", (file_id,))
    shard.execute("DELETE FROM output WHERE folder=?", (folder,))
    if now:
        shard.execute("INSERT INTO output VALUES(?,?,?)", (folder, hash_outputs(now), json.dumps(now)))


def _indexed_files(shard: apsw.Connection, session: str) -> list[tuple[int, str, int]]:
    statement = "SELECT id, path, offset FROM file WHERE session=? AND side='' AND offset>0"
    return [(int(file_id), str(path), int(offset)) for file_id, path, offset in shard.execute(statement, (session,))]


def _mentions(name: str) -> Iterator[bytes]:
    """Yield byte strings of which a transcript contains one if it names a file or the call of its output."""
    stem = name.rpartition(".")[0] or name
    yield stem.encode() if stem.isascii() and stem.isprintable() else b""  # may be escaped; "" is found in every file
    for place, character in enumerate(stem):
        if character in "-_":
            yield f'"{stem[place + 1 :]}"'.encode()


def _contains_any(path: str, size: int, names: Iterable[bytes]) -> bool:
    """Return whether the first `size` bytes of a file contain one of some names."""
    names = list(names)
    overlap = max((len(name) for name in names), default=0)
    try:
        with open(path, "rb") as file:
            for start in range(0, size, _CHUNK):
                file.seek(start)
                data = file.read(min(_CHUNK + overlap, size - start))
                if any(name in data for name in names):
                    return True
    except OSError:
        return False
    return False
