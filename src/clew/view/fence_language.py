"""The language of a call's input or output, for the fence around it, and file content without line numbers."""

from __future__ import annotations

import re

from clew.view.row_types import CallRow

PLAIN = "text"
_SHELLS = {"Bash": "bash", "PowerShell": "powershell"}
_NAMED_VALUE = re.compile(r"[a-z_]{1,40}:(?:\n| )")
_DIFF = re.compile(r"diff --git |--- [^\n]+\n\+\+\+ |@@ -\d")
_NUMBER = re.compile(r" *(\d{1,9})(?:\t|→)")


def text_language(text: str) -> str:
    """Return what an output looks like."""
    if _DIFF.match(text):
        return "diff"
    start, end = text.lstrip()[:1], text.rstrip()[-1:]
    return "json" if (start, end) in (("{", "}"), ("[", "]")) and '"' in text else PLAIN


def input_language(call: CallRow | None, text: str) -> str:
    """Return the language of a call's input: a command, or names and values."""
    shell = _SHELLS.get(call.tool) if call else None
    return shell if shell and not _NAMED_VALUE.match(text) else PLAIN


def strip_line_numbers(text: str) -> tuple[str, int]:
    """Return what Read printed without the numbers of the lines, and the first number; 0 if it has none.

    What follows the numbered lines, such as a reminder, stays as it is.
    """
    lines = text.split("\n")
    first = number = 0
    for index, line in enumerate(lines):
        match = _NUMBER.match(line)
        if match is None or (number and int(match[1]) != number + 1):
            break
        number = int(match[1])
        first = first or number
        lines[index] = line[match.end() :]
    return "\n".join(lines), first
