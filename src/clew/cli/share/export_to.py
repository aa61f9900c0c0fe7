"""`clew export --to PROGRAM`: write sessions where another program finds and continues them."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict

from clew.cli.output import clean_name, print_json, print_message
from clew.system import shell_quoting
from clew.system.plural import plural

if TYPE_CHECKING:
    from clew.conversation.session import Session
    from clew.foreign.outgoing import Outgoing
    from clew.foreign.targets import Target
    from clew.system.file_errors import ErrorCollector

EXPORTED, PRESENT = "exported", "present"


class _Result(Struct, frozen=True):
    conversation: Outgoing
    path: Path
    state: str
    undo: str | None = None


def run(options: Namespace, sessions: Iterable[Session], fence: ErrorCollector | None = None) -> int:
    """Export sessions; return 1 if there is none. With a fence, one that cannot be exported does not stop the others."""
    from clew.foreign.outgoing import prepare
    from clew.foreign.targets import TARGETS

    target, count = TARGETS[options.to], 0
    for session in sessions:
        with fence.catch(session.path or session.id) if fence else nullcontext():
            _report(options, target, _export(options, target, prepare(session, reveal=options.reveal)))
            count += 1
    if not count and not (fence and fence.problems):
        print_message("clew: There is no session to export.")
        return 1
    return 0


def _export(options: Namespace, target: Target, conversation: Outgoing) -> _Result:
    """Write the file, in a way that can be undone. A file of the same state of the session stays as it is."""
    from clew.edit.undo_journal import UndoJournal
    from clew.system.environment import foreign_homes
    from clew.wire.session_writer import create

    if options.output:
        path = Path(options.output).expanduser()
        path = path / target.file_name(conversation) if path.is_dir() else path
    else:
        path = target.place(foreign_homes()[target.name][0], conversation)
        if path.exists():
            return _Result(conversation, path, PRESENT)
    journal = UndoJournal()
    number = journal.begin(f"export to {target.name}", conversation.source, conversation.id, [path])
    try:
        create(path, target.build(conversation))
    except OSError:
        journal.undone(number)
        raise
    journal.end(number, [path])
    return _Result(conversation, path, EXPORTED, number)


def _report(options: Namespace, target: Target, result: _Result) -> None:
    conversation = result.conversation
    folder = conversation.cwd if os.path.isdir(conversation.cwd) else ""
    command = shell_quoting.command_in_folder(target.resume_arguments(conversation), folder)
    if options.json:
        row: dict[str, Any] = {
            "kind": "exported",
            "session": conversation.source,
            "to": target.name,
            "id": conversation.id,
            "state": result.state,
        }
        row |= {
            "path": str(result.path.resolve()),
            "messages": len(conversation.messages),
            "masked": conversation.masked,
        }
        row |= {"left_out": [asdict(each) for each in conversation.left_out]}
        print_json([row | {"command": command, "undo": result.undo}])
        return
    verb = "Exported" if result.state == EXPORTED else "Already exported"
    print(
        clean_name(
            f"{verb} {conversation.source[:8]} to {target.label}: {plural(len(conversation.messages), 'message')}."
        )
    )
    print(clean_name(str(result.path.resolve())))
    print(f"Continue with:  {command}")
    if options.quiet:
        return
    for each in conversation.left_out:
        print_message(f"Left out: {plural(each.count, each.kind)} ({each.reason}).")
    if conversation.masked:
        print_message(f"Secrets were masked in {plural(conversation.masked, 'place')}. --reveal leaves them.")
    if options.output:
        print_message(f"{target.label} finds it only in its own folder; without --output it is written there.")
