"""Servers like Amazon Bedrock and Google Vertex, on loopback: they check who asks, and answer in their own form.

Signatures are checked by the rules of AWS (SigV4), written here once more; tokens by the key of the service account.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import crypt, jwt

from tests.oracle.mock_api import events, text

ACCESS, SECRET, SESSION = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG", "session-token"
TOKEN = "bearer-key"
REGION = "eu-west-1"


@dataclass(frozen=True)
class Failing:
    """An error answer: of HTTP, or inside the stream if it has no status."""

    status: int
    kind: str
    message: str = "It went wrong."


@dataclass
class CloudServer:
    """What a server answers (used up in order, then a message), and what it was asked."""

    url: str = ""
    answers: list[Any] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    is_damaged: bool = False  # the first stream has a wrong checksum
    tokens: int = 0  # given by the server of tokens
    public_key: str = ""
    lifetime: int = 3600  # seconds of a token
    is_open: bool = False  # no token is needed


MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-5-5",
    "content": [text("Hello from the cloud.")],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 10, "output_tokens": 5},
}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    @property
    def made(self) -> CloudServer:
        found: CloudServer = self.server.made
        return found

    def answer(self, status: int, data: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"content_type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def take(self) -> bytes:
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def note(self, data: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.made.asked.append({"path": self.path, "headers": headers, "body": json.loads(data or b"{}")})


# -- Bedrock


class _Bedrock(_Handler):
    def do_POST(self) -> None:
        data = self.take()
        self.note(data)
        if refusal := self._reject(data):
            self._fail(refusal)
            return
        following = self.made.answers.pop(0) if self.made.answers else None
        if isinstance(following, Failing) and following.status:
            self._fail(following)
        elif self.path.endswith("/invoke"):
            self.answer(200, json.dumps(MESSAGE).encode())
        else:
            stream = b"".join(map(_chunk, events(MESSAGE)))
            if isinstance(following, Failing):
                stream = _chunk(next(events(MESSAGE))) + _frame(
                    {":message-type": "exception", ":exception-type": following.kind},
                    json.dumps({"message": following.message}).encode(),
                )
            if self.made.is_damaged:
                self.made.is_damaged, stream = False, stream[:-2] + b"\x00\x00"
            self.answer(200, stream, content_type="application/vnd.amazon.eventstream")

    def _reject(self, data: bytes) -> Failing | None:
        given = self.headers.get("authorization", "")
        if given == f"Bearer {TOKEN}":
            return None
        if self.headers.get("x-amz-security-token") not in (None, SESSION):
            return Failing(403, "ExpiredTokenException", "The security token included in the request is expired")
        if not given.startswith(f"AWS4-HMAC-SHA256 Credential={ACCESS}/"):
            return Failing(403, "UnrecognizedClientException", "The security token included in the request is invalid.")
        if given.rpartition("Signature=")[2] != _signature(self, data, given):
            return Failing(403, "InvalidSignatureException", "The request signature we calculated does not match")
        return None

    def _fail(self, failing: Failing) -> None:
        body = json.dumps({"message": failing.message}).encode()
        self.answer(failing.status, body, x_amzn_ErrorType=f"{failing.kind}:http://internal/")


def _signature(request: BaseHTTPRequestHandler, data: bytes, given: str) -> str:
    """The signature that a request must have, by the rules of AWS."""
    scope = given.partition("/")[2].partition(",")[0]  # date/region/service/aws4_request
    names = given.partition("SignedHeaders=")[2].partition(",")[0].split(";")
    headers = "".join(f"{name}:{' '.join(request.headers[name].split())}\n" for name in names)
    path = quote(request.path, safe="/~-._")
    digest = hashlib.sha256(data).hexdigest()
    canonical = "\n".join(("POST", path, "", headers, ";".join(names), digest))
    parts = ("AWS4-HMAC-SHA256", request.headers["x-amz-date"], scope, hashlib.sha256(canonical.encode()).hexdigest())
    key = f"AWS4{SECRET}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    assert scope.split("/")[1:] == [REGION, "bedrock", "aws4_request"]
    return hmac.new(key, "\n".join(parts).encode(), hashlib.sha256).hexdigest()


def _chunk(event: Mapping[str, Any]) -> bytes:
    payload = json.dumps({"bytes": base64.b64encode(json.dumps(event).encode()).decode(), "p": "abc"}).encode()
    return _frame({":message-type": "event", ":event-type": "chunk", ":content-type": "application/json"}, payload)


def _frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    """One message of AWS's event stream: lengths, checksum, headers, payload, checksum."""
    coded = b"".join(
        struct.pack(">B", len(name)) + name.encode() + struct.pack(">BH", 7, len(value)) + value.encode()
        for name, value in headers.items()
    )
    start = struct.pack(">II", 16 + len(coded) + len(payload), len(coded))
    start += struct.pack(">I", binascii.crc32(start))
    whole = start + coded + payload
    return whole + struct.pack(">I", binascii.crc32(whole))


# -- Vertex


class _Vertex(_Handler):
    def do_POST(self) -> None:
        data = self.take()
        if self.path == "/token":
            self._give_token(data)
            return
        self.note(data)
        if not self.made.is_open and self.headers.get("authorization") != f"Bearer token-{self.made.tokens}":
            self._fail(Failing(401, "UNAUTHENTICATED", "Request had invalid authentication credentials."))
            return
        following = self.made.answers.pop(0) if self.made.answers else None
        if isinstance(following, Failing):
            self._fail(following)
        elif self.path.endswith(":rawPredict"):
            self.answer(200, json.dumps(MESSAGE).encode())
        else:
            lines = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events(MESSAGE))
            self.answer(200, lines.encode(), content_type="text/event-stream")

    def _give_token(self, data: bytes) -> None:
        assertion = parse_qs(data.decode())["assertion"][0]
        claims = jwt.decode(assertion, certs=self.made.public_key, audience="https://oauth2.googleapis.com/token")
        assert claims["scope"] == "https://www.googleapis.com/auth/cloud-platform"
        self.made.tokens += 1
        answer = {"access_token": f"token-{self.made.tokens}", "expires_in": self.made.lifetime, "token_type": "Bearer"}
        self.answer(200, json.dumps(answer).encode())

    def _fail(self, failing: Failing) -> None:
        error = {"code": failing.status, "message": failing.message, "status": failing.kind}
        self.answer(failing.status, json.dumps([{"error": error}]).encode())


def service_account(folder: Path, made: CloudServer) -> Path:
    """The file of a service account whose tokens the server gives."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    made.public_key = public.decode()
    assert crypt.RSAVerifier.from_string(public)
    account = {
        "type": "service_account",
        "project_id": "proj-1",
        "private_key_id": "1",
        "private_key": private.decode(),
        "client_email": "clew@proj-1.iam.gserviceaccount.com",
        "token_uri": f"{made.url}/token",
    }
    path = folder / "account.json"
    path.write_text(json.dumps(account))
    return path


@contextmanager
def cloud_server(kind: str, *answers: Any) -> Iterator[CloudServer]:
    """A server like `bedrock` or `vertex` that gives these answers first."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), {"bedrock": _Bedrock, "vertex": _Vertex}[kind])
    server.daemon_threads = True
    made = CloudServer(f"http://127.0.0.1:{server.server_address[1]}", list(answers))
    server.made = made  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
