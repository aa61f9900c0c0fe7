"""Run a command: parse the arguments, call its module, and report errors."""

from __future__ import annotations

import argparse
import io
import os
import sys

from clew.cli.commands import COMMANDS, format_listing, module_name
from clew.cli.guarded_streams import Guarded
from clew.errors import UNEXPECTED_ERRORS, Ambiguous, BadQuery, ClewError, NotFound
from clew.system.environment import terminal_columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

DONE, NOTHING, FAILED, INTERRUPTED = 0, 1, 2, 130
_CODES: tuple[tuple[type[BaseException], int], ...] = ((NotFound, NOTHING), (Ambiguous, FAILED), (ClewError, FAILED))
_NEXT_STEPS: tuple[tuple[type[OSError], str], ...] = (
    (FileExistsError, "No file is overwritten. Name another file."),
    (FileNotFoundError, "Check the path."),
    (PermissionError, "Check the permissions of the file and its folder."),
)


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Formats help to the width of the terminal.

    argparse creates a formatter for every option, also when no help is printed, and would import `shutil` each time to
    ask for the width.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=terminal_columns() - 2)


class Parser(argparse.ArgumentParser):
    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=_HelpFormatter, **settings)

    def error(self, message: str) -> NoReturn:
        _print_message(f"clew: {message}")
        _print_message(f"Try: {self.prog} --help")
        raise SystemExit(FAILED)


def build_parser() -> Parser:
    """Build the parser of all commands. It imports every command; `command_parser` imports one."""
    from clew.version import __version__

    top = Parser(
        prog="clew",
        usage="clew [-h] [--version] COMMAND ...",
        description="Read, search, price, edit, archive and continue Claude Code sessions.",
        epilog=format_listing(),
    )
    top.add_argument(
        "--version", "-V", action="version", version=f"clew {__version__}", help="print the version and exit"
    )
    sub = top.add_subparsers(
        dest="command", metavar="COMMAND", prog="clew", parser_class=Parser, help=argparse.SUPPRESS
    )
    for name in COMMANDS:
        _add_arguments(sub.add_parser(name, description=_describe(name)), name)
    return top


def command_parser(name: str) -> Parser:
    """Build the parser of one command, without its name: `command_parser("ls").parse_args(["--json"])`."""
    command = Parser(prog=f"clew {name}", description=_describe(name))
    _add_arguments(command, name)
    return command


def _add_arguments(command: argparse.ArgumentParser, name: str) -> None:
    module = _import(module_name(name))
    module.add_arguments(command)
    command.set_defaults(handler=module.run)


def _import(name: str) -> Any:
    """Import a module by its full name, without `importlib`, which is not loaded otherwise."""
    __import__(name)
    return sys.modules[name]


def _describe(name: str) -> str:
    purpose = COMMANDS[name]
    return f"{purpose[0].upper()}{purpose[1:]}."


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code. Errors are reported in one sentence, with a next step."""
    for stream in (sys.stdout, sys.stderr):
        plain = stream.stream if isinstance(stream, Guarded) else stream
        if isinstance(plain, io.TextIOWrapper):
            plain.reconfigure(errors="replace")  # not every terminal can show every character
    try:
        options = _parse(arguments)
        if getattr(options, "reads_store", False) and (options.store or options.developer or options.token_file):
            from clew.cli.store_source import use_store

            use_store(options)
        return _finish(int(options.handler(options)))
    except SystemExit as stop:
        return int(stop.code or 0)
    except BrokenPipeError:
        return _discard_stdout()
    except KeyboardInterrupt:
        _print_message("Interrupted.")
        return INTERRUPTED
    except BadQuery as error:
        return _report_query(error)
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
    """Parse the arguments with the parser of their command, or of all commands if they begin with another option."""
    if not arguments or arguments[0] not in COMMANDS:
        from clew.cli.implied_command import add_command

        arguments = add_command(arguments)
    name = arguments[0]
    if name not in COMMANDS:
        options = build_parser().parse_args(arguments)
        return options if options.command else command_parser("ls").parse_args([])
    command = command_parser(name)
    words = _join_project_names(arguments[1:])
    parse_arguments = getattr(sys.modules[module_name(name)], "parse_arguments", None)
    result: argparse.Namespace = (parse_arguments or argparse.ArgumentParser.parse_args)(command, words)
    return result


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


def _print_message(text: str) -> None:
    from clew.cli.output import print_message  # not before: it imports more than a quick command needs

    print_message(text)


def _report(sentence: str, hint: str, code: int) -> int:
    _print_message(f"clew: {sentence}")
    if hint:
        _print_message(hint)
    return code


def _report_query(error: BadQuery) -> int:
    """Show where a query is wrong: the text around the position, and a caret below it."""
    from clew.system.control_characters import clean_name

    before, after = clean_name(error.text[: error.at])[-60:], clean_name(error.text[error.at :])[:60]
    _print_message(f"clew: {error.reason}.")
    _print_message(f"  {before}{after}")
    _print_message(f"  {' ' * len(before)}^")
    if error.hint:
        _print_message(error.hint)
    return FAILED


def _describe_os_error(error: OSError) -> str:
    from clew.system.control_characters import clean_name

    return f"{clean_name(str(error.filename))}: {error.strerror}." if error.filename else str(error)


def _unexpected_errors() -> tuple[type[Exception], ...]:
    """Errors that no command explains itself. Evaluated only after one was raised: few commands need the database."""
    from apsw import Error

    return (*UNEXPECTED_ERRORS, Error)


def _report_unexpected(error: Exception) -> int:
    """Report an unexpected error in one sentence. A plain ValueError is about the user's input; all else is a bug of
    ours.
    """
    from clew.system.environment import is_debugging

    if is_debugging():
        import traceback

        traceback.print_exception(error)
    if type(error) is ValueError:
        return _report(str(error), "", FAILED)
    if isinstance(error, MemoryError):
        return _report("There is not enough memory.", "", FAILED)
    sentence = f"Internal error: {type(error).__name__}: {error}"
    return _report(sentence, "This is a bug in clew. CLEW_DEBUG=1 prints the traceback to report with it.", FAILED)
