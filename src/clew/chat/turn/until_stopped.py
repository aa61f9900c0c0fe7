"""Racing: something that is waited for until the person breaks off."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def unless(stopped: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | None:
    """What comes of the work; None if `stopped` was set first, and then the work is cancelled and over."""
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
