"""Bring a mirror up to date: fetch the lines that are new in the store, verify them, and append them to the files.

A file is written before the catalog says so. After a crash it is longer than the catalog says, and cut back.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from clew.collect.discovery import is_replaced_kind
from clew.collect.identity import hash_name
from clew.collect.masking import ERASED
from clew.collect.mirror.mirror_catalog import CatalogFile, MirrorCatalog, Scope
from clew.collect.mirror.mirrored_copies import settle_copies
from clew.collect.mirror.mirrored_path import HISTORY
from clew.collect.mirror.store_reader import FilePart, HostState, StoredLine, StoreReader
from clew.errors import NotFound
from clew.wire.session_writer import append_exactly, create_exactly, find_leftover_drafts, truncate

PART_BYTES, PART_COUNT = 32 << 20, 500  # of files that are fetched together
TREE = "tree"
_CHECK_SECONDS = 600.0  # the shortest time between two comparisons of everything
_NAMED = 20  # developers that a message lists
_CHECK_SHARE = 200  # a comparison may take one part in this many of the time
Progress = Callable[[int, int], None]


class Fetched(NamedTuple):
    """What an update did: lines and bytes that were fetched, and files that have them."""

    lines: int = 0
    bytes: int = 0
    files: int = 0


def update_mirror(
    folder: Path,
    catalog: MirrorCatalog,
    reader: StoreReader,
    scope: Scope,
    *,
    developer: str = "",
    progress: Progress = lambda done, total: None,
    clock: Callable[[], float] = time.time,
) -> Fetched:
    """Fetch what is new of the sessions in a scope. Raises StoreError; what was fetched before stays."""
    tree = folder / TREE
    tree.mkdir(mode=0o700, parents=True, exist_ok=True)
    hosts = select_hosts(reader.hosts(), developer)
    _take_inventory(catalog, reader, hosts, bool(developer), clock)
    for place in catalog.dropped:
        _remove(tree, place)
    catalog.dropped.clear()
    wanted = catalog.wanted(scope)
    fetched = _fetch(tree, catalog, reader, [_checked(tree, catalog, file) for file in wanted], progress)
    settle_copies(tree, catalog)
    _join_histories(tree, catalog)
    catalog.save(updated=clock())
    return fetched


def select_hosts(hosts: dict[str, HostState], developer: str) -> dict[str, HostState]:
    """Return the hosts of a developer, named in full or by what is before the @. Raises NotFound."""
    name = developer.casefold()
    names = {name, hash_name(name)}
    chosen = {
        host: state
        for host, state in hosts.items()
        if not name or state.developer.casefold() in names or state.developer.casefold().startswith(f"{name}@")
    }
    if name and not chosen:
        known = sorted({state.developer for state in hosts.values() if state.developer})
        raise NotFound(developer, "developer", hint=f"There are: {', '.join(known[:_NAMED])}" if known else "")
    return chosen


def _take_inventory(
    catalog: MirrorCatalog,
    reader: StoreReader,
    hosts: dict[str, HostState],
    is_filtered: bool,
    clock: Callable[[], float],
) -> None:
    """Note what is new. Now and then everything is compared: rows can be erased, or sent again."""
    known = {host: state.seq for host, state in catalog.hosts().items()}
    position = None if is_filtered and hosts.keys() - known.keys() else catalog.about("position")
    began = clock()
    inventories = [reader.inventory(hosts, known, position)]
    if inventories[0].is_full or began >= (catalog.about("next_check") or 0):
        if not inventories[0].is_full:
            inventories.append(reader.inventory(hosts, known, None))
        catalog.save(next_check=clock() + max(_CHECK_SECONDS, _CHECK_SHARE * (clock() - began)))
    if is_filtered:
        inventories = [
            inventory._replace(files=[state for state in inventory.files if state.host in hosts])
            for inventory in inventories
        ]
    catalog.update(hosts, inventories)


def _checked(tree: Path, catalog: MirrorCatalog, file: CatalogFile) -> CatalogFile:
    """Return a file with what is really there: a crash leaves it longer than noted, and anything else makes it invalid."""
    if not file.got_end:
        return file
    path = tree / file.place
    try:
        size = path.stat(follow_symlinks=False).st_size
        is_sound = size == file.size or (size > file.size and truncate(path, file.size, size))
    except OSError:
        is_sound = False
    if is_sound and file.is_consistent:
        return file
    emptied = file._replace(got_rows=0, got_end=0, size=0, damaged=0)
    catalog.fetched(emptied)
    return emptied


def _fetch(
    tree: Path, catalog: MirrorCatalog, reader: StoreReader, files: Iterable[CatalogFile], progress: Progress
) -> Fetched:
    missing = sorted(
        (file for file in files if not file.is_complete), key=lambda file: file.state[11:13] + file.state[:2]
    )
    total = sum(file.state.end - file.got_end for file in missing)
    done = lines = 0
    current = {file.state[:2]: file for file in missing}
    changed: set[tuple[str, int]] = set()
    for parts in _split_parts(missing):
        waiting = {part[:2]: part for part in parts}
        for key, group in groupby(reader.lines(parts), key=lambda line: line[:2]):
            if (part := waiting.pop(key, None)) is not None:
                before = current[key]
                current[key] = _append(tree, catalog, before, part, group)
                lines += current[key].got_rows - before.got_rows
                changed.add(key)
        for key, part in waiting.items():  # there is nothing in this range
            current[key] = current[key]._replace(got_end=part.stop)
            catalog.fetched(current[key])
        done += sum(part.stop - part.start for part in parts)
        progress(done, total)
    return Fetched(lines, done, len(changed))


def _split_parts(files: Iterable[CatalogFile]) -> Iterator[list[FilePart]]:
    """Divide what is missing into parts of a limited size."""
    parts: list[FilePart] = []
    size = 0
    for file in files:
        state, start = file.state, file.got_end
        while start < state.end:
            stop = min(start + PART_BYTES, state.end)
            parts.append(FilePart(*state[:3], start, stop, state.first_day, state.last_day))
            size += stop - start
            start = stop
            if size >= PART_BYTES or len(parts) >= PART_COUNT:
                yield parts
                parts, size = [], 0
    if parts:
        yield parts


def _append(
    tree: Path, catalog: MirrorCatalog, file: CatalogFile, part: FilePart, lines: Iterable[StoredLine]
) -> CatalogFile:
    """Append the lines of a part to the file in the mirror, and note it."""
    data, rows, damaged, last_ms = _verify(lines, part.start, is_replaced_kind(file.state.kind))
    path = tree / file.place
    if file.size:
        append_exactly(path, data)
    else:
        for draft in find_leftover_drafts(path):
            draft.unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        create_exactly(path, (data,), sync=False)
    if 0 < last_ms < 1 << 43:
        os.utime(path, ns=(last_ms * 1_000_000,) * 2)
    grown = CatalogFile(
        file.state, file.place, file.got_rows + rows, part.stop, file.size + len(data), file.damaged + damaged
    )
    catalog.fetched(grown)
    return grown


def _verify(lines: Iterable[StoredLine], start: int, is_document: bool) -> tuple[bytes, int, int, int]:
    """Return the bytes of sound lines, the number of rows, how many were not sound, and the last time."""
    parts: list[bytes] = []
    rows = damaged = last_ms = 0
    for line in lines:
        rows += 1
        if line.start < start or not _is_sound(line, is_document):
            damaged += 1
            continue
        start = line.start + line.length
        last_ms = max(last_ms, line.time_ms or 0)
        parts += (line.raw or b"",) if is_document else (line.raw or b"", b"\n")
    return b"".join(parts), rows, damaged, last_ms


def _is_sound(line: StoredLine, is_document: bool) -> bool:
    """Return whether a line is what its hash says; the hash of a masked or erased line is that of the original."""
    if line.raw is None or line.length is None or line.length < 0:
        return False
    if not is_document and b"\n" in line.raw:
        return False
    is_changed = line.masked or line.withheld or ERASED in line.raw
    return bool(is_changed) or sha256(line.raw).hexdigest() == line.hash


def _join_histories(tree: Path, catalog: MirrorCatalog) -> None:
    """Join the prompt histories of all hosts to one, if one of them changed."""
    files = sorted(catalog.files("kind = 'history' AND size > 0"), key=lambda file: file.place)
    signature = [[file.place, file.size] for file in files]
    target = tree / HISTORY
    if signature == (catalog.about("histories") or []) and target.exists() == bool(files):
        return
    target.unlink(missing_ok=True)
    if files:
        create_exactly(target, (_read(tree / file.place) for file in files), sync=False)
    catalog.save(histories=signature)


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def _remove(tree: Path, place: str) -> None:
    """Remove a file of the mirror, and the folders that are empty without it."""
    path = tree / place
    path.unlink(missing_ok=True)
    for folder in path.parents:
        if folder == tree:
            return
        try:
            folder.rmdir()
        except OSError:  # it has other files, or is gone already
            return
