"""A landing zone in an object store that speaks the protocol of S3.

A host needs the right to put objects under its prefix and no other: not to list, not to read, not to delete.
"""

from __future__ import annotations

import http.client
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit
from xml.etree import ElementTree

from clew.collect.landing.folder_zone import ZoneObject
from clew.collect.landing.object_codec import MAX_BYTES
from clew.collect.landing.object_name import ASIDE
from clew.collect.landing.s3_signature import RequestSigner, S3Credentials, escape_path, escape_query
from clew.errors import StoreError
from clew.system.credential_transport import HINT, is_protected
from clew.version import __version__

_SCHEME = "landing+"
_TIMEOUT = 30.0
_DELETERS = 8  # concurrent requests
_EXISTS, _UNSUPPORTED = 412, (400, 501)
_HINTS = {
    "denied": "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or pass a file with KEY:SECRET with --token-file.",
    "missing": "Create the bucket, or correct the address.",
}


class _Reply(NamedTuple):
    status: int
    body: bytes


class S3Zone:
    """A zone in a bucket."""

    def __init__(self, address: str, secret: str, environment: Mapping[str, str]) -> None:
        parts = urlsplit(address.removeprefix(_SCHEME))
        parameters = dict(parse_qsl(parts.query))
        self.bucket = parts.netloc
        self.prefix = f"{parts.path.strip('/')}/".removeprefix("/")
        region = parameters.get("region") or environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION", "")
        endpoint = parameters.get("endpoint") or environment.get("AWS_ENDPOINT_URL", "")
        self.name = f"{_SCHEME}s3://{self.bucket}/{self.prefix}".rstrip("/") + (
            f"?endpoint={endpoint}" if endpoint else ""
        )
        self._signer = RequestSigner(self._credentials(secret, environment), region or "us-east-1")
        place = urlsplit(endpoint or f"https://{self.bucket}.s3.{region or 'us-east-1'}.amazonaws.com")
        if not is_protected(place.geturl()):
            raise StoreError(f"The key would be used at {place.hostname} unencrypted.", "refused", False, hint=HINT)
        self._is_encrypted = place.scheme == "https"
        self._host = place.netloc
        self._base = f"/{self.bucket}/" if endpoint else "/"
        self._idle: list[http.client.HTTPConnection] = []
        self._can_be_conditional = True

    def _credentials(self, secret: str, environment: Mapping[str, str]) -> S3Credentials:
        key, mark, secret_key = secret.partition(":")
        if mark:
            return S3Credentials(key, secret_key)
        names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
        found = S3Credentials(*(environment.get(name, "") for name in names))
        if not found.key or not found.secret:
            raise StoreError(f"{self.name} needs a key.", "denied", False, hint=_HINTS["denied"])
        return found

    def put(self, key: str, body: bytes) -> None:
        condition = {"If-None-Match": "*"} if self._can_be_conditional else {}
        reply = self._request("PUT", key, body, headers=condition)
        if condition and reply.status in _UNSUPPORTED:
            self._can_be_conditional = False
            reply = self._request("PUT", key, body)
        if reply.status != _EXISTS:
            self._check(reply)

    def list_objects(self, prefix: str = "host=") -> Iterator[ZoneObject]:
        more = ""
        while True:
            query = {"list-type": "2", "prefix": f"{self.prefix}{prefix}", "max-keys": "1000"}
            reply = self._request("GET", query=query | ({"continuation-token": more} if more else {}))
            page = self._parse(self._check(reply))
            for each in page.iter("Contents"):
                yield ZoneObject(str(each.findtext("Key")).removeprefix(self.prefix), int(each.findtext("Size") or 0))
            more = page.findtext("NextContinuationToken") or ""
            if page.findtext("IsTruncated") != "true" or not more:
                return

    def _parse(self, body: bytes) -> ElementTree.Element:
        """Return an answer without the namespace of its elements, which differs between stores."""
        try:
            root = ElementTree.fromstring(body)
        except ElementTree.ParseError as error:
            raise StoreError(f"{self.name} answered something that is not XML: {error}.", "other", True) from None
        for element in root.iter():
            element.tag = element.tag.rpartition("}")[2]
        return root

    def get(self, key: str) -> bytes:
        reply = self._request("GET", key)
        if reply.status == http.client.NOT_FOUND:  # another ingester was first
            raise StoreError(f"{self.name} no longer has {key}.", "missing", True)
        return self._check(reply)

    def delete(self, keys: Iterable[str]) -> None:
        with ThreadPoolExecutor(_DELETERS) as pool:
            list(pool.map(self._delete, keys))

    def _delete(self, key: str) -> None:
        reply = self._request("DELETE", key)
        if reply.status != http.client.NOT_FOUND:
            self._check(reply)

    def set_aside(self, key: str) -> None:
        source = escape_path(f"/{self.bucket}/{self.prefix}{key}")
        reply = self._request("PUT", f"{ASIDE}/{key}", headers={"x-amz-copy-source": source})
        if reply.status != http.client.NOT_FOUND:  # another ingester was first
            self._check(reply)
            self._delete(key)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _request(
        self,
        method: str,
        key: str = "",
        body: bytes = b"",
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> _Reply:
        path = escape_path(f"{self._base}{self.prefix}{key}" if key else self._base)
        text = escape_query(query or {})
        signed = self._signer.sign(method, self._host, path, text, body, headers or {})
        signed["user-agent"] = f"clew/{__version__}"
        try:
            return self._send(method, f"{path}?{text}" if text else path, body, signed)
        except (OSError, http.client.HTTPException) as error:
            raise StoreError(f"{self.name} does not answer: {error}.", "unavailable", True) from None

    def _send(self, method: str, target: str, body: bytes, headers: Mapping[str, str]) -> _Reply:
        """Send over an idle connection; if the server has closed it meanwhile, over a new one."""
        for connection in (*self._take_idle(), self._connect()):
            try:
                connection.request(method, target, body, headers)
                with connection.getresponse() as response:
                    reply = _Reply(response.status, response.read(MAX_BYTES))
                self._idle.append(connection)
                return reply
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                failure = error
        raise failure

    def _take_idle(self) -> list[http.client.HTTPConnection]:
        try:
            return [self._idle.pop()]
        except IndexError:
            return []

    def _connect(self) -> http.client.HTTPConnection:
        """Return a connection that opens when it is used."""
        make = http.client.HTTPSConnection if self._is_encrypted else http.client.HTTPConnection
        return make(self._host, timeout=_TIMEOUT)

    def _check(self, reply: _Reply) -> bytes:
        if reply.status < 300:
            return reply.body
        code = self._parse(reply.body).findtext("Code") if reply.body.lstrip().startswith(b"<") else None
        said = f"{reply.status} {code or http.client.responses.get(reply.status, '')}".strip()
        if reply.status in (401, 403):
            raise StoreError(f"{self.name} does not allow this ({said}).", "denied", False, hint=_HINTS["denied"])
        if reply.status == http.client.NOT_FOUND:
            raise StoreError(f"{self.name} has no such bucket or object.", "missing", False, hint=_HINTS["missing"])
        is_busy = reply.status >= 500 or reply.status in (408, 409, 429)
        raise StoreError(f"{self.name} answered {said}.", "unavailable" if is_busy else "refused", is_busy)
