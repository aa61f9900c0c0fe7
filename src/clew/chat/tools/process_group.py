"""Groups of processes: a command and all that it began end together, politely or at once. There is no other way here."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

GRACE = 2.0  # seconds between the polite and the final signal
_POLL = 0.02
_AGAIN = 5  # looks after which the polite signal is sent a second time


async def end(process: asyncio.subprocess.Process) -> None:
    """End a command and all that it began: politely, and after a while without asking."""
    for again in range(round(GRACE / _POLL)):
        # A child that the shell was just beginning did not hear the first signal: hence a second one.
        number = signal.SIGTERM if again in (0, _AGAIN) else 0
        if not _signal(process.pid, number):
            break
        await asyncio.sleep(_POLL)
    await kill(process)


async def kill(process: asyncio.subprocess.Process) -> None:
    """End the whole group at once. A process that the system holds fast is not waited for."""
    for _ in range(round(GRACE / _POLL)):
        if not _signal(process.pid, signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL):
            break
        await asyncio.sleep(_POLL)
    await asyncio.wait({asyncio.ensure_future(process.wait())}, timeout=GRACE)


def _signal(group: int, number: int) -> bool:
    """Send a signal to a group of processes; whether there was one."""
    try:
        if sys.platform == "win32":
            os.kill(group, number)
        else:
            os.killpg(group, number)
    except OSError:  # it is gone, or what is left of it is not ours
        return False
    return True
