"""The demo tree: a small `~/.claude` with some of everything in it, made up from beginning to end."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from clew.demo import home_files
from clew.demo.line_script import lay
from clew.demo.stories.programme import STORIES
from clew.errors import Refused
from clew.wire.entry import entries, read


@dataclass(frozen=True, slots=True)
class DemoSummary:
    """What was written; `sessions` has the id of each story."""

    root: Path
    sessions: Mapping[str, str]
    projects: int
    agents: int
    files: int
    size: int


def write_demo(root: str | os.PathLike[str], now: datetime) -> DemoSummary:
    """Write the demo tree into a new or empty folder, with the sessions spread over the sixty days before `now`."""
    folder = Path(root)
    if now.tzinfo is None:
        raise ValueError("the time of the demo needs a time zone")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Refused([f"{folder} is not an empty folder, and the demo is written over nothing"])
    now = now.replace(microsecond=0)
    told = {story.key: story.tell(now - story.ago) for story in STORIES}
    made = 0
    paths = set[str]()
    for talk in told.values():
        for path, content in talk.contents():
            _place(folder / path, content, talk.now)
            paths.add(path)
            made += len(content)
    for path, content, moment in home_files.files(told, now):
        _place(folder / path, content, moment)
        paths.add(path)
        made += len(content)
    return DemoSummary(
        root=folder,
        sessions={key: talk.session_id for key, talk in told.items()} | {"empty": home_files.EMPTY},
        projects=len({path.split("/")[1] for path in paths if path.startswith("projects/")}),
        agents=sum(Path(path).name.startswith("agent-") and path.endswith(".jsonl") for path in paths),
        files=len(paths),
        size=made,
    )


def _place(path: Path, content: bytes, otherwise: datetime) -> None:
    """Write a file and give it the time of its last entry, or another one if it has none."""
    lay(path, content)
    times = [entry.time for entry in entries(read(content)) if entry.time] if path.suffix == ".jsonl" else []
    moment = max(times, default=otherwise).timestamp()
    os.utime(path, (moment, moment))
