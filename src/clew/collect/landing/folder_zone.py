"""A landing zone in a folder, which hosts reach through a share, and the interface of every zone."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from clew.collect.landing.object_codec import MAX_BYTES
from clew.collect.landing.object_name import ASIDE
from clew.errors import StoreError
from clew.wire.session_writer import create_exactly

_NO_TRICKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_SHARED_BITS = 0o660  # an object gets these rights of the folder of the zone


class ZoneObject(NamedTuple):
    """An object as it is listed."""

    key: str
    size: int


class Zone(Protocol):
    """Where hosts put objects, and an ingester takes them. A host only uses `put`; all raise StoreError."""

    name: str

    def put(self, key: str, body: bytes) -> None:
        """Create an object. One that exists under this name is the same, since the name has its checksum."""

    def list_objects(self, prefix: str = "host=") -> Iterator[ZoneObject]:
        """Yield the objects whose names begin so, in order."""

    def get(self, key: str) -> bytes: ...

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; one that does not exist counts as deleted."""

    def set_aside(self, key: str) -> None:
        """Move an object to the folder of damaged ones."""

    def close(self) -> None: ...


class FolderZone:
    """A zone in a folder. Only regular files count, and no link is followed."""

    def __init__(self, folder: str) -> None:
        self.root = str(Path(folder).expanduser().absolute())
        self.name = f"landing:{self.root}"

    def put(self, key: str, body: bytes) -> None:
        with self._translated():
            Path(self.root).mkdir(mode=0o700, parents=True, exist_ok=True)
            mode = 0o600 | stat.S_IMODE(Path(self.root).stat().st_mode) & _SHARED_BITS
            self._make_folders(key)
            try:
                create_exactly(f"{self.root}/{key}", (body,), mode=mode)
            except FileExistsError:
                return

    def _make_folders(self, key: str) -> None:
        mode = stat.S_IMODE(Path(self.root).stat().st_mode)
        folder = Path(self.root)
        for part in key.split("/")[:-1]:
            folder /= part
            try:
                folder.mkdir()
                folder.chmod(0o700 | mode)
            except FileExistsError:
                continue

    def list_objects(self, prefix: str = "host=") -> Iterator[ZoneObject]:
        with self._translated():
            if not os.path.isdir(self.root):  # nothing was put yet
                return
            yield from self._below("", prefix)

    def _below(self, folder: str, prefix: str) -> Iterator[ZoneObject]:
        try:
            entries = sorted(os.scandir(f"{self.root}/{folder}"), key=lambda entry: entry.name)
        except FileNotFoundError:
            return
        for entry in entries:
            key = f"{folder}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if f"{key}/".startswith(prefix[: len(key) + 1]):
                    yield from self._below(f"{key}/", prefix)
            elif not entry.name.startswith(".") and key.startswith(prefix):
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:  # another ingester has deleted it
                    continue
                if stat.S_ISREG(status.st_mode):
                    yield ZoneObject(key, status.st_size)

    def get(self, key: str) -> bytes:
        with self._translated():
            file = os.open(f"{self.root}/{key}", os.O_RDONLY | _NO_TRICKS)
            with open(file, "rb") as source:
                return source.read(MAX_BYTES) if stat.S_ISREG(os.fstat(file).st_mode) else b""

    def delete(self, keys: Iterable[str]) -> None:
        with self._translated():
            for key in keys:
                Path(f"{self.root}/{key}").unlink(missing_ok=True)

    def set_aside(self, key: str) -> None:
        target = f"{ASIDE}/{key}"
        with self._translated():
            self._make_folders(target)
            try:
                Path(f"{self.root}/{key}").replace(f"{self.root}/{target}")
            except FileNotFoundError:  # another ingester was first
                return

    def close(self) -> None:
        """Nothing stays open."""

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise StoreError(f"{self.name} has no {error.filename}.", "missing", True) from error
        except OSError as error:
            is_denied = isinstance(error, PermissionError)
            raise StoreError(
                f"{self.name}: {error.strerror or error}.", "denied" if is_denied else "io", not is_denied
            ) from error
