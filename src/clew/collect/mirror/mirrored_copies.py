"""Show one of several copies of a session that hosts collected, if the others have nothing that it lacks.

An archive that was put back from a backup sends everything again under a new name, and people copy sessions between
machines. A copy whose every file is the beginning of the file of another host is put aside; one that was continued
differently stays.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from clew.collect.mirror.mirror_catalog import CatalogFile, MirrorCatalog, session_key
from clew.collect.mirror.mirrored_path import HISTORY, candidate_places

ASIDE = "copies"  # the folder of copies that are not shown
_CHUNK = 1 << 20  # bytes
_SETTLING = "settling"  # kept while files are moved: after a crash some are not where the catalog says
Files = dict[str, CatalogFile]
"""Files of one host by their paths there."""


def settle_copies(tree: Path, catalog: MirrorCatalog) -> None:
    """Decide for each session that several hosts have which copies are shown."""
    shared = catalog.files("got_end > 0 AND path IN (SELECT path FROM file WHERE place <> path AND kind <> 'history')")
    if catalog.about(_SETTLING):
        _remove_orphans(tree, catalog)
    known = catalog.about("copies") or {}
    now: dict[str, list[int]] = {}
    by_path = {file.state.path: file for file in shared if file.place == file.state.path}
    displaced = sorted((file for file in shared if file.place != file.state.path), key=lambda f: session_key(f.state))
    for (host, session), group in groupby(displaced, key=lambda file: session_key(file.state)):
        copy = {file.state.path: file for file in group}
        first = {path: by_path[path] for path in copy if path in by_path}
        name = f"{host} {session}"
        now[name] = [file.size for files in (copy, first) for file in files.values()]
        if now[name] != known.get(name):
            catalog.save(**{_SETTLING: True})
            _settle(tree, catalog, copy, first)
    if now != known:
        catalog.save(copies=now, **{_SETTLING: False})


def _settle(tree: Path, catalog: MirrorCatalog, copy: Files, first: Files) -> None:
    if _begins(tree, copy, first):
        for file in copy.values():
            _move(tree, catalog, file, _aside(file))
    elif _begins(tree, first, copy):
        for file in first.values():
            _move(tree, catalog, file, _aside(file))
        for path, file in copy.items():
            _move(tree, catalog, file, path)
    else:
        for path, file in copy.items():
            if file.place == _aside(file):
                _move(tree, catalog, file, *candidate_places(path, *file.state[:2])[1:])


def _begins(tree: Path, files: Files, others: Files) -> bool:
    """Return whether each file is the beginning of the other with its path."""
    return bool(files) and all(
        path in others and _is_beginning(tree / file.place, tree / others[path].place) for path, file in files.items()
    )


def _is_beginning(short: Path, long: Path) -> bool:
    if short.stat().st_size > long.stat().st_size:
        return False
    with short.open("rb") as one, long.open("rb") as other:
        while data := one.read(_CHUNK):
            if other.read(len(data)) != data:
                return False
    return True


def _aside(file: CatalogFile) -> str:
    return f"{ASIDE}/{file.state.host}-{file.state.file}.jsonl"


def _remove_orphans(tree: Path, catalog: MirrorCatalog) -> None:
    """Remove transcripts that the catalog does not know."""
    places = {file.place for file in catalog.files()}
    for path in tree.rglob("*.jsonl"):
        place = path.relative_to(tree).as_posix()
        if place not in places and place != HISTORY:
            path.unlink()


def _move(tree: Path, catalog: MirrorCatalog, file: CatalogFile, *places: str) -> None:
    """Move a file to the first place that is free. The catalog is changed first: a file that is missing is fetched."""
    place = next((each for each in places if catalog.is_free(each)), file.place)
    if place != file.place:
        catalog.move(file, place)
        target = tree / place
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        (tree / file.place).rename(target)
