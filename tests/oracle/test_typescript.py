"""The Agent SDK for TypeScript, as it is published, drives `clew-agent` in the place of the program it was made for."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from clew.api.mock.scripts import AnyStep, MockScript, ScriptRule
from clew.api.mock.server import running
from tests.chat.chat_fixture import use
from tests.oracle import typescript_table
from tests.oracle.conftest import Claude
from tests.oracle.npm import Unavailable, need
from tests.oracle.typescript_table import AGENT, KNOWN

pytestmark = pytest.mark.oracle

LIMIT = 200  # seconds
SAMPLE = ("prompt (text)", "managedSettings", "toolAliases", "hooks PostToolUse (another output)", "close()")


@pytest.fixture(scope="module", autouse=True)
def sdk() -> None:
    """The SDK can be fetched, and Node.js is there to run it."""
    try:
        typescript_table.modules()
    except Unavailable as why:
        if os.environ.get("CI") or os.environ.get("CLEW_REQUIRE_ORACLE") == "1":
            pytest.fail(str(why), pytrace=False)
        pytest.skip(str(why))


def test_an_option_has_the_same_effect(claude: Claude) -> None:
    with claude():
        rows = typescript_table.compare(SAMPLE)
    assert {name: pair for name, pair in rows.items() if pair[0] != pair[1]} == {}


@pytest.mark.soak
def test_every_option_has_the_same_effect(claude: Claude) -> None:
    with claude():
        rows = typescript_table.compare()
    assert {name: pair for name, pair in rows.items() if pair[0] != pair[1] and name not in KNOWN} == {}


@pytest.mark.req("R240")
def test_a_whole_talk(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    project = root / "project"
    project.mkdir()
    program = typescript_table.copy_scripts(root) / "talk.mjs"

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
        ["Write", ["addDirectories"]],
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
