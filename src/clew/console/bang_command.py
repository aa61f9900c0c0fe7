"""Run a `!` command of the user, and record its output for the model as Claude Code does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from clew.chat.store.live_conversation import LiveConversation
from clew.chat.tools.command_output import read_end
from clew.chat.tools.shell_command import start_command
from clew.chat.tools.tool import ToolFailed
from clew.console.transcript import Transcript
from clew.system.plural import plural
from clew.view.row_types import ErrorRow, FailureRow, ResultRow

POLL_INTERVAL = 0.1  # seconds
MAX_LIVE_CHARACTERS = 2_000  # shown while the command runs
MAX_SHOWN_LINES = 200  # shown when the command has ended
MAX_RECORDED_CHARACTERS = 30_000  # sent to the model
_CALL = "shell"


async def run_bang_command(
    command: str,
    conversation: LiveConversation,
    transcript: Transcript,
    stopped: asyncio.Event,
    request_redraw: Callable[[], None],
) -> None:
    """Run a command to its end, or until it is stopped; show and record its output."""
    transcript.begin("Running")
    call = transcript.call(_CALL, "Shell", {"command": command})
    call.started_at = transcript.clock()
    try:
        running = await start_command(command, conversation.state.cwd, variables=conversation.state.variables)
    except ToolFailed as failed:
        transcript.print_row(ErrorRow(str(failed)))
        return
    finally:
        if call.started_at is None:
            transcript.running.pop(_CALL, None)
    waiting, stopping = asyncio.ensure_future(running.wait()), asyncio.ensure_future(stopped.wait())
    lines = position = 0
    try:
        while not waiting.done() and not stopping.done():
            await asyncio.wait({waiting, stopping}, timeout=POLL_INTERVAL, return_when=asyncio.FIRST_COMPLETED)
            call.output = read_end(running.path, MAX_LIVE_CHARACTERS)
            with open(running.path, "rb") as file:
                file.seek(position)
                data = file.read()
            position, lines = position + len(data), lines + data.count(b"\n")
            call.lines = lines
            request_redraw()
        if not waiting.done():
            await running.stop()
    finally:
        waiting.cancel()
        stopping.cancel()
        output = read_end(running.path, MAX_RECORDED_CHARACTERS)
        code = running.exit_code
        running.discard()
        transcript.running.pop(_CALL, None)
    _record_output(command, output.rstrip("\n"), code, stopped.is_set(), conversation, transcript)


def _record_output(
    command: str,
    output: str,
    code: int | None,
    is_stopped: bool,
    conversation: LiveConversation,
    transcript: Transcript,
) -> None:
    failed = is_stopped or bool(code)
    error = "Interrupted" if is_stopped else f"Exit code {code}" if code else ""
    conversation.shell(command, output, error)
    lines = output.split("\n") if output else []
    if (before := len(lines) - MAX_SHOWN_LINES) > 0 and not transcript.is_verbose:
        lines = [f"… {plural(before, 'line')} before this", *lines[-MAX_SHOWN_LINES:]]
    shown = "\n".join([*lines, *([error] if error else [])])
    transcript.print_row(FailureRow(shown) if failed else ResultRow(shown))
