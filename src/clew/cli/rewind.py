"""`clew rewind`: the files of a project, or a conversation, as they were before a prompt."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.cli.choose import session, tree
from clew.cli.output import clean, clean_name, common, one_line, print_json, remark
from clew.errors import ClewError, Refused
from clew.wire import shell

if TYPE_CHECKING:
    from clew.chat.rewind import Change, Plan
    from clew.chat.rewinding import Rewound
    from clew.conversation.session import Session
    from clew.edit.plan import Plan as Edit
    from clew.wire.place import Tree

BOTH, CODE, CONVERSATION = "both", "code", "conversation"


def arguments(command: ArgumentParser) -> None:
    command.add_argument("id", help="a session: its id, the beginning of it, or a path")
    command.add_argument(
        "--to",
        metavar="TURN",
        default="-1",
        help="before this turn, or this prompt by its uuid (default: the last one)",
    )
    what = command.add_mutually_exclusive_group()
    for name, purpose in (
        (CODE, "only the files of the project"),
        (CONVERSATION, "only the conversation, in a copy of the session"),
        (BOTH, "both, which is the default"),
    ):
        what.add_argument(f"--{name}", dest="what", action="store_const", const=name, default=BOTH, help=purpose)
    what.add_argument("--undo", action="store_true", help="put back the files that the last rewind changed")
    command.add_argument(
        "--edits",
        choices=("refuse", "keep", "overwrite"),
        default="refuse",
        help="what to do with files that somebody else changed since (default: show them and do nothing)",
    )
    command.add_argument("--diff", action="store_true", help="show what would change in each file, and change nothing")
    command.add_argument("--add-dir", metavar="DIR", nargs="+", default=[], help="further folders that may be changed")
    command.add_argument("--dry-run", action="store_true", help="say what would be done and do nothing")
    common(command)


def call(options: Namespace) -> int:
    found = session(options, options.id)
    options.dry_run = options.dry_run or options.diff
    if options.undo:
        from clew.chat.rewinding import undo

        return _files(options, found, undo(found.id, Path(found.cwd or "/")), None)
    edit = None
    if options.what != CODE:
        edit = _conversation(options, found)
    if options.what == CONVERSATION:
        return _copied(options, edit)
    return _files(options, found, _plan(options, found), edit)


def files_before(place: Tree, asked: str, prompt: str) -> None:
    """Put the files of a session back to before a prompt, as a program asks for it: over whatever stands there."""
    from clew.chat.resume import find
    from clew.chat.rewind import ground_of, plan
    from clew.chat.rewinding import carry_out
    from clew.conversation.open import read

    found = read(find(place, asked).path)
    made = plan(found, prompt, ground_of(found, place.root))
    if not made.place.has_files and not made.changes:
        raise ClewError("No file checkpoint found for this message.")
    done = carry_out(made, "overwrite")
    if done.failed:
        raise Refused([f"{name} could not be brought back: {why}" for name, why in done.failed])


def _plan(options: Namespace, found: Session) -> Plan:
    from clew.chat.rewind import ground_of, plan

    if not found.cwd or not Path(found.cwd).is_dir():
        raise Refused([f"the folder of this session, {found.cwd}, is not there"])
    roots = [Path(folder).resolve() for folder in options.add_dir]
    made = plan(found, options.to, ground_of(found, tree(options).root, roots))
    if not made.place.has_files and not made.changes:
        missing = ClewError(f"No state of the files was saved before turn {made.place.number} of {found.id[:8]}.")
        missing.hint = "The conversation alone can be rewound with: --conversation"
        raise missing
    return made


def _conversation(options: Namespace, found: Session) -> Edit | None:
    """The copy of a session that ends before a prompt; None if nothing would be left of it."""
    from clew.chat.rewind import place_of
    from clew.edit.plan import plan

    place = place_of(found, options.to)
    if place.before is None:
        if options.what == CONVERSATION:
            raise Refused([f"nothing is said before turn {place.number}; begin a new session"])
        return None
    made = plan(found).end_with(place.before)
    if made.violations:
        raise Refused(made.violations)
    return made


def _copied(options: Namespace, edit: Edit | None) -> int:
    from clew.cli import edited

    if edit is not None:
        return edited.finish(Namespace(**{**vars(options), "diff": False}), edit)
    if not options.quiet and not options.undo and options.what == BOTH:
        remark("Nothing is said before that turn: begin a new session.")
    return 0


def _files(options: Namespace, found: Session, plan: Plan, edit: Edit | None) -> int:
    """Show what is to be done to the files, do it, and then to the conversation."""
    from clew.chat.rewinding import carry_out

    is_refused = bool(plan.edited) and options.edits == "refuse"
    if not options.json:
        _print(options, plan)
    done = None
    if not (options.dry_run or is_refused):
        done = carry_out(plan, options.edits)
    if options.json:
        print_json([_json(options, plan, done)])
    if is_refused and not options.dry_run:
        refused = Refused([f"{change.name} was changed after the session left it" for change in plan.edited])
        refused.hint = (
            "Nothing was changed. Leave such files out with --edits keep, or take them too: --edits overwrite"
        )
        raise refused
    if done is not None and not options.json:
        _print_done(options, found, done)
    if done is not None and done.failed:
        return 2
    return _copied(options, edit) if options.what == BOTH and not options.undo else 0


def _print(options: Namespace, plan: Plan) -> None:
    if not options.undo:
        print(f"Turn {plan.place.number}: {one_line(_shown(plan.place.text))}")
    for change in plan.changes:
        print(clean_name(f"  {change.kind:<8} {change.name}"))
        if options.diff:
            print(_shown(change.diff), end="")
    for change in plan.edited:
        print(clean_name(f"Changed by somebody else since: {change.name}"))
        print(_shown(change.edits), end="")
    for name, why in plan.lost:
        print(clean_name(f"  cannot be brought back: {name} ({why})"))
    if not plan.changes:
        print("  The files are as they were.")


def _shown(text: str) -> str:
    """A text out of a file or a session: without control codes, which could hide a secret, and without secrets."""
    from clew.facts.secret import mask

    return mask(clean(text))[0]


def _print_done(options: Namespace, found: Session, done: Rewound) -> None:
    for change in done.kept:
        print(clean_name(f"  left as it is: {change.name}"))
    for name, why in done.failed:
        print(clean_name(f"  failed: {name} ({why})"))
    if done.changed and not options.quiet:
        remark(f"Take it back with: {shell.on('rewind', found.id, '--undo')}")


def _json(options: Namespace, plan: Plan, done: Rewound | None) -> dict[str, Any]:
    return {
        "kind": "rewind",
        "session": plan.session_id,
        "turn": plan.place.number,
        "prompt": plan.place.uuid,
        "text": _shown(plan.place.text),
        "done": done is not None,
        "number": done.number if done else None,
        "changes": [_change(options, change, done) for change in plan.changes],
        "lost": [{"name": name, "why": why} for name, why in plan.lost],
        "failed": [{"name": name, "why": why} for name, why in done.failed] if done else [],
    }


def _change(options: Namespace, change: Change, done: Rewound | None) -> dict[str, Any]:
    told: dict[str, Any] = {"name": change.name, "path": str(change.path), "what": change.kind}
    told["edits"] = _shown(change.edits) if change.is_edited else None
    told["done"] = done is not None and change in done.changed
    return told | ({"diff": _shown(change.diff)} if options.diff else {})
