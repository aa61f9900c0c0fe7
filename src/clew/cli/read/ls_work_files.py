"""`clew ls todos` and `clew ls plans`: todo lists, tasks and plans with their sessions."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from clew.cli.select_session import open_tree
from clew.system.file_errors import ErrorCollector
from clew.wire.json_codec import JsonView
from clew.wire.layout import SessionFile
from clew.wire.lookup import find_project
from clew.wire.timestamps import format_timestamp
from clew.wire.work_files import PlanFile, TodoList, plan_files, plan_owners, todo_lists


def list_todos(options: Namespace, fence: ErrorCollector) -> Iterator[JsonView]:
    """Yield the todo lists and tasks that hold something, newest first."""
    chosen = {file.id for file in _sessions(options)} if options.project else None
    lists = sorted(todo_lists(open_tree(options)), key=lambda made: -made.modified.timestamp())
    rows = (todo_json(todo_list) for todo_list in lists if chosen is None or todo_list.session_id in chosen)
    yield from islice((row for row in rows if _is_within(row, options)), options.limit)


def list_plans(options: Namespace, fence: ErrorCollector) -> Iterator[JsonView]:
    """Yield the plans, newest first, each with the session that made it if a transcript names it."""
    plans = plan_files(open_tree(options))
    owners = plan_owners(plans, _sessions(options)) if plans else {}
    rows = (plan_json(plan, _owner(plan, owners)) for plan in plans if _owner(plan, owners) or not options.project)
    yield from islice((row for row in rows if _is_within(row, options)), options.limit)


def todo_json(todo_list: TodoList) -> dict[str, Any]:
    return {
        "kind": "todos",
        "session": todo_list.session_id,
        "agent": todo_list.agent_id or None,
        "source": todo_list.source,
        "done": todo_list.done,
        "total": len(todo_list.items),
        "title": todo_list.current,
        "items": [{"content": item.content, "status": item.status} for item in todo_list.items],
        "modified": format_timestamp(todo_list.modified),
        "path": str(todo_list.path),
        "when": todo_list.modified,
    }


def plan_json(plan: PlanFile, session: str | None) -> dict[str, Any]:
    return {
        "kind": "plan",
        "name": plan.path.stem,
        "session": session,
        "agent": plan.agent_id or None,
        "title": plan.title,
        "modified": format_timestamp(plan.modified),
        "bytes": plan.size,
        "path": str(plan.path),
        "when": plan.modified,
    }


def _owner(plan: PlanFile, owners: Mapping[str, str]) -> str | None:
    return owners.get(plan.path.stem) or owners.get(plan.name)


def _sessions(options: Namespace) -> list[SessionFile]:
    place = open_tree(options)
    chosen = [find_project(place, options.project)] if options.project else place.projects()
    return [file for project in chosen for file in project.sessions()]


def _is_within(row: JsonView, options: Namespace) -> bool:
    is_late = options.since is None or row["when"] >= options.since
    return is_late and (options.until is None or row["when"] < options.until)
