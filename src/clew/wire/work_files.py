"""Todo lists, tasks and plans: what Claude Code keeps about the work of a session, in files beside the transcripts.

A todo list is named after its session and agent, tasks lie in a folder named after their session, and a plan has the
session's slug as its name. Reading never raises; links are not followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from clew.wire.layout import SessionFile, Tree
from clew.wire.line import pieces
from clew.wire.overflow_files import Overflow
from clew.wire.side_files import read_task, read_todos
from clew.wire.tree_walk import TranscriptFile, walk_side

LONGEST_PLAN = 1 << 20  # bytes of a plan that are read
_REACH = 1 << 20  # bytes of a transcript in which it names its plan
_PLAN_NAME = re.compile(rb'"slug":\s?"([A-Za-z0-9_-]{1,120})"|plans(?:/|\\{1,4})([A-Za-z0-9_-]{1,120})\.md')


class WorkItem(Struct, frozen=True):
    """An item of a todo list, or a task."""

    content: str
    status: str
    description: str = ""


class TodoList(Struct, frozen=True):
    """A todo list or the tasks of a session. `source` is "todos" or "tasks"."""

    path: Path
    session_id: str
    agent_id: str
    source: str
    modified: datetime
    items: tuple[WorkItem, ...]

    @property
    def done(self) -> int:
        return sum(item.status == "completed" for item in self.items)

    @property
    def current(self) -> str:
        """What is being worked on, else what comes next, else what was last."""
        for status in ("in_progress", "pending"):
            if found := next((item.content for item in self.items if item.status == status), ""):
                return found
        return self.items[-1].content if self.items else ""

    @property
    def text(self) -> str:
        """Every item on a line of its own, with its description."""
        return "\n".join(part for item in self.items for part in (item.content, item.description) if part)


class PlanFile(Struct, frozen=True):
    """A plan: a Markdown file."""

    path: Path
    size: int
    modified: datetime

    @property
    def name(self) -> str:
        """The slug of its session, without the agent that follows it."""
        return self.path.stem.split("-agent-")[0]

    @property
    def agent_id(self) -> str:
        return self.path.stem.partition("-agent-")[2]

    @property
    def text(self) -> str:
        return Overflow(self.path, self.size).first(LONGEST_PLAN)

    @property
    def title(self) -> str:
        """The first line that says something."""
        lines = (line.strip().lstrip("#").strip() for line in self.text.splitlines())
        return next((line for line in lines if line), "")


def todo_lists(tree: Tree, session_id: str | None = None) -> list[TodoList]:
    """Every list with items, or those of one session: its own and its tasks first, then its agents'."""
    files = [one for one in walk_side(str(tree.root)) if one.folder in ("todos", "tasks")]
    wanted = [one for one in files if session_id is None or one.session.lower() == session_id.lower()]
    found = [made for one in wanted if (made := read_todo_list(one)).items]
    return sorted(found, key=lambda made: (made.session_id, bool(made.agent_id)))


def read_todo_list(found: TranscriptFile) -> TodoList:
    """The list in a file of `todos`, or the tasks in a folder of `tasks`."""
    path = Path(found.path)
    items = _tasks(path) if found.folder == "tasks" else [WorkItem(t.content, t.status) for t in read_todos(path)]
    return TodoList(path, found.session, found.agent, found.folder, _when(found), tuple(items))


def _tasks(folder: Path) -> list[WorkItem]:
    files = [path for path in sorted(folder.glob("*.json")) if not path.is_symlink()]
    files.sort(key=lambda path: (not path.stem.isdecimal(), len(path.stem), path.stem))
    tasks = [task for path in files if (task := read_task(path)) and (task.subject or task.description)]
    return [WorkItem(task.subject or str(task.id), task.status, task.description) for task in tasks]


def plan_files(tree: Tree) -> list[PlanFile]:
    """Every plan, newest first."""
    found = [plan_file(one) for one in walk_side(str(tree.root)) if one.folder == "plans"]
    return sorted(found, key=lambda plan: (-plan.modified.timestamp(), plan.path.name))


def plan_file(found: TranscriptFile) -> PlanFile:
    return PlanFile(Path(found.path), found.size, _when(found))


def plan_owners(plans: Iterable[PlanFile], sessions: Iterable[SessionFile]) -> dict[str, str]:
    """The session of each plan by the plan's name: the newest that has the name as its slug or mentions the file."""
    wanted = {plan.name for plan in plans} | {plan.path.stem for plan in plans}
    owners: dict[str, str] = {}
    for file in sorted(sessions, key=lambda file: -file.mtime_ns) if wanted else ():
        for name in names_of_plans(file.path, _REACH) & wanted:
            owners.setdefault(name, file.id)
    return owners


def names_of_plans(path: Path, reach: int | None = None) -> set[str]:
    """The names that the plans of a session may have: its slugs, and the plans that its first lines mention."""
    found: set[str] = set()
    try:
        for buffer, at in pieces(path, size=1 << 18):
            for match in _PLAN_NAME.finditer(bytes(buffer)):
                found.add((match[1] or match[2]).decode())
            if reach is not None and at + len(buffer) >= reach:
                break
    except OSError:
        return found
    return found


def plans_of(tree: Tree, session: Path) -> list[PlanFile]:
    """The plans of one session."""
    found = plan_files(tree)
    names = names_of_plans(session) if found else set()
    return [plan for plan in found if plan.name in names or plan.path.stem in names]


def _when(found: TranscriptFile) -> datetime:
    return datetime.fromtimestamp(found.mtime_ns / 1e9, UTC)
