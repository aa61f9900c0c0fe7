"""A small home for each mutated file: the file, what belongs to it, and a healthy session in another project."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from clew.demo.demo_tree import write_demo
from clew.demo.talk import talk
from tests.foreign.logs import WRITERS
from tests.fuzz.mutation import mutate_bytes, mutate_json, mutate_lines

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)
HEALTHY = "5eed0000-0000-4000-8000-00000000000a"
LARGEST = 300_000  # bytes of a story that is worth mutating: a larger one only takes longer


@dataclass(frozen=True)
class Case:
    """A mutated file in its home."""

    seed: int
    root: Path
    session: Path
    mutated: Path
    data: bytes
    foreign: Path  # a log of another program, mutated as well

    @property
    def id(self) -> str:
        return self.session.stem


class Seeds:
    """The sound files that mutations begin with: those of the demo tree, made once."""

    def __init__(self, folder: Path) -> None:
        self.root = write_demo(folder / "seeds", NOW).root
        self.sessions = sorted(p for p in (self.root / "projects").glob("*/*.jsonl") if 0 < p.stat().st_size < LARGEST)
        self.sessions = [p for p in self.sessions if not p.name.startswith("agent-")]
        self.side = [p for p in self.root.iterdir() if p.is_file()]

    def case(self, seed: int, folder: Path) -> Case:
        """Lay out the home of a case: everything in it follows from the seed."""
        chance = random.Random(seed)
        origin = chance.choice(self.sessions)
        root = folder / "claude"
        project = root / "projects" / origin.parent.name
        project.mkdir(parents=True)
        session = project / origin.name
        shutil.copyfile(origin, session)
        if (beside := origin.with_suffix("")).is_dir():
            shutil.copytree(beside, session.with_suffix(""))
        for kind in ("file-history", "todos", "tasks"):
            self._copy(kind, origin.stem, root)
        for path in (*self.side, *origin.parent.glob("*.json"), *origin.parent.glob("agent-*.jsonl")):
            shutil.copyfile(path, (root if path.parent == self.root else project) / path.name)
        _healthy(root)
        mutated = _chosen(chance, session, root)
        data = _mutate(chance, mutated)
        mutated.write_bytes(data)
        return Case(seed, root, session, mutated, data, _foreign(chance, folder / "foreign"))

    def _copy(self, kind: str, id: str, root: Path) -> None:
        for path in (self.root / kind).glob(f"{id}*"):
            target = root / kind / path.name
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                shutil.copytree(path, target)
            else:
                shutil.copyfile(path, target)


def _healthy(root: Path) -> None:
    made = talk(session_id=HEALTHY, cwd="/home/ada/orchard").user("How are the pears?").reply("The pears are ripe.")
    made.write(root)


def _foreign(chance: random.Random, folder: Path) -> Path:
    """A folder with a log of another program, one file of it (or one value of its database) mutated."""
    folder.mkdir()
    _, write = chance.choice(list(WRITERS.values()))
    path = write(folder)
    if path.suffix == ".db" and chance.random() < 0.8:
        _mutate_database(chance, path)
        return folder
    mutated = chance.choice([path, path, *sorted(p for p in folder.rglob("*") if p.is_file())])
    mutated.write_bytes(_mutate(chance, mutated))
    return folder


def _mutate_database(chance: random.Random, path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as base, base:
        table = chance.choice(("session", "message", "part"))
        columns = [row[1] for row in base.execute(f"PRAGMA table_info({table})")]
        column = "data" if "data" in columns and chance.random() < 0.7 else chance.choice(columns)
        row, old = chance.choice(base.execute(f"SELECT rowid, {column} FROM {table}").fetchall())
        new: object = chance.choice((None, -1, 2**62, 1.5, b"\xff\x00", "", "x" * 5000))
        if column == "data" and chance.random() < 0.8:
            new = mutate_json(chance, str(old).encode()).decode("utf-8", "replace")
        base.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (new, row))


def _chosen(chance: random.Random, session: Path, root: Path) -> Path:
    """Mostly the session itself; now and then a file beside it."""
    others = [p for p in sorted(root.rglob("*")) if p.is_file() and p != session and p.stem != HEALTHY]
    return chance.choice(others) if others and chance.random() < 0.15 else session


def _mutate(chance: random.Random, path: Path) -> bytes:
    data = path.read_bytes()
    match path.suffix:
        case ".jsonl":
            return mutate_lines(chance, data)
        case ".json":
            return mutate_json(chance, data)
    return mutate_bytes(chance, data)


def settle(folder: Path) -> None:
    """Let this process live in a folder: no home, no cache and no project but those of the case."""
    for name in ("CACHE", "DATA", "STATE", "CONFIG"):
        os.environ[f"XDG_{name}_HOME"] = str(folder / name.lower())
    os.environ.update(HOME=str(folder), CLEW_DEBUG="1", NO_COLOR="1", TZ="America/St_Johns", COLUMNS="100")
    for name in ("CLAUDE_CONFIG_DIR", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "CLAUDE_SESSION_ID"):
        os.environ.pop(name, None)
    os.chdir(folder)
