"""`clew show --todos`: the todo lists, tasks and plans of a session."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from clew.cli.output import one_line, print_json, print_message
from clew.cli.read.ls_work_files import plan_json, todo_json
from clew.conversation.session import Session
from clew.facts.secrets.mask_secrets import mask_data
from clew.view.mask_rows import mask_rows
from clew.view.row_terminal import print_rows
from clew.view.row_types import AboutRow, NoteRow, PlanRow, Row, TitleRow, TodoRow
from clew.wire.layout import SessionFile, Tree, session_at
from clew.wire.work_files import PlanFile, TodoList, plans_of_session, todo_lists


def show_todos(session: Session, options: Namespace) -> int:
    """Print them; exit code 1 if there are none."""
    lists, plans = _found(session)
    if not lists and not plans:
        if not options.quiet:
            print_message(
                f"Session {session.id[:8]} has no todo lists, tasks or plans. All there are: clew ls todos, clew ls plans"
            )
        return 1
    if options.json:
        values = (_without_when(value) for value in _values(session, lists, plans))
        return 0 if print_json(value if options.reveal else mask_data(value)[0] for value in values) else 1
    rows = _rows(session, lists, plans)
    print_rows(rows if options.reveal else mask_rows(rows), sys.stdout)
    return 0


def _found(session: Session) -> tuple[list[TodoList], list[PlanFile]]:
    if session.path is None:
        return [], []
    file = session.file if isinstance(session.file, SessionFile) else session_at(session.path)
    tree = Tree(file.project_folder.parent.parent)
    return todo_lists(tree, session.id), plans_of_session(tree, session.path)


def _values(session: Session, lists: list[TodoList], plans: list[PlanFile]) -> Iterator[dict[str, Any]]:
    yield from map(todo_json, lists)
    for plan in plans:
        yield {**plan_json(plan, session.id), "text": plan.text}


def _without_when(value: dict[str, Any]) -> dict[str, Any]:
    return {key: inner for key, inner in value.items() if key != "when"}


def _rows(session: Session, lists: list[TodoList], plans: list[PlanFile]) -> Iterator[Row]:
    yield TitleRow(one_line(session.title) or "(no prompt)")
    for todo_list in lists:
        name = {"todos": "Todos", "tasks": "Tasks"}[todo_list.source]
        agent = f" of agent {todo_list.agent_id}" if todo_list.agent_id else ""
        yield AboutRow(f"{name}{agent}: {todo_list.done} of {len(todo_list.items)} done · {todo_list.path.name}")
        for item in todo_list.items:
            yield TodoRow(item.content, status=item.status)
            if item.description:
                yield NoteRow(item.description, depth=1)
    for plan in plans:
        yield AboutRow(f"Plan · {plan.path.name}")
        yield PlanRow(plan.text)
