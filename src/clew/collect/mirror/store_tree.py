"""Open a store as a folder that every reading command can read: a mirror in the cache, brought up to date."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, field

from clew.collect.mirror.mirror_catalog import MirrorCatalog, Scope
from clew.collect.mirror.mirror_update import TREE, Fetched, Progress, update_mirror
from clew.collect.mirror.open_reader import open_reader
from clew.collect.mirror.store_reader import HostState
from clew.errors import Busy, StoreError
from clew.system.environment import cache_home
from clew.system.file_lock import lock_exclusively

_LOCK_SECONDS, _LOCK_PAUSE = 600.0, 0.1  # to wait for another process that updates the same mirror


class MirroredFile(NamedTuple):
    """A file of a mirror: who collected it, its path there, and how many secrets and lines it lacks."""

    host: str = ""
    developer: str = ""
    machine: str = ""
    team: str = ""
    path: str = ""
    masked: int = 0
    damaged: int = 0


class StoreTree(Struct, frozen=True):
    """The mirror of a store: its folder, and what a reader must know of it."""

    store: str
    folder: Path
    fetched: Fetched
    size: int
    damaged: int
    refused: int
    updated: float
    away: str = ""
    """Why the store could not be asked; the mirror is as it was `updated`."""
    _files: dict[str, MirroredFile] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        return self.folder / TREE

    def file(self, path: str | os.PathLike[str]) -> MirroredFile:
        """Return what is known of a file of the mirror."""
        return self._files.get(os.path.relpath(path, self.root).replace(os.sep, "/"), MirroredFile())


class StoreSource(Struct, frozen=True):
    """A store to read: its address, its secret, and whose sessions; all developers' if `developer` is empty."""

    address: str
    secret: str = ""
    developer: str = ""

    def open(self, scope: Scope, progress: Progress = lambda done, total: None) -> StoreTree:
        """Bring the mirror up to date. A store that is away is read as it was; else raises StoreError."""
        reader = open_reader(self.address, self.secret)
        try:
            folder = mirror_folder(reader.name, reader.user, self.developer)
            with _lock(folder):
                catalog = MirrorCatalog(str(folder))
                try:
                    catalog.save(store=reader.name, user=reader.user, developer=self.developer)
                    fetched, away = Fetched(), ""
                    try:
                        fetched = update_mirror(
                            folder, catalog, reader, scope, developer=self.developer, progress=progress
                        )
                    except StoreError as error:
                        if not error.retryable or not catalog.about("updated"):
                            raise
                        away = str(error)
                    return _describe(reader.name, folder, catalog, fetched, away)
                finally:
                    catalog.close()
        finally:
            reader.close()


def mirror_folder(store: str, user: str, developer: str = "") -> Path:
    """Return the folder of a mirror: one for each store, user and choice of a developer."""
    key = sha256("\0".join((store, user, developer.casefold())).encode()).hexdigest()[:16]
    return Path(cache_home(), "stores", key)


def list_mirrors() -> Iterator[tuple[Path, str]]:
    """Yield the folder of each mirror, and the name of its store."""
    base = Path(cache_home(), "stores")
    for folder in sorted(base.iterdir()) if base.is_dir() else ():
        if folder.is_dir():
            catalog = MirrorCatalog(str(folder))
            try:
                yield folder, str(catalog.about("store") or "")
            finally:
                catalog.close()


def remove_mirror(folder: Path) -> None:
    """Delete a mirror; the store is untouched."""
    with _lock(folder):
        shutil.rmtree(folder)


def _describe(store: str, folder: Path, catalog: MirrorCatalog, fetched: Fetched, away: str) -> StoreTree:
    files = catalog.files("got_end > 0")
    hosts = catalog.hosts()
    mirrored = {
        file.place: MirroredFile(
            file.state.host,
            *hosts.get(file.state.host, HostState())[1:],
            file.state.path,
            file.state.masked,
            file.damaged,
        )
        for file in files
    }
    nameless = len(catalog.files("place = ''"))
    return StoreTree(
        store,
        folder,
        fetched,
        sum(file.size for file in files),
        sum(file.damaged for file in files),
        int(catalog.about("refused") or 0) + nameless,
        float(catalog.about("updated") or 0),
        away,
        mirrored,
    )


@contextmanager
def _lock(folder: Path, clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """Wait for other processes that use the mirror."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder.with_suffix(".lock")
    end = clock() + _LOCK_SECONDS
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        while True:
            try:
                lock_exclusively(file)
                break
            except OSError:
                if clock() > end:
                    raise Busy(str(path), hint="Another clew is fetching from this store.") from None
                time.sleep(_LOCK_PAUSE)
        yield
    finally:
        os.close(file)
