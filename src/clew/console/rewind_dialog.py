"""The rewind dialogue: which prompt, what to restore, what to delete. The engine does it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

from clew.chat.rewind.carry_out import Rewound
from clew.chat.rewind.rewind_plan import Edits, PathChange, RewindPlan, RewindPoint, rewind_points
from clew.chat.session_factory import ChatSession
from clew.console.menu import Menu, Option
from clew.console.ui import Face
from clew.conversation.load import read
from clew.errors import ClewError, NotFound
from clew.system.plural import plural
from clew.view.row_types import AboutRow, DiffRow, ErrorRow, WarningRow
from clew.view.sanitize import format_age, one_line

BOTH, CONVERSATION, CODE = "both", "conversation", "code"
UNDO = "undo"
_DIFF_LINES = 30
_NAMED = 3
_LISTED = 20
_DONE = {"delete": "Deleted", "create": "Restored", "restore": "Restored"}


async def rewind(session: ChatSession, face: Face) -> str | None:
    """Ask where to go back to and do it. The text of that prompt; None if the conversation stays as it is."""
    path = session.engine.conversation.journal.path
    found = await asyncio.to_thread(lambda: rewind_points(read(path))) if path.exists() else ()
    if not found:
        face.put(AboutRow("There is no prompt to go back to yet."))
        return None
    options = [_option(place) for place in reversed(found)]
    undoing = _undoing(session)
    if undoing is not None:
        options.append(Option("Undo the last rewind", UNDO, _listed(undoing.shown)))
    chosen = await face.choose(Menu("Go back to before which prompt?", options, is_sought=True))
    if chosen is None:
        return None
    if chosen.value == UNDO and undoing is not None:
        return await _carry_out(session, face, undoing, CODE if not undoing.has_conversation else BOTH)
    place: RewindPoint = chosen.value
    await session.engine.record_changes()
    try:
        plan = await asyncio.to_thread(session.engine.plan_rewind, place.uuid)
    except ClewError as error:
        face.put(ErrorRow(f"{error} {error.hint}".strip()))
        return None
    missing = _missing(plan)
    if missing:
        face.put(AboutRow("\n".join(missing)))
    what = await face.choose(Menu("What should be restored?", _kinds(plan), _about(plan)))
    if what is None:
        return None
    return await _carry_out(session, face, plan, str(what.value))


def _undoing(session: ChatSession) -> RewindPlan | None:
    """The plan that undoes the last rewind, if there was one and it changed something."""
    try:
        plan = session.engine.plan_undo()
    except NotFound:
        return None
    return plan if plan.shown or plan.has_conversation else None


def _option(place: RewindPoint) -> Option:
    when = format_age(place.time) if isinstance(place.time, datetime) else ""
    return Option(one_line(place.text) or "(no text)", place, when)


def _about(plan: RewindPlan) -> str:
    about = one_line(plan.place.text, 100)
    if not plan.lost:
        return about
    return f"{about} · {plural(len(plan.lost), 'path')} cannot be restored"


def _missing(plan: RewindPlan) -> list[str]:
    """What would not be restored, and what is not known."""
    lost = [f"Not restored: {one_line(name)} ({one_line(why)})" for name, why in plan.lost]
    lines = lost[:_LISTED] + [f"Not restored: {plural(len(lost) - _LISTED, 'more path')}"] * (len(lost) > _LISTED)
    if plan.refused:
        lines.append(f"No file is restored: {one_line(plan.refused)}.")
    return lines + [f"Note: {one_line(note)}" for note in plan.notes]


def _listed(changes: Sequence[PathChange]) -> str:
    """How many files, and what happens to the first of them: deletions are named as deletions."""
    count = len(changes)
    what = "path" if any(change.name.endswith("/") for change in changes) else "file"
    names = ", ".join(one_line(change.summary) for change in changes[:_NAMED]) + (", …" if count > _NAMED else "")
    return f"{plural(count, what)}: {names}" if count else "the conversation"


def _kinds(plan: RewindPlan) -> list[Option]:
    turns = f"{plural(plan.turns, 'turn')} dropped"
    only = Option("The conversation", CONVERSATION, turns)
    if not plan.shown:
        return [only]
    files = _listed(plan.shown)
    return [Option("The files and the conversation", BOTH, f"{files}; {turns}"), only, Option("The files", CODE, files)]


async def _carry_out(session: ChatSession, face: Face, plan: RewindPlan, what: str) -> str | None:
    edits: Edits = "refuse"
    keep: tuple[PathChange, ...] = ()
    if what != CONVERSATION and plan.edited:
        for change in plan.edited:
            face.put(WarningRow(f"{one_line(change.name)} was changed after the session wrote it:"))
            face.put(DiffRow(change.edits, limit=_DIFF_LINES))
        leave = Option("Leave these files as they are", "keep")
        answer = await face.choose(
            Menu("Someone else changed these files.", [leave, Option("Replace them too", "overwrite")])
        )
        if answer is None:
            return None
        edits = "overwrite" if answer.value == "overwrite" else "keep"
    deleted = [c for c in plan.deletions if what != CONVERSATION and (edits == "overwrite" or not c.is_edited)]
    if deleted:
        for change in deleted[:_LISTED]:
            face.put(WarningRow(f"delete {one_line(change.name)}" + (f": {change.doubt}" if change.doubt else "")))
        if len(deleted) > _LISTED:
            face.put(WarningRow(f"and {len(deleted) - _LISTED} more"))
        count = plural(len(deleted), "file")
        stay = Option(f"Keep {count}, restore the rest", "keep")
        remove = Option(f"Delete {count}", "delete", "saved first, so that this can be undone")
        agreed = await face.choose(Menu(f"Delete {count}?", [stay, remove]))
        if agreed is None:
            return None
        keep = tuple(deleted) if agreed.value == "keep" else ()
    is_code, is_talk = what != CONVERSATION, what != CODE
    try:
        done = await session.engine.rewind(plan, code=is_code, conversation=is_talk, edits=edits, keep=keep)
    except ClewError as error:
        face.put(ErrorRow(f"{error} {error.hint}".strip()))
        return None
    face.put(AboutRow("\n".join(_report(plan, done, is_talk=is_talk))))
    return plan.place.text if is_talk and plan.place.text else None


def _report(plan: RewindPlan, done: Rewound, *, is_talk: bool) -> list[str]:
    """What was done, and how to undo it."""
    lines = [f"{_DONE[change.kind]} {one_line(change.name)}" for change in done.changed]
    lines += [f"Kept {one_line(change.name)}" for change in done.kept]
    lines += [f"Failed: {one_line(name)} ({why})" for name, why in done.failed]
    if is_talk and plan.place.text:
        lines.append(f"The conversation continues before: {one_line(plan.place.text, 80)}")
    if done.changed:
        lines.append("Undo this with Esc Esc (or /rewind) and “Undo the last rewind”.")
    return lines or ["Nothing was changed."]
