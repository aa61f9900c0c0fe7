"""A user's set-up on disk, and a program that runs one prompt in it against a mock API.

    with Place(tmp_path) as place:
        place.user({"model": "opus"})
        run = place.run(CLEW, "go")
        run.main["model"]                     # of the request that holds the conversation

The real Claude Code and clew are run alike: the same home, files, variables and options.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.oracle.mock_api import Json, MockApi, Received, Reply

CLEW = (str(Path(sys.executable).with_name("clew")), "chat")
KEY = "sk-ant-not-a-key"
SECONDS = 60
_QUIET = (
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "DISABLE_AUTOUPDATER",
    "DISABLE_ERROR_REPORTING",
    "DISABLE_TELEMETRY",
    "IS_SANDBOX",
)


@dataclass(frozen=True)
class Ran:
    """What a run printed, and the requests that it made."""

    rc: int
    stdout: str
    stderr: str
    received: Sequence[Received]

    @property
    def bodies(self) -> list[Json]:
        """The requests of the conversation: those with tools."""
        return [seen.body for seen in self.received if seen.path.startswith("/v1/messages") and seen.body.get("tools")]

    @property
    def main(self) -> Json:
        assert self.bodies, self.stdout + self.stderr
        return self.bodies[-1]

    @property
    def headers(self) -> Mapping[str, str]:
        return next(seen.headers for seen in self.received if seen.body.get("tools"))

    @property
    def tools(self) -> list[str]:
        return [str(tool["name"]) for tool in self.main["tools"]]

    @property
    def sent(self) -> str:
        """All that the model is told: the system prompt and the messages, as text."""
        return json.dumps([self.main.get("system"), self.main["messages"]], ensure_ascii=False)

    @property
    def results(self) -> list[str]:
        """The texts of the tool results."""
        blocks = [block for m in self.main["messages"] if isinstance(m["content"], list) for block in m["content"]]
        return [_text(block["content"]) for block in blocks if block.get("type") == "tool_result"]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in content)


class Place:
    """A home with `.claude` and `.claude.json`, and a project folder in it."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.claude = self.home / ".claude"
        self.project = self.home / "project"
        for folder in (self.claude, self.project, self.home / "tmp"):
            folder.mkdir(parents=True)

    def write(self, path: str, content: str | Json | list[Any], *, executable: bool = False) -> Path:
        """A file below the home."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        if executable:
            file.chmod(0o755)
        return file

    def user(self, settings: Json) -> None:
        self.write(".claude/settings.json", settings)

    def trust(self) -> None:
        """Trust the project in both programs."""
        subprocess.run([CLEW[0], "trust", str(self.project)], env=self.environment(), check=True, capture_output=True)
        path = self.home / ".claude.json"
        data = json.loads(path.read_text()) if path.exists() else {}
        data.setdefault("projects", {}).setdefault(str(self.project), {})["hasTrustDialogAccepted"] = True
        path.write_text(json.dumps(data))

    def environment(self) -> dict[str, str]:
        known = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TZ": "UTC", "SHELL": "/bin/sh"}
        folders = {"HOME": str(self.home), "TMPDIR": str(self.home / "tmp")}
        return {**known, **folders, **dict.fromkeys(_QUIET, "1")}

    def run(
        self,
        program: Sequence[str],
        prompt: str,
        *options: str,
        replies: Iterable[Reply] = (),
        env: Mapping[str, str] | None = None,
        stdin: str = "",
    ) -> Ran:
        """Run one prompt with `-p`."""
        with MockApi(replies, scripted=lambda body: bool(body.get("tools"))) as api:
            server = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": api.url, "NO_PROXY": "127.0.0.1,localhost"}
            variables = {**self.environment(), **server, **(env or {})}
            done = subprocess.run(
                [*program, "-p", prompt, *options],
                cwd=self.project,
                env={name: value for name, value in variables.items() if value},
                input=stdin,
                capture_output=True,
                text=True,
                timeout=SECONDS,
            )
            return Ran(done.returncode, done.stdout, done.stderr, list(api.received))
