"""The published Codex CLI as a judge: installed from npm, and pointed at a mock Responses API on loopback.

with CodexBox() as box:
    box.resume(thread).items      # what it sends when it continues a rollout below `box.sessions`
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.oracle.npm import installed

Json = dict[str, Any]

PACKAGE = "@openai/codex"
VERSION = "0.166.0"
RUN_SECONDS = 60
ANSWER = "Good morning from the mock."
_CONFIG = """
model = "mock-model"
model_provider = "mock"
[model_providers.mock]
name = "mock"
base_url = "{url}/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
"""


def program() -> Path:
    """The program of the platform's package, fetched from npm unless it is there."""
    entry = _entry_point(installed(PACKAGE, VERSION, "codex", _entry_point))
    assert entry
    return entry


def _entry_point(folder: Path) -> Path | None:
    return next(iter(sorted(folder.glob("node_modules/@openai/codex*/vendor/*/*/codex"))), None)


@dataclass(frozen=True)
class CodexRun:
    """How a run went; `items` is the conversation that it sent, without what Codex adds itself."""

    rc: int
    stdout: str
    stderr: str
    items: list[Json]


class CodexBox:
    """The CLI with a home, a project folder and an API of its own."""

    def __init__(self) -> None:
        self.program = program()
        self._held = ExitStack()
        self.requests: list[Json] = []

    def __enter__(self) -> Self:
        temporary = tempfile.TemporaryDirectory(prefix="clew-codex-", ignore_cleanup_errors=True)
        self.home = Path(self._held.enter_context(temporary)).resolve()
        self.project = self.home / "project"
        self.codex_home = self.home / ".codex"
        for folder in (self.project, self.codex_home):
            folder.mkdir()
        server = _Server(("127.0.0.1", 0), _handler(self.requests))
        self._held.callback(server.server_close)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        self._held.callback(thread.join)
        self._held.callback(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_port}"
        (self.codex_home / "config.toml").write_text(_CONFIG.format(url=self.url))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

    def run(self, *arguments: str) -> CodexRun:
        """Run `codex exec` to its end; one that takes too long is killed: TimeoutExpired."""
        seen = len(self.requests)
        done = subprocess.run(
            [str(self.program), "exec", "--skip-git-repo-check", *arguments],
            cwd=self.project,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=RUN_SECONDS,
        )
        sent: list[Json] = self.requests[seen]["input"] if len(self.requests) > seen else []
        return CodexRun(done.returncode, done.stdout, done.stderr, [item for item in sent if not _is_added(item)])

    def resume(self, thread: str, prompt: str = "NEXT") -> CodexRun:
        return self.run("resume", thread, prompt)

    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.home),
            "CODEX_HOME": str(self.codex_home),
            "OPENAI_API_KEY": "not-a-key",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "HTTP_PROXY": self.url,  # which is no proxy: whatever is not for the mock goes nowhere
            "HTTPS_PROXY": self.url,
            "NO_PROXY": "127.0.0.1,localhost",
        }


def _is_added(item: Json) -> bool:
    """Whether Codex added an item itself: instructions, and what it says about the machine."""
    texts = [str(part.get("text", "")) for part in item.get("content") or () if isinstance(part, dict)]
    return item.get("role") == "developer" or any(text.startswith("<environment_context>") for text in texts)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a connection that Codex cut when it ended."""


def _handler(requests: list[Json]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            if not self.path.endswith("/responses"):
                self._send(404, b"{}", "application/json")
                return
            requests.append(json.loads(body))
            self._send(200, "".join(map(_event, _answer(len(requests)))).encode(), "text/event-stream")

        def do_GET(self) -> None:
            self._send(404, b"{}", "application/json")

        do_CONNECT = do_GET  # noqa: N815

        def _send(self, status: int, data: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *arguments: Any) -> None:
            if os.environ.get("CLEW_DEBUG"):
                print(self.command, self.path, file=sys.stderr)

    return Handler


def _event(event: Json) -> str:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


def _answer(number: int) -> list[Json]:
    said = {
        "type": "message",
        "role": "assistant",
        "id": f"msg_{number}",
        "content": [{"type": "output_text", "text": ANSWER}],
    }
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    response = {"id": f"resp_{number}", "usage": usage}
    return [
        {"type": "response.created", "response": {"id": f"resp_{number}"}},
        {"type": "response.output_item.done", "item": said},
        {"type": "response.completed", "response": response},
    ]
