"""A disk that remembers: every write and sync to the archive, to be played again up to any point, as after a loss of power.

What was synced is there. Of what came after, a part may be there, in any order, and a write may be torn at a sector.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import apsw

SECTOR = 512


class Event(NamedTuple):
    """`kind` is write, truncate, sync, delete or mark; a mark is what somebody was told to be safe."""

    kind: str
    name: str = ""
    at: int = 0
    data: bytes = b""


class Disk(apsw.VFS):
    """A file system that notes what is done to it, and may be told to fail."""

    def __init__(self, name: str, fails: Callable[[str], apsw.Error | None] = lambda kind: None) -> None:
        self.name = name
        self.events: list[Event] = []
        self.fails = fails
        super().__init__(name, "")

    def note(self, event: Event) -> None:
        self.events.append(event)

    def try_to(self, kind: str) -> None:
        if error := self.fails(kind):
            raise error

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self.try_to("delete")
        self.note(Event("delete", Path(filename).name))
        super().xDelete(filename, syncdir)


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self.disk = disk
        shown = name if isinstance(name, str) or name is None else name.filename()
        self.name = Path(shown).name if shown else ""
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self.disk.try_to("write")
        self.disk.note(Event("write", self.name, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self.disk.try_to("truncate")
        self.disk.note(Event("truncate", self.name, newsize))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self.disk.try_to("sync")
        self.disk.note(Event("sync", self.name))
        super().xSync(flags)


def after_loss(events: list[Event], until: int, chance: random.Random) -> dict[str, bytes]:
    """The files as a loss of power behind so many events may leave them."""
    files: dict[str, bytearray] = {}
    last = {event.name: i for i, event in enumerate(events[:until]) if event.kind == "sync"}
    for number, event in enumerate(events[:until]):
        if event.kind == "delete":
            files.pop(event.name, None)
        elif event.kind in ("write", "truncate"):
            is_safe = number < last.get(event.name, -1)
            if is_safe or chance.random() < 0.5:
                _apply(files.setdefault(event.name, bytearray()), event, None if is_safe else chance)
        elif event.kind == "sync":
            files.setdefault(event.name, bytearray())
    return {name: bytes(data) for name, data in files.items()}


def _apply(file: bytearray, event: Event, chance: random.Random | None) -> None:
    if event.kind == "truncate":
        del file[event.at :]
        return
    data = event.data
    if chance and len(data) > SECTOR and chance.random() < 0.3:
        data = data[: SECTOR * chance.randrange(len(data) // SECTOR)]
    if len(file) < event.at:
        file.extend(bytes(event.at - len(file)))
    file[event.at : event.at + len(data)] = data
