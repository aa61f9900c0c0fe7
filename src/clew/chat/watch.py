"""Watching: a look at the files before and behind each call that may change them without our tools, kept in the shadow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from clew.chat import event
from clew.chat.event import Tell
from clew.chat.snapshot import Backups
from clew.chat.tool import Json, State, Tool

if TYPE_CHECKING:
    from clew.chat.journal import Journal
    from clew.chat.shadow import Done, Shadow, Tree

MOST_SAVED = 200  # files of one call whose states go to the file history too, where Claude Code finds them
_NAMED = 3


class Watch:
    """Who looks at the files of a session. Without git, or in a tree too large, that is said once and nothing is watched."""

    def __init__(self, journal: Journal, backups: Backups, state: State) -> None:
        self._backups = backups
        self._journal = journal
        self._state = state
        self._told: set[str] = set()
        self._is_blind = False
        self._open: tuple[str, str, Tree] | None = None  # a look behind which a command ran on

    @cached_property
    def shadow(self) -> Shadow:
        from clew.chat.shadow import Shadow

        return Shadow(self._backups.cwd, self._journal.path.stem)

    @asynccontextmanager
    async def around(self, tool: Tool, given: Json, line: str, tell: Tell) -> AsyncIterator[None]:
        """Look before and behind a call, if it may change files."""
        if self._is_blind or not may_change(tool, given):
            yield
            return
        await self.settle(tell)
        before = await self._look(tell)
        try:
            yield
        finally:
            if before is not None:
                await self._compare(before, line, tell)

    async def settle(self, tell: Tell) -> None:
        """Note what a command that ran on has done since. Others had time to change files too, so nobody is sure of it."""
        if self._open is None:
            return
        prompt, line, before = self._open
        self._open = None
        now = await self._look(tell)
        if now is not None:
            await asyncio.to_thread(self.shadow.record, prompt, line, before, now, is_sure=False)
            if self._runs():
                self._open = (prompt, line, now)

    async def _compare(self, before: Tree, line: str, tell: Tell) -> None:
        after = await self._look(tell)
        if after is None:
            return
        prompt = self._backups.owner
        done = await asyncio.to_thread(self.shadow.record, prompt, line, before, after)
        self._save(done, line)
        if self._runs():
            self._open = (prompt, line, after)

    def _save(self, done: list[Done], line: str) -> None:
        """Let Claude Code find what was changed as well. It knows of no links."""
        plain = [d for d in done if "link" not in (d.before.kind, d.after.kind)]
        if not plain or len(plain) > MOST_SAVED:
            return
        states = {d.name: (d.before.data, d.before.mode) if d.before.kind == "file" else None for d in plain}
        update = self._backups.was_changed(states, line, self._journal.time())
        if update is not None:
            self._journal.beside(update)

    async def _look(self, tell: Tell) -> Tree | None:
        from clew.chat.shadow import LARGEST, Unseen

        try:
            found = await asyncio.to_thread(self.shadow.look)
        except Unseen as why:
            self._is_blind = True
            self._tell(tell, str(why))
            return None
        if found.left_out:
            names = ", ".join(found.left_out[:_NAMED]) + (", …" if len(found.left_out) > _NAMED else "")
            limit = f"files over {LARGEST >> 20} MB and other repositories are left out: {names}"
            self._tell(tell, f"Not all that commands change can be taken back; {limit}.")
        return found

    def _tell(self, tell: Tell, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            tell(event.Noted(text=text))

    def _runs(self) -> bool:
        return any(getattr(each, "status", "") == "running" for each in self._state.background.values())


def may_change(tool: Tool, given: Json) -> bool:
    """Whether a call may change files that it does not name: commands that do more than look, and tools of others."""
    if tool.name != "Bash":
        return tool.name.startswith("mcp__") and not tool.is_read_only(given)
    from clew.chat.permission.harmless import look
    from clew.chat.permission.shell import parse

    script = parse(str(given.get("command", "")))
    if script.doubt or not script.commands:
        return True
    return any(look(command) is None or command.redirects for command in script.commands)
