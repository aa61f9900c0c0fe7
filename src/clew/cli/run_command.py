"""Run a command: parse the arguments, call its module, and report errors."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import NoReturn

from clew.cli.commands import COMMANDS, listing, module_name
from clew.cli.guarded_streams import Guarded
from clew.cli.output import remark
from clew.errors import UNEXPECTED_ERRORS, Ambiguous, ClewError, NotFound
from clew.system.control_characters import clean_name
from clew.system.environment import is_debugging
from clew.version import __version__

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
    """The parser of all commands, or of one command only, which saves importing the others."""
    top = Parser(
        prog="clew",
        usage="clew [-h] [--version] COMMAND ...",
        description="Read, search, price, edit, archive and continue Claude Code sessions.",
        epilog=listing(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument(
        "--version", "-V", action="version", version=f"clew {__version__}", help="print the version and exit"
    )
    sub = top.add_subparsers(
        dest="command", metavar="COMMAND", prog="clew", parser_class=Parser, help=argparse.SUPPRESS
    )
    for name in COMMANDS if only is None else (only,):
        purpose = COMMANDS[name]
        command = sub.add_parser(name, description=purpose[0].upper() + purpose[1:] + ".")
        module = import_module(module_name(name))
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
    """Parse the arguments. Unknown arguments are reported by the parser of the command, so that its help is suggested."""
    asked = arguments[0] if arguments[0] in COMMANDS else None
    options, unknown = parser(asked).parse_known_args(_joined(arguments))
    if unknown:
        Parser(prog=f"clew {options.command or ''}".strip()).error(f"unrecognized arguments: {' '.join(unknown)}")
    return options if options.command else parser("ls").parse_args(["ls"])


def _joined(arguments: Sequence[str]) -> list[str]:
    """Join `--project -home-me-app` to one argument: names of project folders begin with a dash."""
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
    """Stop writing to stdout, also at exit, because its reader closed the pipe."""
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

    return (*UNEXPECTED_ERRORS, Error)


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
