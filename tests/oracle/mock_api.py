"""A Messages API on loopback that says what it was told to say, and remembers what it was asked.

    with MockApi([Reply([text("Hello.")]), Reply([tool_use("Bash", command="ls")])]) as api:
        ...                       # point a client at api.url
    api.requests                  # the bodies of POST /v1/messages, in order

Replies are used up in order; when none is left the answer is the text "ok". A request that `scripted` turns
down (a client's side requests: titles, warm-ups) gets "ok" as well and uses nothing up. Ids count the replies
and so are the same in every run.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Json = dict[str, Any]

USAGE: Mapping[str, int] = {
    "input_tokens": 10,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 5,
}


def text(said: str) -> Json:
    return {"type": "text", "text": said}


def thinking(thought: str, signature: str = "bW9jaw==") -> Json:
    return {"type": "thinking", "thinking": thought, "signature": signature}


def tool_use(tool: str, /, **arguments: Any) -> Json:
    """A call without an id: the server gives it one."""
    return {"type": "tool_use", "name": tool, "input": arguments}


@dataclass(frozen=True)
class Reply:
    """One answer. Without a stop reason: `tool_use` if it calls a tool, else `end_turn`."""

    content: list[Json]
    stop_reason: str | None = None
    usage: Mapping[str, Any] = field(default_factory=lambda: dict(USAGE))


@dataclass(frozen=True)
class Received:
    """One request as it came in; header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Json


class MockApi:
    """The server. `received` is every request; `requests` the bodies sent to /v1/messages."""

    def __init__(
        self,
        replies: Iterable[Reply] = (),
        *,
        scripted: Callable[[Json], bool] = lambda body: True,
    ) -> None:
        self.replies = deque(replies)
        self.received: list[Received] = []
        self._scripted = scripted
        self._count = {True: 0, False: 0}
        self._lock = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def requests(self) -> list[Json]:
        with self._lock:
            return [seen.body for seen in self.received if (seen.method, seen.path) == ("POST", "/v1/messages")]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def note(self, received: Received) -> None:
        with self._lock:
            self.received.append(received)

    def message(self, body: Json) -> Json:
        """The whole message that answers this request."""
        with self._lock:
            scripted = self._scripted(body)
            reply = self.replies.popleft() if scripted and self.replies else Reply([text("ok")])
            number = self._count[scripted] = self._count[scripted] + 1
        serial = f"{'01' if scripted else '02'}{number:018d}"
        content = [_identified(block, serial, place) for place, block in enumerate(reply.content)]
        calls = any(block["type"] == "tool_use" for block in content)
        return {
            "id": f"msg_{serial}0000",
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": content,
            "stop_reason": reply.stop_reason or ("tool_use" if calls else "end_turn"),
            "stop_sequence": None,
            "usage": dict(reply.usage),
        }


def events(message: Json) -> Iterator[Json]:
    """The stream that builds up this message."""
    begun = {**message["usage"], "output_tokens": 1}
    yield {
        "type": "message_start",
        "message": {**message, "content": [], "stop_reason": None, "usage": begun},
    }
    for index, block in enumerate(message["content"]):
        start, deltas = _split(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": message["stop_reason"], "stop_sequence": message["stop_sequence"]}
    yield {"type": "message_delta", "delta": end, "usage": message["usage"]}
    yield {"type": "message_stop"}


def _split(block: Json) -> tuple[Json, list[Json]]:
    """A block as it starts, and the deltas that complete it."""
    match block["type"]:
        case "text":
            return {**block, "text": ""}, [{"type": "text_delta", "text": part} for part in _halves(block["text"])]
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": part} for part in _halves(block["thinking"])]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
            return {**block, "thinking": "", "signature": ""}, deltas
        case "tool_use":
            parts = _halves(json.dumps(block["input"], ensure_ascii=False))
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": part} for part in parts]
        case _:
            return block, []


def _halves(whole: str) -> list[str]:
    middle = (len(whole) + 1) // 2
    return [part for part in (whole[:middle], whole[middle:]) if part]


def _identified(block: Json, serial: str, place: int) -> Json:
    if block["type"] != "tool_use" or "id" in block:
        return block
    return {"type": "tool_use", "id": f"toolu_{serial}{place:04d}", **block}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, api: MockApi) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.api = api

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a client may leave when it likes
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: what came in is in `received`."""

    def do_HEAD(self) -> None:
        self._take()
        self._answer(200, {})

    def do_GET(self) -> None:
        self._take()
        self._fail(404, "not_found_error", f"no such path: {self.path}")

    def do_CONNECT(self) -> None:
        """Someone takes this for a proxy: note where they wanted to go, and refuse."""
        self._take()
        self._fail(403, "permission_error", "this is not a proxy")

    def do_POST(self) -> None:
        body = self._take()
        match self.path.partition("?")[0]:
            case "/v1/messages" if body is None:
                self._fail(400, "invalid_request_error", "the body is not a JSON object")
            case "/v1/messages":
                self._reply(body or {})
            case "/v1/messages/count_tokens":
                self._answer(200, {"input_tokens": max(1, len(json.dumps(body)) // 4)})
            case _:
                self._fail(404, "not_found_error", f"no such path: {self.path}")

    def _take(self) -> Json | None:
        """Read and note the request; the body, if it is a JSON object."""
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = None
        found = body if isinstance(body, dict) else None
        headers = {name.lower(): value for name, value in self.headers.items()}
        path = self.path.partition("?")[0]
        self.server.api.note(Received(self.command, path, headers, found or {}))
        return found

    def _head(self, status: int, kind: str, length: int | None = None) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("request-id", "req_mock")
        if length is not None:
            self.send_header("content-length", str(length))
        self.send_header("connection", "close")
        self.end_headers()

    def _answer(self, status: int, value: Json) -> None:
        data = json.dumps(value).encode()
        self._head(status, "application/json", len(data))
        if self.command != "HEAD":
            self.wfile.write(data)

    def _fail(self, status: int, kind: str, message: str) -> None:
        self._answer(status, {"type": "error", "error": {"type": kind, "message": message}})

    def _reply(self, body: Json) -> None:
        message = self.server.api.message(body)
        if not body.get("stream"):
            self._answer(200, message)
            return
        self._head(200, "text/event-stream; charset=utf-8")
        for event in events(message):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
