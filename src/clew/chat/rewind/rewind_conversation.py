"""Rewind an open conversation: make the plan, and continue from before a prompt."""

from __future__ import annotations

from pathlib import Path

from clew.chat.rewind.carry_out import undo
from clew.chat.rewind.rewind_plan import RewindPlan, plan, store_of
from clew.chat.rewind.saved_states import SavedStateFolders
from clew.chat.rewind.watch_files import FileWatch
from clew.chat.store import journal_lines
from clew.chat.store.live_conversation import LiveConversation
from clew.chat.store.resume_session import resume
from clew.conversation.load import read
from clew.errors import NotFound, Refused
from clew.wire.json_codec import Json


def plan_rewind(dialogue: LiveConversation, asked: str) -> RewindPlan:
    """Return the plan of a rewind to a prompt."""
    path = _file(dialogue)
    if not path.exists():
        raise NotFound(asked, kind="turn or prompt")
    session = read(path)
    return plan(session, asked, _ground(dialogue))


def plan_undo(dialogue: LiveConversation) -> RewindPlan:
    """Return the plan that undoes the last rewind."""
    _file(dialogue)
    return undo(dialogue.session_id, dialogue.state.project)


class LiveRewind:
    """Rewinds an open conversation. `closing` are lines that the previous turn needs before the next prompt."""

    def __init__(self, dialogue: LiveConversation) -> None:
        self._dialogue = dialogue
        self.closing: list[Json] = []

    @property
    def leaf(self) -> str | None:
        return self._dialogue.journal.leaf

    def go_back(self, before: str | None) -> None:
        """Attach the next prompt below this line.

        Nothing is removed from the file: a `last-prompt` pin records where it continues. Without a line above, it
        can only cancel the older pins, so a session closed before the next prompt continues from its previous leaf.
        """
        dialogue, journal, state = self._dialogue, self._dialogue.journal, self._dialogue.state
        journal.beside(journal_lines.pin(before, dialogue.session_id), is_safe=True)
        if before is None:
            dialogue.messages, dialogue.known_tokens, dialogue.known_messages = [], 0, 0
            journal.leaf, state.todos, state.seen = None, [], {}
            return
        resumed = resume(journal.path)
        dialogue.load(resumed.messages, resumed.model)
        dialogue.known_tokens, dialogue.known_messages = resumed.known_tokens, resumed.known_messages
        journal.leaf, state.todos, state.seen = resumed.leaf, list(resumed.todos), dict(resumed.seen)
        self.closing = list(resumed.closing)


def _ground(dialogue: LiveConversation) -> SavedStateFolders:
    backups = dialogue.backups
    if backups is None:
        raise Refused(["the files of this session are not saved"])
    shadow = dialogue.watch.shadow if isinstance(dialogue.watch, FileWatch) else None
    return SavedStateFolders(backups.folder, backups.cwd, dialogue.state.roots, store_of(dialogue.session_id), shadow)


def _file(dialogue: LiveConversation) -> Path:
    if not dialogue.journal.is_kept:
        raise Refused(["this session is not saved, so there is nothing to go back to"])
    return dialogue.journal.path
