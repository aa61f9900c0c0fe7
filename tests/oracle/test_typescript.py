"""The Agent SDK for TypeScript, as it is published, drives `clew-agent` in the place of the program it was made for."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clew.api.mock.scripts import AnyStep, MockScript, ScriptRule
from clew.api.mock.server import running
from tests.chat.chat_fixture import use
from tests.oracle.npm import Unavailable, installed, need

pytestmark = pytest.mark.oracle

PACKAGE, VERSION = "@anthropic-ai/claude-agent-sdk", "0.3.325"
AGENT = str(Path(sys.executable).with_name("clew-agent"))
LIMIT = 200  # seconds


@pytest.fixture(scope="module")
def modules() -> Path:
    """The SDK with what it needs, but for the program that it brings along."""

    def entry(folder: Path) -> Path | None:
        path = folder / "node_modules" / PACKAGE / "sdk.mjs"
        return path if path.exists() else None

    try:
        need("node")
        return installed(PACKAGE, VERSION, "agent-sdk", entry, "--omit=optional") / "node_modules"
    except Unavailable as why:
        if os.environ.get("CI") or os.environ.get("CLEW_REQUIRE_ORACLE") == "1":
            pytest.fail(str(why), pytrace=False)
        pytest.skip(str(why))


@pytest.mark.req("R240")
def test_a_whole_talk(modules: Path, tmp_path: Path) -> None:
    root = tmp_path.resolve()
    project = root / "project"
    project.mkdir()
    (root / "node_modules").symlink_to(modules)
    program = root / "talk.mjs"
    shutil.copy(Path(__file__).with_name("typescript") / "talk.mjs", program)

    def write(name: str) -> list[str | dict[str, object]]:
        return [use("Write", file_path=str(project / name), content="x\n")]

    calls: list[AnyStep] = [write("a"), write("b"), [use("Write", file_path=str(root / "secret"), content="x\n")]]
    waiting = use("Bash", command=f"touch {root}/begun; sleep 600", description="Wait")
    rules = [
        ScriptRule(prompt="again", steps=["Again."]),
        ScriptRule(prompt="wait", steps=[[waiting], "Done."]),
        ScriptRule(prompt="tools", steps=[*calls, [use("mcp__calc__add", a=2, b=3)], "Done."]),
        ScriptRule(prompt="hello", steps=["Hello."]),
    ]
    folders = {name: str(root / name) for name in ("HOME", "CLAUDE_CONFIG_DIR", "XDG_DATA_HOME")}
    with running(MockScript(rules=rules), keeps_bodies=True) as server:
        known = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-ant-not-a-key", "PATH": os.environ["PATH"]}
        done = subprocess.run(
            [need("node"), str(program), AGENT, str(project), str(root / "begun")],
            env={**known, **folders},
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
        bodies = [row["body"] for row in server.rows if row["path"] == "/v1/messages"]
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["query"] == ["init", "assistant", "success"]
    assert [block["text"] for block in bodies[0]["system"]] == ["You are a clock."]
    assert found["hooked"] == ["Write", "Write", "Write", "mcp__calc__add", "Bash"]
    assert found["asked"] == [
        ["Write", ["setMode"]],  # answered with the mode, so that the second is not asked
        ["Write", ["addRules"]],
        ["mcp__calc__add", ["addRules"]],
        ["Bash", ["addRules"]],
    ]
    assert found["results"][2:] == ["Not that one.", [{"type": "text", "text": "5"}]]
    assert (project / "a").exists() and (project / "b").exists() and not (root / "secret").exists()
    assert found["mode"] == "plan"
    assert {body["model"] for body in bodies[-3:-1]} == {"claude-opus-4-5"}
    assert found["interrupted"] == ["error_during_execution", True]
    assert (found["again"], found["resumed"]) == ("Again.", [True, "Again."])
    assert "compact" in found["commands"]
    assert {"opus", "sonnet", "haiku"} <= set(found["models"])
    assert "general-purpose" in found["agents"]
    assert [(server["name"], server["status"]) for server in found["servers"]] == [("calc", "connected")]
    assert found["tokens"] > 0
