"""Name the session, turn and prompt that wrote each line of a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Literal

from msgspec import Struct

from clew.conversation.load import Root
from clew.errors import ClewError, NotFound
from clew.facts.file_changes import WRITING_TOOLS
from clew.facts.line_origins import AMBIGUOUS, BEFORE, OUTSIDE, LineOrigin, Replay, is_distinctive, split_lines
from clew.provenance.disk_content import read_text
from clew.provenance.git_commits import Commit, line_commits
from clew.provenance.recorded_changes import (
    RecordedChange,
    collect_changes,
    normalize_path,
    same_paths,
    sort_changes,
)

Evidence = Literal["record", "content", ""]
REASONS = {
    BEFORE: "before the first recorded change",
    OUTSIDE: "not written by a recorded change",
    AMBIGUOUS: "several possible origins",
}
_SIMILAR, _VERY_SIMILAR = 0.5, 0.8  # share of distinctive lines that a moved file has kept


class BlamedLine(Struct, frozen=True):
    """A line and the change that wrote it. `evidence` is empty if that is not known, and `reason` says why."""

    number: int
    text: str
    change: RecordedChange | None = None
    evidence: Evidence = ""
    reason: str = ""
    commit: Commit | None = None


class Blame(Struct, frozen=True):
    """The lines of a file. `is_as_recorded` says whether its content is what the last recorded change left."""

    path: str
    lines: tuple[BlamedLine, ...]
    changes: tuple[RecordedChange, ...]
    is_as_recorded: bool


def blame(
    path: str | os.PathLike[str], *, earlier_paths: Iterable[str] = (), git: bool = True, claude: Root = None
) -> Blame:
    """Return which session, turn and prompt wrote each line of a file, as far as it is certain.

    The recorded changes are replayed up to the content of the file. A line that this does not place can be placed by
    its text, if exactly one change added that text. `earlier_paths` are names that the file had before. Raises
    NotFound if there is no such file, and ClewError if it is not a text.
    """
    name = os.path.normpath(Path(path).absolute())
    if not os.path.lexists(name):
        raise NotFound(os.fspath(path), "file", hint="Only the lines of a file on this disk can be described.")
    text = read_text(name)
    if text is None:
        raise ClewError(f"{name} is not a text file that can be read.")
    calls = _select_calls(name, text, [str(Path(p).absolute()) for p in earlier_paths], claude)
    replay = replay_changes(calls)
    is_as_recorded = any(call.tool != "Read" for call in calls) and replay.text == text
    lines = split_lines(text)
    commits = line_commits(name, lines) if git else [None] * len(lines)
    return _build_blame(name, calls, replay, text, commits, is_as_recorded)


def blame_records(path: str, calls: Sequence[RecordedChange]) -> Blame | None:
    """Return the lines that the last of a file's changes left, by the records alone: the disk is not read.

    `calls` are its changes and reads in order. None if they do not say what the file contains.
    """
    replay = replay_changes(calls)
    text = replay.text
    return None if text is None else _build_blame(path, calls, replay, text, [None] * len(split_lines(text)), True)


def _build_blame(
    path: str,
    calls: Sequence[RecordedChange],
    replay: Replay,
    text: str,
    commits: Sequence[Commit | None],
    is_as_recorded: bool,
) -> Blame:
    origins = replay.finish(text)
    placed = (
        _place(number, line, origin, calls, commit)
        for number, (line, origin, commit) in enumerate(zip(split_lines(text), origins, commits, strict=True), 1)
    )
    return Blame(path, tuple(placed), tuple(call for call in calls if call.tool != "Read"), is_as_recorded)


def replay_changes(changes: Sequence[RecordedChange]) -> Replay:
    """Return the state of a file after changes, by their records."""
    replay = Replay()
    for index, change in enumerate(changes):
        replay.apply(index, change.call, f"{change.session}/{change.agent}")
    return replay


def _place(
    number: int, line: str, origin: LineOrigin, changes: Sequence[RecordedChange], commit: Commit | None
) -> BlamedLine:
    if origin.change < 0:
        reason = REASONS[origin.change] if changes else "no recorded change of the file"
        return BlamedLine(number, line, reason=reason, commit=commit)
    evidence: Evidence = "content" if origin.by_content else "record"
    return BlamedLine(number, line, changes[origin.change], evidence, commit=commit)


def _select_calls(path: str, text: str, earlier: Sequence[str], claude: Root) -> list[RecordedChange]:
    """Return the changes and reads of a file, also under its earlier paths and from before its project was moved."""
    names = list(dict.fromkeys(os.path.basename(each) for each in (os.path.realpath(path), path, *earlier)))
    calls = collect_changes(names, claude=claude, tools=(*WRITING_TOOLS, "Read"))
    found = [change for change in sort_changes(calls) if not change.failed]
    known = set().union(*map(same_paths, (path, *earlier)))
    own = [change for change in found if normalize_path(change.path) in known]
    first = next((t for c in own if (t := replay_changes([c]).first_text) is not None), text)
    moved = {recorded for recorded, group in _other_paths(found, known) if _is_moved(recorded, group, path, first)}
    return [c for c in found if normalize_path(c.path) in known or c.path in moved]


def _other_paths(changes: Sequence[RecordedChange], known: set[str]) -> Iterator[tuple[str, list[RecordedChange]]]:
    others = sorted((c for c in changes if normalize_path(c.path) not in known), key=lambda c: c.path)
    for recorded, group in groupby(others, key=lambda c: c.path):
        yield recorded, list(group)


def _is_moved(recorded: str, group: Sequence[RecordedChange], path: str, text: str) -> bool:
    """Return True if a file with this content was recorded under a path that is gone: its project was moved."""
    left = replay_changes(group).lines
    if os.path.lexists(recorded) or os.path.basename(recorded) != os.path.basename(path) or left is None:
        return False
    own, other = ({line for line in lines if is_distinctive(line)} for lines in (left, split_lines(text)))
    in_project = os.path.relpath(recorded, group[-1].cwd) if group[-1].cwd else recorded
    is_same_place = not in_project.startswith("..") and path.endswith(os.sep + in_project)
    return len(own & other) >= max(1, len(own) * (_SIMILAR if is_same_place else _VERY_SIMILAR))
