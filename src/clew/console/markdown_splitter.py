"""Streams of Markdown: which blocks of a text that still grows are finished, so that they can be printed for good."""

from __future__ import annotations

import re
from typing import NamedTuple

LONGEST = 30  # lines of an unfinished block; of a longer one the beginning is printed as a block of its own
KEPT = 8  # lines of it that wait on

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s")


class FinishedBlock(NamedTuple):
    """A finished block; `goes_on` says that it is the next part of the one before it."""

    text: str
    goes_on: bool = False


class Splitter:
    """Takes a text as it comes and gives its finished blocks. Joined, they say what the whole text says."""

    def __init__(self) -> None:
        self.tail = ""  # what is not finished
        self._is_cut = False  # whether the tail is the rest of a block

    def feed(self, text: str) -> list[FinishedBlock]:
        """More of the text; the blocks that are finished by it."""
        self.tail += text
        if "\n" not in self.tail:
            return []
        made = []
        while (end := self._end()) is not None:
            block, self.tail = self.tail[:end].strip("\n"), self.tail[end:]
            made += self._piece(block, is_cut=False)
        if self.tail.count("\n") > LONGEST and (head := self._cut()):
            made += self._piece(head, is_cut=True)
        return made

    def finish(self) -> list[FinishedBlock]:
        """What is left when nothing more comes."""
        block, self.tail = self.tail.strip("\n"), ""
        return self._piece(block, is_cut=False)

    def _piece(self, block: str, is_cut: bool) -> list[FinishedBlock]:
        goes_on, self._is_cut = self._is_cut, is_cut
        return [FinishedBlock(block, goes_on)] if block.strip() else []

    def _end(self) -> int | None:
        """Where the first block ends: behind a closed fence, or at an empty line with no indented one behind it."""
        fence, at, has_text, empty_at = "", 0, False, None
        for line in self.tail.split("\n")[:-1]:
            begin, at = at, at + len(line) + 1
            found = _FENCE.match(line)
            if fence:
                if found and found[1].startswith(fence) and not found[2].strip():
                    if has_text is False:
                        return at
                    fence = ""
                continue
            if not line.strip():
                empty_at = at if has_text and empty_at is None else empty_at
                continue
            if empty_at is not None and not line[0].isspace():
                return empty_at
            empty_at = None
            if found:
                fence = found[1]
                if has_text and not line[0].isspace():
                    return begin
                continue
            has_text = True
        begun = self.tail[at:]
        return empty_at if empty_at is not None and begun and not begun[0].isspace() else None

    def _cut(self) -> str:
        """The beginning of a block that grew too long: code, told on under the same fence, or items of a list."""
        lines = self.tail.split("\n")
        first = next((i for i, line in enumerate(lines) if line.strip()), 0)
        opened = _FENCE.match(lines[first])
        if opened:
            at = len(lines) - KEPT
            head = [*lines[first:at], opened[1]]
            self.tail = "\n".join([lines[first], *lines[at:]])
            return "\n".join(head)
        for at in range(len(lines) - KEPT, first, -1):
            if _ITEM.match(lines[at]):
                self.tail = "\n".join(lines[at:])
                return "\n".join(lines[first:at])
        return ""
