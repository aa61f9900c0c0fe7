"""Run one command of one version, and collect what it printed and wrote, without ids and times that differ in each run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

SECONDS = 600  # for one command
RACY_SECONDS = 2.5  # a collector reads files again that changed as recently
_ID = re.compile(rb"\b(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64}|[0-9a-f]{32}|[0-9a-f]{8})\b")
_DAYS = b"|".join((datetime.now(UTC) + timedelta(days=day)).strftime("%Y-%m-%d").encode() for day in (-1, 0, 1))
_NOW = re.compile(rb"(?:" + _DAYS + rb")[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?")
_SCORE = re.compile(rb'"score":[-0-9.e]+')
_MILLISECONDS = re.compile(rb"\b%d\d{8}(?:\d{6})?\b" % (int(datetime.now(UTC).timestamp()) // 100_000))


class Answer(NamedTuple):
    """What a command answered: its exit code, what it printed, and the files that it wrote, by their path."""

    code: int
    out: bytes
    err: bytes
    files: dict[bytes, bytes]


@dataclass
class Version:
    """One version of clew with its folder: a copy of the tree, its caches, and what it writes."""

    main: Path  # its __main__.py
    home: Path
    known: frozenset[bytes] = frozenset()  # ids in the tree, and their beginnings
    states: dict[Path, tuple[int, int]] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        return self.home / "claude"

    def begin(self, tree: Path) -> None:
        """Take a copy of a tree, and forget everything else."""
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.copytree(tree, self.root, symlinks=True)
        (self.home / "out").mkdir()
        self.states = dict(self._list())
        self.known = frozenset(_known_ids(self.root))
        time.sleep(RACY_SECONDS)

    def _list(self) -> Iterator[tuple[Path, tuple[int, int]]]:
        for folder in (self.root, self.home / "out"):
            for path in folder.rglob("*"):
                if path.is_file() and not path.is_symlink():
                    stat = path.stat()
                    yield path, (stat.st_size, stat.st_mtime_ns)

    def run(self, words: Sequence[str], tree: Path) -> Answer:
        """Run a command, then put the tree back as it was."""
        values = {"root": str(self.root), "out": str(self.home / "out" / "new")}
        command = [sys.executable, "-I", str(self.main), *(word.format(**values) for word in words)]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CLAUDE", "XDG"))}
        homes = {f"XDG_{kind}_HOME": str(self.home / kind) for kind in ("CACHE", "DATA", "CONFIG", "STATE")}
        given = {**kept, **homes, "HOME": str(self.home), "CLAUDE_CONFIG_DIR": str(self.root), "TZ": "UTC"}
        try:
            done = subprocess.run(
                command, cwd=self.home, env=given, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS
            )
            code, out, err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired:
            code, out, err = -1, b"", b"timeout"
        return self._normalise(code, out, err, self._put_back(tree))

    def _put_back(self, tree: Path) -> dict[bytes, bytes]:
        """Return what was written, and undo it: new files are deleted, others are copied again."""
        now = dict(self._list())
        written: dict[bytes, bytes] = {}
        for path in sorted(path for path, state in now.items() if self.states.get(path) != state):
            parent = os.fsencode(path.relative_to(self.home).parent)
            written.update((parent + b"/" + name, data) for name, data in _contents(path))
            path.unlink()
        for path in self.states.keys() - now.keys():
            written[os.fsencode(path.relative_to(self.home)) + b" (deleted)"] = b""
        for path in self.states:
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(tree / path.relative_to(self.root), path)
        return written

    def _normalise(self, code: int, out: bytes, err: bytes, files: dict[bytes, bytes]) -> Answer:
        """Replace folders, scores, times of today, and new ids by the order in which they occur."""
        order: dict[bytes, bytes] = {}

        def name(match: re.Match[bytes]) -> bytes:
            if match[0] in self.known:
                return match[0]
            rest = match[0][8:]
            return order.setdefault(match[0][:8], b"<id %d>" % len(order)) + (b"-\xe2\x80\xa6" if rest else b"")

        def clean(text: bytes) -> bytes:
            text = _SCORE.sub(b'"score":0', _MILLISECONDS.sub(b"<now>", _NOW.sub(b"<now>", text)))
            return _ID.sub(name, text)

        return Answer(code, clean(out), clean(err), {clean(path): clean(data) for path, data in files.items()})


def _known_ids(root: Path) -> Iterator[bytes]:
    for path in root.rglob("*"):
        for text in (os.fsencode(path.name), path.read_bytes() if path.is_file() else b""):
            for known in _ID.findall(text):
                yield known
                yield known[:8]


def _contents(path: Path) -> Iterator[tuple[bytes, bytes]]:
    """Yield the name and the bytes of a file, or of each file in a pack."""
    name = os.fsencode(path.name)
    if path.suffix != ".zip":
        yield name, path.read_bytes()
        return
    with ZipFile(path) as pack:
        for member in pack.namelist():
            yield name + b"/" + member.encode(), pack.read(member)


def differences(old: Answer, new: Answer) -> list[str]:
    """Describe what differs between two answers, briefly."""
    found = [] if old.code == new.code else [f"exit code {old.code} → {new.code}"]
    paths = sorted(old.files.keys() | new.files.keys())
    pairs = [(old.files.get(path, b"(missing)"), new.files.get(path, b"(missing)")) for path in paths]
    written = [(os.fsdecode(path), before, after) for path, (before, after) in zip(paths, pairs, strict=True)]
    parts = [("stdout", old.out, new.out), ("stderr", old.err, new.err), *written]
    for name, before, after in parts:
        if before != after:
            lines = zip([*before.split(b"\n"), b"(end)"], [*after.split(b"\n"), b"(end)"], strict=False)
            one, other = next(((a, b) for a, b in lines if a != b), (b"", b""))
            place = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
            start = max(0, place - 40)
            found.append(f"{name}: {one[start : place + 120]!r} → {other[start : place + 120]!r}")
    return found
