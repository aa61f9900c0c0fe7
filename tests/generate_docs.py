"""`make docs`: write what the code says of itself, so that the documents cannot say anything else.

python -m tests.generate_docs

docs/cli.md comes from the parsers of the commands; the list of modules in docs/design.md from their first lines.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from clew.cli.run_command import COMMANDS, parser

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SOURCE = ROOT / "src/clew"

HEAD = """\
# Commands

The reference of every command and option. It is generated: `make docs` writes it from the parsers, and a test holds it
against them. What to use them for is in the [guide](guide.md).

Without a command `clew` lists the sessions. `clew --version` prints the version, `clew --help` the commands, and
`clew COMMAND --help` what is said here of one.
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
    subs = (a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
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


# -- the list of modules

BEGIN, END = "<!-- modules: made by make docs -->\n", "<!-- end of modules -->\n"
FOLDERS = {
    "wire": "what the files say; the only code that knows the JSON and the folders",
    "conversation": "what was said",
    "facts": "what it amounts to: pure functions, no input and output",
    "api": "the Messages API: client, stream, mock; knows nothing of files",
    "index": "search: a cache of words that can be made again",
    "view": "how a session looks: rows, then text",
    "report": "usage as tables and plots",
    "edit": "clone, trim, compress, redact: a plan, checked, written as a new session",
    "collect": "sessions into archives and stores, each line once",
    "chat": "a client of its own that continues sessions",
    "chat/tools": "what the model may call",
    "chat/permission": "what it may call without asking",
    "foreign": "conversations that other programs wrote, as sessions",
    "demo": "made-up sessions: a builder that reads like a conversation, and the demo tree",
    "cli": "the command: arguments become one value, then one call, then text",
    "tui": "the browser in the terminal",
    "console": "a chat in the scrollback of a terminal, or in lines",
    "web": "the browser on the web",
    "acp": "a chat for editors, over the Agent Client Protocol",
    "mcp": "sessions for models",
}


def modules() -> str:
    """Every folder with its modules, and the folders that are still to come."""
    made = [name for name in FOLDERS if _files(name)]
    told = "\n".join("\n".join(_folder(name)) for name in made)
    coming = [f"| `{name}/` | {purpose} |" for name, purpose in FOLDERS.items() if name not in made]
    if not coming:
        return told
    return "\n".join([told, "### Not there yet", "", "| folder | |", "|---|---|", *coming, ""])


def _files(folder: str) -> list[Path]:
    return [path for path in sorted((SOURCE / folder).glob("*.py")) if path.stem != "__init__"]


def _folder(name: str) -> Iterator[str]:
    yield f"### {name}/"
    yield ""
    yield f"{FOLDERS[name][0].upper()}{FOLDERS[name][1:]}."
    yield ""
    yield "| module | |"
    yield "|---|---|"
    yield from (f"| `{path.stem}` | {_cell(first_sentence(path))} |" for path in _files(name))
    yield ""


def first_sentence(path: Path) -> str:
    """The first paragraph of a module's docstring, on one line."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split())


def with_modules(text: str) -> str:
    """A page with the list of modules between its marks made anew."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{modules()}\n{END}{after}"


def main() -> int:
    design = DOCS / "design.md"
    made = {DOCS / "cli.md": cli(), design: with_modules(design.read_text(encoding="utf-8"))}
    for path, text in made.items():
        path.write_text(text, encoding="utf-8", newline="\n")
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
