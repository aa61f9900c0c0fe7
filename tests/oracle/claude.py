"""The published Claude Code CLI as a judge: installed from npm, and pointed at a mock API on loopback.

    with Box("2.1.325") as box:
        box.write(session_id, entries)
        box.resume(session_id).messages       # what that version sends when it goes on from there

A box is a home of its own with one project folder and an empty environment; it is gone when it closes.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.oracle.mock_api import Json, MockApi, Reply
from tests.oracle.npm import Unavailable as Unavailable
from tests.oracle.npm import cache_folder, installed, need

PACKAGE = "@anthropic-ai/claude-code"
LATEST = "2.1.325"
VERSIONS = (LATEST, "2.1.45", "2.1.29", "2.0.50")
RUN_SECONDS = 60


# Installing


def install(version: str) -> Path:
    """The folder that holds this version, fetched from npm unless it is there."""
    return installed(PACKAGE, version, "claude-code", _entry_point)


def command(version: str) -> list[str]:
    """How to start this version: the native program, or its script under node."""
    entry = _entry_point(install(version))
    assert entry, f"{version} was installed without a program"
    return [need("node"), str(entry)] if entry.suffix == ".js" else [str(entry)]


def _entry_point(folder: Path) -> Path | None:
    scope = folder / "node_modules" / PACKAGE.partition("/")[0]
    native = sorted(scope.glob("claude-code-*/claude"))
    script = scope / "claude-code" / "cli.js"
    return native[0] if native else script if script.exists() else None


def installed_versions() -> list[str]:
    """The versions that can be run without fetching anything."""
    folders = (cache_folder() / "claude-code").glob("*/")
    return [folder.name for folder in folders if _entry_point(folder)]


# Running


@dataclass(frozen=True)
class Run:
    rc: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Recorded:
    """A session made by the CLI; `path` is its file, which may be missing if the run failed."""

    rc: int
    stderr: str
    result: str | None
    session_id: str
    path: Path


@dataclass(frozen=True)
class Resumed:
    """How a resume went; `messages` is the conversation as it was sent, empty if none was."""

    rc: int
    stderr: str
    result: str | None
    session_id: str | None
    model: str | None
    messages: list[Json]


class Box:
    """One version of the CLI with a home, a project folder and an API of its own."""

    def __init__(self, version: str = LATEST, replies: Iterable[Reply] = ()) -> None:
        self.version = version
        self.command = command(version)
        self.api = MockApi(replies, scripted=_is_main)
        self._held = ExitStack()

    def __enter__(self) -> Self:
        temporary = tempfile.TemporaryDirectory(prefix="clew-", ignore_cleanup_errors=True)
        self.home = Path(self._held.enter_context(temporary)).resolve()
        self.project = self.home / "project"
        self.project.mkdir()
        (self.home / "tmp").mkdir()
        self._held.enter_context(self.api)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.close()

    @property
    def sessions(self) -> Path:
        """The folder of the project's sessions."""
        slug = re.sub("[^A-Za-z0-9]", "-", str(self.project))
        assert len(slug) <= 200, f"longer names are cut, and this does not know how: {slug}"
        return self.home / ".claude" / "projects" / slug

    def write(self, session_id: str, entries: Iterable[Json] | bytes) -> Path:
        """A session file from entries, or from bytes as they are."""
        if not isinstance(entries, bytes):
            entries = "".join(json.dumps(entry) + "\n" for entry in entries).encode()
        path = self.sessions / f"{session_id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(entries)
        return path

    def run(
        self,
        *arguments: str,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        timeout: float = RUN_SECONDS,
    ) -> Run:
        """Run the CLI to its end. One that takes too long is killed with all its children: TimeoutExpired."""
        process = subprocess.Popen(
            [*self.command, *arguments],
            cwd=self.project,
            env={**self._environment(), **(env or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        with process:
            try:
                stdout, stderr = process.communicate(stdin, timeout=timeout)
            finally:
                if process.returncode is None:  # so the group's number is still its own
                    with suppress(ProcessLookupError, PermissionError):  # macOS: a group of the dead
                        os.killpg(process.pid, signal.SIGKILL)
        return Run(process.returncode, stdout, stderr)

    def record(
        self, prompt: str, *arguments: str, replies: Iterable[Reply] = (), session_id: str | None = None
    ) -> Recorded:
        """A fresh session: `claude -p PROMPT`, answered by these replies."""
        self.api.replies.extend(replies)
        wanted = session_id or str(uuid.uuid4())
        run = self.run("-p", prompt, "--session-id", wanted, "--output-format", "json", *arguments)
        outcome = _outcome(run)
        made = outcome.get("session_id", wanted)
        return Recorded(run.rc, run.stderr, outcome.get("result"), made, self.sessions / f"{made}.jsonl")

    def resume(self, session_id: str, prompt: str = "NEXT", *arguments: str) -> Resumed:
        """`claude -r ID -p PROMPT`. It appends to the session as it does for anyone."""
        seen = len(self.api.requests)
        run = self.run("-r", session_id, "-p", prompt, "--output-format", "json", *arguments)
        outcome = _outcome(run)
        body = next((body for body in self.api.requests[seen:] if _asks(body, prompt)), {})
        return Resumed(
            rc=run.rc,
            stderr=run.stderr,
            result=outcome.get("result"),
            session_id=outcome.get("session_id"),
            model=body.get("model"),
            messages=body.get("messages", []),
        )

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.home),
            "TMPDIR": str(self.home / "tmp"),
            "CLAUDE_CODE_TMPDIR": str(self.home / "tmp"),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "SHELL": "/bin/sh",
            "NODE_COMPILE_CACHE": str(cache_folder() / "node"),  # from Node.js 22 on: it starts in half the time
            "IS_SANDBOX": "1",
            "ANTHROPIC_API_KEY": "sk-ant-not-a-key",
            "ANTHROPIC_BASE_URL": self.api.url,
            "HTTP_PROXY": self.api.url,  # which is no proxy: whatever is not for the mock goes nowhere
            "HTTPS_PROXY": self.api.url,
            "NO_PROXY": "127.0.0.1,localhost",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
        }


def _outcome(run: Run) -> Json:
    """What `--output-format json` printed; plain words (an early refusal) count as the result."""
    try:
        outcome = json.loads(run.stdout)
    except ValueError:
        outcome = None
    return outcome if isinstance(outcome, dict) else {"result": run.stdout.strip() or None}


def _is_main(body: Json) -> bool:
    """The conversation, and not a side request of the CLI's own (a title, a warm-up): those have no tools."""
    return bool(body.get("tools"))


def _asks(body: Json, prompt: str) -> bool:
    return _is_main(body) and any(prompt in said for said in _said(body["messages"][-2:]))


def _said(messages: list[Json]) -> Iterator[str]:
    """The texts of the user's messages."""
    for message in messages:
        if message["role"] != "user":
            continue
        content = message["content"]
        if isinstance(content, str):
            yield content
        else:
            yield from (block["text"] for block in content if block.get("type") == "text")
