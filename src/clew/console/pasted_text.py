"""Fold long pastes into marks and recognize pasted image paths; both are restored when the prompt is sent."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from msgspec import Struct, field

MAX_CHARACTERS = 800  # longer pastes are folded
MAX_LINES = 3

_MARK = re.compile(r"\[(?:Pasted text|Image) #(\d+)(?: \+\d+ lines)?\]")
_PICTURE = re.compile(r"\.(?:png|jpe?g|gif|webp)$", re.IGNORECASE)


class PastedItem(Struct, frozen=True):
    """The content of a mark: a text, or the path of an image."""

    number: int
    text: str = ""
    picture: Path | None = None

    @property
    def mark(self) -> str:
        if self.picture is not None:
            return f"[Image #{self.number}]"
        more = self.text.count("\n")
        return f"[Pasted text #{self.number} +{more} lines]" if more else f"[Pasted text #{self.number}]"


class Pastes(Struct):
    """The pasted items of this console, by number."""

    known: dict[int, PastedItem] = field(default_factory=dict)

    def fold(self, text: str, cwd: Path) -> str:
        """Return what is inserted for a paste: the text itself, or a mark."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        number = max(self.known, default=0) + 1
        if path := image_path(text, cwd):
            item = PastedItem(number, picture=path)
        elif len(text) > MAX_CHARACTERS or text.count("\n") >= MAX_LINES:
            item = PastedItem(number, text)
        else:
            return text
        self.known[number] = item
        return item.mark

    def used(self, typed: str) -> list[PastedItem]:
        """Return the items whose marks a prompt contains, in order."""
        numbers = dict.fromkeys(int(match[1]) for match in _MARK.finditer(typed))
        return [self.known[number] for number in numbers if number in self.known]

    def unfold(self, typed: str) -> str:
        """Return the prompt with the texts in place of their marks; marks of images stay."""

        def expand_mark(mark: re.Match[str]) -> str:
            pasted = self.known.get(int(mark[1]))
            return pasted.text if pasted and pasted.picture is None else mark[0]

        return _MARK.sub(expand_mark, typed)


def mark_before(text: str) -> int:
    """Return the length of the mark at the end of a text; 0 if there is none. A mark is deleted as one."""
    marks = [m for m in _MARK.finditer(text) if m.end() == len(text)]
    return len(marks[-1][0]) if marks else 0


def image_path(text: str, cwd: Path) -> Path | None:
    """Return the image that a pasted path names. Terminals paste a dropped file quoted, escaped, or as a URL."""
    line = text.strip()
    if "\n" in line or not _PICTURE.search(line.rstrip("'\"")):
        return None
    if line.startswith("file://"):
        line = unquote(urlsplit(line).path)
    else:
        try:
            words = shlex.split(line)
        except ValueError:
            words = []
        line = words[0] if len(words) == 1 else line
    try:
        path = (cwd / Path(line).expanduser()).resolve()
        return path if path.is_file() else None
    except (OSError, RuntimeError):
        return None


def history_record(used: list[PastedItem]) -> dict[str, Any]:
    """Return pasted texts in the form of the prompt history."""
    texts = (p for p in used if p.picture is None)
    return {str(p.number): {"id": p.number, "type": "text", "content": p.text} for p in texts}
