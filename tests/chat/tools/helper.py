"""Tools called as the loop calls them: the input checked, a failure turned into a result."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from clew.chat.tools.input_schema import check, failure
from clew.chat.tools.tool import Failed, Result, Scene, State, Tool


def stage(folder: Path, **changed: Any) -> Scene:
    """A scene in a project of its own below a folder."""
    project = folder / "project"
    project.mkdir(exist_ok=True)
    state = State(cwd=project, project=project, roots=(project,))
    scene = Scene("toolu_01", "sid", folder / "session", state, asyncio.Event())
    return replace(scene, **changed)


async def call(tool: Tool, scene: Scene, **input: Any) -> Result:
    return await call_with(tool, scene, input)


async def call_with(tool: Tool, scene: Scene, input: Mapping[str, Any]) -> Result:
    try:
        return await tool.call(check(tool, dict(input)), scene)
    except Failed as failed:
        return failure(failed)


def run(tool: Tool, scene: Scene, **input: Any) -> Result:
    return asyncio.run(call(tool, replace(scene, stopped=asyncio.Event()), **input))


def misuse(result: Result) -> str:
    """The text of a wrong call, which has to have both forms."""
    assert result.is_error
    assert isinstance(result.content, str)
    text = result.content.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
    assert result.content == f"<tool_use_error>{text}</tool_use_error>"
    assert result.detail == (text if text.startswith(("Error: ", "InputValidationError: ")) else f"Error: {text}")
    return text


def trouble(result: Result) -> str:
    """The text of a call that failed in the doing."""
    assert result.is_error
    assert isinstance(result.content, str)
    assert result.detail == f"Error: {result.content}"
    return result.content


def good(result: Result) -> str:
    assert not result.is_error, result.content
    assert isinstance(result.content, str)
    return result.content
