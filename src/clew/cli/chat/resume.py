"""`clew resume`: resume a session, found by its id or by a search."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence

from clew.cli.options import add_common_options
from clew.cli.output import clean, clean_name, format_age, one_line, print_json, print_message
from clew.errors import Ambiguous, NotFound, TranscriptGone
from clew.system import shell_quoting
from clew.system.environment import current_session
from clew.system.plural import plural
from clew.system.subprocesses import find_program, replace_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.conversation.session_listing import Outline
    from clew.index.results import SearchResult
    from clew.index.session_index import Index
    from clew.wire.layout import SessionFile, Tree

CLOSE = 0.7  # of the best score: whoever reaches it might be meant as well
MOST = 9  # in a choice
Execute = Callable[[str, Sequence[str], Mapping[str, str]], object]


class ResumePlan:
    """How to resume a session: from which folder, with which command.

    `config` is the folder of Claude Code, if it is not the usual one.
    """

    def __init__(self, file: SessionFile, title: str, cwd: str, flags: tuple[str, ...], config: str) -> None:
        self.file = file
        self.title = title
        self.cwd = cwd
        self.flags = flags
        self.config = config

    @property
    def words(self) -> tuple[str, ...]:
        """What to run, from the folder `cwd`."""
        return shell_quoting.resume_arguments(self.file.id, *self.flags)

    @property
    def variables(self) -> Mapping[str, str]:
        """What to set for it."""
        return {"CLAUDE_CONFIG_DIR": self.config} if self.config else {}

    @property
    def line(self) -> str:
        """The same as a line for a shell."""
        return shell_quoting.resume_command(self.file.id, self.cwd, self.flags, self.variables)


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument(
        "query", nargs="+", help="a session: its id, the beginning of it, or words to search for as in clew search"
    )
    command.usage = "clew resume [options] query ... [-- flags for claude]"
    command.set_defaults(flags=())
    command.epilog = "Flags after -- are passed on to claude: clew resume rounding -- --model opus"
    command.add_argument("--fork", action="store_true", help="resume in a copy, and leave the original unchanged")
    command.add_argument("--print", action="store_true", help="print the command, and do not run it")
    command.add_argument("--include-current", action="store_true", help="include the session that runs this command")
    add_common_options(command)


def parse_arguments(command: ArgumentParser, arguments: Sequence[str]) -> Namespace:
    """Parse the arguments before `--`; those after it are flags for `claude`."""
    stop = arguments.index("--") if "--" in arguments else len(arguments)
    options = command.parse_args(arguments[:stop])
    options.flags = tuple(arguments[stop + 1 :])
    return options


def run(options: Namespace, execute: Execute | None = None) -> int:
    asked = " ".join(options.query).strip()
    candidates, is_sure = find_candidates(options, asked)
    if not is_sure:
        picked = _choose(candidates, options, asked)
        if picked is None:
            return 2 if options.json or not sys.stdin.isatty() else 1
        candidates = [picked]
    way = _resume_plan(candidates[0], options)
    if options.json:
        print_json([_json(way)])
        return 0
    if options.print:
        _print_line(way, options.quiet)
        return 0
    return execute_resume(way, options.quiet, execute or replace_process)


def find_candidates(options: Namespace, text: str) -> tuple[list[SessionFile], bool]:
    """Return the session with this id, else those that answer best, and whether it is clear that the first one is
    meant.
    """
    from clew.cli.find.gone_sessions_error import gone_by_id
    from clew.cli.select_session import open_tree
    from clew.wire.lookup import find_session

    tree_of_files = open_tree(options)
    if _may_be_id(text):
        try:
            return [find_session(tree_of_files, text)], True
        except Ambiguous as several:
            return [find_session(tree_of_files, match) for match in several.matches], False
        except NotFound:
            if gone := gone_by_id(options, text):
                raise gone from None
    return _search(options, tree_of_files, text)


def _may_be_id(text: str) -> bool:
    """Return whether a text may be an id. Short words such as "add" are search words, unless they contain a digit."""
    if text.endswith(".jsonl"):
        return True
    is_hexadecimal = bool(text) and not set(text.lower()) - set("0123456789abcdef-")
    return is_hexadecimal and (len(text) >= 4 or any(c.isdigit() for c in text))


def _search(options: Namespace, place: Tree, query: str) -> tuple[list[SessionFile], bool]:
    from clew.cli.find.gone_sessions_error import gone_by_words
    from clew.cli.find.search import refresh
    from clew.index.session_index import Index

    with Index.open(options.claude_dir) as index:
        refresh(index, options.quiet)
        without = None if options.include_current else current_session()
        results = index.search(query, MOST, without=without)
        is_vague = bool(results.instead) or all(result.grade == "most" for result in results)
        gone = _gone_matches(index, query, without, options) if is_vague else []
    if gone:
        raise gone_by_words(query, gone)
    best = [result for result in results if result.grade == results[0].grade]
    close = [result for result in best if result.score >= CLOSE * best[0].score]
    near = [session for result in close for session in (result.session, *result.copies)]
    files = [file for session in near if (file := _existing_file(place, session))]
    if near and not files:
        sentence = f"The transcript of session {near[0][:8]} is gone; only files of its agents are left."
        raise TranscriptGone(near[0], sentence, hint=f"Read: {shell_quoting.clew_command('search', query)}")
    if not files:
        raise NotFound(query, hint=f"Search with: {shell_quoting.clew_command('search', query)}")
    if results.instead and not options.quiet:
        print_message(f"Nothing matches {one_line(query)!r}; searched for {one_line(results.instead)!r} instead.")
    return files, len(files) == 1 and not is_vague


def _gone_matches(index: Index, query: str, without: str | None, options: Namespace) -> list[SearchResult]:
    """Return the sessions without a transcript that match the words."""
    from clew.collect.archive.archived_sessions import ArchivedSessions
    from clew.index.gone_sessions import add_gone
    from clew.index.query_syntax import parse_query
    from clew.index.results import SearchResults

    archive = ArchivedSessions(options.claude_dir)
    matches = add_gone(index, parse_query(query), SearchResults(), MOST, archive=archive, without=without)
    return [result for result in matches if result.gone]


def _existing_file(place: Tree, session: str) -> SessionFile | None:
    """Return the file of a session. If only files of its agents are left, it cannot be resumed."""
    from clew.wire.content_time import sort_key
    from clew.wire.lookup import find_session

    try:
        file = find_session(place, session)
    except NotFound:
        return None
    except Ambiguous as several:  # the same session in two projects: the newest is the one that was resumed
        return min((find_session(place, match) for match in several.matches), key=sort_key)
    return None if file.is_empty else file


def _choose(files: list[SessionFile], options: Namespace, text: str) -> SessionFile | None:
    """Ask the user which session is meant. Without a terminal, list the candidates and return None."""
    if options.json:
        print_json({**_json(_resume_plan(file, options)), "kind": "candidate"} for file in files)
        return None
    rows = [_row(file) for file in files[:MOST]]
    if not sys.stdin.isatty():
        several = plural(len(files), "session") if len(files) > 1 else "this session"
        print_message(f"clew: {one_line(text)!r} may mean {several}. Name one by its id:")
        for row in rows:
            print_message(f"  {row}")
        return None
    for number, row in enumerate(rows, 1):
        print_message(f"{number:>3}  {row}")
    while True:
        print(f"Which one? 1-{len(rows)}, or nothing to leave: ", end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline().strip()
        if not answer:
            return None
        if answer.isdecimal() and 1 <= int(answer) <= len(rows):
            return files[int(answer) - 1]


def _row(file: SessionFile) -> str:
    from clew.conversation.session_listing import Outline

    outline = Outline(file)
    project = (outline.cwd or file.project_folder.name).replace("\\", "/").rstrip("/").rpartition("/")[2]
    return f"{file.id[:8]}  {format_age(outline.when):>4}  {one_line(project, 20)}  {one_line(_title(outline), 70)}"


def _title(outline: Outline) -> str:
    from clew.facts.secrets.mask_secrets import mask

    return mask(clean(outline.title))[0] or "(no prompt)"


def _resume_plan(file: SessionFile, options: Namespace) -> ResumePlan:
    from clew.cli.select_session import open_tree
    from clew.conversation.session_listing import Outline

    outline = Outline(file)
    config = str(open_tree(options).root.absolute()) if options.claude_dir else ""
    flags = (*(("--fork-session",) if options.fork else ()), *options.flags)
    return ResumePlan(file, _title(outline), _folder(outline), flags, config)


def _folder(outline: Outline) -> str:
    """Where Claude Code looks for the session: the folder that its project is named for, should it have moved since."""
    from clew.wire.layout import Project, slugs

    folder = outline.file.project_folder
    if outline.cwd and folder.name in slugs(outline.cwd):
        return outline.cwd
    known = Project(folder).path()
    return known.path if known.source != "guess" else outline.cwd or ""


def _json(plan: ResumePlan) -> dict[str, object]:
    return {
        "kind": "resume",
        "session": plan.file.id,
        "title": plan.title,
        "cwd": plan.cwd,
        "exists": os.path.isdir(plan.cwd),
        "path": str(plan.file.path),
        "command": plan.line,
        **(
            {"command_cmd": shell_quoting.cmd_resume_command(plan.file.id, plan.cwd) or None}
            if shell_quoting.is_windows_path(plan.cwd)
            else {}
        ),
    }


def execute_resume(plan: ResumePlan, quiet: bool, execute: Execute) -> int:
    """Replace this process with Claude Code in the folder of the session. If that fails, print the command to type."""
    if not os.path.isdir(plan.cwd):
        print_message(f"clew: the folder of this session does not exist: {clean_name(plan.cwd) or '(unknown)'}")
        if plan.cwd and not quiet:
            print_message(f"If it was moved or renamed: {shell_quoting.clew_command('move', plan.cwd)} NEW")
    elif (program := find_program(plan.words[0])) is None:
        print_message("clew: claude is not on the PATH. Install Claude Code, or run the command below where it is.")
    else:
        if not quiet:
            print_message(one_line(plan.title))
            print_message(plan.line)
        sys.stdout.flush()
        os.chdir(plan.cwd)
        execute(program, plan.words, plan.variables)
        return 0
    _print_line(plan, quiet)
    return 2


def _print_line(plan: ResumePlan, quiet: bool) -> None:
    print(plan.line)
    if (
        shell_quoting.is_windows_path(plan.cwd)
        and not quiet
        and (line := shell_quoting.cmd_resume_command(plan.file.id, plan.cwd))
    ):
        print_message(f"This is for PowerShell. In cmd.exe: {line}")
