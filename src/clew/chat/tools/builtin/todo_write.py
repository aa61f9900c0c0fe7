"""Implement TodoWrite: replace the complete to-do list."""

from __future__ import annotations

from clew.chat.tools.tool import CallResult, ToolContext
from clew.chat.tools.tool_spec import TEXT, SpecTool, array_schema, enum_schema, object_schema, required_field
from clew.wire.json_codec import Json


async def todos(input: Json, scene: ToolContext) -> CallResult:
    old = scene.state.todos
    scene.state.todos = input["todos"]
    return CallResult(
        "Todos have been modified successfully. Keep the list true as you go on.",
        {"oldTodos": old, "newTodos": input["todos"]},
    )


TODO_WRITE = SpecTool(
    "TodoWrite",
    "Replace the list of what is to be done. Give the whole list each time, and have one thing in progress at a time.",
    object_schema(
        todos=required_field(
            array_schema(
                object_schema(
                    content=required_field(TEXT, "What is to be done", minLength=1),
                    status=required_field(enum_schema("pending", "in_progress", "completed"), "How far it is"),
                    activeForm=required_field(TEXT, "The same while it is being done: Running tests", minLength=1),
                )
            ),
            "All things to be done, in order",
        )
    ),
    todos,
)
