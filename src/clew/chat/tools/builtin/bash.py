"""Bash: a command run to its end, broken off, or sent to the background.

Every command has a new shell. The folder it ends in is that of the next one, as long as it lies in the project; nothing
else is carried over.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from clew.chat.permission.refuse_control_characters import refusal
from clew.chat.tools import command_output
from clew.chat.tools.atomic_files import MOST_KEPT, outputs
from clew.chat.tools.exit_codes import is_stopped_when_late, meaning, viewed
from clew.chat.tools.image_files import block
from clew.chat.tools.path_arguments import is_inside
from clew.chat.tools.read_tracking import look
from clew.chat.tools.shell_command import ShellCommand, begin
from clew.chat.tools.tool import CallResult, ToolContext, ToolFailed
from clew.chat.tools.tool_spec import FLAG, NUMBER, TEXT, SpecTool, fields, needed, optional
from clew.wire.json_codec import Json

DEFAULT = 120_000  # milliseconds
LONGEST = 600_000
_TICK = 0.5
_FIRST = 2  # seconds after which progress is told
_LAST_LINES = 5
_FULL = 10_000  # characters of the output in a word on progress
_PICTURE = re.compile(r"data:(image/(?:png|jpeg|gif|webp));base64,([A-Za-z0-9+/=\s]+)")


async def bash(input: Json, scene: ToolContext) -> CallResult:
    if unseen := refusal(input["command"]):  # also when an SDK or a hook changed the command after it was approved
        raise ToolFailed(unseen, is_misuse=False)
    state = scene.state
    cwd = state.cwd if state.cwd.is_dir() else state.project
    if not cwd.is_dir():
        raise ToolFailed(f"The folder {cwd} is gone, so no command can run in it.", is_misuse=False)
    profile = await state.profile.open() if state.profile else None
    if input.get("run_in_background"):
        command = await begin(input["command"], cwd, outputs(scene), profile, is_trusted=state.is_trusted)
        return _aside(command, scene, input, "")
    command = await begin(input["command"], cwd, profile=profile, is_trusted=state.is_trusted)
    seconds = input.get("timeout", DEFAULT) / 1000
    how = ""
    try:
        how = await _attend(command, scene, seconds)
    finally:
        if not how:
            await command.kill()
            command.discard()
    if how == "aside" or (how == "late" and not is_stopped_when_late(command.command)):
        return _aside(command, scene, input, f"It has not ended within {seconds:g}s. " if how == "late" else "")
    if how != "ended":
        await command.stop()
    try:
        return _ended(command, scene, how, seconds)
    finally:
        command.discard()


async def _attend(command: ShellCommand, scene: ToolContext, seconds: float) -> str:
    """Wait for the command, and tell of its progress. How the waiting ended."""
    clock = asyncio.get_running_loop()
    begun = clock.time()
    told, progress = _FIRST, _OutputProgress(command)
    events = {"ended": command.wait(), "stopped": scene.stopped.wait()}
    if scene.aside is not None:
        events["aside"] = scene.aside.wait()
    waits = {name: asyncio.ensure_future(event) for name, event in events.items()}
    try:
        while True:
            left = begun + seconds - clock.time()
            await asyncio.wait(waits.values(), timeout=max(0, min(_TICK, left)), return_when=asyncio.FIRST_COMPLETED)
            for name, wait in waits.items():
                if wait.done():
                    wait.result()
                    return name
            elapsed = clock.time() - begun
            if command.size > MOST_KEPT:
                return "flood"
            if elapsed >= seconds:
                return "late"
            if elapsed >= told:
                await scene.progress(progress.told(int(elapsed)))
                told = int(elapsed) + 1
    finally:
        for wait in waits.values():
            wait.cancel()
        await asyncio.gather(*waits.values(), return_exceptions=True)


class _OutputProgress:
    """Words on a command that runs: what it has put out, with the lines counted as they come."""

    def __init__(self, command: ShellCommand) -> None:
        self._path = command.path
        self._lines = 0
        self._at = 0

    def told(self, elapsed: int) -> Json:
        with open(self._path, "rb") as file:
            file.seek(self._at)
            while part := file.read(1 << 20):
                self._lines += part.count(b"\n")
                self._at += len(part)
        full = command_output.end(self._path, _FULL)
        return {
            "type": "bash_progress",
            "output": "\n".join(full.split("\n")[-_LAST_LINES:]),
            "fullOutput": full,
            "elapsedTimeSeconds": elapsed,
            "totalLines": self._lines,
        }


def _aside(command: ShellCommand, scene: ToolContext, input: Json, why: str) -> CallResult:
    """Leave a command to itself."""
    command.title = input.get("description") or input["command"]
    command.leave(outputs(scene))
    scene.state.background[command.id] = command
    scene.left(command)
    text = f"Command running in background with ID: {command.id}. {why}Output is being written to: {command.path}"
    so_far = command_output.end(command.path, _FULL)
    detail = {**_detail(so_far), "backgroundTaskId": command.id}
    return CallResult(text + (f"\nSo far:\n{so_far}" if so_far else ""), detail)


def _detail(stdout: str) -> Json:
    return {"stdout": stdout, "stderr": "", "interrupted": False, "isImage": False}


def _ended(command: ShellCommand, scene: ToolContext, how: str, seconds: float) -> CallResult:
    text, is_all = command_output.start(command.path)
    moved = _moved(command.last_folder(), scene)
    if how != "ended":
        why = {
            "stopped": "[Request interrupted by user for tool use]",
            "late": f"Command timed out after {seconds:g}s and was stopped.",
            "flood": f"Command was stopped: it put out more than {MOST_KEPT >> 20} MB.",
        }[how]
        code = 137 if how == "stopped" else command.exit_code or 143
        return _failed(code, "\n".join(filter(None, (why, _whole(command, scene, text, is_all)))))
    code = command.exit_code or 0
    meant = meaning(command.command, code) if code else ""
    if code and not meant:
        return _failed(code, "\n".join(filter(None, (_whole(command, scene, text, is_all), moved))))
    detail = _detail(text)
    if moved:
        detail["stderr"] = moved
    if meant:
        detail["returnCodeInterpretation"] = meant
    if is_all and (picture := _PICTURE.fullmatch(text.strip())):
        return CallResult([block(picture[1], "".join(picture[2].split()))], detail | {"isImage": True})
    if not is_all:
        text, where = command_output.persisted(command.path, scene)
        detail |= where
    elif path := viewed(command.command):
        look(scene.state.cwd / path, scene.state)
    return CallResult("\n".join(filter(None, (text, moved))), detail)


def _whole(command: ShellCommand, scene: ToolContext, text: str, is_all: bool) -> str:
    """The output of a command that went wrong, or the ends of it."""
    return text if is_all and len(text) <= command_output.FAILED else command_output.ends(command.path, scene)


def _failed(code: int, text: str) -> CallResult:
    told = f"Exit code {code}\n{text}".rstrip("\n")
    return CallResult(told, f"Error: {told}", is_error=True)


def _moved(folder: Path | None, scene: ToolContext) -> str:
    """Carry the folder over to the next command, or go back to the project's and say so."""
    state = scene.state
    if folder is None or folder == state.cwd:
        return ""
    if is_inside(folder, state.roots):
        state.cwd = folder
        return ""
    state.cwd = state.project
    return f"Shell cwd was reset to {state.project}"


BASH = SpecTool(
    "Bash",
    "Run a command in a new shell and tell its output. The folder it ends in is kept for the next command while it is "
    "inside the project; variables are not. It reads nothing from the terminal. For long work set run_in_background: "
    "you are told when it has ended.",
    fields(
        command=needed(TEXT, "The command", minLength=1),
        timeout=optional(
            NUMBER, "How long to wait for it, in milliseconds; 120000 if not given", minimum=1, maximum=LONGEST
        ),
        description=optional(TEXT, "What it does, in five to ten words"),
        run_in_background=optional(FLAG, "Do not wait for it"),
    ),
    bash,
)
