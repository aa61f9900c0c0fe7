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
        precondition=lambda input, scene: _require_known(skills, _name(input)),
    )


def _name(input: Json) -> str:
    return str(input["skill"]).removeprefix("/")


def _require_known(skills: Skills | None, name: str) -> None:
    """Raise ToolFailed if the model may not use a skill of this name."""
    known = skills.names() if skills else ()
    if name not in known:
        raise ToolFailed(
            f"Unknown skill: {name}." + (f" There are: {', '.join(known)}." if known else " There are none.")
        )


def _launcher(skills: Skills | None) -> Callable[[Json, ToolContext], Awaitable[CallResult]]:
    async def launch(input: Json, scene: ToolContext) -> CallResult:
        name = _name(input)
        _require_known(skills, name)
        skill = await skills.body(name, input.get("args", "")) if skills else None
        if skill is None:
            raise ToolFailed(f"Unknown skill: {name}.")
        where = f"Base directory for this skill: {skill.folder}\n\n" if skill.folder else ""
        return CallResult(
            f"Launching skill: {name}", {"success": True, "commandName": name}, notes=(where + skill.text,)
        )

    return launch
