"""Read todo lists, tasks and plans, which Claude Code stores in files next to the transcripts.

A todo list is named after its session and agent, tasks are in a folder named after their session, and the name of a
plan is the session's slug. Reading never raises; links are not followed.
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
from clew.wire.tree_walk import TranscriptFile, list_side_files

MAX_PLAN = 1 << 20  # bytes of a plan to read at most
_PLAN_SEARCH = 1 << 20  # bytes of a transcript to search for the name of its plan
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
        """The item in progress, else the next pending one, else the last one."""
        for status in ("in_progress", "pending"):
            if content := next((item.content for item in self.items if item.status == status), ""):
                return content
        return self.items[-1].content if self.items else ""

    @property
    def text(self) -> str:
        """Every item on its own line, followed by its description."""
        return "\n".join(part for item in self.items for part in (item.content, item.description) if part)


class PlanFile(Struct, frozen=True):
    """A plan: a Markdown file."""

    path: Path
    size: int
    modified: datetime

    @property
    def name(self) -> str:
        """The slug of its session, without the agent after it."""
        return self.path.stem.split("-agent-")[0]

    @property
    def agent_id(self) -> str:
        return self.path.stem.partition("-agent-")[2]

    @property
    def text(self) -> str:
        return Overflow(self.path, self.size).first(MAX_PLAN)

    @property
    def title(self) -> str:
        """The first line with text."""
        lines = (line.strip().lstrip("#").strip() for line in self.text.splitlines())
        return next((line for line in lines if line), "")


def todo_lists(tree: Tree, session_id: str | None = None) -> list[TodoList]:
    """Return every list with items, or those of one session: its own and its tasks first, then those of its agents."""
    files = [one for one in list_side_files(str(tree.root)) if one.folder in ("todos", "tasks")]
    selected = [one for one in files if session_id is None or one.session.lower() == session_id.lower()]
    lists = [todo_list for one in selected if (todo_list := read_todo_list(one)).items]
    return sorted(lists, key=lambda made: (made.session_id, bool(made.agent_id)))


def read_todo_list(file: TranscriptFile) -> TodoList:
    """Read the list in a file of `todos`, or the tasks in a folder of `tasks`."""
    path = Path(file.path)
    items = _tasks(path) if file.folder == "tasks" else [WorkItem(t.content, t.status) for t in read_todos(path)]
    return TodoList(path, file.session, file.agent, file.folder, _modified_time(file), tuple(items))


def _tasks(folder: Path) -> list[WorkItem]:
    files = [path for path in sorted(folder.glob("*.json")) if not path.is_symlink()]
    files.sort(key=lambda path: (not path.stem.isdecimal(), len(path.stem), path.stem))
    tasks = [task for path in files if (task := read_task(path)) and (task.subject or task.description)]
    return [WorkItem(task.subject or str(task.id), task.status, task.description) for task in tasks]


def plan_files(tree: Tree) -> list[PlanFile]:
    """Return every plan, newest first."""
    plans = [plan_file(one) for one in list_side_files(str(tree.root)) if one.folder == "plans"]
    return sorted(plans, key=lambda plan: (-plan.modified.timestamp(), plan.path.name))


def plan_file(file: TranscriptFile) -> PlanFile:
    return PlanFile(Path(file.path), file.size, _modified_time(file))


def plan_owners(plans: Iterable[PlanFile], sessions: Iterable[SessionFile]) -> dict[str, str]:
    """Map each plan's name to its session: the newest that has the name as its slug or mentions the file."""
    names = {plan.name for plan in plans} | {plan.path.stem for plan in plans}
    owners: dict[str, str] = {}
    for file in sorted(sessions, key=lambda file: -file.mtime_ns) if names else ():
        for name in possible_plan_names(file.path, _PLAN_SEARCH) & names:
            owners.setdefault(name, file.id)
    return owners


def possible_plan_names(path: Path, reach: int | None = None) -> set[str]:
    """Return the names that the plans of a session can have: its slugs, and plans mentioned in its first lines."""
    names: set[str] = set()
    try:
        for buffer, at in pieces(path, size=1 << 18):
            for match in _PLAN_NAME.finditer(bytes(buffer)):
                names.add((match[1] or match[2]).decode())
            if reach is not None and at + len(buffer) >= reach:
                break
    except OSError:
        return names
    return names


def plans_of_session(tree: Tree, session: Path) -> list[PlanFile]:
    """Return the plans of one session."""
    plans = plan_files(tree)
    names = possible_plan_names(session) if plans else set()
    return [plan for plan in plans if plan.name in names or plan.path.stem in names]


def _modified_time(file: TranscriptFile) -> datetime:
    return datetime.fromtimestamp(file.mtime_ns / 1e9, UTC)
