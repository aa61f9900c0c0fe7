"""Report what a rewind does not restore, and what was not watched."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from clew.chat.rewind.command_effects import Effects
from clew.chat.rewind.project_inventory import OWN
from clew.chat.rewind.watch_files import changes_files
from clew.conversation.replies import Call
from clew.conversation.session import Session
from clew.system.plural import plural
from clew.wire.timestamps import parse_timestamp

_NAMED = 3
_PARSED = 300  # commands that are read to see whether they may change files; further ones count as if they may
_DECLINED = ("The user declined this call", "The user doesn't want to proceed", "Permission to use")


def lost_by_commands(effects: Effects, top: Path) -> Iterator[tuple[str, str]]:
    """Return what commands changed and a rewind leaves unchanged, with the reason."""
    for name, command in sorted(effects.unknown.items()):
        if os.path.lexists(top / name):
            yield name, f"{effects.doubts.get(name, 'it may have existed before')} `{command}`; it is left as it is"
    for name, (why, what, command) in sorted(effects.unkept.items()):
        if what == "created" and not os.path.lexists(top / name.rstrip("/")):
            continue
        if why == OWN:
            yield name, f"the repository itself is never rewound; {what} by `{command}`"
        elif what == "created":
            yield name, f"{why}; created by `{command}`, and left as it is"
        else:
            yield name, f"{why}, so it was not kept; {what} by `{command}`"


def notes(session: Session, effects: Effects, offset: int, time: datetime | None, top: Path) -> Iterator[str]:
    """Return sentences about what is unknown about the commands since a prompt."""
    commands = list(_commands(session, offset, time))
    if effects.unchecked:
        names = _named(sorted(effects.unchecked))
        yield f"Too large to check for changes, and not restored: {names}."
    reasons = sorted(set(effects.unseen.values()))
    for why in reasons:
        yield f"What some commands changed is not known. {why}"
    known = effects.calls | effects.unseen.keys()
    unwatched = [call for call in commands if call.entry.uuid not in known]
    if unwatched:
        count = plural(len(unwatched), "command")
        shown = _named([f"`{_words(call)}`" for call in unwatched])
        yield f"What {count} changed was not recorded, and is restored only where a file tool saved it: {shown}."
    for command in effects.running.values():
        yield f"`{command}` ran in the background: what it changed after the last prompt is not known."
    if commands or known:
        yield f"Changes that commands made outside of {top} are not tracked."


def _commands(session: Session, offset: int, time: datetime | None) -> Iterator[Call]:
    """Return the calls since a prompt that may have changed files without a file tool."""
    calls = [call for call in session.calls if call.entry.offset >= offset]
    for agent in session.agents:
        for call in agent.session.calls:
            when = parse_timestamp(call.entry.timestamp)
            if time is None or when is None or when >= time:
                calls.append(call)
    for number, call in enumerate(calls):
        if call.result is not None and call.result.is_error and call.output.startswith(_DECLINED):
            continue
        is_bash = call.name == "Bash" and (number >= _PARSED or changes_files(str(call.input.get("command", ""))))
        if is_bash or call.name == "PowerShell" or call.name.startswith("mcp__"):
            yield call


def _words(call: Call) -> str:
    words = " ".join(str(call.input.get("command") or call.name).split())
    return words if len(words) <= 60 else f"{words[:59]}…"


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
