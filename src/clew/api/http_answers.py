"""Decode the answers of servers, and classify those that cannot be used."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from clew.api.endpoint import Endpoint
from clew.api.retry import NOT_THE_API, FailedTry, api_error, classify_stream_error, not_the_api
from clew.api.sse import EventTooLong
from clew.api.stream_assembly import (
    ApiReply,
    BlockComplete,
    ReplyEvent,
    ReplyFinished,
    ReplyStarted,
    StreamError,
    error_of,
)
from clew.wire.json_codec import Json, decode

if TYPE_CHECKING:
    import httpx


def message_events(data: Json, request_id: str) -> Iterator[ReplyEvent]:
    """Yield a complete message as the events of a stream."""
    yield ReplyStarted({**data, "content": []}, request_id)
    reply = ApiReply(data, request_id)
    yield from (BlockComplete(index, block) for index, block in enumerate(reply.content))
    yield ReplyFinished(reply)


def decode_json(body: bytes, response: httpx.Response) -> Json:
    try:
        data = decode(body)
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise not_the_api(str(response.url), "answered with something else than JSON")
    if data.get("type") == "error":
        raise classify_stream_error(error_of(data))
    return data


def decode_message(body: bytes, response: httpx.Response) -> Json:
    return check_message(decode_json(body, response), str(response.url))


def check_message(data: Json, address: str) -> Json:
    """Return a message. Raises FailedTry if it is none."""
    if not isinstance(data.get("content"), list):
        what = "a chat completion of the OpenAI API" if "choices" in data else "JSON that is no message"
        raise not_the_api(address, f"answered with {what}")
    return data


def read_request_id(response: httpx.Response) -> str:
    return str(response.headers.get("request-id") or response.headers.get("x-amzn-requestid") or "")


def stream_failure(error: httpx.RequestError | StreamError | EventTooLong, endpoint: Endpoint) -> FailedTry:
    """Classify a stream that did not end regularly."""
    if isinstance(error, StreamError):
        failure = classify_stream_error(error)
        return not_the_api(endpoint.base, "sent a stream of the OpenAI API") if error.kind == NOT_THE_API else failure
    if isinstance(error, EventTooLong):
        return classify_stream_error(StreamError(str(error), "protocol"))
    return transport_failure(error, endpoint)


_SYSTEM_ERROR = re.compile(r"\[Errno (-?\d+)\] *(.*)", re.DOTALL)


def _connect_reason(error: httpx.ConnectError) -> str:
    """Return why a connection failed, in the words of the system without its number: `Connection refused`."""
    found = _SYSTEM_ERROR.fullmatch(str(error))
    if found is None:
        return str(error)
    number = int(found[1])
    return os.strerror(number) if number in errno.errorcode else found[2]  # name servers have numbers of their own


def transport_failure(error: httpx.RequestError, endpoint: Endpoint) -> FailedTry:
    """Classify a transport error."""
    import httpx  # clew.api.client says what to do if it is missing

    if isinstance(error, httpx.ReadTimeout):
        return FailedTry(api_error(f"{endpoint.base} stopped responding.", "idle"), True)
    if isinstance(error, httpx.TimeoutException):
        return FailedTry(api_error(f"{endpoint.base} cannot be reached in time.", "timeout"), True)
    if isinstance(error, httpx.ConnectError):
        is_transient = "CERTIFICATE_VERIFY_FAILED" not in str(error)
        reason = _connect_reason(error)
        return FailedTry(api_error(f"{endpoint.base} cannot be reached: {reason}", "connection"), is_transient)
    if isinstance(error, httpx.TransportError):
        return FailedTry(api_error(f"The connection to {endpoint.base} was lost: {error}", "connection"), True)
    return FailedTry(api_error(f"The answer of {endpoint.base} cannot be read: {error}", "protocol"), True)
