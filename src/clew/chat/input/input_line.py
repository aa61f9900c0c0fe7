"""A line that the user typed, parsed once."""

from __future__ import annotations

import re

from msgspec import Struct

_COMMAND = re.compile(r"/([\w.:-]+)(?:\s+(.*))?", re.DOTALL)


class InputLine(Struct, frozen=True):
    """The text of a line. For a slash command also its name and arguments: "/review a.py" has the name "review"."""

    text: str
    command: str = ""
    arguments: str = ""


def parse_line(text: str) -> InputLine:
    """Parse a line. A path such as "/usr/bin" is not a slash command."""
    match = _COMMAND.fullmatch(text.strip())
    return InputLine(text, match[1], (match[2] or "").strip()) if match else InputLine(text)
