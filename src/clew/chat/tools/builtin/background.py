"""Implement BashOutput, TaskOutput, KillShell and TaskStop: read and stop background tasks by id."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from clew.chat.tools.builtin.grep_files import filter_lines
from clew.chat.tools.command_output import truncate_start
from clew.chat.tools.tool import CallResult, ToolContext, ToolFailed, ToolState
from clew.chat.tools.tool_spec import BOOLEAN, INTEGER, TEXT, SpecTool, object_schema, optional_field, required_field
from clew.wire.json_codec import Json

_DEFAULT_WAIT = 30_000  # milliseconds that TaskOutput waits by default
_MAX_WAIT = 600_000


class Background(Protocol):
    """A command or an agent that runs in the background."""

    @property
    def id(self) -> str: ...

    @property
    def kind(self) -> str:
        """`local_bash` or `local_agent`."""
        ...

    @property
    def title(self) -> str:
        """A short description of what it does."""
        ...

    @property
    def description(self) -> str: ...

    @property
    def path(self) -> Path:
        """The output file, which grows while the task runs."""
        ...

    @property
    def status(self) -> str:
        """`running`, `completed`, `failed` or `killed`."""
        ...

    @property
    def exit_code(self) -> int | None: ...

    @property
    def result(self) -> str:
        """The final text of an agent that has ended."""
        ...

    @property
    def usage(self) -> Json:
        """The token usage of an agent, by name."""
        ...

    def news(self) -> str:
        """Return the output since the last call."""
        ...

    def output(self) -> str:
        """Return all output so far, or the end of a long one."""
        ...

    async def wait(self) -> None: ...

    async def stop(self) -> None: ...

    async def close(self) -> None:
        """Stop the task and remove its files."""
        ...


async def stop_all(state: ToolState) -> None:
    """Stop all background tasks when the conversation ends."""
    while state.background:  # a task that is being stopped may still start another
        tasks = list(state.background.values())
        state.background.clear()
        await asyncio.gather(*(task.close() for task in tasks))


def _find_task(scene: ToolContext, name: str) -> Background:
    task: Background | None = scene.state.background.get(name)
    if task is None:
        raise ToolFailed(f"No task found with ID: {name}")
    return task


def check_task(input: Json, scene: ToolContext) -> None:
    """Raise ToolFailed if there is no such task."""
    _find_task(scene, str(input.get("task_id") or input.get("bash_id") or input.get("shell_id")))


async def read_new_output(input: Json, scene: ToolContext) -> CallResult:
    """Implement BashOutput: return the output of a command since the last call."""
    name = input["bash_id"]
    task = _find_task(scene, name)
    if task.status != "running":
        scene.state.reported_tasks.add(name)
    text = task.news().rstrip("\r\n")
    if pattern := input.get("filter"):
        text = await filter_lines(pattern, text)
    text = truncate_start(text)
    stamp = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    parts = [f"<status>{task.status}</status>"]
    if task.exit_code is not None:
        parts.append(f"<exit_code>{task.exit_code}</exit_code>")
    if text:
        parts.append(f"<stdout>\n{text}\n</stdout>")
    detail = {
        "shellId": name,
        "command": task.description,
        "status": task.status,
        "exitCode": task.exit_code,
        "stdout": text,
        "stderr": "",
        "stdoutLines": text.count("\n") + bool(text),
        "stderrLines": 0,
        "timestamp": stamp,
    }
    return CallResult("\n\n".join([*parts, f"<timestamp>{stamp}</timestamp>"]), detail)


async def wait_for_output(input: Json, scene: ToolContext) -> CallResult:
    """Implement TaskOutput: wait for a task and return all its output."""
    name = input["task_id"]
    task = _find_task(scene, name)
    if input.get("block", True) and task.status == "running":
        about = {"taskDescription": task.title or task.description, "taskType": task.kind}
        await scene.progress({"type": "waiting_for_task", **about})
        await _until_ended(task, scene, input.get("timeout", _DEFAULT_WAIT) / 1000)
    is_running = task.status == "running"
    if not is_running:
        scene.state.reported_tasks.add(name)
    retrieval = "success" if not is_running else "timeout" if input.get("block", True) else "not_ready"
    text = truncate_start(task.output().rstrip("\r\n"))
    record = {
        "task_id": name,
        "task_type": task.kind,
        "status": task.status,
        "description": task.description,
        "output": text,
        "exitCode": task.exit_code,
    }
    parts = [f"<{tag}>{record[tag]}</{tag}>" for tag in ("task_id", "task_type", "status")]
    if task.exit_code is not None:
        parts.append(f"<exit_code>{task.exit_code}</exit_code>")
    if text:
        parts.append(f"<output>\n{text}\n</output>")
    result_text = "\n\n".join([f"<retrieval_status>{retrieval}</retrieval_status>", *parts])
    return CallResult(result_text, {"retrieval_status": retrieval, "task": record})


async def _until_ended(task: Background, scene: ToolContext, seconds: float) -> None:
    waits = {asyncio.ensure_future(task.wait()), asyncio.ensure_future(scene.stopped.wait())}
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)


async def stop_task(input: Json, scene: ToolContext) -> CallResult:
    """Implement KillShell and TaskStop."""
    name = input.get("task_id") or input["shell_id"]
    task = _find_task(scene, name)
    if task.status != "running":
        raise ToolFailed(f"Task {name} is not running (status: {task.status})")
    scene.state.reported_tasks.add(name)
    await task.stop()
    message = f"Successfully stopped task: {name} ({task.description})"
    return CallResult(message, {"message": message, "task_id": name, "task_type": task.kind})


_ID = required_field(TEXT, "The id that was given when it began")
BASH_OUTPUT = SpecTool(
    "BashOutput",
    "Tell what a command in the background has put out since this was last asked, and whether it still runs.",
    object_schema(bash_id=_ID, filter=optional_field(TEXT, "A regular expression: return only lines that match")),
    read_new_output,
    reads=True,
    precondition=check_task,
)
TASK_OUTPUT = SpecTool(
    "TaskOutput",
    "Wait for a command or an agent in the background to end, and tell what it put out.",
    object_schema(
        task_id=_ID,
        block=optional_field(BOOLEAN, "Wait until it has ended; true if not given"),
        timeout=optional_field(INTEGER, "How long to wait, in milliseconds", minimum=0, maximum=_MAX_WAIT),
    ),
    wait_for_output,
    reads=True,
    precondition=check_task,
)
KILL_SHELL = SpecTool(
    "KillShell",
    "Stop a command that runs in the background.",
    object_schema(shell_id=_ID),
    stop_task,
    precondition=check_task,
)
TASK_STOP = SpecTool(
    "TaskStop",
    "Stop a command or an agent that runs in the background.",
    object_schema(task_id=_ID),
    stop_task,
    precondition=check_task,
)
