"""Kinds of agents: what one is for, what it is told, and what it may use."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from msgspec import Struct

from clew.chat.permission.decision import Mode
from clew.chat.tools.toolbox import ALIASES

GENERAL = "general-purpose"
NOTES = "MEMORY.md"
MOST_NOTES = 200  # lines
_KEEPING = ("Read", "Write", "Edit")  # what it takes to keep notes


class Kind(Struct, frozen=True):
    """A kind of agent."""

    name: str
    description: str
    prompt: str
    tools: Sequence[str] | None = None  # None for all
    without: Sequence[str] = ()
    model: str = ""  # empty for that of whoever sends it
    mode: Mode | None = None
    turns: int | None = None
    is_background: bool = False  # it is never waited for
    skills: Sequence[str] = ()  # what it has read when it begins
    memory: Path | None = None  # the folder of its notes
    sends: Sequence[str] | None = None  # the kinds of agents that it may send; None for all

    def may_use(self, tool: str) -> bool:
        """Whether a tool is for it: by any of its names, or by that of the MCP server that it comes from."""
        names = {tool, ALIASES.get(tool, tool), *(old for old, new in ALIASES.items() if new == tool)}
        if tool.startswith("mcp__"):
            server = "__".join(tool.split("__")[:2])
            names |= {server, f"{server}__*"}
        if names & set(self.without):
            return False
        is_kept = self.memory is not None and tool in _KEEPING
        return self.tools is None or is_kept or bool(names & set(self.tools))

    @property
    def told(self) -> str:
        """Its system prompt, with the notes that it has kept; empty for that of whoever sends it."""
        if self.memory is None:
            return self.prompt
        about = (
            f"You keep notes of your own in {self.memory}. What {NOTES} there says is shown to you whenever you begin, as"
            f" far as {MOST_NOTES} lines go. Write down what will help the next time, and keep it short."
        )
        return "\n\n".join(part for part in (self.prompt, about, _notes(self.memory / NOTES)) if part)


def _notes(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return "".join(islice(file, MOST_NOTES)).strip()
    except OSError:
        return ""
