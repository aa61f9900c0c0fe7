"""Sign requests to S3 and to stores that speak its protocol (AWS Signature Version 4), without a library."""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import quote

_ALGORITHM = "AWS4-HMAC-SHA256"
_UNESCAPED = "-_.~"


class S3Credentials(NamedTuple):
    """A key, its secret, and the token of a temporary one."""

    key: str
    secret: str
    token: str = ""


def escape_path(path: str) -> str:
    """Return a path as it is signed and sent."""
    return quote(path, safe=f"/{_UNESCAPED}")


def escape_query(parameters: Mapping[str, str]) -> str:
    """Return a query as it is signed and sent."""
    return "&".join(
        f"{quote(name, safe=_UNESCAPED)}={quote(value, safe=_UNESCAPED)}" for name, value in sorted(parameters.items())
    )


class RequestSigner:
    """Signs requests for one region."""

    def __init__(self, credentials: S3Credentials, region: str, clock: Callable[[], float] = time.time) -> None:
        self.credentials = credentials
        self.region = region
        self.clock = clock

    def sign(
        self, method: str, host: str, path: str, query: str, body: bytes, headers: Mapping[str, str]
    ) -> dict[str, str]:
        """Return the headers of a request with its signature. `path` and `query` are escaped already."""
        now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(self.clock()))
        digest = sha256(body).hexdigest()
        signed = {name.lower(): value for name, value in headers.items()}
        signed |= {"host": host, "x-amz-date": now, "x-amz-content-sha256": digest}
        if self.credentials.token:
            signed["x-amz-security-token"] = self.credentials.token
        names = ";".join(sorted(signed))
        canonical = "".join(f"{name}:{signed[name].strip()}\n" for name in sorted(signed))
        request = f"{method}\n{path}\n{query}\n{canonical}\n{names}\n{digest}"
        scope = f"{now[:8]}/{self.region}/s3/aws4_request"
        text = f"{_ALGORITHM}\n{now}\n{scope}\n{sha256(request.encode()).hexdigest()}"
        signature = hmac.new(self._key(now[:8]), text.encode(), sha256).hexdigest()
        credential = f"Credential={self.credentials.key}/{scope}"
        signed["authorization"] = f"{_ALGORITHM} {credential}, SignedHeaders={names}, Signature={signature}"
        return signed

    def _key(self, day: str) -> bytes:
        key = f"AWS4{self.credentials.secret}".encode()
        for part in (day, self.region, "s3", "aws4_request"):
            key = hmac.new(key, part.encode(), sha256).digest()
        return key
