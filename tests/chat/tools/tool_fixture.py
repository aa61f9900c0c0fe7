"""Tools called as the loop calls them: the input checked, a failure turned into a result."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from clew.chat.tools.input_schema import failure_result, validate_input
from clew.chat.tools.tool import CallResult, Tool, ToolContext, ToolFailed, ToolState


def stage(folder: Path, **changed: Any) -> ToolContext:
    """A scene in a project of its own below a folder."""
    project = folder / "project"
    project.mkdir(exist_ok=True)
    state = ToolState(cwd=project, project=project, roots=(project,))
    scene = ToolContext("toolu_01", "sid", folder / "session", state, asyncio.Event())
    return replace(scene, **changed)


async def call(tool: Tool, scene: ToolContext, **input: Any) -> CallResult:
    return await call_with(tool, scene, input)


async def call_with(tool: Tool, scene: ToolContext, input: Mapping[str, Any]) -> CallResult:
    try:
        return await tool.call(validate_input(tool, dict(input)), scene)
    except ToolFailed as failed:
        return failure_result(failed)


def run(tool: Tool, scene: ToolContext, **input: Any) -> CallResult:
    return asyncio.run(call(tool, replace(scene, stopped=asyncio.Event()), **input))


def misuse(result: CallResult) -> str:
    """The text of a wrong call, which has to have both forms."""
    assert result.is_error
    assert isinstance(result.content, str)
    text = result.content.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
    assert result.content == f"<tool_use_error>{text}</tool_use_error>"
    assert result.detail == (text if text.startswith(("Error: ", "InputValidationError: ")) else f"Error: {text}")
    return text


def trouble(result: CallResult) -> str:
    """The text of a call that failed in the doing."""
    assert result.is_error
    assert isinstance(result.content, str)
    assert result.detail == f"Error: {result.content}"
    return result.content


def good(result: CallResult) -> str:
    assert not result.is_error, result.content
    assert isinstance(result.content, str)
    return result.content
