"""Going back in a conversation that is held open: the plan for it, and the dialogue as it was before a prompt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from clew.chat import entry
from clew.chat.dialogue import Dialogue
from clew.chat.resume import resume
from clew.chat.rewind import Ground, Plan, plan, store_of
from clew.chat.rewinding import undo
from clew.chat.tool import Json
from clew.conversation.open import read
from clew.errors import NotFound, Refused

if TYPE_CHECKING:
    from clew.chat.engine import Engine

UNSAVED = "No file checkpoint found for this message."


def planned(dialogue: Dialogue, asked: str) -> Plan:
    """What going back to a prompt would change."""
    path = _file(dialogue)
    if not path.exists():
        raise NotFound(asked, kind="turn or prompt")
    session = read(path)
    return plan(session, asked, _ground(dialogue))


def undoing(dialogue: Dialogue) -> Plan:
    """What taking the last rewind back would change."""
    _file(dialogue)
    return undo(dialogue.session_id, dialogue.state.project)


async def rewind_files(engine: Engine, message: str, *, is_dry: bool = False) -> Json:
    """What a program asks for by the uuid of a prompt: the files alone, over whatever stands there, which is saved.

    It is to ask with `is_dry` first: that tells what would change, and what somebody else changed since.
    """
    try:
        plan = engine.plan_rewind(message)
    except NotFound:
        plan = None
    if plan is None or plan.place.uuid != message or not (plan.place.has_files or plan.changes):
        if is_dry:
            return {"canRewind": False, "error": UNSAVED}
        raise Refused([UNSAVED.rstrip(".")])
    lines = [line for change in plan.changes for line in change.diff.splitlines()]
    told: Json = {
        "canRewind": True,
        "filesChanged": [str(change.path) for change in plan.changes],
        "insertions": sum(line.startswith("+") and not line.startswith("+++ ") for line in lines),
        "deletions": sum(line.startswith("-") and not line.startswith("--- ") for line in lines),
        "filesEdited": [str(change.path) for change in plan.edited],
    }
    if is_dry:
        return told
    done = await engine.rewind(plan, conversation=False, edits="overwrite")
    if done.failed:
        raise Refused([f"{name} could not be brought back: {why}" for name, why in done.failed])
    return told


class Going:
    """A dialogue on its way back. `closing` are lines that the turn it goes on from still needs, before the next prompt."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._dialogue = dialogue
        self.closing: list[Json] = []

    @property
    def leaf(self) -> str | None:
        return self._dialogue.journal.leaf

    def go_back(self, before: str | None) -> None:
        """Let the next prompt hang below this line.

        Nothing is taken out of the file: a pin says where it goes on. Below nothing at all it can say only that the older
        pins count no longer, so that a session which is closed before the next prompt goes on from where it had been.
        """
        dialogue, journal, state = self._dialogue, self._dialogue.journal, self._dialogue.state
        journal.beside(entry.pin(before, dialogue.session_id), is_safe=True)
        if before is None:
            dialogue.messages, dialogue.reported, dialogue.weighed = [], 0, 0
            journal.leaf, state.todos, state.seen = None, [], {}
            return
        found = resume(journal.path)
        dialogue.messages, dialogue.reported, dialogue.weighed = list(found.messages), found.reported, found.weighed
        journal.leaf, state.todos, state.seen = found.leaf, list(found.todos), dict(found.seen)
        self.closing = list(found.closing)


def _ground(dialogue: Dialogue) -> Ground:
    backups = dialogue.backups
    if backups is None:
        raise Refused(["the files of this session are not saved"])
    shadow = dialogue.watch.shadow if dialogue.watch else None
    return Ground(backups.folder, backups.cwd, dialogue.state.roots, store_of(dialogue.session_id), shadow)


def _file(dialogue: Dialogue) -> Path:
    if not dialogue.journal.is_kept:
        raise Refused(["nothing of this session is written down, so there is nothing to go back to"])
    return dialogue.journal.path
