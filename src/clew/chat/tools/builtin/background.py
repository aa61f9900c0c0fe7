"""What goes on beside the conversation: commands and agents, looked at and stopped by their ids."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from clew.chat.tools.builtin.grep_files import matching
from clew.chat.tools.command_output import bounded
from clew.chat.tools.tool import CallResult, ToolContext, ToolFailed, ToolState
from clew.chat.tools.tool_spec import FLAG, TEXT, WHOLE, SpecTool, fields, needed, optional
from clew.wire.json_codec import Json

_PATIENCE = 30_000  # milliseconds that TaskOutput waits if it is not told how long
_LONGEST = 600_000


class Background(Protocol):
    """Something that runs beside the conversation."""

    @property
    def id(self) -> str: ...

    @property
    def kind(self) -> str:
        """`local_bash` or `local_agent`."""
        ...

    @property
    def title(self) -> str:
        """What it does, in a few words."""
        ...

    @property
    def description(self) -> str: ...

    @property
    def path(self) -> Path:
        """The file that grows while it runs."""
        ...

    @property
    def status(self) -> str:
        """`running`, `completed`, `failed` or `killed`."""
        ...

    @property
    def exit_code(self) -> int | None: ...

    @property
    def result(self) -> str:
        """The last words of an agent that has ended."""
        ...

    @property
    def usage(self) -> Json:
        """What an agent took, by name."""
        ...

    def news(self) -> str:
        """What came out since this was last asked."""
        ...

    def output(self) -> str:
        """All that came out so far, or the end of it if that is long."""
        ...

    async def wait(self) -> None: ...

    async def stop(self) -> None: ...

    async def close(self) -> None:
        """Stop it and leave nothing behind."""
        ...


async def close(state: ToolState) -> None:
    """Stop all that runs in the background: the conversation ends."""
    while state.background:  # what is being stopped may still begin something
        tasks = list(state.background.values())
        state.background.clear()
        await asyncio.gather(*(task.close() for task in tasks))


def _task(scene: ToolContext, name: str) -> Background:
    task: Background | None = scene.state.background.get(name)
    if task is None:
        raise ToolFailed(f"No task found with ID: {name}")
    return task


async def news(input: Json, scene: ToolContext) -> CallResult:
    """BashOutput: what a command put out since last time."""
    name = input["bash_id"]
    task = _task(scene, name)
    if task.status != "running":
        scene.state.told.add(name)
    text = task.news().rstrip("\r\n")
    if wanted := input.get("filter"):
        text = await matching(wanted, text)
    text = bounded(text)
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


async def output(input: Json, scene: ToolContext) -> CallResult:
    """TaskOutput: wait for a task, and tell all it put out."""
    name = input["task_id"]
    task = _task(scene, name)
    if input.get("block", True) and task.status == "running":
        about = {"taskDescription": task.title or task.description, "taskType": task.kind}
        await scene.progress({"type": "waiting_for_task", **about})
        await _until_ended(task, scene, input.get("timeout", _PATIENCE) / 1000)
    is_running = task.status == "running"
    if not is_running:
        scene.state.told.add(name)
    retrieval = "success" if not is_running else "timeout" if input.get("block", True) else "not_ready"
    text = bounded(task.output().rstrip("\r\n"))
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
    told = "\n\n".join([f"<retrieval_status>{retrieval}</retrieval_status>", *parts])
    return CallResult(told, {"retrieval_status": retrieval, "task": record})


async def _until_ended(task: Background, scene: ToolContext, seconds: float) -> None:
    waits = {asyncio.ensure_future(task.wait()), asyncio.ensure_future(scene.stopped.wait())}
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)


async def stop(input: Json, scene: ToolContext) -> CallResult:
    """KillShell and TaskStop."""
    name = input.get("task_id") or input["shell_id"]
    task = _task(scene, name)
    if task.status != "running":
        raise ToolFailed(f"Task {name} is not running (status: {task.status})")
    scene.state.told.add(name)
    await task.stop()
    message = f"Successfully stopped task: {name} ({task.description})"
    return CallResult(message, {"message": message, "task_id": name, "task_type": task.kind})


_ID = needed(TEXT, "The id that was given when it began")
BASH_OUTPUT = SpecTool(
    "BashOutput",
    "Tell what a command in the background has put out since this was last asked, and whether it still runs.",
    fields(bash_id=_ID, filter=optional(TEXT, "A regular expression: only lines that match are told")),
    news,
    reads=True,
)
TASK_OUTPUT = SpecTool(
    "TaskOutput",
    "Wait for a command or an agent in the background to end, and tell what it put out.",
    fields(
        task_id=_ID,
        block=optional(FLAG, "Wait until it has ended; true if not given"),
        timeout=optional(WHOLE, "How long to wait, in milliseconds", minimum=0, maximum=_LONGEST),
    ),
    output,
    reads=True,
)
KILL_SHELL = SpecTool("KillShell", "Stop a command that runs in the background.", fields(shell_id=_ID), stop)
TASK_STOP = SpecTool("TaskStop", "Stop a command or an agent that runs in the background.", fields(task_id=_ID), stop)
