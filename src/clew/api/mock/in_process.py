"""Connect a client to a mock in the same process, without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import httpx

from clew.api.mock.http_server import HttpRequest
from clew.api.mock.mock_api import Mock, PlannedAnswer


class InProcessMock(httpx.AsyncBaseTransport):
    """Passes requests to a mock. `silent` is called when a stream hangs after its last frame was read."""

    def __init__(self, mock: Mock, silent: Callable[[], None] = lambda: None) -> None:
        self._mock = mock
        self._silent = silent

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = await request.aread()
        headers = {name.lower(): value for name, value in request.headers.items()}
        plan = self._mock.answer(HttpRequest(request.method, request.url.path, headers, body))
        if plan.ending == "close" and not plan.frames:
            raise httpx.ReadError("the mock aborted the answer", request=request)
        if plan.frames:
            return httpx.Response(plan.status, headers=dict(plan.headers), stream=_Frames(plan, request, self._silent))
        return httpx.Response(plan.status, headers=dict(plan.headers), content=plan.body)


class _Frames(httpx.AsyncByteStream):
    """The frames of a stream, and its end."""

    def __init__(self, plan: PlannedAnswer, request: httpx.Request, silent: Callable[[], None]) -> None:
        self._plan = plan
        self._request = request
        self._silent = silent

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for frame in self._plan.frames:
            yield frame
        if self._plan.ending == "hang":
            self._silent()
            await asyncio.Event().wait()
        elif self._plan.ending in ("cut", "close"):
            raise httpx.ReadError("the mock aborted the answer", request=self._request)
