"""Send many requests concurrently; each one ends as a reply or as an error."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from clew.api.client import Client
from clew.api.endpoint import Endpoint
from clew.api.request_body import MessagesRequest
from clew.api.retry import Retry
from clew.api.stream_assembly import ApiReply
from clew.errors import ApiError

Result = ApiReply | ApiError
Done = Callable[[int, Result], None]

CONCURRENCY = 8
BATCH_RETRY = Retry(tries=4, timeout=60.0, growth=1.5, patience=120.0)


async def gather(
    client: Client, requests: Sequence[MessagesRequest], concurrency: int = CONCURRENCY, done: Done | None = None
) -> list[Result]:
    """Return the results in the order of the requests; `done` is called with each as it arrives. Cancelling aborts
    all.
    """
    slots = asyncio.Semaphore(concurrency)

    async def ask(index: int, request: MessagesRequest) -> Result:
        async with slots:
            try:
                result: Result = await client.send(request)
            except ApiError as error:
                result = error
        if done is not None:
            done(index, result)
        return result

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ask(index, request)) for index, request in enumerate(requests)]
    return [task.result() for task in tasks]


def complete_all(
    requests: Sequence[MessagesRequest],
    endpoint: Endpoint,
    *,
    concurrency: int = CONCURRENCY,
    retry: Retry = BATCH_RETRY,
    done: Done | None = None,
) -> list[Result]:
    """Do the same as `gather` for synchronous code."""

    async def run() -> list[Result]:
        async with Client(endpoint, retry) as client:
            return await gather(client, requests, concurrency, done)

    return asyncio.run(run())


def complete(request: MessagesRequest, endpoint: Endpoint, *, retry: Retry = BATCH_RETRY) -> ApiReply:
    """Return one reply, for synchronous code. Raises ApiError."""
    [result] = complete_all([request], endpoint, retry=retry)
    if isinstance(result, ApiError):
        raise result
    return result
