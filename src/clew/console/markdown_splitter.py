"""Split Markdown that arrives in chunks into finished blocks, which can be printed and never change."""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_LINES = 30  # of a longer unfinished block, the beginning becomes a separate block
MIN_TAIL_LINES = 8  # lines of it that remain unfinished

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s")


class FinishedBlock(NamedTuple):
    """A finished block. `is_continuation` is True for the next part of a block that was too long."""

    text: str
    is_continuation: bool = False


class Splitter:
    r"""Collects chunks of a text and returns its finished blocks; together they render like the complete text.

    For the chunks "# Ti", "tle\n\nSome te" and "xt", `feed` returns [], ["# Title"] and [], and `finish` returns
    ["Some text"].
    """

    def __init__(self) -> None:
        self.tail = ""  # what is not finished
        self._is_cut = False  # the tail continues a block that was cut

    def feed(self, text: str) -> list[FinishedBlock]:
        """Add a chunk; return the blocks that it completes."""
        self.tail += text
        if "\n" not in self.tail:
            return []
        blocks = []
        while (end := self._block_end()) is not None:
            block, self.tail = self.tail[:end].strip("\n"), self.tail[end:]
            blocks += self._finished_block(block, is_cut=False)
        if self.tail.count("\n") > MAX_LINES and (beginning := self._cut_long_block()):
            blocks += self._finished_block(beginning, is_cut=True)
        return blocks

    def finish(self) -> list[FinishedBlock]:
        """Return the remaining block at the end of the text."""
        block, self.tail = self.tail.strip("\n"), ""
        return self._finished_block(block, is_cut=False)

    def _finished_block(self, block: str, is_cut: bool) -> list[FinishedBlock]:
        is_continuation, self._is_cut = self._is_cut, is_cut
        return [FinishedBlock(block, is_continuation)] if block.strip() else []

    def _block_end(self) -> int | None:
        r"""Return where the first block ends: after a closed fence, or at an empty line that no indented line
        follows.

        An indented line after an empty one belongs to the same list item, so "- a\n\n b" is one block.
        """
        fence, position, has_text, empty_at = "", 0, False, None
        for line in self.tail.split("\n")[:-1]:
            begin, position = position, position + len(line) + 1
            fence_line = _FENCE.match(line)
            if fence:
                if fence_line and fence_line[1].startswith(fence) and not fence_line[2].strip():
                    if has_text is False:
                        return position
                    fence = ""
                continue
            if not line.strip():
                empty_at = position if has_text and empty_at is None else empty_at
                continue
            if empty_at is not None and not line[0].isspace():
                return empty_at
            empty_at = None
            if fence_line:
                fence = fence_line[1]
                if has_text and not line[0].isspace():
                    return begin
                continue
            has_text = True
        last_line = self.tail[position:]
        return empty_at if empty_at is not None and last_line and not last_line[0].isspace() else None

    def _cut_long_block(self) -> str:
        """Cut off and return the beginning of a long block: code, which continues under the same fence, or list
        items.

        A fence "```py" with 40 lines becomes a block of 32 lines closed by "```", and a tail that starts with
        "```py" again.
        """
        lines = self.tail.split("\n")
        first = next((i for i, line in enumerate(lines) if line.strip()), 0)
        opened = _FENCE.match(lines[first])
        if opened:
            index = len(lines) - MIN_TAIL_LINES
            beginning = [*lines[first:index], opened[1]]
            self.tail = "\n".join([lines[first], *lines[index:]])
            return "\n".join(beginning)
        for index in range(len(lines) - MIN_TAIL_LINES, first, -1):
            if _ITEM.match(lines[index]):
                self.tail = "\n".join(lines[index:])
                return "\n".join(lines[first:index])
        return ""
