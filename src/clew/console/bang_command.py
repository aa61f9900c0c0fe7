"""`!`: a command that the person runs. The model is told what it said, as Claude Code writes it down."""

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

LOOK = 0.1  # seconds between two looks at the output
LIVE = 2_000  # characters of it that are shown meanwhile
SHOWN = 200  # lines of it
KEPT = 30_000  # characters that the model is told
_CALL = "shell"


async def run(
    command: str, dialogue: LiveConversation, transcript: Transcript, stopped: asyncio.Event, touch: Callable[[], None]
) -> None:
    """Run a command to its end, or until it is stopped; show and write down what it said."""
    transcript.begin("Running")
    call = transcript.call(_CALL, "Shell", {"command": command})
    call.began = transcript.clock()
    try:
        running = await start_command(command, dialogue.state.cwd)
    except ToolFailed as failed:
        transcript.put(ErrorRow(str(failed)))
        return
    finally:
        if call.began is None:
            transcript.running.pop(_CALL, None)
    waiting, stopping = asyncio.ensure_future(running.wait()), asyncio.ensure_future(stopped.wait())
    lines = at = 0
    try:
        while not waiting.done() and not stopping.done():
            await asyncio.wait({waiting, stopping}, timeout=LOOK, return_when=asyncio.FIRST_COMPLETED)
            call.output = read_end(running.path, LIVE)
            with open(running.path, "rb") as file:
                file.seek(at)
                data = file.read()
            at, lines = at + len(data), lines + data.count(b"\n")
            call.lines = lines
            touch()
        if not waiting.done():
            await running.stop()
    finally:
        waiting.cancel()
        stopping.cancel()
        output = read_end(running.path, KEPT)
        code = running.exit_code
        running.discard()
        transcript.running.pop(_CALL, None)
    _tell(command, output.rstrip("\n"), code, stopped.is_set(), dialogue, transcript)


def _tell(
    command: str, output: str, code: int | None, is_stopped: bool, dialogue: LiveConversation, transcript: Transcript
) -> None:
    failed = is_stopped or bool(code)
    error = "Interrupted" if is_stopped else f"Exit code {code}" if code else ""
    dialogue.shell(command, output, error)
    lines = output.split("\n") if output else []
    if (before := len(lines) - SHOWN) > 0 and not transcript.is_verbose:
        lines = [f"… {plural(before, 'line')} before this", *lines[-SHOWN:]]
    shown = "\n".join([*lines, *([error] if error else [])])
    transcript.put(FailureRow(shown) if failed else ResultRow(shown))
