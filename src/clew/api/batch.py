"""Many requests at once: each ends as a reply or as an error, and no failure touches the others."""

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

AT_ONCE = 8
PATIENCE = Retry(tries=4, timeout=60.0, growth=1.5, patience=120.0)


async def gather(
    client: Client, requests: Sequence[MessagesRequest], at_once: int = AT_ONCE, done: Done | None = None
) -> list[Result]:
    """The results in the order of the requests; `done` is told of each as it comes. Cancelling aborts them all."""
    room = asyncio.Semaphore(at_once)

    async def ask(index: int, request: MessagesRequest) -> Result:
        async with room:
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
    at_once: int = AT_ONCE,
    retry: Retry = PATIENCE,
    done: Done | None = None,
) -> list[Result]:
    """As `gather`, for code that is not asynchronous."""

    async def run() -> list[Result]:
        async with Client(endpoint, retry) as client:
            return await gather(client, requests, at_once, done)

    return asyncio.run(run())


def complete(request: MessagesRequest, endpoint: Endpoint, *, retry: Retry = PATIENCE) -> ApiReply:
    """One reply, for code that is not asynchronous. Raises ApiError."""
    [result] = complete_all([request], endpoint, retry=retry)
    if isinstance(result, ApiError):
        raise result
    return result
