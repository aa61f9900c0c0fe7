"""Run a shell command to its end with input and captured output, and kill its process group afterwards."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from clew.chat.tools import process_group

MAX_OUTPUT_BYTES = 1 << 20
_GRACE = 0.5  # seconds after which a child process that still holds the output open is killed


class CompletedCommand(Struct, frozen=True):
    """The result of a command. `is_late`: it was stopped because its timeout was exceeded."""

    code: int
    stdout: str
    stderr: str
    is_late: bool = False


async def run_shell(
    command: str, cwd: Path, variables: Mapping[str, str], stdin: bytes, timeout: float
) -> CompletedCommand:
    """Run a command with the system shell and `stdin` as input. Cancelling kills it and all processes it started."""
    process = await _start_shell(command, cwd, variables)
    stdout, stderr = bytearray(), bytearray()
    reading = [
        asyncio.create_task(_drain(process.stdout, stdout)),
        asyncio.create_task(_drain(process.stderr, stderr)),
        asyncio.create_task(_feed(process.stdin, stdin)),
    ]
    is_late = False
    try:
        async with asyncio.timeout(timeout):
            await process.wait()
            await asyncio.wait(reading, timeout=_GRACE)
    except TimeoutError:
        is_late = True
    finally:
        if process.returncode is None or not all(task.done() for task in reading):
            await process_group.kill(process)
        await process.wait()
        await asyncio.gather(*reading, return_exceptions=True)
    code = process.returncode if process.returncode is not None else -1
    return CompletedCommand(code, stdout.decode("utf-8", "replace"), stderr.decode("utf-8", "replace"), is_late)


async def _start_shell(command: str, cwd: Path, variables: Mapping[str, str]) -> asyncio.subprocess.Process:
    """Start the shell. If cancelled during the start, kill the process group: asyncio would kill only the shell."""
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_shell(
            command,
            cwd=cwd,
            env=variables,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        process = await starting
        await process_group.kill(process)
        await process.communicate()
        raise


async def _drain(stream: asyncio.StreamReader | None, into: bytearray) -> None:
    while stream and (part := await stream.read(1 << 16)):
        into.extend(part[: MAX_OUTPUT_BYTES - len(into)])


async def _feed(stream: asyncio.StreamWriter | None, stdin: bytes) -> None:
    if stream is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stream.write(stdin)
        await stream.drain()
        stream.close()
        await stream.wait_closed()
