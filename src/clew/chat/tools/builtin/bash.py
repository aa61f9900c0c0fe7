"""Implement Bash: run a command to its end, until interrupted, or in the background.

Every command gets a new shell. Its final folder is the start folder of the next command, as long as it is in the
project; nothing else is carried over.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from clew.chat.permission.refuse_control_characters import refusal
from clew.chat.tools import command_output
from clew.chat.tools.atomic_files import MAX_OUTPUT_BYTES, output_folder
from clew.chat.tools.exit_codes import explain_exit_code, is_stopped_when_late, viewed_file
from clew.chat.tools.image_files import image_block
from clew.chat.tools.path_arguments import is_inside
from clew.chat.tools.read_tracking import mark_viewed
from clew.chat.tools.shell_command import ShellCommand, start_command
from clew.chat.tools.tool import CallResult, ToolContext, ToolFailed
from clew.chat.tools.tool_spec import BOOLEAN, NUMBER, TEXT, SpecTool, object_schema, optional_field, required_field
from clew.system.environment import positive_number
from clew.wire.json_codec import Json

DEFAULT_TIMEOUT = 120_000  # milliseconds
MAX_TIMEOUT = 600_000
_TICK = 0.5
_FIRST_REPORT = 2  # seconds before the first progress report
_LAST_LINES = 5
_MAX_PROGRESS_TEXT = 10_000  # characters of output in a progress report
_PICTURE = re.compile(r"data:(image/(?:png|jpeg|gif|webp));base64,([A-Za-z0-9+/=\s]+)")


async def bash(input: Json, scene: ToolContext) -> CallResult:
    # Checked again here because an SDK or a hook may have changed the command after it was approved.
    if refusal_text := refusal(input["command"]):
        raise ToolFailed(refusal_text, is_misuse=False)
    state = scene.state
    cwd = state.cwd if state.cwd.is_dir() else state.project
    if not cwd.is_dir():
        raise ToolFailed(f"The folder {cwd} is gone, so no command can run in it.", is_misuse=False)
    profile = await state.profile.open() if state.profile else None
    is_background = bool(input.get("run_in_background"))
    command = await start_command(
        input["command"],
        cwd,
        output_folder(scene) if is_background else None,
        profile,
        is_trusted=state.is_trusted,
        variables={**state.variables, **_session_variables(scene)},
    )
    if is_background:
        return _continue_in_background(command, scene, input, "")
    seconds = _timeout(input) / 1000
    how = ""
    try:
        how = await _wait_reporting_progress(command, scene, seconds)
    finally:
        if not how:
            await command.kill()
            command.discard()
    if how == "aside" or (how == "late" and not is_stopped_when_late(command.command)):
        return _continue_in_background(
            command, scene, input, f"It has not ended within {seconds:g}s. " if how == "late" else ""
        )
    if how != "ended":
        await command.stop()
    try:
        return _ended_result(command, scene, how, seconds)
    finally:
        command.discard()


def _timeout(input: Json) -> float:
    """Return how long to wait in milliseconds: as asked, at most `BASH_MAX_TIMEOUT_MS`."""
    default = positive_number("BASH_DEFAULT_TIMEOUT_MS") or DEFAULT_TIMEOUT
    most = max(positive_number("BASH_MAX_TIMEOUT_MS") or MAX_TIMEOUT, default)
    return min(float(input.get("timeout", default)), most)


def _session_variables(scene: ToolContext) -> dict[str, str]:
    """Return the variables by which a program knows that an agent runs it, and in which session."""
    return {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": scene.session_id}


async def _wait_reporting_progress(command: ShellCommand, scene: ToolContext, seconds: float) -> str:
    """Wait for the command and report its progress. Return how the wait ended."""
    clock = asyncio.get_running_loop()
    begun = clock.time()
    next_report, progress = _FIRST_REPORT, _OutputProgress(command)
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
            if command.size > MAX_OUTPUT_BYTES:
                return "flood"
            if elapsed >= seconds:
                return "late"
            if elapsed >= next_report:
                await scene.progress(progress.report(int(elapsed)))
                next_report = int(elapsed) + 1
    finally:
        for wait in waits.values():
            wait.cancel()
        await asyncio.gather(*waits.values(), return_exceptions=True)


class _OutputProgress:
    """Progress reports about a running command: its output so far, with an incremental line count."""

    def __init__(self, command: ShellCommand) -> None:
        self._path = command.path
        self._lines = 0
        self._at = 0

    def report(self, elapsed: int) -> Json:
        with open(self._path, "rb") as file:
            file.seek(self._at)
            while part := file.read(1 << 20):
                self._lines += part.count(b"\n")
                self._at += len(part)
        full = command_output.read_end(self._path, _MAX_PROGRESS_TEXT)
        return {
            "type": "bash_progress",
            "output": "\n".join(full.split("\n")[-_LAST_LINES:]),
            "fullOutput": full,
            "elapsedTimeSeconds": elapsed,
            "totalLines": self._lines,
        }


def _continue_in_background(command: ShellCommand, scene: ToolContext, input: Json, why: str) -> CallResult:
    """Let a command continue in the background."""
    command.title = input.get("description") or input["command"]
    command.leave(output_folder(scene))
    scene.state.background[command.id] = command
    scene.left(command)
    text = f"Command running in background with ID: {command.id}. {why}Output is being written to: {command.path}"
    so_far = command_output.read_end(command.path, _MAX_PROGRESS_TEXT)
    detail = {**_detail(so_far), "backgroundTaskId": command.id}
    return CallResult(text + (f"\nSo far:\n{so_far}" if so_far else ""), detail)


def _detail(stdout: str) -> Json:
    return {"stdout": stdout, "stderr": "", "interrupted": False, "isImage": False}


def _ended_result(command: ShellCommand, scene: ToolContext, how: str, seconds: float) -> CallResult:
    text, is_all = command_output.read_start(command.path)
    moved = _update_cwd(command.last_folder(), scene)
    if how != "ended":
        why = {
            "stopped": "[Request interrupted by user for tool use]",
            "late": f"Command timed out after {seconds:g}s and was stopped.",
            "flood": f"Command was stopped: it put out more than {MAX_OUTPUT_BYTES >> 20} MB.",
        }[how]
        code = 137 if how == "stopped" else command.exit_code or 143
        return _failed_result(code, "\n".join(filter(None, (why, _failed_output(command, scene, text, is_all)))))
    code = command.exit_code or 0
    meant = explain_exit_code(command.command, code) if code else ""
    if code and not meant:
        return _failed_result(code, "\n".join(filter(None, (_failed_output(command, scene, text, is_all), moved))))
    detail = _detail(text)
    if moved:
        detail["stderr"] = moved
    if meant:
        detail["returnCodeInterpretation"] = meant
    if is_all and (picture := _PICTURE.fullmatch(text.strip())):
        return CallResult([image_block(picture[1], "".join(picture[2].split()))], detail | {"isImage": True})
    if not is_all:
        text, where = command_output.persist_output(command.path, scene)
        detail |= where
    elif path := viewed_file(command.command):
        mark_viewed(scene.state.cwd / path, scene.state)
    return CallResult("\n".join(filter(None, (text, moved))), detail)


def _failed_output(command: ShellCommand, scene: ToolContext, text: str, is_all: bool) -> str:
    """Return the output of a failed command, shortened if it is long."""
    is_short = is_all and len(text) <= command_output.FAILED_LIMIT
    return text if is_short else command_output.shorten_failed_output(command.path, scene)


def _failed_result(code: int, text: str) -> CallResult:
    text_with_code = f"Exit code {code}\n{text}".rstrip("\n")
    return CallResult(text_with_code, f"Error: {text_with_code}", is_error=True)


def _update_cwd(folder: Path | None, scene: ToolContext) -> str:
    """Use the final folder for the next command, or return to the project folder and report that."""
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
    object_schema(
        command=required_field(TEXT, "The command", minLength=1),
        timeout=optional_field(
            NUMBER, "How long to wait for it, in milliseconds; 120000 if not given, at most 600000", minimum=1
        ),
        description=optional_field(TEXT, "What it does, in five to ten words"),
        run_in_background=optional_field(BOOLEAN, "Do not wait for it"),
    ),
    bash,
)
