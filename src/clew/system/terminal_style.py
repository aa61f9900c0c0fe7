"""Paint text for a terminal with the design tokens, on dark and light grounds.

    style = stdout_style()
    style("Total", "bold")        # a look is attributes and names of tokens
    style("❯ go", "on prompt")    # `on` makes the next one the ground

If the ground is not known, only colours are used that can be read on every ground. A stream that takes no colours gets
the text as it is. Nothing is imported before a text is painted, because every command starts here.
"""

from __future__ import annotations

import sys

from clew.system import environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

HEADING = "bold quiet"  # of a table
_ATTRIBUTES = {"bold": "1", "italic": "3", "underline": "4", "strike": "9"}
_SIXTEEN = {  # the terminal chooses these colours to suit its ground
    **dict.fromkeys(("quiet", "code-comment"), "dim"),
    **dict.fromkeys(("accent", "bad"), "red"),
    **dict.fromkeys(("good", "code-string"), "green"),
    **dict.fromkeys(("warn", "code-number"), "yellow"),
    **dict.fromkeys(("link", "code-name"), "cyan"),
    "code-keyword": "magenta",
}
_CODES = {"dim": "2", "red": "31", "green": "32", "yellow": "33", "magenta": "35", "cyan": "36"}
_LEVELS = (0, 95, 135, 175, 215, 255)  # of each part of the colours 16 to 231


class TerminalStyle:
    """The colours of one terminal: how many it has (0, 16, 256 or 2**24), and its ground: dark, light, or "" if that is
    not known.
    """

    def __init__(self, colours: int, ground: str = "") -> None:
        self.colours, self.ground = colours, ground
        self._codes: dict[str, str] = {}

    def __call__(self, text: str, look: str) -> str:
        if not self.colours or not look or not text:
            return text
        code = self._codes.get(look)
        if code is None:
            code = self._codes[look] = ";".join(self._sequence(look))
        return f"\x1b[{code}m{text}\x1b[0m" if code else text

    @property
    def tokens(self) -> Mapping[str, str]:
        """The tokens that this terminal can show: name and colour. One of unknown ground has no grounds among them."""
        from clew.system.design_tokens import ANY_GROUND, DARK, LIGHT

        return {"dark": DARK, "light": LIGHT}.get(self.ground, ANY_GROUND)

    def _sequence(self, look: str) -> list[str]:
        codes, first = [], 38
        for word in look.split():
            if word == "on":
                first = 48
            elif word in _ATTRIBUTES:
                codes.append(_ATTRIBUTES[word])
            elif self.colours > 16 and word in self.tokens:
                codes.append(f"{first};{_colour_code(self.tokens[word], self.colours)}")
            elif self.colours == 16 and first == 38 and word in _SIXTEEN:
                codes.append(_CODES[_SIXTEEN[word]])
        return codes

    def rich_look(self, look: str) -> str:
        """Return a look as the library rich writes it."""
        tokens = self.tokens if self.colours > 16 else _SIXTEEN
        words = [tokens.get(word, word if word in (*_ATTRIBUTES, "on") else "") for word in look.split()]
        return " ".join(filter(None, words)).removesuffix("on").strip() or "none"


def stdout_style() -> TerminalStyle:
    return stream_style(sys.stdout)


def stream_style(stream: TextIO) -> TerminalStyle:
    """Return the style of a stream: without colours unless it is a terminal that has them, or they are forced."""
    return TerminalStyle(environment.terminal_colours(stream.isatty()), environment.terminal_ground())


def _colour_code(colour: str, colours: int) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"2;{red};{green};{blue}" if colours > 256 else f"5;{nearest_of_256(red, green, blue)}"


def nearest_of_256(*parts: int) -> int:
    """Return the nearest of the colours 16 to 255 of xterm: a cube of six levels a side, then 24 greys."""
    steps = [min(range(6), key=lambda step: abs(_LEVELS[step] - part)) for part in parts]
    grey = min(23, max(0, round((sum(parts) / 3 - 8) / 10)))
    cube = 16 + 36 * steps[0] + 6 * steps[1] + steps[2]
    far = sum((_LEVELS[step] - part) ** 2 for step, part in zip(steps, parts, strict=True))
    return cube if far <= sum((8 + 10 * grey - part) ** 2 for part in parts) else 232 + grey
