"""Files of the corpus: lines with their offsets, and the damage that real files have.

A writer puts the newline before a line rather than behind it, so that the last one may be left out. The three
kinds of damage are those seen in the wild:

- joined: two objects on one line, the newline between them lost (`}{`);
- truncated: the head of a lost line with a whole object behind it;
- nul: a run of NUL bytes before an object, as an interrupted write leaves it.

Lines that hold a call, a needle or the boundary of a compaction are never damaged.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

from benchmarks.corpus.truth import Facts, Ledger

Kept = tuple[bytes, Facts]


class Budget:
    """How many bytes a session may still write, over all of its files."""

    def __init__(self, size: int) -> None:
        self.left = size

    def room(self, share: float, low: int, high: int) -> int:
        """Part of what is left, within bounds."""
        return min(max(low, int(self.left * share)), high)


class Writer:
    """One transcript being written."""

    def __init__(self, root: Path, name: str, ledger: Ledger, budget: Budget) -> None:
        self.root = root
        self.name = name
        self._path = root / name
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._ledger = ledger
        self._budget = budget
        self._file = self._path.open("xb", buffering=1 << 18)
        self._size = 0
        self._damage: list[tuple[int, str]] = []
        self._held: tuple[str, bytes, Facts] | None = None
        self._rng = Random(name)
        self.kept: list[Kept] | None = None

    @property
    def session_folder(self) -> str:
        """Where the session of this transcript keeps what is not in it."""
        return self.name.partition("/subagents/")[0].removesuffix(".jsonl")

    def keep(self) -> None:
        """Remember the lines, for a fork to copy."""
        self.kept = []

    def spoil(self, damage: list[tuple[int, str]]) -> None:
        """Damage of these kinds, each at the first line that may have it when so little of the budget is left."""
        self._damage = sorted(damage)

    @property
    def owes(self) -> bool:
        """Whether there is damage to be done yet."""
        return bool(self._damage) or self._held is not None

    def put(self, line: bytes, facts: Facts, *, solid: bool = False, copied: bool = False) -> int:
        """Write one entry; its line's offset."""
        frail = not (solid or copied) and facts.kind != "call"
        if self._held is not None and self._join(line, facts, frail):
            return self._size - len(line)
        if frail and self._damage and self._damage[-1][0] >= self._budget.left:
            kind = self._damage.pop()[1]
            if kind != "nul":
                self._held = (kind, line, facts)
                return self._size
            padding = bytes(16 * self._rng.randint(1, 40))
            self._ledger.damaged[kind] += 1
            self._ledger.saved(facts)
            return self._line(padding + line)
        return self._whole(line, facts, copied)

    def close(self, mtime_ms: int, *, torn: bytes = b"", terminated: bool = True) -> None:
        if self._held is not None:
            _, line, facts = self._held
            self._whole(line, facts, False)
        if torn:
            self._line(torn)
            self._ledger.events["torn"] += 1
        elif not terminated:
            self._ledger.events["unterminated"] += 1
        elif self._size:
            self._file.write(b"\n")
            self._size += 1
        self._file.close()
        self._ledger.file(self._size, transcript=True)
        set_mtime(self._path, mtime_ms)

    def _join(self, line: bytes, facts: Facts, frail: bool) -> bool:
        assert self._held is not None
        kind, before, lost = self._held
        self._held = None
        if not frail:
            self._damage.append((self._budget.left, kind))  # wait for a line that may be damaged
            self._whole(before, lost, False)
            return False
        if kind == "joined":
            self._ledger.saved(lost)
        else:
            before = before[: self._rng.randint(len(before) // 5, len(before) * 4 // 5)]
        self._ledger.damaged[kind] += 1
        self._ledger.saved(facts)
        self._line(before + line)
        return True

    def _whole(self, line: bytes, facts: Facts, copied: bool) -> int:
        self._ledger.whole(facts, copied)
        if self.kept is not None:
            self.kept.append((line, facts))
        return self._line(line)

    def _line(self, line: bytes) -> int:
        if self._size:
            self._file.write(b"\n")
            self._size += 1
        offset = self._size
        self._file.write(line)
        self._size += len(line)
        self._budget.left -= len(line) + 1
        return offset


def write_side(path: Path, data: bytes, ledger: Ledger, budget: Budget | None, mtime_ms: int) -> None:
    """A file that is no transcript."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    ledger.file(len(data), transcript=False)
    if budget is not None:
        budget.left -= len(data)
    set_mtime(path, mtime_ms)


class History:
    """The prompts of all sessions, as the program lists them for itself."""

    def __init__(self, root: Path, ledger: Ledger) -> None:
        self._path = root / "history.jsonl"
        self._ledger = ledger
        self._file = self._path.open("xb")
        ledger.file(0, transcript=False)

    def add(self, line: bytes) -> None:
        self._file.write(line + b"\n")
        self._ledger.events["history"] += 1
        self._ledger.events["bytes"] += len(line) + 1

    def close(self, mtime_ms: int) -> None:
        self._file.close()
        set_mtime(self._path, mtime_ms)


def write_empty(root: Path, name: str, ledger: Ledger, mtime_ms: int) -> None:
    """A session file of no bytes, as old versions leave behind."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    ledger.file(0, transcript=True)
    ledger.events["empty"] += 1
    set_mtime(path, mtime_ms)


def set_mtime(path: Path, mtime_ms: int) -> None:
    os.utime(path, ns=(mtime_ms * 1_000_000, mtime_ms * 1_000_000))
