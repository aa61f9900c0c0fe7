"""Say how far the reading of a large session is, in the page that is being sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from clew.view.sanitize import format_size

INTERVAL = 0.3  # seconds between two lines of progress


async def progress_lines(work: asyncio.Future[Any], progress: Callable[[], tuple[int, int]]) -> AsyncIterator[str]:
    """Yield a line of HTML now and then until some work is done; none if it is done soon.

    `progress` returns bytes done and in all. The style sheet shows the newest line, until the turns follow.
    """
    while not (await asyncio.wait({work}, timeout=INTERVAL))[0]:
        done, total = progress()
        if total:
            percent = min(99, 100 * done // total)
            yield f'<p class="progress quiet" role="status">Reading {format_size(total)} … {percent} %</p>\n'
