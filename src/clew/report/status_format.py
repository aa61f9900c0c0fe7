"""The format of the status line: text with fields in braces.

`{context}` is replaced by the value of a field, and `{context:red}` colours it. The colour `level` is green, yellow or
red by the percentage in the value. A part in square brackets is left out if one of its fields is empty. Two braces or
brackets of a kind, such as `[[`, stand for one.
"""

from __future__ import annotations

import re

COLOURS = {
    "red": 31,
    "green": 32,
    "yellow": 33,
    "blue": 34,
    "magenta": 35,
    "cyan": 36,
    "dim": 2,
    "bold": 1,
    "level": 0,
}
DEFAULT = "{model}[ · {branch}][ · {cost}][ · {context}][ · {limits}][ · {today}][ · {block}][ · {expiring}]"
COLOURED = (
    "{model:cyan}[ · {branch:dim}][ · {cost}][ · {context:level}]"
    "[ · {five_hour:level}][ · {week:level}][ · {today}][ · {block}][ · {expiring:yellow}]"
)
_TOKEN = re.compile(r"\[\[|\]\]|\{\{|\}\}|\[|\]|\{(\w*)(?::(\w*))?\}|[{}]")
_PERCENT = re.compile(r"(\d+) %")
_LEVELS = ((80, 31), (50, 33), (0, 32))


def format_line(text: str, fields: dict[str, str]) -> str:
    """Fill a format with the values of the fields. Raises ValueError with a sentence if the format is invalid."""
    line: list[str] = []
    part: list[str] | None = None  # what is inside brackets
    is_complete = True
    position = 0
    for match in _TOKEN.finditer(text):
        target = line if part is None else part
        target.append(text[position : match.start()])
        position = match.end()
        token = match[0]
        if token in ("[[", "]]", "{{", "}}"):
            target.append(token[0])
        elif token == "[" and part is None:
            part, is_complete = [], True
        elif token == "]" and part is not None:
            line += part if is_complete else []
            part = None
        elif match[1] is None:
            raise ValueError(f"{token!r} at position {match.start() + 1} of the format has no partner; write it twice")
        else:
            value = _coloured(match[1], match[2], fields)
            is_complete = is_complete and bool(value)
            target.append(value)
    if part is not None:
        raise ValueError("'[' in the format has no partner; write it twice")
    return ("".join(line) + text[position:]).strip(" ·")


def _coloured(name: str, colour: str | None, fields: dict[str, str]) -> str:
    if name not in fields:
        raise ValueError(f"{name!r} is not a field of the status line; the fields are {', '.join(fields)}")
    if colour is not None and colour not in COLOURS:
        raise ValueError(f"{colour!r} is not a colour; the colours are {', '.join(COLOURS)}")
    value = fields[name]
    if not value or not colour:
        return value
    code = COLOURS[colour]
    if colour == "level":
        numbers = [int(number) for number in _PERCENT.findall(value)]
        code = next(code for least, code in _LEVELS if max(numbers, default=0) >= least)
    return f"\x1b[{code}m{value}\x1b[0m"
