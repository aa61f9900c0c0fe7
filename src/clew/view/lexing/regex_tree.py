"""Parse regular expressions, to find out what they can match: `regex_reach`, `regex_start`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from re import _parser  # type: ignore[attr-defined]
from typing import Any

Items = Sequence[tuple[Any, Any]]  # operations and their arguments

_SET = re.compile(r"\\.|\[(?!\^)\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_FOREIGN = re.compile(r"[^\x00-\x7f](?:-?[^\x00-\x7f])+")
_MIXED = re.compile(r"[\x00-\x7f]-[^\x00-\x7f]")
_ALL_FOREIGN = r"\\x80-\\U0010ffff"


def parse(expression: re.Pattern[str]) -> Any:
    """Return the items of an expression; `state.flags` of them are its flags.

    Where a set names letters of many scripts, the result allows every character outside of ASCII. Parsing those took most
    of the time.
    """
    is_verbose = expression.flags & re.VERBOSE
    text = expression.pattern if is_verbose else _SET.sub(_widen, expression.pattern)
    return _parser.parse(text, expression.flags)


def _widen(match: re.Match[str]) -> str:
    text = match[0]
    return text if text.isascii() or _MIXED.search(text) else _FOREIGN.sub(_ALL_FOREIGN, text)
