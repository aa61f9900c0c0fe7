"""Await something until an event is set."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def until_stopped(stopped: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | None:
    """Return the result of `work`. If `stopped` is set first, cancel the work, wait for it to end and return None."""
    # Both may finish in the same step; then the result counts, because the work is done.
    working = asyncio.create_task(work)
    stopping = asyncio.create_task(stopped.wait())
    try:
        racing: set[asyncio.Future[Any]] = {working, stopping}
        await asyncio.wait(racing, return_when=asyncio.FIRST_COMPLETED)
    finally:
        is_stopped = not working.done()
        for task in (working, stopping):
            task.cancel()
        await asyncio.gather(working, stopping, return_exceptions=True)
    return None if is_stopped else working.result()
