"""Store the state of each path before a rewind changes it, for the last rewinds of a session.

Each rewind has a folder: a file for each state, then `rewind.json`, which makes it valid, and `done` when all is
changed. A rewind without `done` was interrupted: its saved states are the ones to return to.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from clew.chat.rewind.path_state import ABSENT, PathState, read_path_state
from clew.wire.json_codec import decode, encode
from clew.wire.session_writer import create_exactly

KEPT = 20  # rewinds of a session
_TABLE = "rewind.json"
_DONE = "done"


class RewindStep(Struct, frozen=True):
    """One path: its state before, and the digest of what the rewind wrote there."""

    path: Path
    name: str
    before: PathState
    after: str


class RewindRecord(Struct, frozen=True):
    """One rewind that was started. `leaf` is where the conversation continued before it, if that was rewound too."""

    folder: Path
    place: str
    steps: tuple[RewindStep, ...]
    is_done: bool
    has_conversation: bool = False
    leaf: str | None = None

    @property
    def number(self) -> str:
        return self.folder.name


def begin(
    store: Path, place_of: str, steps: Sequence[RewindStep], *, has_conversation: bool = False, leaf: str | None = None
) -> RewindRecord:
    """Save everything that is about to change. It is durable when this returns."""
    numbers = [int(path.name) for path in _folders(store)]
    folder = store / str(max(numbers, default=0) + 1)
    try:
        _save(folder, place_of, steps, has_conversation, leaf)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return RewindRecord(folder, place_of, tuple(steps), False, has_conversation, leaf)


def _save(folder: Path, place_of: str, steps: Sequence[RewindStep], has_conversation: bool, leaf: str | None) -> None:
    rows = []
    for number, step in enumerate(steps):
        if step.before.kind in ("file", "link"):
            create_exactly(folder / str(number), (step.before.data,))
        rows.append(
            {
                "path": str(step.path),
                "name": step.name,
                "kind": step.before.kind,
                "mode": step.before.mode,
                "after": step.after,
            }
        )
    table = {"place": place_of, "steps": rows, "conversation": has_conversation, "leaf": leaf}
    create_exactly(folder / _TABLE, (encode(table),))


def finish(record: RewindRecord) -> None:
    """Mark the rewind as complete, and remove old ones."""
    create_exactly(record.folder / _DONE, (b"",))
    for old in _folders(record.folder.parent)[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def records(store: Path) -> Iterator[RewindRecord]:
    """Return the rewinds of a session, oldest first, without those killed before they changed anything."""
    for folder in _folders(store):
        try:
            table: Any = decode((folder / _TABLE).read_bytes())
        except (OSError, ValueError):
            continue
        steps = tuple(_step(folder, number, row) for number, row in enumerate(table["steps"]))
        is_done = (folder / _DONE).exists()
        yield RewindRecord(folder, table["place"], steps, is_done, table["conversation"], table["leaf"])


def _step(folder: Path, number: int, row: dict[str, Any]) -> RewindStep:
    is_saved = row["kind"] in ("file", "link")
    data = read_path_state(folder / str(number)).data if is_saved else b""
    before = PathState(row["kind"], data, row["mode"]) if row["kind"] != "none" else ABSENT
    return RewindStep(Path(row["path"]), row["name"], before, row["after"])


def _folders(store: Path) -> list[Path]:
    paths = store.iterdir() if store.is_dir() else ()
    return sorted((f for f in paths if f.name.isdigit()), key=lambda f: int(f.name))
