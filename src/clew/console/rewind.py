"""Going back: which prompt, and what of it. The engine does it; files that somebody else changed are shown first."""

from __future__ import annotations

import asyncio
from datetime import datetime

from clew.chat.compose import Session
from clew.chat.rewind import Place, Plan, places
from clew.console.face import Face
from clew.console.menu import Menu, Option
from clew.conversation.open import read
from clew.errors import ClewError
from clew.view.document import Row
from clew.view.plain import ago, one_line

BOTH, CONVERSATION, CODE = "both", "conversation", "code"
_DIFF_LINES = 30


async def rewind(session: Session, face: Face) -> str | None:
    """Ask where to and do it. The words of the prompt that was gone back to; None if the conversation stays as it is."""
    path = session.engine.dialogue.journal.path
    found = await asyncio.to_thread(lambda: places(read(path))) if path.exists() else ()
    if not found:
        face.put(Row("about", "There is no prompt to go back to yet."))
        return None
    options = [_option(place) for place in reversed(found)]
    chosen = await face.choose(Menu("Go back to before which prompt?", options, is_sought=True))
    if chosen is None:
        return None
    place: Place = chosen.value
    plan = session.engine.plan_rewind(place.uuid)
    what = await face.choose(Menu("What should be as it was then?", _kinds(plan), one_line(place.text, 100)))
    if what is None:
        return None
    return await _done(session, face, plan, str(what.value))


def _option(place: Place) -> Option:
    when = ago(place.time) if isinstance(place.time, datetime) else ""
    return Option(one_line(place.text) or "(no text)", place, when)


def _kinds(plan: Plan) -> list[Option]:
    files = ", ".join(change.name for change in plan.changes[:3]) + (", …" if len(plan.changes) > 3 else "")
    turns = f"{plan.turns} turn{'s' if plan.turns != 1 else ''} left behind"
    only = Option("The conversation", CONVERSATION, turns)
    if not plan.changes:
        return [only]
    count = len(plan.changes)
    told = f"{count} file{'s' if count != 1 else ''}: {files}"
    return [Option("The files and the conversation", BOTH, f"{told}; {turns}"), only, Option("The files", CODE, told)]


async def _done(session: Session, face: Face, plan: Plan, what: str) -> str | None:
    edits = "refuse"
    if what != CONVERSATION and plan.edited:
        for change in plan.edited:
            face.put(Row("warning", f"{change.name} was changed after the session left it:"))
            face.put(Row("diff", change.edits, limit=_DIFF_LINES))
        keep = Option("Leave these files as they are", "keep")
        answer = await face.choose(
            Menu("Somebody else changed these files.", [keep, Option("Take them back too", "overwrite")])
        )
        if answer is None:
            return None
        edits = str(answer.value)
    try:
        done = await session.engine.rewind(
            plan,
            code=what != CONVERSATION,
            conversation=what != CODE,
            edits=edits,  # type: ignore[arg-type]
        )
    except ClewError as error:
        face.put(Row("error", f"{error} {error.hint}".strip()))
        return None
    told = [f"{change.name} is as it was" for change in done.changed]
    told += [f"{change.name} was left as it is" for change in done.kept]
    told += [f"{name} could not be brought back: {why}" for name, why in (*done.failed, *plan.lost)]
    if what != CODE:
        told.append(f"The conversation goes on before: {one_line(plan.place.text, 80)}")
    face.put(Row("about", "\n".join(told)))
    return plan.place.text if what != CODE else None
