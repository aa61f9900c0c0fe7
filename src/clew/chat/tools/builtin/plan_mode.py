"""Implement EnterPlanMode and ExitPlanMode: plan first, and show the plan before anything changes."""

from __future__ import annotations

from clew.chat.tools.atomic_files import read_content
from clew.chat.tools.text_encoding import decode
from clew.chat.tools.tool import CallResult, ToolContext, ToolFailed, ToolState
from clew.chat.tools.tool_spec import TEXT, SpecTool, object_schema, optional_field
from clew.wire.json_codec import Json

_LARGEST = 1 << 20


async def enter(input: Json, scene: ToolContext) -> CallResult:
    if scene.planning is None:
        raise ToolFailed("There is no plan mode here.")
    await scene.planning(True)
    where = f" Write the plan to {scene.state.plan}." if scene.state.plan else ""
    message = f"Entered plan mode: look and think, and change nothing.{where} Call ExitPlanMode when the plan is ready."
    return CallResult(message, {"message": message})


async def leave(input: Json, scene: ToolContext) -> CallResult:
    if scene.planning is None:
        raise ToolFailed("There is no plan mode here.")
    path = scene.state.plan
    plan = input.get("plan") or read_plan(scene.state)
    if not plan.strip():
        where = f"Write it to {path} first." if path else "Give it as `plan`."
        raise ToolFailed(f"There is no plan to show. {where}")
    await scene.planning(False)
    detail = {"plan": plan, "isAgent": False} | ({"filePath": str(path)} if path else {})
    saved = f" It lies in {path}." if path else ""
    return CallResult(f"User has approved your plan. You can start now.{saved}", detail)


def read_plan(state: ToolState) -> str:
    """Return the text of the plan file; empty if there is none."""
    if state.plan is None:
        return ""
    try:
        text = decode(read_content(state.plan, _LARGEST).data)
    except OSError:
        return ""
    return text.plain if text else ""


ENTER_PLAN_MODE = SpecTool(
    "EnterPlanMode",
    "Begin to plan: for work that needs thought or the user's consent before anything is changed.",
    object_schema(),
    enter,
    reads=True,
)
EXIT_PLAN_MODE = SpecTool(
    "ExitPlanMode",
    "Show the finished plan to the user and ask to begin.",
    object_schema(plan=optional_field(TEXT, "The plan, if it is not in a file")),
    leave,
)
