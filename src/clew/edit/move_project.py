"""Plan the move of all sessions of a project, and of the projects below it, when its folder moved.

A session belongs to the folder in which it was started: the first working directory that the name of its project
folder was made from. Two folders can share a name (`my-app` and `my.app`), so each session is decided by itself.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from msgspec import Struct, field

from clew.edit.move_files import FileMove, MoveJob, plan_file
from clew.errors import Busy, NotFound
from clew.system.shell_quoting import clew_command
from clew.wire.arrival_time import arrival_time, cleanup_days
from clew.wire.layout import Project, SessionFile, Tree, read_cwds
from clew.wire.path_mapping import PathMapping
from clew.wire.project_slug import slug, slugs
from clew.wire.prompt_history import prompts, read_history
from clew.wire.relocate_lines import Relocation, relocated_history, relocated_lines, relocated_meta
from clew.wire.running_sessions import running_sessions
from clew.wire.session_parts import read_chunks
from clew.wire.side_files import INDEX_NAME, relocate_index
from clew.wire.tree_walk import is_uuid


class MovePlan(Struct, frozen=True):
    """What would move and what would stay, with the reason."""

    paths: PathMapping
    job: MoveJob
    sessions: tuple[str, ...] = ()
    folders: dict[str, str] = field(default_factory=dict)  # names of project folders, old and new
    agents: int = 0
    prompts: int = 0
    stays: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        return sum(move.size for move in self.job.files)


class _MoveDraft(Struct):
    """The plan while it is made."""

    tree: Tree
    paths: PathMapping
    days: int
    files: list[FileMove] = field(default_factory=list)
    dropped: list[Path] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    folders: dict[str, str] = field(default_factory=dict)
    stays: list[str] = field(default_factory=list)


def plan_move(tree: Tree, old: str, new: str) -> MovePlan:
    """Plan the move from one folder to another. Raises NotFound if nothing belongs to the old one, Busy if a session
    is in use.
    """
    paths = PathMapping(old, new)
    draft = _MoveDraft(tree, paths, cleanup_days(tree.root))
    for project in tree.projects():
        if project.folder.is_symlink():
            continue
        _plan_project(draft, project)
    _refuse_running(tree, draft.sessions)
    typed = sum(1 for p in prompts(read_history(tree.history)) if p.project and paths.covers(p.project))
    if not (draft.files or draft.stays or typed):
        raise NotFound(old, kind="project", hint="List projects and their folders with: clew ls projects")
    rewrites = {tree.history: partial(_history, paths)} if typed else {}
    what = f"move {old} to {new}"
    job = MoveJob(what, old, new, tree.root, tuple(draft.files), tuple(draft.dropped), rewrites)
    agents = sum(1 for move in draft.files if move.target.name.startswith("agent-") and move.target.suffix == ".jsonl")
    return MovePlan(
        paths, job, tuple(draft.sessions), dict(sorted(draft.folders.items())), agents, typed, tuple(draft.stays)
    )


def _history(paths: PathMapping, path: Path) -> Iterable[bytes]:
    return relocated_history(path, paths)


def _refuse_running(tree: Tree, sessions: Iterable[str]) -> None:
    running = running_sessions(tree.root)
    for session in sessions:
        if pid := running.get(session.lower()):
            raise Busy(
                f"Session {session[:8]}", hint=f"Claude Code (process {pid}) has it open. End it, then run this again."
            )


def find_sessions(tree: Tree, paths: PathMapping) -> Iterator[tuple[SessionFile, str]]:
    """Yield the sessions that were started at or below the old folder, each with the folder it was started in."""
    draft = _MoveDraft(tree, paths, 0)
    for project in tree.projects():
        for file in project.sessions():
            launched = _launch_folder(draft, project, file.path)
            if launched and paths.covers(launched) and not file.is_empty:
                yield file, launched


# -- one project


def _plan_project(draft: _MoveDraft, project: Project) -> None:
    launched = {file.id: _launch_folder(draft, project, file.path) for file in project.sessions()}
    moving = {id: draft.paths.apply(path) for id, path in launched.items() if path and draft.paths.covers(path)}
    rest = _default_folder(draft, project, launched, moving)
    units: dict[str, list[Path]] = {}
    owners = _flat_agents(project)
    for entry in sorted(project.folder.iterdir()):
        owner = _owner(entry, owners, launched)
        units.setdefault(owner or entry.name, []).append(entry)
    for name, entries in units.items():
        folder = moving.get(name, "") if name in launched else rest
        if folder:
            _plan_unit(draft, project, entries, name if name in launched else "", slug(folder))
        elif moving and name not in launched:
            draft.stays.append(f"{project.name}/{name}: sessions of another folder are in this project too")


def _launch_folder(draft: _MoveDraft, project: Project, path: Path) -> str:
    """Return the folder in which a session was started; "" if that is unknown."""
    for cwd in dict.fromkeys(read_cwds(path)):
        if project.name in slugs(cwd):
            return cwd
    return _named_folder(draft, project)


def _named_folder(draft: _MoveDraft, project: Project) -> str:
    """Return the folder that a project is named for, as far as its name or its index says."""
    if project.name in slugs(draft.paths.old):
        return draft.paths.old
    known = project.path()
    return known.path if known.source != "guess" and project.name in slugs(known.path) else ""


def _default_folder(draft: _MoveDraft, project: Project, launched: dict[str, str], moving: dict[str, str]) -> str:
    """Return where files without a session go: with the sessions, if all of them move to one folder."""
    if launched:
        targets = set(moving.values())
        return targets.pop() if len(moving) == len(launched) and len(targets) == 1 else ""
    named = _named_folder(draft, project)
    return draft.paths.apply(named) if named and draft.paths.covers(named) else ""


def _flat_agents(project: Project) -> dict[str, str]:
    """Return the session of each agent whose file is in the project folder itself."""
    agents = (agent for agent in project.agents() if agent.layout == "flat")
    return {agent.path.stem: (agent.session_id or "").lower() for agent in agents}


def _owner(entry: Path, agents: dict[str, str], launched: dict[str, str]) -> str:
    """Return the session that a file or folder of a project belongs to; "" if to none that is there."""
    name = entry.name.removesuffix(".jsonl").removesuffix(".meta.json")
    owner = name.lower() if is_uuid(name) else agents.get(name, "")
    return next((id for id in launched if id.lower() == owner), "")


def _plan_unit(draft: _MoveDraft, project: Project, entries: list[Path], owner: str, name: str) -> None:
    """Plan the move of a session with all of its files, or of one other file or folder."""
    target = project.folder.parent / name
    if target == project.folder:
        note = f"{name}: this is the project folder of both paths, so Claude Code finds its sessions already"
        draft.stays += [note] if note not in draft.stays else []
        return
    moves: list[FileMove] = []
    for path in (path for entry in entries for path in _files(entry)):
        move = _plan_file(draft, path, target / path.relative_to(project.folder), owner)
        if path.name == INDEX_NAME and _is_taken(move):
            draft.dropped.append(path)  # a cache of Claude Code, which exists in the new place
        else:
            moves.append(move)
    if clash := next(filter(_is_taken, moves), None):
        command = clew_command("merge", str(clash.source), str(clash.target))
        hint = f"; join both with: {command}" if owner and clash.source.stem == owner else ""
        draft.stays.append(f"{clash.source.relative_to(project.folder.parent)}: {name} has another one{hint}")
        return
    draft.files.extend(moves)
    draft.folders[project.name] = name
    draft.sessions += [owner] if owner else []


def _is_taken(move: FileMove) -> bool:
    return os.path.lexists(move.target) and not move.is_written


def _files(entry: Path) -> Iterator[Path]:
    """Yield the regular files at or below a path; links stay where they are."""
    if entry.is_symlink():
        return
    if entry.is_file():
        yield entry
    elif entry.is_dir():
        for child in sorted(entry.iterdir()):
            yield from _files(child)


def _plan_file(draft: _MoveDraft, path: Path, target: Path, owner: str) -> FileMove:
    mtime = arrival_time(path.stat().st_mtime_ns, draft.days)
    return plan_file(path, target, _content(draft, path, target, owner), mtime)


def _content(draft: _MoveDraft, path: Path, target: Path, owner: str) -> Callable[[], Iterable[bytes]]:
    """Return the content of a file in its new place: transcripts have paths in them, other files are copied."""
    if path.name == INDEX_NAME:
        return lambda: [relocate_index(path, draft.paths, target.parent)]
    if path.name.endswith(".meta.json"):
        return lambda: [relocated_meta(path, draft.paths)]
    if path.suffix == ".jsonl" and path.parent.name != "memory":
        folder = str(_project_folder(draft, target) / owner) if owner else ""
        return partial(relocated_lines, path, Relocation(draft.paths, owner, folder))
    return partial(read_chunks, path)


def _project_folder(draft: _MoveDraft, target: Path) -> Path:
    projects = draft.tree.root / "projects"
    return projects / target.relative_to(projects).parts[0]


def count_files(plan: MovePlan, name: str) -> Counter[str]:
    """Count the files that leave a project folder: sessions, agents, memory and others."""
    kinds: Counter[str] = Counter()
    for move in plan.job.files:
        parts = move.source.relative_to(plan.job.root / "projects").parts
        if parts[0] == name:
            kinds[_kind(parts)] += 1
    return kinds


def _kind(parts: tuple[str, ...]) -> str:
    if len(parts) == 2 and parts[1].endswith(".jsonl") and is_uuid(parts[1][:-6]):
        return "session"
    if parts[-1].startswith("agent-") and parts[-1].endswith(".jsonl"):
        return "agent"
    return "memory file" if parts[1] == "memory" else "other file"
