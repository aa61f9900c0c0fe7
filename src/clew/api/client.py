"""Send requests to the Messages API, with retries, as a stream of events or as a complete reply.

async with Client(endpoint()) as client:
    async with client.stream(request) as events:
        async for event in events: ...
    reply = await client.send(request)

A `Retrying` event invalidates everything since the last `ReplyStarted`. Once content was passed to the caller the
request is not repeated, unless the caller can discard that content (`resend`).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from types import TracebackType
from typing import Literal, Self

from msgspec import Struct
from msgspec.structs import replace

from clew.api.cloud import HttpCall, StreamReader
from clew.api.endpoint import Endpoint
from clew.api.http_answers import (
    check_message,
    decode_json,
    decode_message,
    message_events,
    read_request_id,
    stream_failure,
    transport_failure,
)
from clew.api.request_body import (
    THINKING_BLOCKS,
    MessagesRequest,
    PreparedRequest,
    drop_thinking,
    find_rejected_part,
    prepare,
    signatures,
)
from clew.api.retry import (
    OVERLOADED,
    FailedTry,
    Retry,
    api_error,
    classify_response,
    not_the_api,
)
from clew.api.sse import EventTooLong, SseReader
from clew.api.stream_assembly import (
    ApiReply,
    Assembly,
    BlockComplete,
    BlockDelta,
    ReplyEvent,
    ReplyFinished,
    StreamError,
)
from clew.api.token_estimate import estimate_tokens
from clew.errors import ApiError
from clew.system.extras import install_hint
from clew.wire.json_codec import Json, encode

try:
    import httpx
except ModuleNotFoundError:
    raise ApiError(
        "The client of the Messages API requires the package httpx.",
        "extra",
        hint=install_hint("chat"),
    ) from None

Resend = Literal["start", "block", "end"]


class Retrying(Struct, frozen=True):
    """A try failed and another one starts after `delay` seconds; `so_far` is the partial reply of the failed one."""

    number: int
    of: int
    delay: float
    error: ApiError
    so_far: ApiReply


class LeftOut(Struct, frozen=True):
    """The server rejected a part of the request, which is left out from now on."""

    name: str
    error: ApiError


class Switched(Struct, frozen=True):
    """The model stayed overloaded; the fallback model is used."""

    model: str


class Broken(Struct, frozen=True):
    """The last event before the error is raised: the complete blocks and the usage that were received."""

    error: ApiError
    so_far: ApiReply


ClientEvent = ReplyEvent | Retrying | LeftOut | Switched | Broken


class TokenCount(Struct, frozen=True):
    """Tokens of a request; not exact if the server does not count."""

    tokens: int
    is_exact: bool


class _RequestState(Struct):
    """The state of one request across its tries."""

    request: MessagesRequest
    number: int = 0  # number of repetitions
    overloads: int = 0
    is_whole: bool = False  # the next try does not stream
    was_whole: bool = False
    delivered: str = ""  # "", "start" after some content, "block" after a complete block was delivered
    assembly: Assembly | None = None

    @property
    def so_far(self) -> ApiReply:
        return self.assembly.so_far() if self.assembly else ApiReply({})


class Client:
    """Sends requests to one endpoint. Parts that the endpoint rejected are left out from then on."""

    def __init__(
        self,
        endpoint: Endpoint,
        retry: Retry | None = None,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.endpoint = endpoint
        self.retry = retry or Retry()
        self.left_out: frozenset[str] = frozenset()
        self._refused_thinking: frozenset[str] = frozenset()
        self._sleep = sleep
        self._chance = chance
        self._counts = endpoint.profile.counts
        from clew.api.transport import transport_for

        self._http = httpx.AsyncClient(
            transport=transport or transport_for(endpoint),
            auth=_helper_auth(endpoint),
            timeout=httpx.Timeout(self.retry.idle, connect=self.retry.connect, pool=None),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
            trust_env=not endpoint.is_loopback,
            verify=not endpoint.base.startswith("http:"),  # loading all certificates takes longer than a short turn
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    def stream(
        self, request: MessagesRequest, resend: Resend = "start"
    ) -> AbstractAsyncContextManager[AsyncGenerator[ClientEvent, None]]:
        """Stream the events of a request; it ends with ReplyFinished, or with Broken and an ApiError. Leaving it
        aborts.

        `resend` says until when a failed try can be repeated: before any content ("start"), before a complete block
        ("block"), or until the reply is complete ("end").
        """
        return aclosing(self._events(_RequestState(request), resend))

    async def send(self, request: MessagesRequest, streaming: bool = False) -> ApiReply:
        """Return the complete reply. With `streaming` the idle time is limited, else the total time."""
        async with aclosing(self._events(_RequestState(request, is_whole=not streaming), "end", streaming)) as events:
            async for event in events:
                if isinstance(event, ReplyFinished):
                    return event.reply
        raise api_error("The stream ended without a reply.", "protocol")

    async def count(self, request: MessagesRequest) -> TokenCount:
        """Return the tokens of a request's input, counted by the server if it supports that."""
        body = self._prepared(replace(request, is_marked=False)).body
        counted_fields = {
            k: v for k, v in body.items() if k in ("model", "system", "tools", "tool_choice", "thinking", "messages")
        }
        if self._counts:
            try:
                data = await self._fetch_json(
                    "/v1/messages/count_tokens", PreparedRequest(counted_fields), self.retry.timeout
                )
                return TokenCount(int(data[0]["input_tokens"]), True)
            except FailedTry as failure:
                if failure.error.status in (404, 405, 501):
                    self._counts = False
                elif not failure.is_transient:
                    raise failure.error from None
            except (KeyError, TypeError, ValueError):
                self._counts = False
        return TokenCount(
            estimate_tokens([counted_fields.get("system"), counted_fields.get("tools"), counted_fields["messages"]]),
            False,
        )

    # -- tries

    async def _events(
        self, state: _RequestState, resend: Resend, streaming: bool = True
    ) -> AsyncGenerator[ClientEvent, None]:
        while True:
            prepared = self._prepared(state.request)
            state.assembly, state.was_whole = None, state.is_whole
            try:
                async with aclosing(self._try(prepared, state)) as events:
                    async for event in events:
                        if isinstance(event, BlockDelta | BlockComplete):
                            state.delivered = (
                                "block" if isinstance(event, BlockComplete) else state.delivered or "start"
                            )
                        yield event
                return
            except FailedTry as failure:
                error = failure.error
                if name := self._rejected_part(failure, prepared, state.request):
                    yield LeftOut(name, error)
                    continue
                delay = self._delay(failure, state, resend)
                if delay is None:
                    yield Broken(error, state.so_far)
                    raise error from None
                yield Retrying(state.number, self.retry.tries, delay, error, state.so_far)
                if state.overloads >= self.retry.overloads and (fallback := state.request.fallback) is not None:
                    messages = drop_thinking(fallback.messages, signatures(fallback.messages))
                    state.request = replace(fallback, messages=messages)
                    yield Switched(state.request.model)
                state.is_whole = not streaming or (failure.is_reported and not state.was_whole)
            await self._sleep(delay)

    def _delay(self, failure: FailedTry, state: _RequestState, resend: Resend) -> float | None:
        """Return the seconds until the next try; None if there is none."""
        may_resend = {"start": not state.delivered, "block": state.delivered != "block", "end": True}[resend]
        state.overloads = state.overloads + 1 if failure.error.kind == OVERLOADED else 0
        if not failure.is_transient or not may_resend:
            return None
        state.number += 1
        return self.retry.wait(state.number, failure.error, self._chance)

    def _rejected_part(self, failure: FailedTry, prepared: PreparedRequest, request: MessagesRequest) -> str:
        """Return what to leave out after a rejection that names it: each part once, and thinking by its signature."""
        if failure.error.status != 400 or failure.error.kind != "invalid_request_error":
            return ""
        name = find_rejected_part(str(failure.error), prepared, request)
        if name == THINKING_BLOCKS:
            self._refused_thinking |= signatures(prepared.body["messages"])
        elif name in self.left_out:
            return ""
        elif name:
            self.left_out |= {name}
        return name

    def _prepared(self, request: MessagesRequest) -> PreparedRequest:
        return prepare(request, self.endpoint.profile, self.left_out, self._refused_thinking)

    async def _try(self, prepared: PreparedRequest, state: _RequestState) -> AsyncGenerator[ReplyEvent, None]:
        if state.is_whole:
            limit = self.retry.limit(state.number + 1)
            data, request_id = await self._fetch_json("/v1/messages", prepared, limit)
            for event in message_events(check_message(data, self.endpoint.base), request_id):
                yield event
            return
        try:
            async with (
                self._open_request("/v1/messages", prepared, stream=True) as response,
                aclosing(self._read(response, state)) as events,
            ):
                async for event in events:
                    yield event
        except (httpx.RequestError, StreamError, EventTooLong) as error:
            if state.assembly is None or not state.assembly.has_stopped:
                raise stream_failure(error, self.endpoint) from None
            yield state.assembly.finish()

    async def _read(self, response: httpx.Response, state: _RequestState) -> AsyncGenerator[ReplyEvent, None]:
        if response.status_code != 200:
            raise self._failure(response, await response.aread())
        request_id = read_request_id(response)
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "application/json":
            for event in message_events(decode_message(await response.aread(), response), request_id):
                yield event
            return
        reader, assembly = self._reader(kind, response), Assembly(request_id)
        state.assembly = assembly
        async for data in response.aiter_bytes():
            for server_event in reader.feed(data):
                if (client_event := assembly.take(server_event.data)) is not None:
                    yield client_event
                if assembly.is_finished:
                    return
        for server_event in reader.close():
            if (client_event := assembly.take(server_event.data)) is not None:
                yield client_event
        if assembly.is_finished:
            return
        if not assembly.has_stopped:
            early = "The stream ended early." if assembly.has_started else f"{response.url} sent an empty stream."
            raise FailedTry(api_error(early, "connection"), True)
        yield assembly.finish()  # some servers omit message_stop

    def _reader(self, kind: str, response: httpx.Response) -> StreamReader:
        """Return the reader for streams of a content type."""
        cloud = self.endpoint.cloud
        if cloud is not None and kind == cloud.stream_type:
            return cloud.reader()
        if kind == "text/event-stream":
            return SseReader()
        raise not_the_api(str(response.url), f"answered with {kind or 'no content type'} instead of a stream")

    def _failure(self, response: httpx.Response, body: bytes) -> FailedTry:
        """Classify an answer with an error status, in the terms of the platform if there is one."""
        status, headers = response.status_code, response.headers
        cloud = self.endpoint.cloud
        explained = cloud.explain(status, headers, body) if cloud is not None else None
        return classify_response(status, headers, body, str(response.url), explained)

    async def _fetch_json(self, path: str, prepared: PreparedRequest, limit: float) -> tuple[Json, str]:
        """Return the JSON of an answer without a stream, and the id of the request."""
        try:
            async with (
                asyncio.timeout(limit),
                self._open_request(path, prepared, stream=False, limit=limit) as response,
            ):
                body = await response.aread()
        except httpx.RequestError as error:
            raise transport_failure(error, self.endpoint) from None
        except TimeoutError:
            raise FailedTry(api_error(f"No answer within {limit:g} s.", "timeout"), True) from None
        if response.status_code != 200:
            raise self._failure(response, body)
        return decode_json(body, response), read_request_id(response)

    @asynccontextmanager
    async def _open_request(
        self, path: str, prepared: PreparedRequest, stream: bool, limit: float | None = None
    ) -> AsyncGenerator[httpx.Response, None]:
        body = {**prepared.body, "stream": True} if stream else prepared.body
        timeout = httpx.Timeout(limit or self.retry.idle, connect=self.retry.connect, pool=None)
        if self.endpoint.cloud is not None:
            cloud = self.endpoint.cloud
            call = await cloud.build(self.endpoint.base, self.endpoint.head, body, prepared.betas, stream)
        else:
            call = HttpCall(self.endpoint.url(path), self.endpoint.head(prepared.betas), encode(body))
        async with self._http.stream(
            "POST", call.url, content=call.content, headers=dict(call.headers), timeout=timeout
        ) as response:
            yield response


def _helper_auth(endpoint: Endpoint) -> httpx.Auth | None:
    if endpoint.helper is None:
        return None
    from clew.api.helper_auth import HelperAuth

    return HelperAuth(endpoint.helper)
