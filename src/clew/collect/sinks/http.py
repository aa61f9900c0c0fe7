"""Send batches of records in a JSON envelope over HTTP, compressed with gzip.

{"clew": 1, "source": "claude_code", "host": …, "first": 17, "last": 42, "records": [{…}, …]}

`host`, `first` and `last` identify a batch and are its `Idempotency-Key`. A response of 200 to 299 accepts it. 408,
425, 429, 500 to 599 or no response mean that it is sent again later; 400, 413 and 422 that a record in it cannot be
accepted; any other that this sender cannot deliver here. Redirects are not followed.
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

_RETRY_STATUS = (408, 425, 429)
_POISON_STATUS = (400, 413, 422)
_TIMEOUT = 10.0
_VERSION = 1
_NO_HEADERS: Mapping[str, str] = {}


class _Unavailable(StoreError):
    """The server is down or busy; `retry_after` is the number of seconds that it asked to wait."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message, "unavailable", True)
        self.retry_after = retry_after


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, so that records are only sent to the configured server."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        return None


class HttpPoster:
    """Posts gzip-compressed bodies to one address, with a token if there is one."""

    def __init__(
        self,
        address: str,
        type: str,
        token: str = "",
        timeout: float = _TIMEOUT,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> None:
        self.name = _public_name(address, bool(token or headers))
        self.address = address
        self.timeout = timeout
        self._headers = {
            "Content-Type": type,
            "Content-Encoding": "gzip",
            "User-Agent": f"clew/{__version__}",
            **({"Authorization": f"Bearer {token}"} if token else {}),
            **headers,
        }
        self._opener = urllib.request.build_opener(_NoRedirects)

    def send(self, body: bytes, **headers: str) -> bytes:
        """Post a body and return the response. Raises StoreError."""
        packed = gzip.compress(body, 6, mtime=0)
        request = urllib.request.Request(self.address, packed, {**self._headers, **headers}, method="POST")
        try:
            with self._opener.open(request, timeout=self.timeout) as response:
                return bytes(response.read())
        except urllib.error.HTTPError as error:
            with error:
                raise self._status_error(error) from None
        except (OSError, http.client.HTTPException) as error:
            raise _Unavailable(f"{self.name} does not answer: {error}.") from None

    def _status_error(self, error: urllib.error.HTTPError) -> StoreError:
        message = f"{self.name} answered {error.code} {error.reason}."
        if error.code in _RETRY_STATUS or error.code >= 500:
            return _Unavailable(message, _parse_seconds(error.headers.get("Retry-After")))
        return StoreError(message, POISON if error.code in _POISON_STATUS else "refused", False)

    def close(self) -> None:
        self._opener.close()


class HttpSink:
    """Posts records in envelopes."""

    leaves = True

    def __init__(self, address: str, token: str = "", timeout: float = _TIMEOUT) -> None:
        self._post = HttpPoster(address, "application/json", token, timeout)
        self.name = self._post.name

    def write(self, records: Sequence[Record]) -> None:
        host, first, last = records[0].host, records[0].seq, records[-1].seq
        envelope = {"clew": _VERSION, "source": "claude_code", "host": host, "first": first, "last": last}
        body = encode({**envelope, "records": [record.to_json() for record in records]})
        self._post.send(body, **{"Idempotency-Key": f"{host}-{first}-{last}"})

    def probe(self) -> None:
        """Post an envelope without records. Raises StoreError."""
        self._post.send(encode({"clew": _VERSION, "source": "claude_code", "records": []}))

    def close(self) -> None:
        self._post.close()


def _public_name(address: str, has_token: bool) -> str:
    """Return the address as it may be shown and stored: without the query, which may contain keys.

    Raises StoreError for an address with credentials, or if a token would be sent unencrypted.
    """
    parts = urlsplit(address)
    if parts.username or parts.password:
        raise StoreError(
            f"The address of {parts.hostname} contains a user name or a password.",
            "refused",
            False,
            hint="Remove it and use --token-file.",
        )
    if has_token and not is_protected(address):
        raise StoreError(f"The token would be sent to {parts.hostname} unencrypted.", "refused", False, hint=HINT)
    return parts._replace(query="", fragment="").geturl()


def _parse_seconds(text: str | None) -> float | None:
    return float(text) if text and text.isdigit() else None
