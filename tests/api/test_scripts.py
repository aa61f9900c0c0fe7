"""Scripts: how they are read, and which step answers a request."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clew.api.mock.scripts import ECHO, OVER, MockScript, ScriptRule, ScriptStep, choose_step, parse_script
from tests.api.helper import TOOLS, assistant, call, result, steps, text, user

Json = dict[str, Any]


def chosen(script: MockScript, *messages: Json, **more: Any) -> tuple[str, int, Any]:
    found = choose_step({"model": "m", "messages": list(messages), **more}, script)
    return found.rule, found.number, found.step.content


NOTE = "<system-reminder>x</system-reminder>"
TWO = MockScript(
    rules=[
        ScriptRule(prompt="tests", steps=["one", "two"], name="tests"),
        ScriptRule(regex=r"^deploy \w+$", steps=["deployed"]),
    ],
    otherwise=["what?", "still what?"],
)


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([user("run the tests")], ("tests", 0, "one")),
        ([user("run the tests"), assistant(call()), user([result()])], ("tests", 1, "two")),
        ([user("run the tests"), assistant(text("a")), assistant(call()), user([result()])], ("tests", 1, "two")),
        ([user("tests"), assistant(call()), user([result()]), assistant(text("x")), user("bye")], ("otherwise", 0, "what?")),
        ([user("run the tests"), assistant(text("a")), user([text("run the tests again")])], ("tests", 0, "one")),
        ([user("deploy now")], ("rule 2", 0, "deployed")),
        ([user("please deploy now")], ("otherwise", 0, "what?")),
        ([user("deploy now"), assistant(call()), user([result()])], ("rule 2", 1, OVER)),
        ([user("hello"), assistant(call()), user([result()])], ("otherwise", 1, "still what?")),
        ([user("hello"), *[assistant(call()), user([result()])] * 5], ("otherwise", 5, "still what?")),
        ([user([text("<system-reminder>tests</system-reminder>"), text("hello")])], ("otherwise", 0, "what?")),
        ([user("the tests"), {"role": "system", "content": "x"}, assistant(call()), user([result()])], ("tests", 1, "two")),
        ([user("the tests"), assistant(call()), user([result(), text(NOTE)])], ("tests", 1, "two")),
        ([user("the tests"), assistant(call()), user([result(), text("and hurry")])], ("tests", 1, "two")),
        ([user("the tests"), assistant(call()), user("<task-notification>")], ("tests", 1, "two")),
        ([], ("otherwise", 0, "what?")),
    ],
)  # fmt: skip
def test_the_newest_prompt_and_the_replies_behind_it_choose(
    messages: list[Json], expected: tuple[str, int, str]
) -> None:
    assert chosen(TWO, *messages) == expected


def test_a_rule_may_ask_for_a_model_and_for_tools() -> None:
    script = MockScript(
        rules=[
            ScriptRule(model="haiku", steps=["small"]),
            ScriptRule(tools=True, steps=["armed"]),
            ScriptRule(tools=False, steps=["bare"]),
        ]
    )
    assert choose_step({"model": "claude-haiku", "messages": [user()]}, script).step.content == "small"
    assert chosen(script, user(), tools=TOOLS)[2] == "armed"
    assert chosen(script, user())[2] == "bare"


def test_a_prompt_may_bring_its_own_script() -> None:
    steps = [["Look:", {"tool": "Bash", "input": {"command": "ls"}}], {"content": "Done.", "stop_reason": "max_tokens"}]
    prompt = user(f"Do it. <<SCRIPT>>{json.dumps(steps)}<<END>>")
    assert chosen(TWO, prompt) == ("inline", 0, steps[0])
    assert choose_step({"messages": [prompt, assistant(call()), user([result()])]}, TWO).step == ScriptStep(
        content="Done.", stop_reason="max_tokens"
    )


@pytest.mark.parametrize("inline", ["{", "7", '[{"nonsense": 1}]'])
def test_a_prompt_with_a_broken_script_is_told_so(inline: str) -> None:
    assert "Cannot read the script" in chosen(TWO, user(f"<<SCRIPT>>{inline}<<END>>"))[2]


def test_without_a_script_it_echoes() -> None:
    assert chosen(ECHO, user("hello"))[2] == "{{prompt}}"


TOML = """
window = 1000
[[rules]]
prompt = "hi"
steps = [
    "Hello.",
    [{ tool = "Bash", input = { command = "ls" } }],
    { content = "Bye.", delay = 0.5, fault = { status = 529 } },
]
"""


def test_json_and_toml_say_the_same() -> None:
    made = parse_script(TOML.encode(), is_toml=True)
    assert made == parse_script(
        json.dumps(
            {
                "window": 1000,
                "rules": [
                    {
                        "prompt": "hi",
                        "steps": [
                            "Hello.",
                            [{"tool": "Bash", "input": {"command": "ls"}}],
                            {"content": "Bye.", "delay": 0.5, "fault": {"status": 529}},
                        ],
                    }
                ],
            }
        ).encode()
    )
    assert made.window == 1000


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("{", "truncated|Expecting"),
        ("[]", "Expected `object`"),
        ('{"rulez": []}', "unknown field `rulez`"),
        ('{"rules": [{"prompt": "x"}]}', "missing required field `steps`"),
        ('{"rules": [{"steps": [], "regex": "("}]}', "unterminated"),
        ('{"rules": [{"steps": [{"fault": {"stream": "explode"}}]}]}', "explode"),
        ('{"window": "many"}', "Expected `int`"),
    ],
)
def test_a_script_that_cannot_be_read_is_refused_in_a_sentence(script: str, told: str) -> None:
    with pytest.raises(ValueError, match=rf"^Cannot read the script: .*({told})"):
        parse_script(script.encode())


def test_a_toml_script_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(ValueError, match="Cannot read the script"):
        parse_script(b"[[", is_toml=True)


def test_steps_of_the_helper_fit_everything() -> None:
    assert chosen(steps("a"), user("anything"))[2] == "a"
