"""Plan copies of all sessions of a project in the project of another folder, with new ids, as one edit.

The id of a copy follows from its original and the new folder, so that an interrupted copy is completed by the next run.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from clew.conversation.load import read
from clew.edit import plan, write_plan
from clew.edit.move_files import FileMove, MoveJob, plan_file
from clew.edit.move_project import MovePlan, find_sessions
from clew.errors import NotFound
from clew.wire.arrival_time import arrival_time, cleanup_days
from clew.wire.layout import Tree
from clew.wire.path_mapping import PathMapping
from clew.wire.project_slug import slug
from clew.wire.rename_ids import new_uuid
from clew.wire.session_parts import read_chunks

_EPOCH = datetime.fromtimestamp(0, UTC)


def plan_copies(tree: Tree, old: str, new: str) -> MovePlan:
    """Plan copies of the sessions at or below a folder. Raises NotFound if there are none."""
    paths = PathMapping(old, new)
    days = cleanup_days(tree.root)
    files: dict[str, FileMove] = {}
    copied_ids: list[str] = []
    stays: list[str] = []
    folders: dict[str, str] = {}
    for file, launched in find_sessions(tree, paths):
        cwd = paths.apply(launched)
        edit = plan.plan(read(file.path)).move(cwd)
        new_id = new_uuid(file.id, cwd)
        if problems := edit.violations:
            stays.append(f"{file.id[:8]}: {'; '.join(problems)}")
            continue
        home = tree.root / "projects" / slug(cwd)
        contents = write_plan.planned_files(edit, new_id, home, edit.source.ended or _EPOCH)
        memory = file.project_folder / "memory"
        notes = [path for path in memory.rglob("*") if path.is_file()] if memory.is_dir() else []
        contents |= {home / path.relative_to(file.project_folder): partial(read_chunks, path) for path in notes}
        mtime = arrival_time(file.mtime_ns, days)
        missing = {target: parts for target, parts in contents.items() if not target.exists()}
        if home / f"{new_id}.jsonl" not in missing:
            stays.append(f"{file.id[:8]}: copied before as {new_id[:8]}")
            continue
        for target, parts in missing.items():
            files.setdefault(str(target), plan_file(file.path, target, parts, mtime))
        copied_ids.append(new_id)
        folders[file.project_folder.name] = home.name
    if not copied_ids and not stays:
        raise NotFound(old, kind="project", hint="List projects and their folders with: clew ls projects")
    job = MoveJob(f"copy {old} to {new}", old, new, tree.root, tuple(files.values()), is_copy=True)
    agents = sum(move.target.name.startswith("agent-") and move.target.suffix == ".jsonl" for move in job.files)
    return MovePlan(paths, job, tuple(copied_ids), folders, agents, 0, tuple(stays))
