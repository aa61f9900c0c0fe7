"""An answer in the form of a schema: taken, sent back, asked for, and given up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ResultMessage, query

from clew.api.mock.scripts import ScriptRule
from clew.api.mock.server import running
from clew.chat.sdk.result_json import result
from clew.chat.tools.builtin.structured_output import StructuredOutput, parse_schema
from clew.errors import ClewError
from tests.chat.chat_fixture import SESSION, World, sound, use, world
from tests.chat.test_serve_sdk import answers, drive, options, script
from tests.chat.test_serve_sdk import project as project
from tests.chat.test_session_factory import say

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "n": {"$ref": "#/$defs/count"}},
    "required": ["name", "n"],
    "$defs": {"count": {"type": "integer", "minimum": 1}},
}
RIGHT = use("StructuredOutput", name="x", n=3)
WRONG = use("StructuredOutput", name="x", n=0)
EXHAUSTED = "error_max_structured_output_retries"


def ask(made: World, **more: Any) -> dict[str, Any]:
    return result(say(made, "go", output_schema=SCHEMA, **more), SESSION, "u")


def test_a_fitting_answer_ends_the_turn(tmp_path: Path) -> None:
    with world(tmp_path, ["Here:", RIGHT], "never said") as made:
        found = ask(made)
        offered = {tool["name"]: tool["input_schema"] for tool in made.sent[0]["tools"]}
        sound(made.path())
    assert offered["StructuredOutput"] == SCHEMA and len(made.sent) == 1
    assert (found["subtype"], found["is_error"]) == ("success", False)
    assert found["structured_output"] == {"name": "x", "n": 3} and json.loads(found["result"]) == {"name": "x", "n": 3}


def test_calls_beside_the_answer_still_run(tmp_path: Path) -> None:
    with world(tmp_path, [RIGHT, use("Bash", command="echo hi > made.txt")]) as made:
        found = ask(made, allowed=("Bash",))
    assert found["structured_output"]["n"] == 3 and (made.project / "made.txt").read_text() == "hi\n"


def test_an_answer_that_does_not_fit_is_sent_back_with_the_reason(tmp_path: Path) -> None:
    with world(tmp_path, [WRONG], [RIGHT]) as made:
        found = ask(made)
        block = made.sent[1]["messages"][-1]["content"][0]
    assert found["structured_output"]["n"] == 3
    assert block["is_error"] and "n: 0 is less than the minimum of 1" in block["content"]


def test_after_five_answers_that_do_not_fit_the_turn_fails(tmp_path: Path) -> None:
    with world(tmp_path, *[[WRONG]] * 9) as made:
        found = ask(made)
        sound(made.path())
    assert (found["subtype"], found["is_error"], len(made.sent)) == (EXHAUSTED, True, 5)
    assert "structured_output" not in found and "minimum of 1" in found["errors"][0]
    assert found["terminal_reason"] == "structured_output_retry_exhausted"


def test_a_model_that_only_talks_is_asked_once_and_then_the_turn_fails(tmp_path: Path) -> None:
    with world(tmp_path, "Three.", [RIGHT]) as made:
        assert ask(made)["structured_output"]["n"] == 3
        assert "StructuredOutput. Call it now" in str(made.sent[1]["messages"][-1])
    with world(tmp_path / "b", "Three.", "Three, I said.", [RIGHT]) as made:
        found = ask(made)
    assert found["subtype"] == EXHAUSTED and len(made.sent) == 2 and "structured_output" not in found


def test_every_prompt_of_a_session_gets_its_own_answer(tmp_path: Path) -> None:
    rules = [
        ScriptRule(prompt="more", steps=["No.", "No."]),
        ScriptRule(prompt="go", steps=[[RIGHT]]),
    ]
    with world(tmp_path, rules=rules) as made:
        found = result(say(made, "go", "more", output_schema=SCHEMA), SESSION, "u")
    assert found["subtype"] == EXHAUSTED and "structured_output" not in found


def test_an_agent_has_not_the_tool(tmp_path: Path) -> None:
    send = use("Task", description="d", prompt="inner", subagent_type="general-purpose")
    rules = [ScriptRule(prompt="inner", steps=["In."]), ScriptRule(prompt="go", steps=[[send], [RIGHT]])]
    with world(tmp_path, rules=rules) as made:
        assert ask(made)["structured_output"]["n"] == 3
    assert [any(t["name"] == "StructuredOutput" for t in body["tools"]) for body in made.sent] == [True, False, True]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{not json", "not JSON"),
        ("[1]", "not a JSON object"),
        ('{"type": "nonsense"}', "not a valid JSON Schema"),
        ('{"type": "array"}', "must describe an object"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ClewError, match=reason):
        StructuredOutput(parse_schema(text))


def test_on_the_command_line(tmp_path: Path) -> None:
    with world(tmp_path, [RIGHT]) as made:
        made.project.mkdir()
        command = [sys.executable, "-m", "clew", "chat", "-p", "go", "--base-url", made.server.url, "--json-schema"]
        env = {**os.environ, "ANTHROPIC_API_KEY": "sk-ant-test", "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}

        def run(schema: str) -> subprocess.CompletedProcess[str]:
            words = [*command, schema]
            return subprocess.run(
                words, cwd=made.project, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
            )

        done, refused = run(json.dumps(SCHEMA)), run('{"type": "nonsense"}')
    assert done.returncode == 0 and json.loads(done.stdout) == {"name": "x", "n": 3}
    assert refused.returncode == 2 and "not a valid JSON Schema" in refused.stderr and len(made.sent) == 1


def test_the_sdk_gets_it(project: Path) -> None:
    wanted = {"type": "json_schema", "schema": SCHEMA}
    with running(script([WRONG], [RIGHT])) as server:

        async def talk() -> list[Any]:
            return await answers(query(prompt="go", options=options(server, project, output_format=wanted)))

        ended = drive(talk)[-1]
    assert isinstance(ended, ResultMessage) and ended.structured_output == {"name": "x", "n": 3} and not ended.is_error
