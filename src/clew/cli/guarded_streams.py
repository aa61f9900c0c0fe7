"""Wrap stdout and stderr so that no escape sequence but ours reaches a terminal or a log.

Commands clean the text of transcripts themselves. This is the second barrier: it passes colours and the few
sequences of our progress lines and player, and cleans everything else.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, TextIO

_OURS = (
    r"\A\r\x1b\[2?K|\A\r|\r\Z"  # a progress line that is drawn again
    r"|\x1b\[2J\x1b\[H"  # the player starts a screen
    r"|\x1b\[(?:[0-79]|2[1-9]|3[0-79]|4[0-79]|9[0-7]|10[0-7]|[34]8;5;[0-9]{1,3}|[34]8;2(?:;[0-9]{1,3}){3}|;)*m"
)


class Guarded:
    """A text stream that cleans all text written to it."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(text if text == "\n" or text.isprintable() else guard_text(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.stream)


def guard_text(text: str) -> str:
    """Clean a text, except for our own sequences."""
    from clew.system.control_characters import clean

    if "\x1b" not in text and "\r" not in text:
        return clean(text)
    import re  # which few texts need

    parts, at = [], 0
    for match in re.finditer(_OURS, text):
        parts += [clean(text[at : match.start()]), match[0]]
        at = match.end()
    return "".join((*parts, clean(text[at:])))


def install() -> tuple[Any, Any]:
    """Guard the standard streams. Return the previous ones, for `restore`."""
    before = sys.stdout, sys.stderr
    if not isinstance(sys.stdout, Guarded):
        sys.stdout = Guarded(sys.stdout)
    if not isinstance(sys.stderr, Guarded):
        sys.stderr = Guarded(sys.stderr)
    return before


def restore(before: tuple[Any, Any]) -> None:
    sys.stdout, sys.stderr = before


def release() -> None:
    """Remove the guard, for a program that draws the whole terminal itself."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, Guarded):
            setattr(sys, name, stream.stream)
