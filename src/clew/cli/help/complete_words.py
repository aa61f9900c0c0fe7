"""Find what can follow the words of an unfinished command line: commands, options, choices, sessions, projects."""

from __future__ import annotations

from argparse import Action, ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from clew.cli.commands import COMMANDS
from clew.cli.output import clean, one_line
from clew.errors import NotFound

Candidate = tuple[str, str]  # a word and its description
FILES, FOLDERS = [(":files", "")], [(":folders", "")]
MAX_SESSIONS = 40
_FOLDER_OPTION = "--claude-dir"
_GLOBAL_OPTIONS = [
    ("--help", "show the commands"),
    ("--version", "print the version"),
    (_FOLDER_OPTION, "the folder of Claude Code"),
]
_SESSION_NAMES = ("id", "ids", "session", "left", "right", "others", "edit", "resume")
_FOLDER_NAMES = ("DIR", "FOLDER", "OLD", "NEW")


def find_candidates(words: Sequence[str], claude_dir: str | None = None) -> list[Candidate]:
    """Return the candidates for the last word: `find_candidates(["sho"])` is `[("show", "print a session")]`."""
    from clew.cli.run_command import command_parser

    *before, last = words or [""]
    if before[:1] == [_FOLDER_OPTION]:
        if len(before) < 2:
            return FOLDERS
        before, claude_dir = before[2:], before[1]
    elif before and before[0].startswith(f"{_FOLDER_OPTION}="):
        before, claude_dir = before[1:], before[0].partition("=")[2]
    if not before:
        return _matching(_GLOBAL_OPTIONS if last.startswith("-") else COMMANDS.items(), last)
    if before[0] not in COMMANDS:
        return []
    parser = command_parser(before[0])
    place = _find_place(parser, before[1:])
    last = "" if last == "=" else last  # bash separates --option, = and the value
    name, equals, value = last.partition("=")
    if last.startswith("--") and equals and not place.is_after_dashes:
        found = _complete_value(parser._option_string_actions.get(name), before[0], value, claude_dir)
        return found if found in (FILES, FOLDERS) else [(f"{name}={word}", about) for word, about in found]
    if place.option and (place.option.nargs is None or not last.startswith("-")):
        return _complete_value(place.option, before[0], last, claude_dir)
    if last.startswith("-") and not place.is_after_dashes:
        actions = [(flag, action.help or "") for action in parser._actions for flag in action.option_strings]
        return _matching(((flag, about) for flag, about in actions if flag.startswith("--")), last)
    positional = [action for action in parser._actions if not action.option_strings]
    action = positional[min(place.positionals, len(positional) - 1)] if positional else None
    is_repeated = action is not None and action.nargs in ("*", "+")
    return (
        _complete_value(action, before[0], last, claude_dir)
        if place.positionals < len(positional) or is_repeated
        else []
    )


class _CursorPlace(NamedTuple):
    """Where the last word stands: after an option that takes a value, or after a number of positional arguments."""

    option: Action | None
    positionals: int
    is_after_dashes: bool


def _find_place(parser: ArgumentParser, words: Iterable[str]) -> _CursorPlace:
    option: Action | None = None
    positionals, is_after_dashes = 0, False
    for word in words:
        if is_after_dashes:
            positionals += 1
        elif word == "--":
            is_after_dashes, option = True, None
        elif word.startswith("-") and len(word) > 1:
            action = parser._option_string_actions.get(word)
            option = action if action and action.nargs != 0 else None
        elif word != "=" and option is None:
            positionals += 1
        elif word != "=" and option and option.nargs not in ("*", "+"):
            option = None
    return _CursorPlace(option, positionals, is_after_dashes)


def _complete_value(action: Action | None, command: str, start: str, claude_dir: str | None) -> list[Candidate]:
    if action is None:
        return []
    if action.choices:
        return _matching(((str(choice), "") for choice in action.choices), start)
    metavar = str(action.metavar or action.dest)
    options = Namespace(claude_dir=claude_dir, project=None, since=None, until=None, archived=False)
    if action.dest in _SESSION_NAMES or (command, action.dest) == ("resume", "query"):
        return _sessions(options, start) or FILES
    if action.dest == "project" and metavar == "PATH":
        names = {path.rstrip("/\\").replace("\\", "/").rpartition("/")[2]: path for path in _project_paths(options)}
        return _matching(names.items(), start) or FOLDERS
    if command == "help" and action.dest == "command":
        return _matching(COMMANDS.items(), start)
    if metavar.upper() in _FOLDER_NAMES:
        return FOLDERS
    return FILES if "FILE" in metavar or metavar == "PATH" else []


def _matching(candidates: Iterable[Candidate], start: str) -> list[Candidate]:
    return [(word, about) for word, about in candidates if word.startswith(start) and word.isprintable()]


def _project_paths(options: Namespace) -> list[str]:
    from clew.cli.select_session import open_tree

    return [one_line(clean(project.path().path)) for project in open_tree(options).projects()]


def _sessions(options: Namespace, start: str) -> list[Candidate]:
    """Return the newest sessions whose ids begin so, with their titles; short ids as `clew ls` prints them."""
    from clew.cli.select_session import all_session_files
    from clew.conversation.session_listing import Outline
    from clew.facts.secrets.mask_secrets import mask
    from clew.system.file_errors import ErrorCollector

    found: dict[str, str] = {}
    fence = ErrorCollector()
    try:
        files = (f for f in all_session_files(options) if f.id.startswith(start.lower()) and f.id.isprintable())
        for file in islice(files, MAX_SESSIONS):
            outline = Outline(file)
            with fence.catch(file.path):
                outline.read()
                if outline.is_conversation and not outline.is_sidechain:
                    title = mask(one_line(clean(outline.title or "")))[0]
                    found.setdefault(file.id[:8] if len(start) <= 8 else file.id, title[:60])
    except NotFound:
        pass
    return list(found.items())
