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

from clew.cli.commands import COMMANDS, format_listing, module_name
from clew.cli.guarded_streams import Guarded
from clew.cli.output import print_message
from clew.errors import UNEXPECTED_ERRORS, Ambiguous, ClewError, NotFound
from clew.system.control_characters import clean_name
from clew.system.environment import is_debugging
from clew.version import __version__

DONE, NOTHING, FAILED, INTERRUPTED = 0, 1, 2, 130
_CODES: tuple[tuple[type[BaseException], int], ...] = ((NotFound, NOTHING), (Ambiguous, FAILED), (ClewError, FAILED))
_NEXT_STEPS: tuple[tuple[type[OSError], str], ...] = (
    (FileExistsError, "No file is overwritten. Name another file."),
    (FileNotFoundError, "Check the path."),
    (PermissionError, "Check the permissions of the file and its folder."),
)


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        print_message(f"clew: {message}")
        print_message(f"Try: {self.prog} --help")
        raise SystemExit(FAILED)


def build_parser(only: str | None = None) -> Parser:
    """Build the parser of all commands, or of one command only, which saves importing the others."""
    top = Parser(
        prog="clew",
        usage="clew [-h] [--version] COMMAND ...",
        description="Read, search, price, edit, archive and continue Claude Code sessions.",
        epilog=format_listing(),
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
        module.add_arguments(command)
        command.set_defaults(handler=module.run)
    return top


def run(arguments: Sequence[str]) -> int:
    """Run a command with its arguments and return the exit code. Errors are reported in one sentence, with a next
    step.
    """
    for stream in (sys.stdout, sys.stderr):
        plain = stream.stream if isinstance(stream, Guarded) else stream
        if isinstance(plain, io.TextIOWrapper):
            plain.reconfigure(errors="replace")  # not every terminal can show every character
    try:
        if not arguments and sys.stdin.isatty() and sys.stdout.isatty() and find_spec("textual"):
            return int(import_module("clew.cli.read.browse").browse())
        options = _parse(arguments or ["ls"])
        return _finish(int(options.handler(options)))
    except SystemExit as stop:
        return int(stop.code or 0)
    except BrokenPipeError:
        return _discard_stdout()
    except KeyboardInterrupt:
        print_message("Interrupted.")
        return INTERRUPTED
    except ClewError as error:
        return _report(str(error), _next_step(error), next(code for kind, code in _CODES if isinstance(error, kind)))
    except OSError as error:
        return _report(
            _describe_os_error(error), next((step for kind, step in _NEXT_STEPS if isinstance(error, kind)), ""), FAILED
        )
    except _unexpected_errors() as error:
        return _report_unexpected(error)


def _next_step(error: ClewError) -> str:
    """Return the hint of an error, or the command that lists what exists."""
    is_unexplained = isinstance(error, NotFound) and not error.hint
    return "List the sessions with: clew ls" if is_unexplained else error.hint


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments. Unknown arguments are reported by the parser of the command, so that its help is suggested."""
    command = arguments[0] if arguments[0] in COMMANDS else None
    options, unknown = build_parser(command).parse_known_args(_join_project_names(arguments))
    if unknown:
        Parser(prog=f"clew {options.command or ''}".strip()).error(f"unrecognized arguments: {' '.join(unknown)}")
    return options if options.command else build_parser("ls").parse_args(["ls"])


def _join_project_names(arguments: Sequence[str]) -> list[str]:
    """Join `--project -home-me-app` to one argument: names of project folders begin with a dash."""
    joined: list[str] = []
    for word in arguments:
        if joined and joined[-1] in ("-p", "--project") and len(word) > 2 and word[0] == "-" != word[1]:
            joined[-1] = f"--project={word}"
        else:
            joined.append(word)
    return joined


def _finish(code: int) -> int:
    sys.stdout.flush()
    return code


def _discard_stdout() -> int:
    """Stop writing to stdout, also at exit, because its reader closed the pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return DONE


def _report(sentence: str, hint: str, code: int) -> int:
    print_message(f"clew: {sentence}")
    if hint:
        print_message(hint)
    return code


def _describe_os_error(error: OSError) -> str:
    return f"{clean_name(str(error.filename))}: {error.strerror}." if error.filename else str(error)


def _unexpected_errors() -> tuple[type[Exception], ...]:
    """Errors that no command explains itself. Evaluated only after one was raised: few commands need the database."""
    from apsw import Error

    return (*UNEXPECTED_ERRORS, Error)


def _report_unexpected(error: Exception) -> int:
    """Report an unexpected error in one sentence. A plain ValueError is about the user's input; all else is a bug of
    ours.
    """
    if is_debugging():
        import traceback

        traceback.print_exception(error)
    if type(error) is ValueError:
        return _report(str(error), "", FAILED)
    if isinstance(error, MemoryError):
        return _report("There is not enough memory.", "", FAILED)
    sentence = f"Internal error: {type(error).__name__}: {error}"
    return _report(sentence, "This is a bug in clew. CLEW_DEBUG=1 prints the traceback to report with it.", FAILED)
