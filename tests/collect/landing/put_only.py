"""A gate in front of an S3 server that lets the key of a host do nothing but put objects under one prefix.

The server here allows whoever may write to delete as well; the policies of Amazon's tell both apart, and so does this.
"""

from __future__ import annotations

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

from tests.collect.s3 import HOST_KEY


class Gate:
    """Passes requests on; `requests` has what the key of the host asked for, and whether that was allowed."""

    def __init__(self, endpoint: str, prefix: str) -> None:
        self.target = urlsplit(endpoint).netloc
        self.prefix = prefix
        self.requests: list[tuple[str, str, bool]] = []
        self.answers: list[int] = []  # given instead of passing on, first to last
        gate = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_PUT(self) -> None:
                gate.serve(self)

            def do_GET(self) -> None:
                gate.serve(self)

            def do_DELETE(self) -> None:
                gate.serve(self)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def serve(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        if f"Credential={HOST_KEY}/" in request.headers.get("Authorization", ""):
            path = unquote(urlsplit(request.path).path)
            is_copy = "x-amz-copy-source" in request.headers
            is_allowed = request.command == "PUT" and path.startswith(self.prefix) and not is_copy
            self.requests.append((request.command, path, is_allowed))
            if not is_allowed:
                self.answer(request, 403, b"<Error><Code>AccessDenied</Code></Error>")
                return
        connection = http.client.HTTPConnection(self.target, timeout=30)
        connection.request(request.command, request.path, body, dict(request.headers.items()))
        with connection.getresponse() as response:
            status, data = response.status, response.read()
        connection.close()
        self.answer(request, self.answers.pop(0) if self.answers else status, data)

    def answer(self, request: BaseHTTPRequestHandler, status: int, body: bytes) -> None:
        request.send_response(status)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(body)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
