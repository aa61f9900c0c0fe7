"""Write the demo tree: a small made-up `~/.claude` with a session of every kind."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from clew.demo import home_files
from clew.demo.demo_stories import load_stories
from clew.demo.line_script import write_new_file
from clew.errors import Refused
from clew.wire.entry import entries, read


class DemoSummary(Struct, frozen=True):
    """The files written; `sessions` has the id of each story."""

    root: Path
    sessions: Mapping[str, str]
    projects: int
    agents: int
    files: int
    size: int


def write_demo(root: str | os.PathLike[str], now: datetime) -> DemoSummary:
    """Write the demo tree into a new or empty folder, with sessions spread over the sixty days before `now`."""
    folder = Path(root)
    if now.tzinfo is None:
        raise ValueError("the time of the demo needs a time zone")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Refused([f"{folder} is not an empty folder, and the demo does not overwrite files"])
    now = now.replace(microsecond=0)
    conversations = {story.key: story.build(now - story.ago) for story in load_stories()}
    size = 0
    paths = set[str]()
    for talk in conversations.values():
        for path, content in talk.contents():
            _write_file(folder / path, content, talk.now)
            paths.add(path)
            size += len(content)
    for path, content, moment in home_files.files(conversations, now):
        _write_file(folder / path, content, moment)
        paths.add(path)
        size += len(content)
    return DemoSummary(
        root=folder,
        sessions={key: talk.session_id for key, talk in conversations.items()} | {"empty": home_files.EMPTY},
        projects=len({path.split("/")[1] for path in paths if path.startswith("projects/")}),
        agents=sum(Path(path).name.startswith("agent-") and path.endswith(".jsonl") for path in paths),
        files=len(paths),
        size=size,
    )


def _write_file(path: Path, content: bytes, default: datetime) -> None:
    """Write a file and set its modification time to that of its last entry, or to a default."""
    write_new_file(path, content)
    times = [entry.time for entry in entries(read(content)) if entry.time] if path.suffix == ".jsonl" else []
    moment = max(times, default=default).timestamp()
    os.utime(path, (moment, moment))
