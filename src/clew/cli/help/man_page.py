"""Generate the manual page clew(1) from the table of commands and their parsers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from clew.cli.commands import GROUPS
from clew.version import __version__

_HEAD = f"""\
.TH CLEW 1 "" "clew {__version__}" "User Commands"
.SH NAME
clew \\- search, read, price, back up, repair and continue Claude Code sessions
.SH SYNOPSIS
.B clew
.RI [ \\-\\-claude\\-dir " DIR] [COMMAND] [ARGUMENT...]"
.SH DESCRIPTION
clew works on the transcripts that Claude Code keeps in ~/.claude.
Without a command it opens the browser in a terminal, and lists the sessions otherwise.
Words that are not a command are searched.
.PP
A session is named by its id, the beginning of its id, or the path of its file.
Data is printed on standard output, messages on standard error.
"""
_TAIL = """\
.SH EXIT STATUS
.TP
0
done, found, or sound
.TP
1
nothing matched, or some files could not be read
.TP
2
failed, damaged, ambiguous, or invalid arguments
.TP
130
interrupted
.SH ENVIRONMENT
.TP
CLAUDE_CONFIG_DIR
the folder of Claude Code, instead of ~/.claude
.TP
XDG_CACHE_HOME, XDG_DATA_HOME, XDG_STATE_HOME
where the search index, the archive and the state for rewinds are kept
.TP
NO_COLOR, FORCE_COLOR
print no colours, or print them also where stdout is not a terminal
.TP
CLEW_THEME
the ground of the terminal, dark or light, for colours with more contrast; otherwise COLORFGBG tells it
.SH FILES
.TP
~/.cache/clew
the search index; it can be deleted at any time
.TP
~/.local/share/clew
the archive, and the journal of what clew wrote
"""


def build_man_page() -> str:
    """Return the manual page in the format of man(7)."""
    commands = "".join(line + "\n" for group in GROUPS for line in _describe_group(group.heading, group.commands))
    return f"{_HEAD}{commands}{_TAIL}"


def _describe_group(heading: str, commands: dict[str, str]) -> Iterator[str]:
    from clew.cli.run_command import command_parser

    yield f'.SH "{heading.upper()}"'
    for name, purpose in commands.items():
        actions = [a for a in command_parser(name)._actions if not isinstance(a, argparse._HelpAction)]
        arguments = " ".join(_argument(action) for action in actions if not action.option_strings)
        yield f'.SS "clew {_escape(f"{name} {arguments}".strip())}"'
        yield _escape(f"{purpose[0].upper()}{purpose[1:]}.")
        for action in actions:
            yield ".TP"
            yield f".B {_escape(_name(action))}"
            yield _escape((action.help or "").replace("%%", "%"))


def _argument(action: argparse.Action) -> str:
    name = str(action.metavar or action.dest).upper()
    return {"?": f"[{name}]", "+": f"{name}...", "*": f"[{name}...]"}.get(str(action.nargs), name)


def _name(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"{str(action.metavar or action.dest).upper()}{_choices(action)}"
    value = "" if action.nargs == 0 or action.choices else f" {action.metavar or action.dest.upper()}"
    return ", ".join(action.option_strings) + value + _choices(action)


def _choices(action: argparse.Action) -> str:
    return f" {'|'.join(map(str, action.choices))}" if action.choices else ""


def _escape(text: str) -> str:
    """Escape a line for troff: backslashes, hyphens (which would become dashes), and what is not ASCII."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    escaped = "".join(letter if letter.isascii() else f"\\[u{ord(letter):04X}]" for letter in escaped)
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
