"""A sink behind HTTP: batches in an envelope, packed with gzip.

    {"clew": 1, "source": "claude_code", "host": …, "first": 17, "last": 42, "records": [{…}, …]}

`host`, `first` and `last` name a batch, and are its `Idempotency-Key` too. An answer of 200 to 299 accepts it. 408, 425, 429
and 500 to 599, or none at all, mean later; 400, 413 and 422 mean that a record in it cannot be taken; all others that this
sender cannot deliver here. Nothing is followed elsewhere.
"""

from __future__ import annotations

import gzip
import http.client
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import IO, Any
from urllib.parse import urlsplit

from clew.collect.sinks.outbox import POISON
from clew.collect.sinks.record import Record
from clew.errors import StoreError
from clew.system.credential_transport import HINT, is_protected
from clew.version import __version__
from clew.wire.json_codec import encode

_LATER = (408, 425, 429)
_UNTAKEN = (400, 413, 422)
_TIMEOUT = 10.0
_VERSION = 1
_NONE: Mapping[str, str] = {}


class _Unavailable(StoreError):
    """The other side is down or busy; `retry_after` is how long it asked to be left alone."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message, "unavailable", True)
        self.retry_after = retry_after


class _Stay(urllib.request.HTTPRedirectHandler):
    """Secrets are masked, and still nobody else is sent what was meant for one."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        return None


class HttpPost:
    """Posts to one address, packed with gzip, and with a token if there is one."""

    def __init__(
        self, address: str, type: str, token: str = "", timeout: float = _TIMEOUT, headers: Mapping[str, str] = _NONE
    ) -> None:
        self.name = _name(address, bool(token or headers))
        self.address = address
        self.timeout = timeout
        self._headers = {
            "Content-Type": type,
            "Content-Encoding": "gzip",
            "User-Agent": f"clew/{__version__}",
            **({"Authorization": f"Bearer {token}"} if token else {}),
            **headers,
        }
        self._opener = urllib.request.build_opener(_Stay)

    def send(self, body: bytes, **headers: str) -> bytes:
        """What was answered. Raises StoreError."""
        packed = gzip.compress(body, 6, mtime=0)
        request = urllib.request.Request(self.address, packed, {**self._headers, **headers}, method="POST")
        try:
            with self._opener.open(request, timeout=self.timeout) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error) from None
        except (OSError, http.client.HTTPException) as error:
            raise _Unavailable(f"{self.name} does not answer: {error}.") from None

    def _refusal(self, error: urllib.error.HTTPError) -> StoreError:
        said = f"{self.name} answered {error.code} {error.reason}."
        if error.code in _LATER or error.code >= 500:
            return _Unavailable(said, _seconds(error.headers.get("Retry-After")))
        return StoreError(said, POISON if error.code in _UNTAKEN else "refused", False)

    def close(self) -> None:
        self._opener.close()


class HttpSink:
    """Posts envelopes."""

    leaves = True

    def __init__(self, address: str, token: str = "", timeout: float = _TIMEOUT) -> None:
        self._post = HttpPost(address, "application/json", token, timeout)
        self.name = self._post.name

    def write(self, records: Sequence[Record]) -> None:
        host, first, last = records[0].host, records[0].seq, records[-1].seq
        envelope = {"clew": _VERSION, "source": "claude_code", "host": host, "first": first, "last": last}
        body = encode({**envelope, "records": [each.to_json() for each in records]})
        self._post.send(body, **{"Idempotency-Key": f"{host}-{first}-{last}"})

    def close(self) -> None:
        self._post.close()


def _name(address: str, has_token: bool) -> str:
    """The address as it may be shown and kept: without what stands behind a question mark, where keys are given."""
    parts = urlsplit(address)
    if parts.username or parts.password:
        refused = StoreError(f"The address of {parts.hostname} holds a name or a password.", "refused", False)
        refused.hint = "Leave it out, and use --token-file."
        raise refused
    if has_token and not is_protected(address):
        refused = StoreError(f"The token would be sent to {parts.hostname} in the clear.", "refused", False)
        refused.hint = HINT
        raise refused
    return parts._replace(query="", fragment="").geturl()


def _seconds(text: str | None) -> float | None:
    return float(text) if text and text.isdigit() else None
