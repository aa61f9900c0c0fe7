"""Let file tools see the unsaved text of files that are open in the editor."""

from __future__ import annotations

import os
from pathlib import Path

from acp import Client, RequestError
from acp.schema import FileSystemCapabilities
from msgspec import Struct

from clew.chat.tools.atomic_files import read_content
from clew.chat.tools.builtin import read_file
from clew.chat.tools.text_encoding import decode
from clew.chat.tools.tool import CallResult, Tool, ToolContext, ToolFailed
from clew.wire.json_codec import Json

MAX_BYTES = 4 << 20  # larger files are read from disk only
TOOLS = ("Read", "Edit", "MultiEdit", "Write")
_BINARY_SUFFIXES = (".ipynb", ".pdf", ".png", ".jpg", ".jpeg", ".gif", ".webp")


class UnsavedFiles(Struct, frozen=True):
    """Access to the open files of the editor for one session."""

    client: Client
    session_id: str
    offered: FileSystemCapabilities

    def wrap_tool(self, tool: Tool) -> Tool:
        return UnsavedFileTool(tool, self) if tool.name in TOOLS and self.offered.read_text_file else tool

    async def read_unsaved(self, path: Path) -> str | None:
        """Return the editor's text of a file if it differs from the file on disk; otherwise None."""
        if path.suffix.lower() in _BINARY_SUFFIXES:
            return None
        try:
            on_disk = decode(read_content(path, MAX_BYTES).data)
        except FileNotFoundError:
            plain = ""
        except (OSError, ToolFailed):
            return None
        else:
            if on_disk is None:
                return None
            plain = on_disk.plain
        try:
            editor_text = (await self.client.read_text_file(self.session_id, str(path))).content
        except (RequestError, ConnectionError):
            return None
        return None if editor_text.replace("\r\n", "\n") == plain else editor_text

    async def save(self, path: Path, text: str) -> None:
        """Let the editor save its text, so that a change applies to that. Raises ToolFailed."""
        if not self.offered.write_text_file:
            raise ToolFailed(f"{path} has changes in the editor that are not saved. Ask the user to save it first.")
        try:
            await self.client.write_text_file(self.session_id, str(path), text)
        except (RequestError, ConnectionError) as error:
            raise ToolFailed(f"The editor could not save its changes of {path}: {error}.", is_misuse=False) from error


class UnsavedFileTool(Struct, frozen=True):
    """A file tool that uses the editor's text of a file."""

    tool: Tool
    buffers: UnsavedFiles

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def description(self) -> str:
        return self.tool.description

    @property
    def schema(self) -> Json:
        return self.tool.schema

    def is_read_only(self, input: Json) -> bool:
        return self.tool.is_read_only(input)

    async def check(self, input: Json, scene: ToolContext) -> None:
        """Check the call, unless it is about text that is not on the disk yet."""
        if await self.buffers.read_unsaved(scene.state.cwd / str(input["file_path"])) is None:
            await self.tool.check(input, scene)

    async def call(self, input: Json, scene: ToolContext) -> CallResult:
        path = scene.state.cwd / str(input["file_path"])
        text = await self.buffers.read_unsaved(path)
        if text is not None and self.name != "Read":
            await self.buffers.save(path, text)
        if text is None or self.name != "Read":
            return await self.tool.call(input, scene)
        result, known = read_file.unsaved_result(path, text.encode(), input)
        scene.state.seen[Path(os.path.realpath(path))] = known
        return result
