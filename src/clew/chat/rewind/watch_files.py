"""Watch calls that may change files without clew's tools, and record the difference."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from clew.chat import events
from clew.chat.events import Emit
from clew.chat.store.file_snapshots import Backups
from clew.chat.tools.tool import Tool, ToolState
from clew.wire.json_codec import Json

if TYPE_CHECKING:
    from clew.chat.rewind.command_effects import PathEffect, ProjectTree
    from clew.chat.rewind.shadow_git import Shadow
    from clew.chat.store.journal import Journal

MOST_SAVED = 200  # files of one call whose states go to the file history too, where Claude Code finds them
_NAMED = 3


class FileWatch:
    """Watches the files of a session. If that is impossible (no git, a large tree), it reports so once."""

    def __init__(self, journal: Journal, backups: Backups, state: ToolState) -> None:
        self._backups = backups
        self._journal = journal
        self._state = state
        self._reported: set[str] = set()
        self._left_out: set[str] = set()  # paths that were reported as left out
        self._unseen = ""  # why nothing is watched
        # The last snapshot while a command runs in the background: prompt, line, command, snapshot.
        self._open: tuple[str, str, str, ProjectTree] | None = None

    @cached_property
    def shadow(self) -> Shadow:
        from clew.chat.rewind.shadow_git import Shadow

        return Shadow(self._backups.cwd, self._journal.path.stem)

    @asynccontextmanager
    async def around(self, tool: Tool, given: Json, line: str, tell: Emit) -> AsyncIterator[None]:
        """Take a snapshot of the project before and after a call, if the call may change files."""
        if not may_change(tool, given):
            yield
            return
        command = str(given.get("command") or tool.name)
        await self.settle(tell)
        before = None if self._unseen else await self._look(tell)
        try:
            yield
        finally:
            if before is not None:
                await self._compare(before, line, command, tell)
            if self._unseen:
                prompt = self._backups.owner
                await asyncio.to_thread(self.shadow.note_unseen, prompt, line, command, self._unseen)

    async def settle(self, tell: Emit) -> None:
        """Record what a background command has done so far. Others had time to change files too."""
        if self._open is None:
            return
        prompt, line, command, before = self._open
        self._open = None
        now = await self._look(tell)
        if now is not None:
            is_running = self._runs()
            await asyncio.to_thread(
                self.shadow.record, prompt, line, before, now, command=command, is_sure=False, is_running=is_running
            )
            if is_running:
                self._open = (prompt, line, command, now)

    def before_change(self, path: Path, line: str) -> None:
        """Record that a file tool will create a file, and which folders for it."""
        top = self.shadow.project
        if self._backups.owner and path.is_relative_to(top) and not os.path.lexists(path):
            inside = path.relative_to(top)
            created = [str(folder) for folder in inside.parents if folder.parts and not os.path.lexists(top / folder)]
            self.shadow.note_file(self._backups.owner, line, str(inside), created)

    async def _compare(self, before: ProjectTree, line: str, command: str, tell: Emit) -> None:
        after = await self._look(tell)
        if after is None:
            return
        prompt = self._backups.owner
        is_running = self._runs()
        done = await asyncio.to_thread(
            self.shadow.record, prompt, line, before, after, command=command, is_running=is_running
        )
        self._save(done, line)
        if is_running:
            self._open = (prompt, line, command, after)

    def _save(self, done: list[PathEffect], line: str) -> None:
        """Record it in the file history as well, where Claude Code finds it. Links are not supported there."""
        plain = [d for d in done if d.before.kind in ("file", "none") and d.after.kind != "link" and not d.is_ignored]
        if not plain or len(plain) > MOST_SAVED:
            return
        states = {d.name: (d.before.data, d.before.mode) if d.before.kind == "file" else None for d in plain}
        update = self._backups.was_changed(states, line, self._journal.time())
        if update is not None:
            self._journal.beside(update)

    async def _look(self, tell: Emit) -> ProjectTree | None:
        from clew.chat.rewind.project_inventory import LARGEST
        from clew.chat.rewind.shadow_git import CannotWatch

        try:
            tree = await asyncio.to_thread(self.shadow.look)
        except CannotWatch as why:
            self._unseen = str(why)
            self._report(tell, str(why))
            return None
        left_out = [name for name in tree.left_out if name not in self._left_out]
        if left_out:
            self._left_out.update(left_out)
            names = ", ".join(left_out[:_NAMED]) + (", …" if len(left_out) > _NAMED else "")
            limit = f"files over {LARGEST >> 20} MB, separate repositories and special files are left out: {names}"
            self._report(tell, f"Not everything that commands change can be undone; {limit}.")
        return tree

    def _report(self, tell: Emit, text: str) -> None:
        if text not in self._reported:
            self._reported.add(text)
            tell(events.Notice(text=text))

    def _runs(self) -> bool:
        return any(getattr(each, "status", "") == "running" for each in self._state.background.values())


def may_change(tool: Tool, given: Json) -> bool:
    """Return True if a call may change files that it does not name: commands that do more than read, and MCP tools."""
    if tool.name != "Bash":
        return tool.name.startswith("mcp__") and not tool.is_read_only(given)
    return changes_files(str(given.get("command", "")))


def changes_files(command: str) -> bool:
    """Return True if a shell command may change files."""
    from clew.chat.permission.safe_commands import read_access
    from clew.chat.permission.shell_parse import parse

    script = parse(command)
    if script.doubt or not script.commands:
        return True
    return any(read_access(part) is None or part.redirects for part in script.commands)
