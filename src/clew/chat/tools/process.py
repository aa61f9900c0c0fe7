"""Processes: a shell command run to its end, with what it is told and what it says. Its whole group ends with it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from clew.chat.tools import process_group

MOST_OUTPUT = 1 << 20
_GRACE = 0.5  # seconds: what a command left behind and still holds its output after that is killed


class Ended(Struct, frozen=True):
    """How a command ended. `is_late`: it was stopped because its time was over."""

    code: int
    stdout: str
    stderr: str
    is_late: bool = False


async def run_shell(command: str, cwd: Path, variables: Mapping[str, str], said: bytes, timeout: float) -> Ended:
    """Run a command by the system's shell, with `said` on its stdin. Cancelling kills it and all it started."""
    process = await _started(command, cwd, variables)
    stdout, stderr = bytearray(), bytearray()
    reading = [
        asyncio.create_task(_drain(process.stdout, stdout)),
        asyncio.create_task(_drain(process.stderr, stderr)),
        asyncio.create_task(_feed(process.stdin, said)),
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
    return Ended(code, stdout.decode("utf-8", "replace"), stderr.decode("utf-8", "replace"), is_late)


async def _started(command: str, cwd: Path, variables: Mapping[str, str]) -> asyncio.subprocess.Process:
    """Start it. Cancelled in the middle of that, asyncio would kill the shell but not what the shell began."""
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
        into.extend(part[: MOST_OUTPUT - len(into)])


async def _feed(stream: asyncio.StreamWriter | None, said: bytes) -> None:
    if stream is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stream.write(said)
        await stream.drain()
        stream.close()
        await stream.wait_closed()
