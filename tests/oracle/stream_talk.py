"""Drive a program through the stream-json protocol, line by line, as an Agent SDK does."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

Json = dict[str, Any]
Answer = Callable[[Json], Json]
FLAGS = ("--output-format", "stream-json", "--verbose", "--input-format", "stream-json")
SILENT = (
    "DISABLE_TELEMETRY",
    "DISABLE_ERROR_REPORTING",
    "DISABLE_AUTOUPDATER",
    "IS_SANDBOX",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
)
SECONDS = 60.0  # for one frame


def allow(request: Json) -> Json:
    """Allow every call; hooks have no opinion."""
    return {"behavior": "allow", "updatedInput": request.get("input", {})} if "tool_name" in request else {}


def environment(home: Path, url: str) -> dict[str, str]:
    """Return the environment of a program in its own home, without a network."""
    named = {
        "HOME": home,
        "CLAUDE_CONFIG_DIR": home / ".claude",
        "XDG_DATA_HOME": home / "data",
        "TMPDIR": home / "tmp",
    }
    for folder in named.values():
        folder.mkdir(parents=True, exist_ok=True)
    return {
        **{name: str(folder) for name, folder in named.items()},
        **dict.fromkeys(SILENT, "1"),
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "SHELL": "/bin/sh",
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "sk-ant-not-a-key",
        "HTTP_PROXY": url,
        "HTTPS_PROXY": url,
        "NO_PROXY": "127.0.0.1,localhost",
    }


class StreamTalk:
    """One run of a program; `frames` is everything it has sent."""

    def __init__(
        self,
        command: Sequence[str],
        project: Path,
        env: Mapping[str, str],
        *options: str,
        answer: Answer = allow,
    ) -> None:
        self._command = [*command, *FLAGS, *options]
        self._project = project
        self._env = dict(env)
        self._answer = answer
        self._received: queue.Queue[Json | None] = queue.Queue()
        self._number = 0
        self.frames: list[Json] = []

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command,
            cwd=self._project,
            env=self._env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._errors: list[bytes] = []
        self._threads = [threading.Thread(target=reader, daemon=True) for reader in (self._read, self._read_errors)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for thread in self._threads:
            thread.join()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                pass

    @property
    def stderr(self) -> str:
        return b"".join(self._errors).decode(errors="replace")

    def send(self, frame: Json) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(frame).encode() + b"\n")
        self._process.stdin.flush()

    def until(self, matches: Callable[[Json], bool], start: int | None = None) -> Json:
        """Return the first frame that matches, from number `start` on: without it, of those still to come."""
        position = len(self.frames) if start is None else start
        while True:
            while position < len(self.frames):
                if matches(self.frames[position]):
                    return self.frames[position]
                position += 1
            frame = self._received.get(timeout=SECONDS)
            if frame is None:
                raise EOFError(f"the program ended: {self.stderr[-500:]}")
            self._note(frame)

    def request(self, subtype: str, **fields: Any) -> Json:
        """Send a control request and return its response: subtype, and response or error."""
        self._number += 1
        number = f"request-{self._number}"
        start = len(self.frames)
        self.send({"type": "control_request", "request_id": number, "request": {"subtype": subtype, **fields}})
        frame = self.until(
            lambda frame: frame["type"] == "control_response" and frame["response"]["request_id"] == number, start
        )
        response: Json = frame["response"]
        return response

    def prompt(self, content: Any, **fields: Any) -> None:
        message = {"role": "user", "content": content}
        self.send({"type": "user", "message": message, "parent_tool_use_id": None, "session_id": "", **fields})

    def turn(self, content: Any, **fields: Any) -> list[Json]:
        """Send a prompt and return the frames up to its result."""
        start = len(self.frames)
        self.prompt(content, **fields)
        self.until(lambda frame: frame["type"] == "result", start)
        return self.frames[start:]

    def close(self, *, closes_input: bool = True) -> int:
        """Close the input (unless the program ends by itself), wait for the end and return the exit code."""
        assert self._process.stdin is not None
        if closes_input:
            self._process.stdin.close()
        while (frame := self._received.get(timeout=SECONDS)) is not None:
            self._note(frame)
        return self._process.wait(timeout=SECONDS)

    def _note(self, frame: Json) -> None:
        self.frames.append(frame)
        if frame["type"] == "control_request":
            response = {"subtype": "success", "request_id": frame["request_id"]}
            self.send(
                {"type": "control_response", "response": {**response, "response": self._answer(frame["request"])}}
            )

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(b"{"):
                self._received.put(json.loads(line))
        self._received.put(None)

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._errors.append(line)
