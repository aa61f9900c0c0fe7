"""Classify failures of the API: what they mean, whether to retry, and how long to wait.

status or cause                                    retried
    408, 409, 429, 529, every 5xx                      yes, up to `tries`
    400, 401, 403, 404, 413 and every other 4xx        no: the cause would be the same
    no connection, a dropped one, silence, a timeout   yes
    an event that reports overload or a server fault   yes, the first time without a stream
    garbage in the stream                              yes
    an answer that is not the Messages API's           no
    x-should-retry: true or false                      as it says, for any status

The wait before the n-th repetition is 0.5 · 2^(n-1) s, at most 32 s, plus up to a quarter at random: 0.5, 1, 2, 4 … A
`retry-after` header replaces it. A wait longer than the patience of the user is an immediate failure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from msgspec import Struct

from clew.api.stream_assembly import StreamError
from clew.errors import ApiError
from clew.wire.json_codec import decode

TOO_LONG = "too_long"
OVERLOADED = "overloaded_error"
NOT_THE_API = "not_the_api"
_RETRIED_STATUSES = (408, 409, 429)
_TRANSIENT = ("overloaded_error", "api_error", "rate_limit_error", "timeout_error", "protocol")
_OVERFLOW = re.compile(r"(?:prompt|input) is too long", re.IGNORECASE)

_KINDS: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: OVERLOADED,
}
_HINTS: Mapping[str, str] = {
    "authentication_error": "Check ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN.",
    "permission_error": "This key lacks the permission: check its workspace and models.",
    "not_found_error": "Check the model and the address of the server.",
    TOO_LONG: "Shorten the conversation: compact it, or trim large results.",
    "rate_limit_error": "Wait, or send fewer requests at the same time.",
    OVERLOADED: "Try again later, or with another model.",
    "connection": "Check that the server is running and its address is correct.",
    "timeout": "Try again, or allow more time.",
    "idle": "Try again; the server stopped responding.",
    NOT_THE_API: (
        "clew needs a server with POST /v1/messages; the OpenAI API (/v1/chat/completions) is another one. Check "
        "ANTHROPIC_BASE_URL or --base-url (without /v1/messages), or put a proxy such as LiteLLM before the server."
    ),
    "protocol": "Try again; the server or a proxy sent an invalid answer.",
}


class Retry(Struct, frozen=True):
    """Retry policy. `timeout` is for a complete answer without a stream and grows with each try."""

    tries: int = 10  # repetitions, after the first try
    base: float = 0.5
    cap: float = 32.0
    spread: float = 0.25
    patience: float = 300.0
    overloads: int = 3  # in a row, before the fallback model is used
    timeout: float = 600.0
    growth: float = 1.5
    idle: float = 300.0  # seconds without a byte
    connect: float = 15.0

    def wait(self, number: int, error: ApiError, chance: Callable[[], float]) -> float | None:
        """Return the seconds to wait before the n-th repetition; None if there is none."""
        if number > self.tries:
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.patience else None
        return float(min(self.base * 2 ** (number - 1), self.cap) * (1 + self.spread * chance()))

    def limit(self, number: int) -> float:
        """Return the seconds that the n-th try may take."""
        return float(self.timeout * self.growth ** (number - 1))


class FailedTry(Exception):
    """One failed try; `is_transient` if another one can succeed."""

    def __init__(self, error: ApiError, is_transient: bool, is_reported: bool = False) -> None:
        super().__init__(str(error))
        self.error = error
        self.is_transient = is_transient
        self.is_reported = is_reported  # by an event of the stream


def not_the_api(url: str, did: str, status: int = 200) -> FailedTry:
    """Return the failure of a server that does not speak the Messages API: `did` says what it did instead."""
    return FailedTry(api_error(f"{url} {did}: it is not a Messages API.", NOT_THE_API, status), False)


def classify_response(
    status: int, headers: Mapping[str, str], body: bytes, url: str = "", explained: tuple[str, str] | None = None
) -> FailedTry:
    """Classify an answer with an error status. `explained` is the kind and the hint that a cloud platform gives."""
    kind, message, is_api = _parse_error_body(body)
    if explained is None and status in (404, 405) and not is_api and url:
        return not_the_api(url, f"answered {status}" + (f" ({message.rstrip('.')})" if message else ""), status)
    kind = (explained and explained[0]) or kind
    kind = kind or _KINDS.get(status, "api_error" if status >= 500 else "invalid_request_error")
    if status == 413 or (status == 400 and _OVERFLOW.search(message)):
        kind = TOO_LONG
    message = message or (f"{url} answered {status}." if url else f"The server answered {status}.")
    hint = explained[1] if explained and kind != TOO_LONG else ""
    error = api_error(message, kind, status, _retry_after(headers), hint)
    should_retry = headers.get("x-should-retry", "").lower()
    is_transient = (
        should_retry == "true" if should_retry in ("true", "false") else status in _RETRIED_STATUSES or status >= 500
    )
    return FailedTry(error, is_transient)


def classify_stream_error(error: StreamError) -> FailedTry:
    """Classify an error inside the stream."""
    kind = TOO_LONG if _OVERFLOW.search(str(error)) else error.kind
    return FailedTry(api_error(str(error), kind), kind in _TRANSIENT, is_reported=kind != "protocol")


def api_error(
    message: str, kind: str, status: int | None = None, retry_after: float | None = None, hint: str = ""
) -> ApiError:
    """Return an ApiError with a hint, by default that for its kind."""
    sentence = message if message.endswith((".", "!", "?")) else f"{message}."
    return ApiError(sentence, kind, status, retry_after, hint=hint or _HINTS.get(kind, ""))


def _parse_error_body(body: bytes) -> tuple[str, str, bool]:
    """Return the kind and the message of an error body in the forms that servers use, and whether the form is that
    of the Messages API. A proxy's page has neither.
    """
    try:
        data: Any = decode(body)
    except ValueError:
        return "", "", False
    if isinstance(data, list) and data:  # Google puts the error of a stream into a list
        data = data[0]
    error = data.get("error") if isinstance(data, dict) else None
    if isinstance(error, dict):
        return str(error.get("type") or ""), str(error.get("message") or ""), data.get("type") == "error"
    if isinstance(data, dict):
        return "", str(error or data.get("message") or data.get("Message") or data.get("detail") or ""), False
    return "", "", False


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the wait that the server requests, in seconds; a date is relative to the server's own clock."""
    if exact := _parse_number(headers.get("retry-after-ms", "")):
        return exact / 1000
    value = headers.get("retry-after", "")
    if (seconds := _parse_number(value)) is not None:
        return seconds
    try:
        until = parsedate_to_datetime(value)
        return max(0.0, (until - parsedate_to_datetime(headers.get("date", ""))).total_seconds())
    except (TypeError, ValueError):
        return None


def _parse_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None
