"""Tool calls as plain values: `bash("ls")`, `edit(path, old, new)`, or `tool(name, **input)`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

Todo = str | tuple[str, str] | Mapping[str, Any]


class ToolInput(Struct, frozen=True):
    """A tool use without an id. `text` and `image` are what a Read returns."""

    name: str
    input: Mapping[str, Any]
    id: str | None = None
    text: str | None = None
    image: bytes | None = None

    def with_id(self, ident: str) -> ToolInput:
        return replace(self, id=ident)


def tool(name: str, /, **arguments: Any) -> ToolInput:
    """Return a call of any tool."""
    return ToolInput(name, arguments)


def bash(command: str, description: str | None = None, **more: Any) -> ToolInput:
    return ToolInput("Bash", {"command": command, "description": description or _default_description(command), **more})


def read(path: str, text: str | None = None, *, image: bytes | None = None, **more: Any) -> ToolInput:
    """Return a read; with `text` or `image` its result needs no content, and later edits know the file."""
    return ToolInput("Read", {"file_path": path, **more}, text=text, image=image)


def edit(path: str, old: str, new: str, *, everywhere: bool = False) -> ToolInput:
    arguments = {"file_path": path, "old_string": old, "new_string": new, "replace_all": everywhere}
    return ToolInput("Edit", arguments)


def write(path: str, content: str) -> ToolInput:
    return ToolInput("Write", {"file_path": path, "content": content})


def grep(
    pattern: str, path: str | None = None, *, mode: str = "content", numbers: bool = False, **more: Any
) -> ToolInput:
    where = {"path": path} if path else {}
    lines = {"-n": True} if numbers else {}
    return ToolInput("Grep", {"pattern": pattern, **where, "output_mode": mode, **lines, **more})


def glob(pattern: str, path: str | None = None) -> ToolInput:
    return ToolInput("Glob", {"pattern": pattern, **({"path": path} if path else {})})


def task(description: str, prompt: str, subagent_type: str = "general-purpose", **more: Any) -> ToolInput:
    """Return a call that starts a sub-agent; the tool is named Task, and Agent in newer versions."""
    arguments = {"description": description, "prompt": prompt, "subagent_type": subagent_type, **more}
    return ToolInput("Task", arguments)


def todo(items: Iterable[Todo]) -> ToolInput:
    """Return a todo list; an item is a text, a (text, status) pair, or an object."""
    return ToolInput("TodoWrite", {"todos": [_todo_item(item) for item in items]})


def web_search(query: str, **more: Any) -> ToolInput:
    return ToolInput("WebSearch", {"query": query, **more})


def web_fetch(url: str, prompt: str) -> ToolInput:
    return ToolInput("WebFetch", {"url": url, "prompt": prompt})


def plan(text: str, path: str | None = None) -> ToolInput:
    """Return a plan for the user's approval."""
    return ToolInput("ExitPlanMode", {"plan": text, **({"planFilePath": path} if path else {})})


def _todo_item(item: Todo) -> dict[str, Any]:
    if isinstance(item, Mapping):
        return dict(item)
    text, status = (item, "pending") if isinstance(item, str) else item
    return {"content": text, "status": status, "activeForm": f"Working on: {text}"}


def _default_description(command: str) -> str:
    arguments = command.split()
    return f"Run {arguments[0]}" if arguments else "Run nothing"
