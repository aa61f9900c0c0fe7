"""Expanding: from what a person typed to what the model hears. Slash commands become their text, named files are read."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from clew.chat.hooks.hook_events import reminder
from clew.chat.input.file_mentions import mentions
from clew.chat.input.slash_commands import Workshop, entry_texts, read_line
from clew.chat.permission.decide import Permissions
from clew.chat.permission.decision import Decision, Mode
from clew.chat.store.live_conversation import LiveConversation, UserPrompt, text_of
from clew.chat.tools.tool import Tool, ToolContext, ToolFailed
from clew.system.environment import user_home
from clew.wire.json_codec import Json


class Rules:
    """The permissions of a session, wider while a command is at work that may do more."""

    def __init__(self, permissions: Permissions) -> None:
        self.permissions = permissions
        self._now = permissions

    def grant(self, rules: Iterable[str]) -> None:
        """Allow also by these rules, until the next prompt."""
        wider = tuple(rules)
        self._now = self.permissions.with_granted_rules(wider) if wider else self.permissions

    def decide(self, tool: str, input: Json, cwd: Path, mode: Mode) -> Decision:
        return self._now.decide(tool, input, cwd, mode)


class Expander(Struct):
    """Expands the prompts of one session."""

    dialogue: LiveConversation
    tools: Mapping[str, Tool]
    rules: Rules
    workshop: Workshop

    async def expand(self, text: str) -> UserPrompt:
        """The prompt for a text. Raises Refused if a command in it may not run something that it needs."""
        self.rules.grant(())
        line = read_line(text)
        skill = self.workshop.skills.get(line[0]) if line else None
        if line is None or skill is None or not skill.for_person:
            return UserPrompt(text, await self._files(mentions(text)))
        made = await self.workshop.expand(skill, line[1])
        self.rules.grant(skill.allowed_tools)
        where = f"Base directory for this skill: {skill.folder}\n\n" if skill.folder else ""
        return UserPrompt(entry_texts(*line), (f"{where}{made.text}", *await self._files(made.files)))

    async def _files(self, named: Iterable[str]) -> tuple[str, ...]:
        """What Read says of each file that was named, if it may be read and can be."""
        found = []
        for name in named:
            path = self.dialogue.state.cwd / (user_home() + name[1:] if name.startswith("~/") else name)
            if (told := await self._read(path)) is not None:
                found.append(reminder(f"The user named the file {path}. Read says of it:\n{told}"))
        return tuple(found)

    async def _read(self, path: Path) -> str | None:
        given: Json = {"file_path": str(path)}
        tool = self.tools.get("Read")
        if tool is None or not path.is_file():
            return None
        if self.rules.decide("Read", given, self.dialogue.state.cwd, self.dialogue.mode).kind != "allow":
            return None
        scene = ToolContext(
            "mention", self.dialogue.session_id, self.dialogue.folder, self.dialogue.state, asyncio.Event()
        )
        try:
            return text_of((await tool.call(given, scene)).content)
        except (ToolFailed, OSError):
            return None
