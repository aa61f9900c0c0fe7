"""The history of prompts at the console: the newest of this project first, out of the file that Claude Code keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from prompt_toolkit.history import History

REACH = 1 << 20  # bytes from the end of the file
MOST = 1000


class Earlier(History):
    """What was typed in this project. It is written down elsewhere, with all that belongs to it."""

    def __init__(self, path: Path, project: str) -> None:
        super().__init__()
        self._path = path
        self._project = project

    def load_history_strings(self) -> Iterable[str]:
        return list(self._newest())

    def store_string(self, string: str) -> None:
        """The console writes it down."""

    def _newest(self) -> Iterator[str]:
        from clew.wire.prompt_history import prompts, read_history

        last, count = "", 0
        found = [p for p in prompts(read_history(_end(self._path))) if p.project == self._project]
        for prompt in reversed(found):
            if prompt.text != last and count < MOST:
                last, count = prompt.text, count + 1
                yield prompt.text


def _end(path: Path) -> bytes:
    """The last lines of a file; the first of them may be cut and is left out."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - REACH))
            data = file.read()
    except OSError:
        return b""
    return data if size <= REACH else data[data.find(b"\n") + 1 :]
