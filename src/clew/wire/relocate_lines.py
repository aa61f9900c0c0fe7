"""Change the paths that bind a transcript to its project folder: in `cwd`, file history, worktrees, saved outputs.

Only these fields change. Messages are not touched, even where they mention the old folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct
from stringzilla import contains

from clew.wire.entry import Entry, parse_line
from clew.wire.json_codec import decode_readable, encode
from clew.wire.json_splice import Changes, splice
from clew.wire.line import Line, lines
from clew.wire.path_mapping import PathMapping, is_windows_path

_OUTPUT = re.compile(r".*[\\/]([^\\/]+)[\\/]tool-results[\\/]([^\\/]+)", re.DOTALL)
_RARE_KEYS = (
    *(b'"realParentDir"', b'"trackedFileBackups"', b'"trackingPath"', b'"persistedOutputPath"'),
    *(b'"worktreeSession"', b'"relocatedCwd"'),
)
_WORKTREE_FIELDS = ("originalCwd", "worktreePath")


class Relocation(Struct, frozen=True):
    """What changes in the lines of a session: paths below a folder, and the folder of its long outputs."""

    paths: PathMapping | None = None
    session: str = ""
    folder: str = ""  # of the session's files in its new place

    def path(self, old: str) -> str:
        return self.paths.apply(old) if self.paths else old

    def output(self, old: str) -> str:
        """Return the new path of a long output of this session."""
        match = _OUTPUT.fullmatch(old)
        if not match or not self.folder or match[1].lower() != self.session.lower():
            return old
        separator = "\\" if is_windows_path(self.folder) else "/"
        return separator.join((self.folder, "tool-results", match[2]))


def relocated_lines(path: str | os.PathLike[str], move: Relocation) -> Iterator[bytes]:
    """Yield the lines of a transcript with their paths changed; a damaged line is yielded unchanged."""
    for line in lines(path):
        yield relocate_line(line, move)


def relocate_line(line: Line, move: Relocation) -> bytes:
    raw = line.raw
    item = parse_line(line)
    if not isinstance(item, Entry):
        return raw
    json = line.json
    return _embed(raw, json, _change_entry(item, json, move))


def relocate_references(json: bytes, move: Relocation) -> bytes:
    """Return the JSON of an entry with all paths but `cwd` changed: in file history, worktrees, saved outputs."""
    if not any(contains(json, key) for key in _RARE_KEYS):
        return json
    changes = _path_changes({name: value for name, value in _decode_object(json).items() if name != "cwd"}, move)
    return splice(json, changes) if changes else json


def relocated_history(path: Path, paths: PathMapping) -> Iterator[bytes]:
    """Yield the lines of `history.jsonl` with the projects at or below a folder changed."""
    for line in lines(path):
        raw, json = line.raw, line.json
        value = _decode_object(json)
        project = value.get("project")
        if isinstance(project, str) and paths.covers(project):
            yield _embed(raw, json, splice(json, {"project": encode(paths.apply(project))}))
        else:
            yield raw


def relocated_meta(path: Path, paths: PathMapping | None) -> bytes:
    """Return the content of an agent's `.meta.json` with the path of its worktree changed."""
    data = path.read_bytes()
    worktree = _decode_object(data).get("worktreePath")
    if paths and isinstance(worktree, str) and paths.covers(worktree):
        return _embed(data, data.strip(), splice(data.strip(), {"worktreePath": encode(paths.apply(worktree))}))
    return data


def _embed(raw: bytes, json: bytes, changed: bytes) -> bytes:
    """Put the changed JSON in the place of the old, with the white space around it."""
    at = raw.index(json) if json else 0
    return raw if changed == json else raw[:at] + changed + raw[at + len(json) :]


def _change_entry(entry: Entry, json: bytes, move: Relocation) -> bytes:
    if not any(key in json for key in _RARE_KEYS):
        if entry.cwd is None or (cwd := move.path(entry.cwd)) == entry.cwd:
            return json
        stated = b'"cwd":' + encode(entry.cwd)  # inside a JSON string its quotes would be escaped
        if json.count(stated) == 1:
            return json.replace(stated, b'"cwd":' + encode(cwd))
    changes = _path_changes(entry.data, move)
    return splice(json, changes) if changes else json


def _path_changes(data: dict[str, Any], move: Relocation) -> Changes:
    changes: dict[str, Any] = {}
    for name in ("cwd", "relocatedCwd", "trackingPath"):
        changes |= _field_change(data, name, move)
    if worktree := _object_changes(data.get("worktreeSession"), _WORKTREE_FIELDS, move):
        changes["worktreeSession"] = worktree
    if backup := _object_changes(data.get("backup"), ("realParentDir",), move):
        changes["backup"] = backup
    snapshot = data.get("snapshot")
    if isinstance(snapshot, dict) and (tracked := _tracked_changes(snapshot.get("trackedFileBackups"), move)):
        changes["snapshot"] = {"trackedFileBackups": tracked}
    result = data.get("toolUseResult")
    output = result.get("persistedOutputPath") if isinstance(result, dict) else None
    if isinstance(output, str) and (new := move.output(output)) != output:
        changes["toolUseResult"] = {"persistedOutputPath": encode(new)}
    return changes


def _field_change(data: dict[str, Any], name: str, move: Relocation) -> dict[str, bytes]:
    old = data.get(name)
    if not isinstance(old, str) or (new := move.path(old)) == old:
        return {}
    return {name: encode(new)}


def _object_changes(value: Any, names: tuple[str, ...], move: Relocation) -> dict[str, bytes]:
    if not isinstance(value, dict):
        return {}
    return {name: json for field in names for name, json in _field_change(value, field, move).items()}


def _tracked_changes(tracked: Any, move: Relocation) -> bytes | dict[str, Any]:
    """Return the changes of tracked files. Their names are relative, or absolute: then the object is written again."""
    if not isinstance(tracked, dict):
        return {}
    if any(move.path(name) != name for name in tracked):
        return encode({move.path(name): _with_parent_dir(backup, move) for name, backup in tracked.items()})
    changes = {name: _object_changes(backup, ("realParentDir",), move) for name, backup in tracked.items()}
    return {name: change for name, change in changes.items() if change}


def _with_parent_dir(backup: Any, move: Relocation) -> Any:
    if not isinstance(backup, dict) or not isinstance(old := backup.get("realParentDir"), str):
        return backup
    return {**backup, "realParentDir": move.path(old)}


def _decode_object(json: bytes) -> dict[str, Any]:
    try:
        value = decode_readable(json)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
