"""`make docs`: generate documentation from the code.

python -m tests.generate_docs

docs/cli.md and docs/clew.1 are generated from the parsers of the commands; the list of modules in each package's
docstring from the first sentence of each module.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from clew.cli.commands import COMMANDS
from clew.cli.help.man_page import build_man_page
from clew.cli.run_command import build_parser

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SOURCE = ROOT / "src/clew"

HEAD = """\
# Commands

The reference of every command and option. It is generated: `make docs` writes it from the parsers, and a test holds it
against them. What to use them for is in the [other pages](README.md).

Without a command `clew` opens the browser or lists the sessions, and `clew WORDS` searches. `clew --version`
prints the version, `clew help` the commands, and `clew help COMMAND` the description of one.
"""

TAIL = """\
## Exit codes

| code | meaning |
|---|---|
| 0 | done, found, or sound |
| 1 | nothing matched, or some files could not be read: they are named on stderr, the others are shown |
| 2 | failed, damaged, ambiguous, or wrongly asked |
| 130 | interrupted |

A reader that closes the pipe early is no failure.
"""


def cli() -> str:
    """The text of docs/cli.md."""
    made = "\n".join("\n".join(_command(name, each)) for name, each in _commands())
    return f"{HEAD}\n{_contents()}\n\n{made}\n{TAIL}"


def _commands() -> list[tuple[str, argparse.ArgumentParser]]:
    """Each command with its own parser; argparse gives them away only by their actions."""
    subs = (a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    return [(name, each) for sub in subs for name, each in sub.choices.items()]


def _contents() -> str:
    rows = (f"| [`clew {name}`](#clew-{name}) | {purpose} |" for name, purpose in COMMANDS.items())
    return "\n".join(("| command | |", "|---|---|", *rows))


def _command(name: str, command: argparse.ArgumentParser) -> Iterator[str]:
    actions = [a for a in command._actions if not isinstance(a, argparse._HelpAction)]
    yield f"## clew {name}"
    yield ""
    yield f"{command.description}"
    yield ""
    yield f"    {_usage(name, actions)}"
    yield ""
    yield "| argument | |"
    yield "|---|---|"
    yield from (f"| {_names(a)} | {_cell(a.help or '')} |" for a in actions)
    yield from _exclusive(command)
    if command.epilog:
        yield from ("", "```text", *command.epilog.splitlines(), "```")
    yield ""


def _usage(name: str, actions: list[argparse.Action]) -> str:
    words = [_positional(a) for a in actions if not a.option_strings]
    return " ".join(["clew", name, *words, "[options]"])


def _positional(action: argparse.Action) -> str:
    word = str(action.metavar or action.dest).upper()
    return {"?": f"[{word}]", "+": f"{word} …", "*": f"[{word} …]"}.get(str(action.nargs), word)


def _names(action: argparse.Action) -> str:
    if not action.option_strings:
        name = f"`{str(action.metavar or action.dest).upper()}`"
        return f"{name}: {_choices(action)}" if action.choices else name
    value = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
    named = ", ".join(f"`{each}{value if each == action.option_strings[-1] else ''}`" for each in action.option_strings)
    if action.choices:
        bare = ", ".join(f"`{each}`" for each in action.option_strings)
        return f"{bare} {_choices(action)}"
    return named


def _choices(action: argparse.Action) -> str:
    return " \\| ".join(f"`{choice}`" for choice in action.choices or ())


def _exclusive(command: argparse.ArgumentParser) -> Iterator[str]:
    """Arguments of which only one may be given."""
    for group in command._mutually_exclusive_groups:
        names = [a.option_strings[0] if a.option_strings else a.dest.upper() for a in group._group_actions]
        yield ""
        yield "Only one of " + ", ".join(f"`{name}`" for name in names) + " may be given."


def _cell(text: str) -> str:
    return text.replace("%%", "%").replace("|", "\\|")


# -- the modules of each package

MODULES = "Modules:"


@cache
def packages() -> dict[Path, str]:
    """Every `__init__.py` with its docstring listing the modules of the package, one line for each."""
    return {path: with_modules(path) for path in sorted(SOURCE.rglob("__init__.py")) if path.parent != SOURCE}


def with_modules(path: Path) -> str:
    """The text of an `__init__.py`: the purpose as it was written, and the list of modules as they describe themselves."""
    text = path.read_text(encoding="utf-8")
    docstring = ast.parse(text).body[0]
    assert isinstance(docstring, ast.Expr) and isinstance(docstring.value, ast.Constant)
    purpose = str(docstring.value.value).partition(MODULES)[0].strip()
    code = "".join(text.splitlines(keepends=True)[docstring.end_lineno or 0 :])
    rows = "\n".join(_module_rows(path.parent))
    return f'"""{purpose}\n\n{MODULES}\n{rows}\n"""\n{code}'


def _module_rows(folder: Path) -> Iterator[str]:
    inside = [p for p in sorted(folder.iterdir()) if p.suffix == ".py" or (p / "__init__.py").exists()]
    names = {p.stem if p.is_file() else f"{p.name}/": p if p.is_file() else p / "__init__.py" for p in inside}
    width = max(map(len, names)) + 2
    for name, path in names.items():
        if name != "__init__":
            yield from textwrap.wrap(f"{name:<{width}}{first_sentence(path)}", 116, initial_indent="    ",
                                     subsequent_indent=" " * (width + 4))  # fmt: skip


def first_sentence(path: Path) -> str:
    """The first sentence of a module's docstring, on one line."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<=\.) (?=[A-Z`])", paragraph)[0]


def main() -> int:
    for path, text in {DOCS / "cli.md": cli(), DOCS / "clew.1": build_man_page(), **packages()}.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8", newline="\n")
            print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
