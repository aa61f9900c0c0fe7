"""From words to a command: the parser, the table of commands, and what becomes of errors."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from keyword import iskeyword
from typing import NoReturn

from clew.cli.guarded_streams import Guarded
from clew.cli.output import remark
from clew.errors import UNFORESEEN, Ambiguous, ClewError, NotFound
from clew.system.control_characters import clean_name
from clew.system.environment import is_debugging
from clew.version import __version__

COMMANDS = {
    "ls": "list sessions, projects, agents or prompts",
    "search": "find anything",
    "show": "read a session",
    "trace": "draw the shape of a session: branches, compactions, agents, problems",
    "compare": "show where two branches or sessions part, and what each made of the files",
    "race": "say the same to several models at one place of a session, and compare",
    "check": "say what is damaged or lost, and what each version would resume",
    "usage": "say what it took and what it cost",
    "statusline": "print one line for the status line of Claude Code",
    "follow": "watch a session as it is written",
    "resume": "go on with a session, found by its id or by words",
    "chat": "work with a model, in sessions that Claude Code can go on with",
    "replay": "play a session, record it, or go through it again and compare",
    "acp": "let an editor chat, over the Agent Client Protocol",
    "rewind": "go back to before a prompt: files, conversation or both",
    "trust": "let a folder's own settings run things in a chat",
    "recall": "keep what a search found, and read it again",
    "collect": "keep every session for ever, in an archive of your own",
    "restore": "bring a session back from the archive",
    "sql": "ask the archive or a store, in SQL",
    "skill": "teach Claude Code to look into earlier sessions",
    "serve": "read and search sessions in a browser, on this machine alone",
    "mcp": "serve sessions to models, over the Model Context Protocol",
    "clone": "copy a session: whole, up to a turn, or to another project",
    "trim": "make a session fit again: shorter tool calls, no thinking, no dead weight",
    "drop": "leave turns out of a copy of a session",
    "compact": "sum up turns in a copy of a session, as /compact does",
    "compress": "shorten older replies in a copy of a session",
    "redact": "copy a session without its secrets",
    "merge": "join the same session, continued on two machines",
    "retitle": "give a session a title",
    "tag": "give a session a tag",
    "undo": "take back what clew wrote",
    "lineage": "show what a session was made of, and what was made of it",
    "export": "write a session in another form",
    "import": "make sessions of conversations of other programs: Codex, OpenCode, Gemini CLI, aider, gptme",
    "repair": "mend what is broken",
    "mock": "serve a scripted Messages API, to try clients and sessions on",
    "demo": "write a made-up ~/.claude to try things on",
}
DONE, NOTHING, FAILED, INTERRUPTED = 0, 1, 2, 130
_CODES: tuple[tuple[type[BaseException], int], ...] = ((NotFound, NOTHING), (Ambiguous, FAILED), (ClewError, FAILED))
_STEPS: tuple[tuple[type[OSError], str], ...] = (
    (FileExistsError, "Nothing is written over: name another file."),
    (FileNotFoundError, "Look whether the path is right."),
    (PermissionError, "Look whether the file and its folder are yours to use."),
)


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        remark(f"clew: {message}")
        remark(f"Try: {self.prog} --help")
        raise SystemExit(FAILED)


def parser(only: str | None = None) -> Parser:
    """The whole parser; with `only` that of one command alone, which spares making and loading the others."""
    top = Parser(prog="clew", description="Read, check and explain Claude Code sessions.")
    top.add_argument("--version", "-V", action="version", version=f"clew {__version__}", help="print it and exit")
    sub = top.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    for name in COMMANDS if only is None else (only,):
        purpose = COMMANDS[name]
        command = sub.add_parser(name, help=purpose, description=purpose[0].upper() + purpose[1:] + ".")
        module = import_module(f"clew.cli.{name}_" if iskeyword(name) else f"clew.cli.{name}")
        module.arguments(command)
        command.set_defaults(call=module.call)
    return top


def run(arguments: Sequence[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        plain = stream.stream if isinstance(stream, Guarded) else stream
        if isinstance(plain, io.TextIOWrapper):
            plain.reconfigure(errors="replace")  # not every terminal has every letter
    try:
        if not arguments and sys.stdin.isatty() and sys.stdout.isatty() and find_spec("textual"):
            return int(import_module("clew.cli.read.browse").browse())
        options = _parsed(arguments or ["ls"])
        return _finish(int(options.call(options)))
    except SystemExit as stop:
        return int(stop.code or 0)
    except BrokenPipeError:
        return _hush()
    except KeyboardInterrupt:
        remark("Interrupted.")
        return INTERRUPTED
    except ClewError as error:
        return _explain(str(error), error.hint, next(code for kind, code in _CODES if isinstance(error, kind)))
    except OSError as error:
        return _explain(_sentence(error), next((step for kind, step in _STEPS if isinstance(error, kind)), ""), FAILED)
    except _unforeseen() as error:
        return _fail(error)


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The words as one value. What no command knows is told by the command, whose help is the one to read."""
    asked = arguments[0] if arguments[0] in COMMANDS else None
    options, unknown = parser(asked).parse_known_args(_joined(arguments))
    if unknown:
        Parser(prog=f"clew {options.command or ''}".strip()).error(f"unrecognized arguments: {' '.join(unknown)}")
    return options if options.command else parser("ls").parse_args(["ls"])


def _joined(arguments: Sequence[str]) -> list[str]:
    """The folder of a project is named with a dash in front; behind --project that is no option."""
    found: list[str] = []
    for word in arguments:
        if found and found[-1] in ("-p", "--project") and len(word) > 2 and word[0] == "-" != word[1]:
            found[-1] = f"--project={word}"
        else:
            found.append(word)
    return found


def _finish(code: int) -> int:
    sys.stdout.flush()
    return code


def _hush() -> int:
    """The reader has gone: say no more, not even at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return DONE


def _explain(sentence: str, hint: str, code: int) -> int:
    remark(f"clew: {sentence}")
    if hint:
        remark(hint)
    return code


def _sentence(error: OSError) -> str:
    return f"{clean_name(str(error.filename))}: {error.strerror}." if error.filename else str(error)


def _unforeseen() -> tuple[type[Exception], ...]:
    """Errors that no command explains by itself. Evaluated only after one was raised: few commands need the database."""
    from apsw import Error

    return (*UNFORESEEN, Error)


def _fail(error: Exception) -> int:
    """Explain an error in one sentence. A plain ValueError is about the user's input; all else is a bug of ours."""
    if is_debugging():
        import traceback

        traceback.print_exception(error)
    if type(error) is ValueError:
        return _explain(str(error), "", FAILED)
    if isinstance(error, MemoryError):
        return _explain("There is not enough memory for this.", "", FAILED)
    sentence = f"Internal error: {type(error).__name__}: {error}"
    return _explain(sentence, "This is a bug in clew. CLEW_DEBUG=1 prints the traceback to report with it.", FAILED)
