"""`clew rewind`: return files, a conversation or both to before a prompt."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from clew.cli.options import add_common_options
from clew.cli.output import clean, one_line, print_json, print_message
from clew.errors import Busy, ClewError, Refused
from clew.system import shell_quoting
from clew.system.plural import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clew.chat.rewind.carry_out import Rewound
    from clew.chat.rewind.rewind_plan import PathChange, RewindPlan
    from clew.conversation.session import Session
    from clew.edit.plan import Plan as Edit
    from clew.wire.layout import Tree

BOTH, CODE, CONVERSATION = "both", "code", "conversation"
_LISTED = 8


def add_arguments(command: ArgumentParser) -> None:
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
    what.add_argument("--undo", action="store_true", help="undo the last rewind of the files")
    command.add_argument(
        "--edits",
        choices=("refuse", "keep", "overwrite"),
        default="refuse",
        help="what to do with files that someone else changed since (default: show them and do nothing)",
    )
    command.add_argument("--yes", action="store_true", help="change and delete the files without asking")
    command.add_argument("--diff", action="store_true", help="show what would change in each file, and change nothing")
    command.add_argument("--add-dir", metavar="DIR", nargs="+", default=[], help="further folders that may be changed")
    command.add_argument("--dry-run", action="store_true", help="say what would be done and do nothing")
    add_common_options(command)


def run(options: Namespace) -> int:
    from pathlib import Path

    from clew.cli.select_session import open_session

    source = open_session(options, options.id)
    options.dry_run = options.dry_run or options.diff
    if sys.platform == "win32" and (options.undo or options.what != CONVERSATION):
        hint = "Rewind only the conversation: clew rewind ID --conversation"
        raise Refused(["clew cannot change files on Windows yet"], hint=hint)
    if options.undo:
        from clew.chat.rewind.carry_out import undo

        rewind_plan = undo(source.id, Path(source.cwd or "/"))
        if rewind_plan.refused:
            raise Refused([rewind_plan.refused])
        return _files(options, source, rewind_plan, None)
    edit = None
    if options.what != CODE:
        edit = _conversation(options, source)
    if options.what == CONVERSATION:
        return _copied(options, edit)
    return _files(options, source, _plan(options, source), edit)


def restore_files_before(place: Tree, asked: str, prompt: str) -> None:
    """Restore the files of a session to before a prompt, as Claude Code's option does: without asking.

    Edits of others are overwritten, and saved first. What is not restored is reported on stderr.
    """
    from clew.chat.rewind.carry_out import carry_out
    from clew.chat.rewind.rewind_plan import plan, saved_folders
    from clew.chat.store.resume_session import find
    from clew.conversation.load import read

    source = read(find(place, asked).path)
    rewind_plan = plan(source, prompt, saved_folders(source, place.root))
    if not rewind_plan.refused and not rewind_plan.place.has_files and not rewind_plan.shown:
        raise ClewError("No file checkpoint found for this message.")
    with _lock_session(source):
        done = carry_out(rewind_plan, "overwrite", keep=rewind_plan.doubtful)
    for line in _report(rewind_plan):
        print_message(line)
    if done.failed:
        raise Refused([f"{name} could not be restored: {why}" for name, why in done.failed])


def _plan(options: Namespace, source: Session) -> RewindPlan:
    from pathlib import Path

    from clew.chat.rewind.rewind_plan import plan, saved_folders
    from clew.cli.select_session import open_tree

    roots = [Path(folder).resolve() for folder in options.add_dir]
    rewind_plan = plan(source, options.to, saved_folders(source, open_tree(options).root, roots))
    if rewind_plan.refused:
        raise Refused([rewind_plan.refused], hint="The conversation alone can be rewound with: --conversation")
    if not rewind_plan.place.has_files and not rewind_plan.shown and not rewind_plan.lost:
        raise ClewError(
            f"No state of the files was saved before turn {rewind_plan.place.number} of {source.id[:8]}.",
            hint="The conversation alone can be rewound with: --conversation",
        )
    return rewind_plan


@contextmanager
def _lock_session(source: Session) -> Iterator[None]:
    """Lock the session, so that no chat changes it meanwhile. Raises Busy."""
    from contextlib import ExitStack

    from clew.chat.store.session_lock import lock_session

    with ExitStack() as stack:
        try:
            if source.path is not None:
                stack.enter_context(lock_session(source.path))
        except PermissionError:
            pass  # no chat can write to it either
        except Busy as busy:
            hint = f"{busy.hint.split('.')[0]}. Rewind in that chat (Esc Esc), or close it first."
            raise Busy(busy.path, busy.since, hint=hint) from None
        yield


def _conversation(options: Namespace, source: Session) -> Edit | None:
    """Return the copy of a session that ends before a prompt; None if nothing would be left of it."""
    from clew.chat.rewind.rewind_plan import find_point
    from clew.edit.plan import plan

    place = find_point(source, options.to)
    if place.before is None:
        if options.what == CONVERSATION:
            raise Refused([f"there is no conversation before turn {place.number}; start a new session"])
        return None
    edit = plan(source).end_with(place.before)
    if edit.violations:
        raise Refused(edit.violations)
    return edit


def _copied(options: Namespace, edit: Edit | None) -> int:
    from clew.cli.edit import edit_output

    if edit is not None:
        return edit_output.finish(Namespace(**{**vars(options), "diff": False}), edit)
    if not options.quiet and not options.undo and options.what == BOTH:
        print_message("There is no conversation before that turn: start a new session.")
    return 0


def _files(options: Namespace, source: Session, plan: RewindPlan, edit: Edit | None) -> int:
    """Show what would be done to the files, ask, do it, and then rewind the conversation."""
    from clew.chat.rewind.carry_out import carry_out

    is_refused = bool(plan.edited) and options.edits == "refuse"
    is_asked = bool(plan.shown) and not (options.yes or options.undo)
    is_unanswered = is_asked and (options.json or not sys.stdin.isatty())
    if not options.json:
        _print(options, plan)
    done = None
    if not (options.dry_run or is_refused or is_unanswered):
        if is_asked and not _agrees(plan):
            print_message("Nothing was changed.")
            return 1
        with _lock_session(source):
            done = carry_out(plan, options.edits)
    if options.json:
        print_json([_json(options, plan, done)])
    if not options.dry_run and is_refused:
        raise Refused(
            [f"{_escape_name(change.name)} was changed after the session wrote it" for change in plan.edited],
            hint=(
                "Nothing was changed. Leave such files as they are: --edits keep, or replace them: --edits overwrite"
            ),
        )
    if not options.dry_run and is_unanswered:
        raise Refused(
            [f"{_count_changes(plan)}, and no user can be asked"],
            hint="Nothing was changed. Agree to all of this with --yes",
        )
    if done is not None and not options.json:
        _print_done(options, done)
    if done is not None and done.failed:
        return 2
    return _copied(options, edit) if options.what == BOTH and not options.undo else 0


def _agrees(plan: RewindPlan) -> bool:
    """Ask the user; only y and yes agree."""
    print(f"{_count_changes(plan)}. Go ahead? [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _count_changes(plan: RewindPlan) -> str:
    count, deleted_count = len(plan.shown), len(plan.deletions)
    deleted = f", {deleted_count} of them deleted" if deleted_count else ""
    return f"{plural(count, 'path')} in {_escape_name(str(plan.top))} would be changed{deleted}"


def _print(options: Namespace, plan: RewindPlan) -> None:
    if not options.undo:
        print(f"Turn {plan.place.number}: {one_line(_mask_text(plan.place.text))}")
    for change in plan.shown:
        kind, path = change.summary.split(" ", 1)
        print(f"  {kind:<8} {_escape_name(path)}" + (f"  ({change.doubt})" if change.doubt else ""))
        if options.diff:
            print(_mask_text(change.diff), end="")
    for change in plan.edited:
        print(f"Changed by someone else since: {_escape_name(change.name)}")
        print(_mask_text(change.edits), end="")
    if not plan.shown:
        print("  Nothing to restore.")
    for line in _report(plan):
        print(f"  {line}")


def _report(plan: RewindPlan) -> Iterator[str]:
    """Yield what is not restored, one line for each reason, and what cannot be known."""
    reasons: dict[str, list[str]] = {}
    for name, why in plan.lost:
        reasons.setdefault(why, []).append(name)
    for why, names in reasons.items():
        listed = ", ".join(map(_escape_name, names[:_LISTED])) + (
            f" and {len(names) - _LISTED} more" * (len(names) > _LISTED)
        )
        yield f"not restored: {listed} ({_escape_name(why)})"
    yield from (f"note: {_escape_name(note)}" for note in plan.notes)


def _escape_name(text: str) -> str:
    """Return a name or a command without characters that could drive a terminal or break a line; these are shown escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _mask_text(text: str) -> str:
    """Return a text of a file or a session without control codes, which could hide a secret, and without secrets."""
    from clew.facts.secrets.mask_secrets import mask

    return mask(clean(text))[0]


def _print_done(options: Namespace, done: Rewound) -> None:
    for change in done.kept:
        print(f"  kept     {_escape_name(change.name)}")
    for name, why in done.failed:
        print(f"  failed   {_escape_name(name)} ({why})")
    if done.changed and not options.quiet:
        print_message(f"Undo this with: {_undo(options)}")


def _undo(options: Namespace) -> str:
    """Return the command that undoes this rewind, ready to be pasted into a shell."""
    where = ["--claude-dir", str(options.claude_dir)] if options.claude_dir else []
    return shell_quoting.session_command("rewind", options.id, "--undo", *where, full_id=True)


def _json(options: Namespace, plan: RewindPlan, done: Rewound | None) -> dict[str, Any]:
    return {
        "kind": "rewind",
        "session": plan.session_id,
        "turn": plan.place.number,
        "prompt": plan.place.uuid,
        "text": _mask_text(plan.place.text),
        "done": done is not None,
        "number": done.number if done else None,
        "undo": _undo(options) if done and done.changed else None,
        "changes": [_change(options, change, done) for change in plan.shown],
        "lost": [{"name": name, "why": why} for name, why in plan.lost],
        "notes": list(plan.notes),
        "failed": [{"name": name, "why": why} for name, why in done.failed] if done else [],
    }


def _change(options: Namespace, change: PathChange, done: Rewound | None) -> dict[str, Any]:
    row: dict[str, Any] = {"name": change.name, "path": str(change.path), "what": change.kind}
    row["edits"] = _mask_text(change.edits) if change.is_edited else None
    row["doubt"] = change.doubt or None
    row["done"] = done is not None and change in done.changed
    return row | ({"diff": _mask_text(change.diff)} if options.diff else {})
