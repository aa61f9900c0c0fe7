"""Pastes: long ones are folded to a mark in the prompt, pictures are taken by their path; both come back when it is sent."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

LONGEST = 800  # characters that are shown as they are
MOST_LINES = 3

_MARK = re.compile(r"\[(?:Pasted text|Image) #(\d+)(?: \+\d+ lines)?\]")
_PICTURE = re.compile(r"\.(?:png|jpe?g|gif|webp)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PastedItem:
    """Something that stands behind a mark: a text, or the picture in a file."""

    number: int
    text: str = ""
    picture: Path | None = None

    @property
    def mark(self) -> str:
        if self.picture is not None:
            return f"[Image #{self.number}]"
        more = self.text.count("\n")
        return f"[Pasted text #{self.number} +{more} lines]" if more else f"[Pasted text #{self.number}]"


@dataclass
class Pastes:
    """What was pasted in this console, by number."""

    known: dict[int, PastedItem] = field(default_factory=dict)

    def take(self, text: str, cwd: Path) -> str:
        """What a paste puts into the prompt: itself, or a mark."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        number = max(self.known, default=0) + 1
        if path := picture_path(text, cwd):
            made = PastedItem(number, picture=path)
        elif len(text) > LONGEST or text.count("\n") >= MOST_LINES:
            made = PastedItem(number, text)
        else:
            return text
        self.known[number] = made
        return made.mark

    def used(self, typed: str) -> list[PastedItem]:
        """What a prompt has marks of, in their order."""
        numbers = dict.fromkeys(int(found[1]) for found in _MARK.finditer(typed))
        return [self.known[number] for number in numbers if number in self.known]

    def unfold(self, typed: str) -> str:
        """The prompt with the pasted texts in the places of their marks; pictures stay marks."""

        def fill(found: re.Match[str]) -> str:
            pasted = self.known.get(int(found[1]))
            return pasted.text if pasted and pasted.picture is None else found[0]

        return _MARK.sub(fill, typed)


def mark_before(text: str) -> int:
    """How long the mark is that a text ends with; 0 if with none. It is deleted as one."""
    found = [m for m in _MARK.finditer(text) if m.end() == len(text)]
    return len(found[-1][0]) if found else 0


def picture_path(text: str, cwd: Path) -> Path | None:
    """The picture that a pasted path names, as terminals write it when a file is dropped: quoted, escaped, or a URL."""
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


def recorded(used: list[PastedItem]) -> dict[str, Any]:
    """Pasted texts as the history of prompts keeps them."""
    texts = (p for p in used if p.picture is None)
    return {str(p.number): {"id": p.number, "type": "text", "content": p.text} for p in texts}
