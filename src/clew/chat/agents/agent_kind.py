"""A type of subagent: its purpose, system prompt, tools and limits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from msgspec import Struct

from clew.chat.config.permission_mode import Mode
from clew.chat.tools.toolbox import ALIASES

DEFAULT_KIND = "general-purpose"
NOTES = "MEMORY.md"
MAX_NOTE_LINES = 200  # lines
_NOTE_TOOLS = ("Read", "Write", "Edit")  # tools that a kind with notes always has


class AgentKind(Struct, frozen=True):
    """A type of subagent."""

    name: str
    description: str
    prompt: str
    tools: Sequence[str] | None = None  # None for all
    disallowed_tools: Sequence[str] = ()
    model: str = ""  # empty for the model of the parent conversation
    mode: Mode | None = None
    effort: str = ""  # empty for that of the parent conversation
    turns: int | None = None
    is_background: bool = False  # it always runs in the background
    skills: Sequence[str] = ()  # skills that are loaded when it starts
    memory: Path | None = None  # the folder of its notes
    subagent_kinds: Sequence[str] | None = None  # the kinds that it may start; None for all
    is_isolated: bool = False  # it works in its own git worktree

    def may_use(self, tool: str) -> bool:
        """Return whether it may use a tool, matched by any name of the tool or by its MCP server."""
        names = {tool, ALIASES.get(tool, tool), *(old for old, new in ALIASES.items() if new == tool)}
        if tool.startswith("mcp__"):
            server = "__".join(tool.split("__")[:2])
            names |= {server, f"{server}__*"}
        if names & set(self.disallowed_tools):
            return False
        keeps_notes = self.memory is not None and tool in _NOTE_TOOLS
        return self.tools is None or keeps_notes or bool(names & set(self.tools))

    @property
    def system_prompt(self) -> str:
        """Its system prompt with its notes; empty to use that of the parent conversation."""
        if self.memory is None:
            return self.prompt
        about = (
            f"You keep notes of your own in {self.memory}. What {NOTES} there says is shown to you whenever you begin, as"
            f" far as {MAX_NOTE_LINES} lines go. Write down what will help the next time, and keep it short."
        )
        return "\n\n".join(part for part in (self.prompt, about, _read_notes(self.memory / NOTES)) if part)


def _read_notes(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return "".join(islice(file, MAX_NOTE_LINES)).strip()
    except OSError:
        return ""
