"""Take files out of the folder of Claude Code and put them back, byte for byte and with their modification times.

What a move removes is kept in the data folder of clew under the number of its undo record. Each step is one rename
where both folders are on one file system, and can be repeated after an interruption.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from clew.errors import Refused
from clew.system.environment import data_home
from clew.wire.session_writer import append_exactly, create_exactly, find_leftover_drafts, replace_shared

_CHUNK = 1 << 20
Rewrite = Callable[[Path], Iterable[bytes]]


class Swap(Struct, frozen=True):
    """A shared file whose content was replaced: where the old content is kept, and what was written."""

    kept: str
    size: int
    digest: str


def kept_folder(number: str) -> Path:
    """Return the folder for the files that an edit removed."""
    return Path(data_home()) / "moved" / number


def digest(path: Path) -> str:
    """Return the SHA-256 sum of a file."""
    from hashlib import file_digest

    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def digest_parts(parts: Iterable[bytes]) -> tuple[str, int]:
    """Return the SHA-256 sum and the size of some content."""
    from hashlib import sha256

    total, size = sha256(), 0
    for part in parts:
        total.update(part)
        size += len(part)
    return total.hexdigest(), size


def keep(path: Path, kept: Path) -> None:
    """Take a file away to `kept`. If an earlier attempt copied it there already, only the original is removed."""
    _transfer(path, kept, Refused([f"{path} changed while it was moved"], hint="Run the same command again."))


def give_back(kept: Path, path: Path) -> None:
    """Put a kept file back into its place; nothing happens if that was done before."""
    _transfer(kept, path, Refused([f"{path} exists again, with other content"], hint="Move that file away first."))


def _transfer(source: Path, target: Path, conflict: Refused) -> None:
    """Rename a file unless that was done before. Raises `conflict` if the target has other content."""
    if not os.path.lexists(source):
        return
    if os.path.lexists(target):
        if digest(source) != digest(target):
            raise conflict
        source.unlink()
        return
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _rename(source, target)


def _rename(source: Path, target: Path) -> None:
    """Rename a file, or copy and delete it where the target is on another file system."""
    try:
        os.rename(source, target)  # noqa: PTH104 - the target was seen to be free
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with source.open("rb") as file:
            create_exactly(target, _chunks(file), mtime_ns=source.stat().st_mtime_ns)
        source.unlink()


def remove_empty_folders(folders: Iterable[Path], top: Path) -> None:
    """Remove folders that became empty, and empty parents below `top`."""
    every = {parent for folder in folders for parent in (folder, *folder.parents) if top in parent.parents}
    for folder in sorted(every, key=lambda folder: -len(folder.parts)):
        if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
            folder.rmdir()


# -- files that all sessions share


def plan_swap(path: Path, rewrite: Rewrite, kept: Path) -> Swap:
    """Return what a replacement of a shared file will write."""
    checksum, size = digest_parts(rewrite(path))
    return Swap(str(kept), size, checksum)


def swap(path: Path, rewrite: Rewrite, kept: Path) -> None:
    """Replace a shared file and keep the old content. Lines that another process adds meanwhile are carried over."""
    for old in (kept, *find_leftover_drafts(path), *find_leftover_drafts(kept)):
        old.unlink(missing_ok=True)  # of an interrupted attempt, which did not replace the file
    with path.open("rb") as file:
        create_exactly(kept, _chunks(file), mtime_ns=path.stat().st_mtime_ns)
        replace_shared(path, rewrite(kept), file)


def is_swapped(path: Path, swap: Swap) -> bool:
    """Return True if a file still begins with what a replacement wrote."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return digest_parts(_chunks(file, swap.size)) == (swap.digest, swap.size)


def undo_swap(path: Path, swap: Swap) -> bool:
    """Bring back the old content of a shared file, followed by what was added since; False if it was rewritten."""
    kept = Path(swap.kept)
    if not kept.is_file() or not is_swapped(path, swap):
        return False
    with path.open("rb") as file:
        file.seek(swap.size)
        added = b"".join(_chunks(file))
        with kept.open("rb") as old:
            replace_shared(path, _chunks(old), file)
    if added:
        append_exactly(path, added)
    else:
        mtime = kept.stat().st_mtime_ns
        os.utime(path, ns=(mtime, mtime))
    kept.unlink()
    return True


def swaps_of(value: object) -> dict[str, Swap]:
    """Parse the replacements in a record."""
    rows = value if isinstance(value, dict) else {}
    return {
        path: Swap(str(row.get("kept", "")), int(row.get("size", 0)), str(row.get("digest", "")))
        for path, row in rows.items()
        if isinstance(row, dict)
    }


def swap_rows(swaps: Mapping[str, Swap]) -> dict[str, dict[str, object]]:
    return {path: {"kept": s.kept, "size": s.size, "digest": s.digest} for path, s in swaps.items()}


def _chunks(file: BinaryIO, limit: int | None = None) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK if limit is None else min(_CHUNK, limit)):
        yield chunk
        if limit is not None:
            limit -= len(chunk)
