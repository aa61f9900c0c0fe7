"""Load earlier prompts of this project from the history file of Claude Code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from prompt_toolkit.history import History

MAX_BYTES = 1 << 20  # bytes from the end of the file
MAX_PROMPTS = 1000


class ProjectHistory(History):
    """The prompts that were typed in this project, newest first. They are written by `send_prompt`."""

    def __init__(self, path: Path, project: str) -> None:
        super().__init__()
        self._path = path
        self._project = project

    def load_history_strings(self) -> Iterable[str]:
        return list(self._newest())

    def store_string(self, string: str) -> None:
        """Do nothing: `send_prompt` writes the history."""

    def _newest(self) -> Iterator[str]:
        from clew.wire.prompt_history import prompts, read_history

        last, count = "", 0
        project_prompts = [p for p in prompts(read_history(_read_end(self._path))) if p.project == self._project]
        for prompt in reversed(project_prompts):
            if prompt.text != last and count < MAX_PROMPTS:
                last, count = prompt.text, count + 1
                yield prompt.text


def _read_end(path: Path) -> bytes:
    """Return the last lines of a file, without the first one if it is cut."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - MAX_BYTES))
            data = file.read()
    except OSError:
        return b""
    return data if size <= MAX_BYTES else data[data.find(b"\n") + 1 :]
