"""TodoWrite: the list of what is to be done, replaced as a whole."""

from __future__ import annotations

from clew.chat.tools.tool import CallResult, ToolContext
from clew.chat.tools.tool_spec import TEXT, SpecTool, choice, fields, listed, needed
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
    fields(
        todos=needed(
            listed(
                fields(
                    content=needed(TEXT, "What is to be done", minLength=1),
                    status=needed(choice("pending", "in_progress", "completed"), "How far it is"),
                    activeForm=needed(TEXT, "The same while it is being done: Running tests", minLength=1),
                )
            ),
            "All things to be done, in order",
        )
    ),
    todos,
)
