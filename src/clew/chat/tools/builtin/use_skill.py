"""Implement Skill: load the instructions of a skill when they are needed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from clew.chat.tools.tool import CallResult, ToolContext, ToolFailed
from clew.chat.tools.tool_spec import TEXT, SpecTool, object_schema, optional_field, required_field
from clew.wire.json_codec import Json


class SkillBody(Struct, frozen=True):
    """The text of a skill with its arguments inserted, and its folder."""

    text: str
    folder: Path | None = None


class Skills(Protocol):
    """The source of skills."""

    def names(self) -> Sequence[str]: ...

    async def body(self, name: str, arguments: str) -> SkillBody | None:
        """Return the skill of this name; None if the model may not use such a skill."""
        ...


def create_skill_tool(skills: Skills | None) -> SpecTool:
    """Return the tool for these skills."""
    return SpecTool(
        "Skill",
        "Read the instructions of a skill by its name, and follow them.",
        object_schema(
            skill=required_field(TEXT, "The name of the skill", minLength=1),
            args=optional_field(TEXT, "Arguments for it"),
        ),
        _launcher(skills),
        reads=True,
    )


def _launcher(skills: Skills | None) -> Callable[[Json, ToolContext], Awaitable[CallResult]]:
    async def launch(input: Json, scene: ToolContext) -> CallResult:
        name = input["skill"].removeprefix("/")
        skill = await skills.body(name, input.get("args", "")) if skills else None
        if skill is None:
            known = ", ".join(skills.names()) if skills else ""
            raise ToolFailed(f"Unknown skill: {name}." + (f" There are: {known}." if known else " There are none."))
        where = f"Base directory for this skill: {skill.folder}\n\n" if skill.folder else ""
        return CallResult(
            f"Launching skill: {name}", {"success": True, "commandName": name}, notes=(where + skill.text,)
        )

    return launch
