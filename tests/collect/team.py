"""A team of three hosts that collect into one store, and somebody who reads it elsewhere."""

from __future__ import annotations

import io
import json
import shutil
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from clew.cli import main
from clew.collect.discovery import DELIVERED_KINDS, scan
from clew.demo.demo_tree import write_demo
from clew.wire.layout import is_warmup
from tests.collect.postgres import PASSWORD

DEVELOPERS = ("ada@example.com", "ben@example.com", "cleo@example.com")
NOW = datetime(2026, 3, 1, tzinfo=UTC)
DELIVERED = ("*.jsonl", "sessions-index.json")


class Team:
    """Three hosts, each with a folder and an archive of its own, and a reader with an empty home."""

    def __init__(self, folder: Path, address: str = "", reader: str = "reader") -> None:
        self.folder, self.address, self.reader = folder, address, reader
        self.password = folder / "password"
        self.password.write_text(PASSWORD)

    def home(self, name: str) -> Path:
        return self.folder / name

    def root(self, host: int) -> Path:
        return self.home(f"host{host}") / "claude"

    def run_as(self, name: str, *words: str) -> tuple[int, str, str]:
        """Run a command in the home of a host or of the reader."""
        streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(streams[0]), redirect_stderr(streams[1]):
            for part in ("DATA", "CACHE", "CONFIG", "STATE"):
                patch.setenv(f"XDG_{part}_HOME", str(self.home(name) / part.lower()))
            patch.setenv("CLAUDE_CONFIG_DIR", str(self.home(name) / "claude"))
            code = main(list(words))
        out, err = (stream.buffer.getvalue().decode() for stream in streams)
        return code, out, err

    def split_demo(self) -> Path:
        """Write the demo tree as one folder, and its projects shared out among the hosts. Returns the whole one."""
        whole = self.folder / "whole"
        write_demo(whole, NOW)
        for number, project in enumerate(sorted((whole / "projects").iterdir())):
            shutil.copytree(project, self.root(number % 3) / "projects" / project.name)
        shutil.copy(whole / "history.jsonl", self.root(1) / "history.jsonl")
        for path in sorted(whole.rglob("*"), reverse=True):  # what no store is sent
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
            elif path.is_file() and (not any(path.match(name) for name in DELIVERED) or not is_sent(whole, path)):
                path.unlink()
            elif path.suffix == ".jsonl":
                data = path.read_bytes()
                path.write_bytes(data[: data.rfind(b"\n") + 1])
                if not data:
                    path.unlink()
        return whole

    def collect(self, host: int, address: str, *options: str, team: str = "shop") -> None:
        config = self.home(f"host{host}") / "config" / "clew"
        config.mkdir(parents=True, exist_ok=True)
        identity = f'[identity]\ndeveloper = "{DEVELOPERS[host]}"\nmachine = "laptop-{host}"\nteam = "{team}"\n'
        (config / "collect.toml").write_text(identity)
        words = ("collect", "--to", address, "--quiet", *options)
        code, _, err = self.run_as(f"host{host}", *words, *self.token(address))
        assert code == 0, err

    def token(self, address: str) -> tuple[str, ...]:
        return ("--token-file", str(self.password)) if address.startswith("postgresql") else ()

    def read(self, *words: str, quiet: bool = True) -> tuple[int, str, str]:
        """Run a reading command on the store."""
        more = ("--quiet",) if quiet else ()
        return self.run_as(self.reader, *words, "--store", self.address, *self.token(self.address), *more)

    def rows(self, *words: str) -> list[dict[str, Any]]:
        return parse(self.read(*words, "--json")[1])

    def as_reader(self, name: str) -> Team:
        """The same team, read by somebody who has fetched nothing yet."""
        return Team(self.folder, self.address, name)

    @property
    def tree(self) -> Path:
        [folder] = [path for path in (self.home(self.reader) / "cache" / "clew" / "stores").iterdir() if path.is_dir()]
        return folder / "tree"


def is_sent(root: Path, path: Path) -> bool:
    sent = {file.path for file in scan(str(root)).sources if file.kind in DELIVERED_KINDS}
    return path.relative_to(root).as_posix() in sent and not is_warmup(path, path.stat().st_size)


def parse(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def contents(root: Path) -> dict[str, bytes]:
    """The transcripts and indexes of a tree."""
    return {
        path.relative_to(root).as_posix(): data
        for path in sorted(root.rglob("*.json*"))
        if not {"histories", "copies"} & set(path.parts) and (data := path.read_bytes())
    }
