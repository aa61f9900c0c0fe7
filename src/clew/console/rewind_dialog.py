"""Ask the user which prompt to rewind to, what to restore and what to delete, and let the engine do it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

from clew.chat.rewind.carry_out import Rewound
from clew.chat.rewind.rewind_plan import Edits, PathChange, RewindPlan, RewindPoint, rewind_points
from clew.chat.session_factory import ChatSession
from clew.console.menu import Menu, Option
from clew.console.ui import ConsoleUi
from clew.conversation.load import read
from clew.errors import ClewError, NotFound
from clew.system.plural import plural
from clew.view.approval_text import escape_line
from clew.view.row_types import AboutRow, DiffRow, ErrorRow, WarningRow
from clew.view.sanitize import format_age, one_line

BOTH, CONVERSATION, CODE = "both", "conversation", "code"
UNDO = "undo"
MAX_DIFF_LINES = 30
MAX_NAMED = 3
MAX_LISTED = 20
_DONE = {"delete": "Deleted", "create": "Restored", "restore": "Restored"}


async def rewind(session: ChatSession, ui: ConsoleUi) -> str | None:
    """Ask for a prompt and rewind to it. Return its text; None if the conversation does not change."""
    path = session.engine.conversation.journal.path
    points = await asyncio.to_thread(lambda: rewind_points(read(path))) if path.exists() else ()
    if not points:
        ui.print_row(AboutRow("There is no prompt to go back to yet."))
        return None
    options = [_option(point) for point in reversed(points)]
    undo_plan = _plan_undo(session)
    if undo_plan is not None:
        options.append(Option("Undo the last rewind", UNDO, _summarize_changes(undo_plan.shown)))
    chosen = await ui.choose(Menu("Go back to before which prompt?", options, is_sought=True))
    if chosen is None:
        return None
    if chosen.value == UNDO and undo_plan is not None:
        return await _carry_out(session, ui, undo_plan, CODE if not undo_plan.has_conversation else BOTH)
    point: RewindPoint = chosen.value
    await session.engine.record_changes()
    try:
        plan = await asyncio.to_thread(session.engine.plan_rewind, point.uuid)
    except ClewError as error:
        ui.print_row(ErrorRow(f"{error} {error.hint}".strip()))
        return None
    missing = _describe_missing(plan)
    if missing:
        ui.print_row(AboutRow("\n".join(missing)))
    what = await ui.choose(Menu("What should be restored?", _restore_options(plan), _about(plan)))
    if what is None:
        return None
    return await _carry_out(session, ui, plan, str(what.value))


def _plan_undo(session: ChatSession) -> RewindPlan | None:
    """Return the plan that undoes the last rewind; None if there was none or it changed nothing."""
    try:
        plan = session.engine.plan_undo()
    except NotFound:
        return None
    return plan if plan.shown or plan.has_conversation else None


def _option(point: RewindPoint) -> Option:
    when = format_age(point.time) if isinstance(point.time, datetime) else ""
    return Option(one_line(point.text) or "(no text)", point, when)


def _about(plan: RewindPlan) -> str:
    about = one_line(plan.place.text, 100)
    if not plan.lost:
        return about
    return f"{about} · {plural(len(plan.lost), 'path')} cannot be restored"


def _describe_missing(plan: RewindPlan) -> list[str]:
    """Return one line for everything that will not be restored, and for every note of the plan."""
    lost = [f"Not restored: {escape_line(name)} ({one_line(why)})" for name, why in plan.lost]
    lines = lost[:MAX_LISTED] + [f"Not restored: {plural(len(lost) - MAX_LISTED, 'more path')}"] * (
        len(lost) > MAX_LISTED
    )
    if plan.refused:
        lines.append(f"No file is restored: {one_line(plan.refused)}.")
    return lines + [f"Note: {one_line(note)}" for note in plan.notes]


def _summarize_changes(changes: Sequence[PathChange]) -> str:
    """Return the number of changed files, and what happens to the first of them, such as `delete a.py`."""
    count = len(changes)
    what = "path" if any(change.name.endswith("/") for change in changes) else "file"
    names = ", ".join(change.summary for change in changes[:MAX_NAMED]) + (", …" if count > MAX_NAMED else "")
    return f"{plural(count, what)}: {names}" if count else "the conversation"


def _restore_options(plan: RewindPlan) -> list[Option]:
    turns = f"{plural(plan.turns, 'turn')} dropped"
    only = Option("The conversation", CONVERSATION, turns)
    if not plan.shown:
        return [only]
    files = _summarize_changes(plan.shown)
    return [Option("The files and the conversation", BOTH, f"{files}; {turns}"), only, Option("The files", CODE, files)]


async def _carry_out(session: ChatSession, ui: ConsoleUi, plan: RewindPlan, what: str) -> str | None:
    edits: Edits = "refuse"
    keep: tuple[PathChange, ...] = ()
    if what != CONVERSATION and plan.edited:
        for change in plan.edited:
            ui.print_row(WarningRow(f"{escape_line(change.name)} was changed after the session wrote it:"))
            ui.print_row(DiffRow(change.edits, limit=MAX_DIFF_LINES))
        leave = Option("Leave these files as they are", "keep")
        answer = await ui.choose(
            Menu("Someone else changed these files.", [leave, Option("Replace them too", "overwrite")])
        )
        if answer is None:
            return None
        edits = "overwrite" if answer.value == "overwrite" else "keep"
    deleted = [c for c in plan.deletions if what != CONVERSATION and (edits == "overwrite" or not c.is_edited)]
    if deleted:
        for change in deleted[:MAX_LISTED]:
            ui.print_row(
                WarningRow(f"delete {escape_line(change.name)}" + (f": {change.doubt}" if change.doubt else ""))
            )
        if len(deleted) > MAX_LISTED:
            ui.print_row(WarningRow(f"and {len(deleted) - MAX_LISTED} more"))
        count = plural(len(deleted), "file")
        stay = Option(f"Keep {count}, restore the rest", "keep")
        remove = Option(f"Delete {count}", "delete", "saved first, so that this can be undone")
        agreed = await ui.choose(Menu(f"Delete {count}?", [stay, remove]))
        if agreed is None:
            return None
        keep = tuple(deleted) if agreed.value == "keep" else ()
    is_code, is_conversation = what != CONVERSATION, what != CODE
    try:
        done = await session.engine.rewind(plan, code=is_code, conversation=is_conversation, edits=edits, keep=keep)
    except ClewError as error:
        ui.print_row(ErrorRow(f"{error} {error.hint}".strip()))
        return None
    ui.print_row(AboutRow("\n".join(_report(plan, done, is_conversation=is_conversation))))
    return plan.place.text if is_conversation and plan.place.text else None


def _report(plan: RewindPlan, done: Rewound, *, is_conversation: bool) -> list[str]:
    """Return one line for every change, and how to undo them."""
    lines = [f"{_DONE[change.kind]} {escape_line(change.name)}" for change in done.changed]
    lines += [f"Kept {escape_line(change.name)}" for change in done.kept]
    lines += [f"Failed: {escape_line(name)} ({why})" for name, why in done.failed]
    if is_conversation and plan.place.text:
        lines.append(f"The conversation continues before: {one_line(plan.place.text, 80)}")
    if done.changed:
        lines.append("Undo this with Esc Esc (or /rewind) and “Undo the last rewind”.")
    return lines or ["Nothing was changed."]
