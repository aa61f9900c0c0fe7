"""Terminate a process group: SIGTERM, then SIGKILL after a grace period."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

GRACE = 2.0  # seconds between SIGTERM and SIGKILL
_POLL = 0.02
if sys.platform == "win32":
    KILL = signal.SIGTERM
else:
    KILL = signal.SIGKILL
_SECOND_SIGNAL = 5  # poll at which SIGTERM is sent a second time


async def terminate(process: asyncio.subprocess.Process) -> None:
    """Send SIGTERM to the process group, and SIGKILL after the grace period."""
    for attempt in range(round(GRACE / _POLL)):
        # A child that the shell was just forking misses the first signal, so send it again.
        number = signal.SIGTERM if attempt in (0, _SECOND_SIGNAL) else 0
        if not _send_signal(process.pid, number):
            break
        await asyncio.sleep(_POLL)
    await kill(process)


async def kill(process: asyncio.subprocess.Process) -> None:
    """Send SIGKILL to the process group. A process stuck in the kernel is not waited for longer than the grace
    period.
    """
    for _ in range(round(GRACE / _POLL)):
        if not _send_signal(process.pid, KILL):
            break
        await asyncio.sleep(_POLL)
    await asyncio.wait({asyncio.ensure_future(process.wait())}, timeout=GRACE)


def _send_signal(group: int, number: int) -> bool:
    """Send a signal to a process group; return False if there is no such group."""
    try:
        if sys.platform == "win32":
            os.kill(group, number)
        else:
            os.killpg(group, number)
    except OSError:  # the group ended, or what remains belongs to another user
        return False
    return True
