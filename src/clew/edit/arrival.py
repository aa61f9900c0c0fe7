"""Put a session with all its files into a folder of Claude Code, where Claude Code finds it; never over anything.

A session that is there already gets what it lacks: missing files, and the lines by which the arriving copy is longer.
If both copies were continued, they are merged into a new session.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from clew.conversation.load import read, request
from clew.conversation.session import Session
from clew.edit.kept_files import digest, digest_parts
from clew.edit.merge_sessions import count_missing, merge
from clew.edit.move_files import FileAppend, FileMove, plan_file
from clew.edit.plan import plan
from clew.errors import NotFound, Refused
from clew.wire.arrival_time import arrival_time, cleanup_days
from clew.wire.layout import SessionFile, Tree, list_sessions
from clew.wire.path_mapping import PathMapping
from clew.wire.project_slug import slug
from clew.wire.relocate_lines import Relocation, relocated_lines, relocated_meta
from clew.wire.rename_ids import new_uuid
from clew.wire.running_sessions import running_sessions
from clew.wire.session_parts import SessionParts, collect_parts, project_folder, read_chunks

NEW, SAME, GROWN, AHEAD, DIVERGED, MERGED, BUSY = "new", "same", "grown", "ahead", "diverged", "merged", "busy"
STATES = (NEW, SAME, GROWN, AHEAD, DIVERGED, MERGED, BUSY)


class Arrival(Struct, frozen=True):
    """What happens to one session, and to which files. `kept` names files that differ and stay as they are."""

    parts: SessionParts
    state: str
    target: Path  # of the transcript
    cwd: str
    files: tuple[FileMove, ...] = ()
    appends: tuple[FileAppend, ...] = ()
    kept: tuple[str, ...] = ()
    merged_id: str = ""  # of the session that joins two copies

    @property
    def id(self) -> str:
        return self.parts.id

    @property
    def changes(self) -> bool:
        return bool(self.files or self.appends or self.state == DIVERGED)


def plan_arrival(parts: SessionParts, tree: Tree, to: str = "", arriving: frozenset[str] = frozenset()) -> Arrival:
    """Plan how a session gets into a tree: into its own project, or into that of the folder `to`.

    `arriving` are the ids of all sessions that arrive together. Raises Refused if the project is unknown.
    """
    present = find_present(tree, parts.id)
    cwd = to or parts.cwd
    if present:
        cwd = collect_parts(present).cwd or cwd
        folder = present.project_folder
    elif not cwd and parts.is_loose:
        raise Refused(
            [f"{parts.path.name} does not name a working directory, so its project is unknown"],
            hint="Name the folder of the project with --to FOLDER.",
        )
    else:
        folder = tree.root / "projects" / project_folder(parts, cwd)
    place = _Place(tree, parts, folder, PathMapping(parts.cwd, cwd) if parts.cwd and cwd != parts.cwd else None)
    if parts.id.lower() in running_sessions(tree.root):
        return Arrival(parts, BUSY, place.target(parts.transcript), cwd)
    return _compare(place, cwd, arriving)


def find_present(tree: Tree, id: str) -> SessionFile | None:
    """Find a session with this id in any project of a tree; the largest, if there are several."""
    files = [file for p in tree.projects() for file in list_sessions(p.folder, id.lower()) if file.id == id]
    return max(files, key=lambda file: file.size, default=None)


class _Place(Struct, frozen=True):
    """Where the files of a session go, and what changes in them."""

    tree: Tree
    parts: SessionParts
    folder: Path
    paths: PathMapping | None

    def target(self, name: str) -> Path:
        top, _, rest = name.partition("/")
        return self.folder / rest.partition("/")[2] if top == "projects" else self.tree.root / name

    def content(self, name: str) -> Callable[[], Iterable[bytes]]:
        path = self.parts.files[name]
        is_moved = self.paths is not None or self.folder != path.parent
        if name.startswith("projects/") and name.endswith(".jsonl") and is_moved:
            move = Relocation(self.paths, self.parts.id, str(self.folder / self.parts.id))
            return partial(relocated_lines, path, move)
        if name.endswith(".meta.json") and self.paths:
            return lambda: [relocated_meta(path, self.paths)]
        return partial(read_chunks, path)


def _compare(place: _Place, cwd: str, arriving: frozenset[str]) -> Arrival:
    """Compare every file with what is in its place."""
    days = cleanup_days(place.tree.root)
    files: list[FileMove] = []
    appends: list[FileAppend] = []
    kept: list[str] = []
    state = NEW
    names = sorted(place.parts.files, key=lambda name: name == place.parts.transcript)  # the transcript comes last
    for name in names:
        source, target, content = place.parts.files[name], place.target(name), place.content(name)
        is_transcript = name == place.parts.transcript
        if not os.path.lexists(target):
            files.append(plan_file(source, target, content, arrival_time(source.stat().st_mtime_ns, days)))
            continue
        relation, growth = _relate(target, content, name.endswith(".jsonl"))
        if relation == GROWN and growth:
            appends.append(growth)
        elif relation == DIVERGED and not is_transcript:
            kept.append(name)
        if is_transcript:
            state = relation
    target = place.target(place.parts.transcript)
    arrival = Arrival(place.parts, state, target, cwd, tuple(files), tuple(appends), tuple(kept))
    return _resolve_divergence(place.tree, arrival, arriving) if state == DIVERGED else arrival


def _relate(target: Path, content: Callable[[], Iterable[bytes]], can_grow: bool) -> tuple[str, FileAppend | None]:
    """Compare a file with arriving content: the same, longer, shorter or different."""
    total, size, is_longer = sha256(), 0, False
    with target.open("rb") as file:
        for part in content():
            total.update(part)
            size += len(part)
            if is_longer or (present := file.read(len(part))) == part:
                continue
            if not can_grow or not part.startswith(present):
                return _diverged(target, content, can_grow), None
            is_longer = True
        if is_longer:
            before = target.stat().st_size
            return GROWN, FileAppend(target, before, size, total.hexdigest(), partial(_skip, content, before))
        return (AHEAD if file.read(1) else SAME), None


def _diverged(target: Path, content: Callable[[], Iterable[bytes]], is_transcript: bool) -> str:
    """Return whether a file that differs has everything that arrives, though in another order."""
    if is_transcript and not count_missing(read(target), Session(b"".join(content()))):
        return AHEAD
    return DIVERGED


def _skip(content: Callable[[], Iterable[bytes]], size: int) -> Iterator[bytes]:
    """Yield content from an offset on."""
    for part in content():
        if size >= len(part):
            size -= len(part)
            continue
        yield part[size:]
        size = 0


def _resolve_divergence(tree: Tree, arrival: Arrival, arriving: frozenset[str]) -> Arrival:
    """Name the session that joins two copies by their content, so that it is made only once."""
    sums = sorted((digest(arrival.target), digest_parts(read_chunks(arrival.parts.path))[0]))
    merged_id = new_uuid(arrival.id, "/".join(sums))
    is_known = merged_id in arriving or find_present(tree, merged_id) is not None
    return replace(arrival, files=(), appends=(), merged_id=merged_id, state=MERGED if is_known else DIVERGED)


def write_merged(arrival: Arrival) -> Path:
    """Write the session that joins the present and the arriving copy. Raises Refused if they cannot be joined."""
    joined, _ = merge(plan(read(arrival.target)), read(arrival.parts.path))
    return joined.write(id=arrival.merged_id).path


def check_arrival(tree: Tree, arrival: Arrival) -> str:
    """Look a session up as Claude Code does: in the project folder of its working directory; return what is wrong."""
    id = arrival.merged_id or arrival.id
    present = find_present(tree, id)
    if present is None:
        raise NotFound(id, hint="The files were not written. Check the permissions of the folder.")
    if arrival.cwd and present.project_folder.name != slug(arrival.cwd):
        return f"it is in the project folder {present.project_folder.name}, where Claude Code finds it only by its id"
    return request(read(present.path)).refusal or ""
