"""Choose the command for arguments that do not begin with one: `clew`, `clew retry backoff`, `clew --claude-dir DIR`.

- `--claude-dir DIR` before a command is the same as after it.
- Without words: the browser in a terminal, otherwise the list of sessions.
- A first word that is almost the name of a command is an error, which names the command.
- Other words are a query: for the browser in a terminal, otherwise for `clew search`, which also takes options.
"""

from __future__ import annotations

import sys

from clew.cli.commands import COMMANDS
from clew.errors import ClewError, quote_input

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SIMILARITY = 0.75  # of a word to the name of a command, from which on it counts as mistyped
_FOLDER = "--claude-dir"


def add_command(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with a command in front. Raises ClewError for a mistyped command."""
    words, options = _split_folder(arguments)
    if not words:
        return [*(["browse"] if _can_browse() else ["ls"]), *options]
    first = words[0]
    if first in COMMANDS:
        return [first, *options, *words[1:]]
    if first.startswith("-"):
        return list(arguments)  # an option, which the parser of all commands knows or reports
    if near := similar_command(first):
        raise ClewError(
            f"There is no command {quote_input(first)}. Did you mean {near!r}?",
            hint="To search for words, write: clew search WORDS",
        )
    has_options = any(word.startswith("--") for word in words)
    return ["browse" if _can_browse() and not has_options else "search", *words, *options]


def _split_folder(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Separate `--claude-dir DIR` before the first word from the other arguments."""
    first = arguments[0] if arguments else ""
    if first == _FOLDER and len(arguments) > 1:
        return list(arguments[2:]), list(arguments[:2])
    if first.startswith(f"{_FOLDER}="):
        return list(arguments[1:]), [first]
    return list(arguments), []


def similar_command(word: str) -> str:
    """Return the command that a mistyped word resembles, or ""."""
    if " " in word:
        return ""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word.lower(), COMMANDS, 1, SIMILARITY)), "")


def _can_browse() -> bool:
    """Return whether there is a terminal, and the package for the browser."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    from importlib.util import find_spec

    if find_spec("textual") is not None:
        return True
    from clew.cli.output import print_message
    from clew.system.extras import install_command

    print_message(f"In a terminal, clew opens a browser. It needs Textual: {install_command('tui')}")
    return False
