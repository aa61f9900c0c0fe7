"""List every file of a session: its transcript, agents, long outputs, file history, todo lists, tasks and plans.

Names are relative to the folder of Claude Code, as they are in `~/.claude`, wherever the files are now.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from msgspec import Struct

from clew.wire.entry import Entry, parse_line
from clew.wire.layout import SessionFile, Tree, read_cwds
from clew.wire.line import lines
from clew.wire.project_slug import slug, slugs
from clew.wire.tree_walk import is_uuid
from clew.wire.work_files import plans_of_session

_CHUNK = 1 << 20
_MAX_LINES = 1000  # to read in search of an entry
LOOSE = "(loose)"  # the project folder of a transcript that is not in a folder of Claude Code


class SessionParts(Struct, frozen=True):
    """The files of one session by name. `cwd` is the folder in which it was started, "" if that is unknown."""

    id: str
    cwd: str
    project: str  # the name of its project folder
    transcript: str  # the name of the transcript in `files`
    files: Mapping[str, Path]

    @property
    def is_loose(self) -> bool:
        """Whether the transcript lies outside of a folder of Claude Code, so that side files may be missing."""
        return self.project == LOOSE

    @property
    def path(self) -> Path:
        return self.files[self.transcript]

    def count(self, folder: str) -> int:
        """Count the files with a folder in their name, such as `subagents` or `file-history`."""
        return sum(folder in name.split("/") for name in self.files)


def collect_parts(file: SessionFile, *, memory: bool = False) -> SessionParts:
    """Return the files of a session; links are left out. With `memory`, those of its project's memory too."""
    is_in_tree = file.project_folder.parent.name == "projects"
    project = file.project_folder.name if is_in_tree else LOOSE
    id = file.id if is_uuid(file.id) else _stated_id(file.path)
    base = f"projects/{project}"
    parts = {f"{base}/{id}.jsonl": file.path}
    parts |= {f"{base}/{id}/{name}": path for name, path in _files_below(file.folder)}
    for agent in file.agents():
        if agent.layout != "nested":
            name = agent.path.relative_to(file.project_folder).as_posix()
            meta = agent.path.with_suffix(".meta.json")
            parts |= {f"{base}/{name}": agent.path}
            parts |= {f"{base}/{name[:-6]}.meta.json": meta} if meta.is_file() else {}
    if memory:
        parts |= {f"{base}/memory/{name}": path for name, path in _files_below(file.project_folder / "memory")}
    if is_in_tree:
        parts |= _shared_folders(Tree(file.project_folder.parent.parent), file, id)
    return SessionParts(id, _launch_folder(file.path, project), project, f"{base}/{id}.jsonl", parts)


def _shared_folders(tree: Tree, file: SessionFile, id: str) -> dict[str, Path]:
    """Return the files of a session in the folders that all sessions share."""
    paths = [*tree.todos(id), *(plan.path for plan in plans_of_session(tree, file.path))]
    parts = {path.relative_to(tree.root).as_posix(): path for path in paths}
    for folder in ("file-history", "tasks", "image-cache"):
        parts |= {f"{folder}/{id}/{name}": path for name, path in _files_below(tree.root / folder / id)}
    return parts


def _files_below(folder: Path, inside: str = "") -> Iterator[tuple[str, Path]]:
    """Yield the regular files below a folder with their relative names; links are not followed."""
    if not folder.is_dir() or folder.is_symlink():
        return
    for path in sorted(folder.iterdir()):
        if path.is_symlink():
            continue
        if path.is_dir():
            yield from _files_below(path, f"{inside}{path.name}/")
        elif path.is_file() and not path.name.endswith(".draft"):
            yield f"{inside}{path.name}", path


def _launch_folder(path: Path, project: str) -> str:
    cwds = list(dict.fromkeys(read_cwds(path)))
    return next((cwd for cwd in cwds if project in slugs(cwd)), cwds[0] if cwds else "")


def _stated_id(path: Path) -> str:
    """Return the session id that the lines of a file state; "" if they state none."""
    for item in map(parse_line, lines(path)):
        if isinstance(item, Entry) and item.session_id and is_uuid(item.session_id) and not item.agent_id:
            return item.session_id
    return ""


def is_transcript(path: Path) -> bool:
    """Return True if a file has entries of Claude Code: a type, a uuid and the id of a session."""
    for item in islice(map(parse_line, lines(path)), _MAX_LINES):
        if isinstance(item, Entry) and item.type and item.uuid and is_uuid(item.session_id or ""):
            return True
    return False


def project_folder(parts: SessionParts, cwd: str) -> str:
    """Return the name of the project folder for a session that is started in `cwd`."""
    return slug(cwd) if cwd != parts.cwd or parts.is_loose else parts.project


def read_chunks(path: Path) -> Iterator[bytes]:
    """Yield the content of a file."""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk
