"""Failures: what a bad answer means, whether to ask again, and how long to wait before that.

    status or cause                                    asked again
    408, 409, 429, 529, every 5xx                      yes, up to `tries`
    400, 401, 403, 404, 413 and every other 4xx        no: the cause would be the same
    no connection, a dropped one, silence, a timeout   yes
    an event that reports overload or a server's fault yes, the first time without a stream
    garbage in the stream                              yes
    an answer that is not the Messages API's           no
    x-should-retry: true or false                      as it says, whatever the status

A wait is 0.5 · 2^(n-1) s for the n-th repetition, at most 32 s, and up to a quarter more by chance; `retry-after` counts
instead if the server sends it. One that is longer than the user's patience is a failure at once.
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
_AGAIN = (408, 409, 429)
_TRANSIENT = ("overloaded_error", "api_error", "rate_limit_error", "timeout_error", "protocol")
_OVERFLOW = re.compile(r"prompt is too long(?::\s*(\d+) tokens > (\d+))?", re.IGNORECASE)

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
    "authentication_error": "Look whether ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN is right.",
    "permission_error": "This key may not do that: look at its workspace and its models.",
    "not_found_error": "Look whether the model and the address of the server are right.",
    TOO_LONG: "Make the conversation shorter: compact it, or trim large results.",
    "rate_limit_error": "Wait, or ask less at once.",
    OVERLOADED: "Try again later, or with another model.",
    "connection": "Look whether the server is up and its address is right.",
    "timeout": "Try again, or allow more time.",
    "idle": "Try again; the server fell silent.",
    "not_the_api": "Look whether the address is that of a Messages API, without /v1/messages.",
    "protocol": "Try again; the server or a proxy before it garbled the answer.",
}


class Retry(Struct, frozen=True):
    """How often and how patiently to ask again. `timeout` is for a whole answer without a stream and grows by try."""

    tries: int = 10  # repetitions, after the first try
    base: float = 0.5
    cap: float = 32.0
    spread: float = 0.25
    patience: float = 300.0
    overloads: int = 3  # in a row, before the fallback model is asked
    timeout: float = 600.0
    growth: float = 1.5
    idle: float = 300.0  # seconds without a byte
    connect: float = 15.0

    def wait(self, number: int, error: ApiError, chance: Callable[[], float]) -> float | None:
        """Seconds to wait before the n-th repetition; None if it is not worth waiting."""
        if number > self.tries:
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.patience else None
        return float(min(self.base * 2 ** (number - 1), self.cap) * (1 + self.spread * chance()))

    def limit(self, number: int) -> float:
        """Seconds that the n-th try may take."""
        return float(self.timeout * self.growth ** (number - 1))


class FailedTry(Exception):
    """One try that failed; `is_transient` if another may not."""

    def __init__(self, error: ApiError, is_transient: bool, is_reported: bool = False) -> None:
        super().__init__(str(error))
        self.error = error
        self.is_transient = is_transient
        self.is_reported = is_reported  # by an event of the stream


def answered(status: int, headers: Mapping[str, str], body: bytes) -> FailedTry:
    """What an answer with a bad status means."""
    kind, message = _told(body)
    kind = kind or _KINDS.get(status, "api_error" if status >= 500 else "invalid_request_error")
    if status == 413 or (status == 400 and _OVERFLOW.search(message)):
        kind = TOO_LONG
    message = message or f"The server answered {status}."
    error = failed(message, kind, status, _retry_after(headers))
    wish = headers.get("x-should-retry", "").lower()
    is_transient = wish == "true" if wish in ("true", "false") else status in _AGAIN or status >= 500
    return FailedTry(error, is_transient)


def reported(error: StreamError) -> FailedTry:
    """What an error inside the stream means."""
    kind = TOO_LONG if _OVERFLOW.search(str(error)) else error.kind
    return FailedTry(failed(str(error), kind), kind in _TRANSIENT, is_reported=kind != "protocol")


def failed(message: str, kind: str, status: int | None = None, retry_after: float | None = None) -> ApiError:
    sentence = message if message.endswith((".", "!", "?")) else f"{message}."
    error = ApiError(sentence, kind, status, retry_after)
    error.hint = _HINTS.get(kind, "")
    return error


def overflow(error: ApiError) -> tuple[int, int] | None:
    """How many tokens the prompt has and how many it may have, if the API said so."""
    found = _OVERFLOW.search(str(error))
    return (int(found[1]), int(found[2])) if found and found[1] else None


def _told(body: bytes) -> tuple[str, str]:
    """The kind and the message of an answer, in the forms that servers use; a page of a proxy has neither."""
    try:
        data: Any = decode(body)
    except ValueError:
        return "", ""
    error = data.get("error") if isinstance(data, dict) else None
    if isinstance(error, dict):
        return str(error.get("type") or ""), str(error.get("message") or "")
    if isinstance(data, dict):
        return "", str(error or data.get("message") or data.get("detail") or "")
    return "", ""


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The wait that the server asks for, in seconds; a date counts from the server's own."""
    if exact := _number(headers.get("retry-after-ms", "")):
        return exact / 1000
    told = headers.get("retry-after", "")
    if (seconds := _number(told)) is not None:
        return seconds
    try:
        until = parsedate_to_datetime(told)
        return max(0.0, (until - parsedate_to_datetime(headers.get("date", ""))).total_seconds())
    except (TypeError, ValueError):
        return None


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if 0 <= found < 1e9 else None
