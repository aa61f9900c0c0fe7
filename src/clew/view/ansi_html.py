"""Convert ANSI colours to HTML spans with CSS classes; all other codes are removed."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape

from clew.view.sanitize import clean

_COLOUR = re.compile(r"\x1b\[([0-9;]*)m")
_STYLES = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike"}
_ENDS = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("inverse",), 29: ("strike",)}
_COLOUR_RANGES = {3: ("fg", 0), 4: ("bg", 0), 9: ("fg", 8), 10: ("bg", 8)}
State = tuple[tuple[str, str], ...]  # (property, CSS class)
_MAX_CHANGES = 4000  # colour changes in one text; with more it is a picture, and shown without colours


def ansi_to_html(text: str) -> str:
    """Return text as escaped HTML with its colours."""
    if "\x1b[" not in text:
        return escape(clean(text))
    parts = _COLOUR.split(text)
    if len(parts) > 2 * _MAX_CHANGES:
        return escape(clean(text))
    texts, plain = parts[::2], "".join(parts[::2])
    if plain.isascii() and clean(plain) is plain:  # the usual case: codes have no letter that is escaped
        texts = _COLOUR.split(escape(text))[::2]
    else:
        texts = [escape(clean(part)) for part in texts]
    parts_html = [texts[0]]
    state: State = ()
    for codes, shown in zip(parts[1::2], texts[1:], strict=True):
        state = _apply_codes(state, codes)
        names = _class_names(state)
        parts_html.append(f'<span class="{names}">{shown}</span>' if names and shown else shown)
    return "".join(parts_html)


@lru_cache(maxsize=256)
def _class_names(state: State) -> str:
    return " ".join([f"a-{name}" for _, name in state])


@lru_cache(maxsize=256)  # programs use few different codes
def _apply_codes(state: State, codes: str) -> State:
    """Return the state after an escape code: a set of styles, one text colour and one background colour."""
    styles = dict(state)
    numbers = [int(code or 0) for code in codes[:100].split(";")]
    while numbers:
        number = numbers.pop(0)
        if number == 0:
            styles.clear()
        elif number in _STYLES:
            styles[_STYLES[number]] = _STYLES[number]
        elif number in _ENDS:
            for name in _ENDS[number]:
                styles.pop(name, None)
        elif number in (38, 48):
            _set_colour(styles, "fg" if number == 38 else "bg", _palette_colour(numbers))
        elif number in (39, 49):
            styles.pop("fg" if number == 39 else "bg", None)
        elif number // 10 in _COLOUR_RANGES and number % 10 < 8:
            ground, first = _COLOUR_RANGES[number // 10]
            _set_colour(styles, ground, first + number % 10)
    return tuple(styles.items())


def _palette_colour(numbers: list[int]) -> int | None:
    """Consume an extended colour. Return its number if it is one of the sixteen named colours; others have no class."""
    mode = numbers.pop(0) if numbers else 0
    values = numbers[: 1 if mode == 5 else 3]
    del numbers[: len(values)]
    return values[0] if mode == 5 and values and values[0] < 16 else None


def _set_colour(state: dict[str, str], ground: str, colour: int | None) -> None:
    if colour is None:
        state.pop(ground, None)
    else:
        state[ground] = f"{ground}{colour}"
