"""`clew import`: import conversations of other programs as sessions."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from itertools import islice

from clew.cli.options import add_common_options
from clew.cli.output import clean_name, format_age, is_terminal, one_line, print_json, print_message
from clew.errors import NotFound, Refused
from clew.system import shell_quoting
from clew.system.plural import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from clew.foreign.conversation_steps import Conversation
    from clew.foreign.write_import import ExistingImport, ImportDraft
    from clew.system.file_errors import ErrorCollector
    from clew.wire.layout import Tree

NAMES = ("codex", "opencode", "gemini", "aider", "gptme", "openai")
MADE, WOULD, THERE, BEHIND, REFUSED = "made", "would be made", "there", "behind", "refused"


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument(
        "source",
        nargs="?",
        metavar="FILE|FOLDER|ID",
        help="a file or folder of another program, a transcript of Claude Code, or an id that --list shows (default: what "
        "lies in the usual places)",
    )
    command.add_argument(
        "--from", dest="form", choices=NAMES, help="which program wrote it (default: detected from the content)"
    )
    command.add_argument("--to", metavar="FOLDER", help="for the project of this folder (default: where it was held)")
    command.add_argument("--list", action="store_true", help="list what could be imported and import nothing")
    command.add_argument("--only", metavar="ID", help="of several conversations the one whose id begins so")
    command.add_argument("--all", action="store_true", help="all of several conversations")
    command.add_argument("--again", action="store_true", help="a new session of a conversation that has grown since")
    command.add_argument("--dry-run", action="store_true", help="say what would be made and write nothing")
    add_common_options(command)


class ImportOutcome:
    """What became of one conversation."""

    def __init__(
        self,
        conversation: Conversation,
        state: str,
        id: str,
        path: Path,
        cwd: str = "",
        entries: int = 0,
        kept: int = 0,
        undo: str | None = None,
        violations: tuple[str, ...] = (),
    ) -> None:
        self.conversation = conversation
        self.state = state
        self.id = id
        self.path = path
        self.cwd = cwd
        self.entries = entries
        self.kept = kept
        self.undo = undo
        self.violations = violations


def run(options: Namespace) -> int:
    from contextlib import nullcontext

    from clew.cli.select_session import error_fence, open_tree
    from clew.cli.share import import_claude
    from clew.errors import Ambiguous

    place = open_tree(options)
    if (file := _claude_file(options)) is not None:
        return import_claude.run(options, file, place)
    fence = error_fence(options)
    conversations = _conversations(options, fence)
    if options.list or not (options.source or options.only or options.all):
        return _list(options, place, conversations, fence)
    if not options.all:
        few = list(islice(conversations, 2))
        if len(few) > 1:
            raise Ambiguous(
                options.source or options.only,
                [_id(conversation)[:8] for conversation in few],
                kind="conversations",
                hint="See them with --list, name one with --only ID, or take all of them with --all.",
            )
        conversations = iter(few)
    done: list[ImportOutcome] = []
    for conversation in conversations:
        with fence.catch(conversation.path) if options.all else nullcontext():
            done.append(_print_outcome(options, _import(options, place, conversation)))
    if not done and not fence.problems:
        if (path := _named_path(options)) is not None and not options.only:
            _report_no_conversation(path, options.form)
            return 1
        raise NotFound(
            options.only or options.source or "the usual places",
            kind="conversation",
            hint="See what there is: clew import --list",
        )
    return 2 if any(each.state == REFUSED for each in done) else 1 if fence.problems else 0


# -- what there is


def _claude_file(options: Namespace) -> Path | None:
    """Return the file that was named, if it is a transcript of Claude Code itself and of no other known program."""
    from pathlib import Path

    from clew.foreign.formats import detect
    from clew.wire.session_parts import is_transcript

    path = Path(options.source).expanduser() if options.source and not options.form else None
    if path is None or not path.is_file() or not is_transcript(path):
        return None
    try:
        detect(path)
    except Refused:
        return path
    return None


def _conversations(options: Namespace, fence: ErrorCollector) -> Iterator[Conversation]:
    """Yield what was asked for, newest first for each program; each conversation once, and none that holds nothing."""
    from pathlib import Path

    from clew.foreign.formats import find_in_path, find_in_usual_folders

    source: str | None = options.source
    path = _named_path(options)
    if source is not None and path is None and (os.sep in source or Path(source).suffix):
        raise FileNotFoundError(2, "No such file or folder", source)
    files = find_in_path(path, options.form) if path else find_in_usual_folders(_forms(options))
    wanted = options.only or (source if source and path is None else "")
    seen: set[str] = set()
    for form, path in files:
        with fence.catch(path):
            for conversation in form.read(path):
                if conversation.is_empty:
                    _report_problems(options, conversation)
                elif _id(conversation) not in seen and _matches(conversation, wanted):
                    seen.add(_id(conversation))
                    yield conversation


def _named_path(options: Namespace) -> Path | None:
    """Return the file or folder that was named; None if an id was, or nothing."""
    from pathlib import Path

    path = Path(options.source).expanduser() if options.source else None
    return path if path is not None and os.path.lexists(path) else None


def _report_no_conversation(path: Path, form: str | None) -> None:
    """Report that a file or folder was read, and contains nothing that was said."""
    from clew.foreign.formats import FORMATS, detect

    if path.is_dir():
        print_message(f"clew: No conversation was found in {path}.")
        return
    label = (FORMATS[form] if form else detect(path)).label
    print_message(f"clew: {path.name} was read as {label}, and has neither a prompt nor a reply.")
    if not form:
        print_message(f"If another program wrote it, name it with --from {'|'.join(NAMES)}.")


def _forms(options: Namespace) -> tuple[str, ...]:
    return (options.form,) if options.form else ()


def _matches(conversation: Conversation, wanted: str) -> bool:
    return conversation.id.startswith(wanted) or _id(conversation).startswith(wanted.lower())


def _id(conversation: Conversation) -> str:
    from clew.foreign.session_builder import session_id

    return session_id(conversation)


def _list(options: Namespace, place: Tree, conversations: Iterable[Conversation], fence: ErrorCollector) -> int:
    from clew.foreign.write_import import find_existing

    count = 0
    for conversation in conversations:
        with fence.catch(conversation.path):
            count += 1
            _list_one(options, conversation, find_existing(conversation, place))
    if not count and not fence.problems and not options.quiet:
        print_message("Nothing was found that could be imported. Name a file or a folder: clew import FILE")
    return 0 if count and not fence.problems else 1


def _list_one(options: Namespace, conversation: Conversation, known: ExistingImport | None) -> None:
    from clew.facts.secrets.mask_secrets import mask

    state = "" if known is None else BEHIND if known.is_outdated else THERE
    if options.json:
        print_json([_json(conversation) | {"kind": "conversation", "id": _id(conversation), "state": state or None}])
        return
    when = format_age(conversation.last_time) if conversation.last_time else "?"
    marks = {THERE: "  (imported)", BEHIND: "  (imported, has grown since)"}
    title = one_line(mask(_title(conversation))[0], 60)
    turns = plural(conversation.turns, "turn")
    print(
        clean_name(
            f"{_id(conversation)[:8]}  {conversation.tool:<8}  {when:<12}  {turns:<10}  {title}{marks.get(state, '')}"
        )
    )


def _title(conversation: Conversation) -> str:
    from clew.foreign.conversation_steps import ForeignPrompt
    from clew.wire.json_codec import as_text

    first = next(
        (step.content for step in conversation.steps if isinstance(step, ForeignPrompt) and not step.is_note), ""
    )
    words = first if isinstance(first, str) else " ".join(as_text(block.get("text", "")) for block in first)
    return conversation.title or words


# -- what becomes of it


def _import(options: Namespace, place: Tree, conversation: Conversation) -> ImportOutcome:
    from clew.foreign.write_import import draft_import, find_existing

    known = find_existing(conversation, place, again=options.again)
    if known is not None:
        return ImportOutcome(conversation, BEHIND if known.is_outdated else THERE, known.file.id, known.file.path)
    draft = draft_import(conversation, place, _cwd(options, conversation), again=options.again)
    if draft.violations:
        return _done(draft, REFUSED, violations=draft.violations)
    if options.dry_run:
        return _done(draft, WOULD)
    return _write(draft)


def _write(draft: ImportDraft) -> ImportOutcome:
    """Write a draft, in a way that can be taken back."""
    from clew.edit.undo_journal import UndoJournal
    from clew.foreign.write_import import write_draft

    journal = UndoJournal()
    number = journal.begin(f"import from {draft.conversation.tool}", draft.conversation.id, draft.id, [draft.path])
    try:
        path = write_draft(draft)
    except Refused as refused:
        journal.undone(number)
        return _done(draft, REFUSED, violations=refused.violations)
    journal.end(number, [path])
    return _done(draft, MADE, undo=number)


def _done(
    draft: ImportDraft, state: str, *, undo: str | None = None, violations: tuple[str, ...] = ()
) -> ImportOutcome:
    from clew.foreign.session_builder import FOREIGN_TYPE

    kinds = [entry.type for entry in draft.session.entries]
    kept = kinds.count(FOREIGN_TYPE)
    return ImportOutcome(
        draft.conversation, state, draft.id, draft.path, draft.cwd, len(kinds) - kept, kept, undo, violations
    )


def _cwd(options: Namespace, conversation: Conversation) -> str:
    """Return the folder of the project: as asked, as the conversation says, else where we are."""
    from clew.cli.select_session import resolve_folder

    if options.to is not None:
        return resolve_folder(options, options.to)
    if conversation.cwd and os.path.isdir(conversation.cwd):
        return os.path.realpath(conversation.cwd)
    return conversation.cwd or os.getcwd()


# -- what is said of it


def _print_outcome(options: Namespace, done: ImportOutcome) -> ImportOutcome:
    if options.json:
        print_json([_json(done.conversation) | _outcome(done)])
    else:
        _print(options, done)
    return done


def _print(options: Namespace, done: ImportOutcome) -> None:
    conversation, name = done.conversation, f"{done.conversation.tool} {one_line(done.conversation.id, 40)}"
    match done.state:
        case "refused":
            print_message(f"clew: {name} may not be written: {'; '.join(done.violations)}.")
        case "there" | "behind":
            print(clean_name(f"{done.id}  is there already, of {name}."))
            if done.state == BEHIND and not options.quiet:
                print_message("The conversation has changed since. Make another session of it with --again.")
        case _:
            verb = "Imported" if done.state == MADE else "Would import"
            counts = f"{plural(conversation.turns, 'turn')}, {plural(done.entries, 'entry')}"
            print(clean_name(f"{verb} {name}: {counts}, {plural(done.kept, 'more record')} kept beside them."))
            print(done.id)
            print(f"Resume with:  {shell_quoting.resume_command(done.id, done.cwd)}")
    if done.undo and is_terminal():
        print(f"Undo with:  clew undo {done.undo}", file=sys.stderr)
    if done.cwd and not os.path.isdir(done.cwd) and not options.quiet:
        print_message(f"{done.cwd} is not a folder on this machine. Name another with --to.")
    _report_problems(options, conversation)


def _report_problems(options: Namespace, conversation: Conversation) -> None:
    """Report what could not be read; of a long list only a part."""
    if options.quiet or not conversation.problems:
        return
    print_message(f"{conversation.path}: {plural(len(conversation.problems), 'part')} of it could not be read.")
    for problem in conversation.problems[:5]:
        print_message(f"  {one_line(problem)}")


def _json(conversation: Conversation) -> dict[str, Any]:
    from clew.facts.secrets.mask_secrets import mask

    return {
        "kind": "import",
        "tool": conversation.tool,
        "version": conversation.version or None,
        "source": conversation.id,
        "file": conversation.path,
        "folder": conversation.cwd or None,
        "title": mask(_title(conversation))[0],
        "turns": conversation.turns,
        "time": conversation.last_time.isoformat() if conversation.last_time else None,
        "problems": list(conversation.problems),
    }


def _outcome(done: ImportOutcome) -> dict[str, Any]:
    return {
        "state": done.state,
        "id": done.id,
        "path": str(done.path),
        "entries": done.entries,
        "kept": done.kept,
        "undo": done.undo,
        "violations": list(done.violations),
    }
