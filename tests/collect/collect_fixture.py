"""A folder of Claude Code and an archive for a test, on a disk that costs nothing where there is one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import apsw

PROJECT = "projects/-home-ada-shop"
SESSION = "3f2a0c5e-0000-4000-8000-00000000000{}"
KEY = bytes(range(32))
SHM = Path("/dev/shm")


def session(number: int, project: str = PROJECT) -> str:
    return f"{project}/{SESSION.format(number)}.jsonl"


def line(number: int, text: str = "") -> bytes:
    """A whole line with its number at both ends, so that any window shows which it is."""
    return f'{{"n":"{number:06}","type":"user","text":"{text}","m":"{number:06}"}}\n'.encode()


class World:
    """A folder of Claude Code with an open archive, in a temporary folder."""

    def __init__(self, **limits: int) -> None:
        made = tempfile.mkdtemp(dir=SHM if SHM.is_dir() else None)
        self.folder = Path(made)
        self.root = self.folder / "claude"
        (self.root / PROJECT).mkdir(parents=True)
        self.limits = self.module("read_limits").ReadLimits(**limits)
        self.now: Callable[[], int] | None = None
        self.connection: apsw.Connection = self.open()

    def module(self, name: str) -> ModuleType:
        return import_module(f"clew.collect.{name}")

    @property
    def path(self) -> str:
        return str(self.folder / "archive" / "archive.db")

    def open(self, vfs: str | None = None) -> apsw.Connection:
        connection: apsw.Connection = self.module("archive.archive_schema").open_archive(self.path, vfs=vfs)
        return connection

    def reopen(self) -> None:
        self.connection.close()
        self.connection = self.open()

    def collector(self, **options: Any) -> Any:
        clock = {"clock": self.now} if self.now else {}
        made = self.module("collector").Collector
        return made(str(self.root), self.connection, KEY, limits=self.limits, **clock, **options)

    def poll(self, *, scrub: bool = False, **options: Any) -> Any:
        return self.collector(**options).poll(scrub=scrub)

    @property
    def archive(self) -> Any:
        return self.module("archive.reader").Archive(self.connection)

    def kept(self) -> dict[str, bytes]:
        """Every file as the archive has it now, by path."""
        return {file.path: self.archive.read(file) for file in self.archive.files()}

    def there(self) -> dict[str, bytes]:
        """Every session as it stands on the disk, by path; empty ones hold nothing."""
        found = sorted((self.root / "projects").rglob("*.jsonl"))
        return {str(path.relative_to(self.root)): data for path in found if (data := path.read_bytes())}

    def generations(self, path: str) -> list[tuple[str, bytes]]:
        """Each generation of a file: why it began, and its bytes."""
        file = next(file for file in self.archive.files() if file.path == path)
        return [(each.reason, self.archive.read(each)) for each in self.archive.generations(file)]

    def every_generation(self) -> Iterator[bytes]:
        for file in self.archive.files():
            for each in self.archive.generations(file):
                yield self.archive.read(each)

    def write(self, path: str, data: bytes) -> Path:
        """Write into a file as Claude Code and other tools do: the same file, from its beginning."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        return target

    def append(self, path: str, data: bytes) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "ab") as file:
            file.write(data)

    def close(self) -> None:
        self.connection.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def flip_bit(connection: apsw.Connection, table: str, id: int) -> None:
    """Flip a bit in the middle of the stored bytes of a content or a pack."""
    data = bytearray(connection.execute(f"SELECT data FROM {table} WHERE id = ?", (id,)).get)
    data[len(data) // 2] ^= 1
    connection.execute(f"UPDATE {table} SET data = ? WHERE id = ?", (bytes(data), id))
