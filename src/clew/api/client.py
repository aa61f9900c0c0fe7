"""The client: one request to the Messages API, asked again where that may help, as a stream of happenings or whole.

    async with Client(endpoint()) as client:
        async with client.stream(request) as happenings:
            async for each in happenings: ...
        reply = await client.send(request)

A `Retrying` voids all that was handed on since the last `Started`. Once content has been handed on nothing is asked
again, unless the caller says that it can take that back (`resend`).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, aclosing
from types import TracebackType
from typing import Literal, Self

from msgspec import Struct
from msgspec.structs import replace

from clew.api.endpoint import Endpoint
from clew.api.hidden_imports import unseen
from clew.api.request_body import (
    THINKING_BLOCKS,
    Json,
    MessagesRequest,
    Prepared,
    culprit,
    prepare,
    signatures,
    without_thinking,
)
from clew.api.retry import OVERLOADED, FailedTry, Retry, answered, failed, reported
from clew.api.sse import SseReader, TooLong
from clew.api.stream_assembly import (
    ApiReply,
    Assembly,
    BlockComplete,
    BlockDelta,
    Happening,
    ReplyFinished,
    ReplyStarted,
    StreamError,
    error_of,
)
from clew.api.token_estimate import tokens
from clew.errors import ApiError
from clew.wire.json_codec import decode, encode

try:
    with unseen("click"):  # beside it httpx loads its command line, which takes longer than all the rest of it
        import httpx
except ModuleNotFoundError:
    missing = ApiError("The client of the Messages API needs the package httpx.", "extra")
    missing.hint = "Install it with: pip install 'clew[chat]'"
    raise missing from None

Resend = Literal["start", "block", "end"]


class Retrying(Struct, frozen=True):
    """A try failed and another begins after `delay` seconds; `so_far` is what the failed one had reported."""

    number: int
    of: int
    delay: float
    error: ApiError
    so_far: ApiReply


class LeftOut(Struct, frozen=True):
    """The server does not take something; it is asked again without, now and from here on."""

    name: str
    error: ApiError


class Switched(Struct, frozen=True):
    """The model stayed overloaded; the fallback is asked."""

    model: str


class Broken(Struct, frozen=True):
    """The last word before the error is raised: the complete blocks and the usage that were received."""

    error: ApiError
    so_far: ApiReply


Said = Happening | Retrying | LeftOut | Switched | Broken


class Counted(Struct, frozen=True):
    """Tokens of a request; not exact if the server does not count."""

    tokens: int
    is_exact: bool


class _Course(Struct):
    """How far one request has come through its tries."""

    request: MessagesRequest
    number: int = 0  # of repetitions
    overloads: int = 0
    is_whole: bool = False  # the next try is without a stream
    was_whole: bool = False
    handed: str = ""  # "", "start" once content was handed on, "block" once a complete block was
    assembly: Assembly | None = None

    @property
    def so_far(self) -> ApiReply:
        return self.assembly.so_far() if self.assembly else ApiReply({})


class Client:
    """Asks one endpoint. What the endpoint was found not to take is left out from then on."""

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
            timeout=httpx.Timeout(self.retry.idle, connect=self.retry.connect, pool=None),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
            trust_env=not endpoint.is_loopback,
            verify=not endpoint.base.startswith("http:"),  # reading all certificates takes longer than a short turn
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    def stream(
        self, request: MessagesRequest, resend: Resend = "start"
    ) -> AbstractAsyncContextManager[AsyncGenerator[Said, None]]:
        """What happens, as it happens; ends with Finished, or with Broken and an ApiError. Leaving it aborts.

        `resend` says until when a failed try may be repeated: before any content ("start"), before a complete block
        ("block"), or until the reply is whole ("end").
        """
        return aclosing(self._happenings(_Course(request), resend))

    async def send(self, request: MessagesRequest, streaming: bool = False) -> ApiReply:
        """The whole reply. With `streaming` silence is limited, else the whole time."""
        async with aclosing(self._happenings(_Course(request, is_whole=not streaming), "end", streaming)) as happenings:
            async for each in happenings:
                if isinstance(each, ReplyFinished):
                    return each.reply
        raise failed("The stream ended without a reply.", "protocol")

    async def count(self, request: MessagesRequest) -> Counted:
        """The tokens of a request's input, counted by the server if it does that."""
        body = self._prepared(replace(request, is_marked=False)).body
        asked = {
            k: v for k, v in body.items() if k in ("model", "system", "tools", "tool_choice", "thinking", "messages")
        }
        if self._counts:
            try:
                data = await self._whole("/v1/messages/count_tokens", Prepared(asked), self.retry.timeout)
                return Counted(int(data[0]["input_tokens"]), True)
            except FailedTry as failure:
                if failure.error.status in (404, 405, 501):
                    self._counts = False
                elif not failure.is_transient:
                    raise failure.error from None
            except (KeyError, TypeError, ValueError):
                self._counts = False
        return Counted(tokens([asked.get("system"), asked.get("tools"), asked["messages"]]), False)

    # -- tries

    async def _happenings(self, course: _Course, resend: Resend, streaming: bool = True) -> AsyncGenerator[Said, None]:
        while True:
            prepared = self._prepared(course.request)
            course.assembly, course.was_whole = None, course.is_whole
            try:
                async with aclosing(self._try(prepared, course)) as happenings:
                    async for each in happenings:
                        if isinstance(each, BlockDelta | BlockComplete):
                            course.handed = "block" if isinstance(each, BlockComplete) else course.handed or "start"
                        yield each
                return
            except FailedTry as failure:
                error = failure.error
                if name := self._refused(failure, prepared, course.request):
                    yield LeftOut(name, error)
                    continue
                delay = self._delay(failure, course, resend)
                if delay is None:
                    yield Broken(error, course.so_far)
                    raise error from None
                yield Retrying(course.number, self.retry.tries, delay, error, course.so_far)
                if course.overloads >= self.retry.overloads and course.request.fallback not in (
                    "",
                    course.request.model,
                ):
                    messages = without_thinking(course.request.messages, signatures(course.request.messages))
                    course.request = replace(course.request, model=course.request.fallback, messages=messages)
                    yield Switched(course.request.model)
                course.is_whole = not streaming or (failure.is_reported and not course.was_whole)
            await self._sleep(delay)

    def _delay(self, failure: FailedTry, course: _Course, resend: Resend) -> float | None:
        """Seconds until the next try; None if there is to be none."""
        may_resend = {"start": not course.handed, "block": course.handed != "block", "end": True}[resend]
        course.overloads = course.overloads + 1 if failure.error.kind == OVERLOADED else 0
        if not failure.is_transient or not may_resend:
            return None
        course.number += 1
        return self.retry.wait(course.number, failure.error, self._chance)

    def _refused(self, failure: FailedTry, prepared: Prepared, request: MessagesRequest) -> str:
        """What to leave out after a refusal that names it: each thing once, and thinking by its signature."""
        if failure.error.status != 400 or failure.error.kind != "invalid_request_error":
            return ""
        name = culprit(str(failure.error), prepared, request)
        if name == THINKING_BLOCKS:
            self._refused_thinking |= signatures(prepared.body["messages"])
        elif name in self.left_out:
            return ""
        elif name:
            self.left_out |= {name}
        return name

    def _prepared(self, request: MessagesRequest) -> Prepared:
        return prepare(request, self.endpoint.profile, self.left_out, self._refused_thinking)

    async def _try(self, prepared: Prepared, course: _Course) -> AsyncGenerator[Happening, None]:
        if course.is_whole:
            limit = self.retry.limit(course.number + 1)
            data, request_id = await self._whole("/v1/messages", prepared, limit)
            for each in _replayed(data, request_id):
                yield each
            return
        try:
            async with (
                self._post("/v1/messages", prepared, stream=True) as response,
                aclosing(self._read(response, course)) as happenings,
            ):
                async for each in happenings:
                    yield each
        except (httpx.RequestError, StreamError, TooLong) as error:
            if course.assembly is None or not course.assembly.has_stopped:
                raise _interrupted(error, self.endpoint) from None
            yield course.assembly.finish()

    async def _read(self, response: httpx.Response, course: _Course) -> AsyncGenerator[Happening, None]:
        if response.status_code != 200:
            raise answered(response.status_code, response.headers, await response.aread())
        request_id = response.headers.get("request-id", "")
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "application/json":
            for each in _replayed(_message(await response.aread()), request_id):
                yield each
            return
        if kind != "text/event-stream":
            raise FailedTry(
                failed(f"The server answered with {kind or 'something unnamed'}.", "not_the_api", 200), False
            )
        reader, assembly = SseReader(), Assembly(request_id)
        course.assembly = assembly
        async for piece in response.aiter_bytes():
            for event in reader.feed(piece):
                if (happening := assembly.take(event.data)) is not None:
                    yield happening
                if assembly.is_finished:
                    return
        for event in reader.close():
            if (happening := assembly.take(event.data)) is not None:
                yield happening
        if assembly.is_finished:
            return
        if not assembly.has_stopped:
            raise FailedTry(failed("The stream broke off.", "connection"), True)
        yield assembly.finish()  # some servers leave message_stop out

    async def _whole(self, path: str, prepared: Prepared, limit: float) -> tuple[Json, str]:
        """The JSON of an answer without a stream, and the id of the request."""
        try:
            async with asyncio.timeout(limit), self._post(path, prepared, stream=False, limit=limit) as response:
                body = await response.aread()
        except httpx.RequestError as error:
            raise _lost(error, self.endpoint) from None
        except TimeoutError:
            raise FailedTry(failed(f"No answer within {limit:g} s.", "timeout"), True) from None
        if response.status_code != 200:
            raise answered(response.status_code, response.headers, body)
        return _message(body), response.headers.get("request-id", "")

    def _post(
        self, path: str, prepared: Prepared, stream: bool, limit: float | None = None
    ) -> AbstractAsyncContextManager[httpx.Response]:
        body = {**prepared.body, "stream": True} if stream else prepared.body
        timeout = httpx.Timeout(limit or self.retry.idle, connect=self.retry.connect, pool=None)
        headers = self.endpoint.head(prepared.betas)
        return self._http.stream(
            "POST", self.endpoint.url(path), content=encode(body), headers=headers, timeout=timeout
        )


def _replayed(data: Json, request_id: str) -> Iterator[Happening]:
    """A whole message as the happenings of a stream."""
    yield ReplyStarted({**data, "content": []}, request_id)
    reply = ApiReply(data, request_id)
    yield from (BlockComplete(index, block) for index, block in enumerate(reply.content))
    yield ReplyFinished(reply)


def _message(body: bytes) -> Json:
    try:
        data = decode(body)
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise FailedTry(failed("The server's answer is not JSON.", "not_the_api", 200), False)
    if data.get("type") == "error":
        raise reported(error_of(data))
    return data


def _interrupted(error: httpx.RequestError | StreamError | TooLong, endpoint: Endpoint) -> FailedTry:
    """What it means that a stream ended otherwise than by its end."""
    if isinstance(error, httpx.RequestError):
        return _lost(error, endpoint)
    return reported(error if isinstance(error, StreamError) else StreamError(str(error), "protocol"))


def _lost(error: httpx.RequestError, endpoint: Endpoint) -> FailedTry:
    """What an error of the transport means."""
    if isinstance(error, httpx.ReadTimeout):
        return FailedTry(failed(f"{endpoint.base} fell silent.", "idle"), True)
    if isinstance(error, httpx.TimeoutException):
        return FailedTry(failed(f"{endpoint.base} cannot be reached in time.", "timeout"), True)
    if isinstance(error, httpx.ConnectError):
        is_transient = "CERTIFICATE_VERIFY_FAILED" not in str(error)
        return FailedTry(failed(f"{endpoint.base} cannot be reached: {error}", "connection"), is_transient)
    if isinstance(error, httpx.TransportError):
        return FailedTry(failed(f"The connection to {endpoint.base} was lost: {error}", "connection"), True)
    return FailedTry(failed(f"The answer of {endpoint.base} cannot be read: {error}", "protocol"), True)
