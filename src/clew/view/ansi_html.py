"""ANSI colours as spans: what a terminal would colour, in classes that a style sheet knows. All other codes go."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape

from clew.view.sanitize import clean

_COLOUR = re.compile(r"\x1b\[([0-9;]*)m")
_STYLES = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike"}
_ENDS = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("inverse",), 29: ("strike",)}
_GROUNDS = {3: ("fg", 0), 4: ("bg", 0), 9: ("fg", 8), 10: ("bg", 8)}
State = tuple[tuple[str, str], ...]  # what is set, and the class for it
_MOST = 4000  # changes of colour in one text; beyond them it is a picture, and shown without


def coloured(text: str) -> str:
    """Text as HTML, escaped, with its colours."""
    if "\x1b[" not in text:
        return escape(clean(text))
    parts = _COLOUR.split(text)
    if len(parts) > 2 * _MOST:
        return escape(clean(text))
    made = [escape(clean(parts[0]))]
    state: State = ()
    for codes, part in zip(parts[1::2], parts[2::2], strict=True):
        state = _after(state, codes)
        shown = escape(clean(part))
        names = " ".join([f"a-{name}" for _, name in state])
        made.append(f'<span class="{names}">{shown}</span>' if names and shown else shown)
    return "".join(made)


@lru_cache(maxsize=256)  # programs use few
def _after(state: State, codes: str) -> State:
    """The state behind a code: each style by itself, and one colour for the letters and one behind them."""
    now = dict(state)
    numbers = [int(code or 0) for code in codes[:100].split(";")]
    while numbers:
        number = numbers.pop(0)
        if number == 0:
            now.clear()
        elif number in _STYLES:
            now[_STYLES[number]] = _STYLES[number]
        elif number in _ENDS:
            for name in _ENDS[number]:
                now.pop(name, None)
        elif number in (38, 48):
            _paint(now, "fg" if number == 38 else "bg", _named(numbers))
        elif number in (39, 49):
            now.pop("fg" if number == 39 else "bg", None)
        elif number // 10 in _GROUNDS and number % 10 < 8:
            ground, first = _GROUNDS[number // 10]
            _paint(now, ground, first + number % 10)
    return tuple(now.items())


def _named(numbers: list[int]) -> int | None:
    """One of the sixteen named colours out of a longer palette; the others have no class."""
    mode = numbers.pop(0) if numbers else 0
    taken = numbers[: 1 if mode == 5 else 3]
    del numbers[: len(taken)]
    return taken[0] if mode == 5 and taken and taken[0] < 16 else None


def _paint(state: dict[str, str], ground: str, colour: int | None) -> None:
    if colour is None:
        state.pop(ground, None)
    else:
        state[ground] = f"{ground}{colour}"
