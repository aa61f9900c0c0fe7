"""Words: which text of an entry can be searched, and as which field. Never a picture, never base64."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.conversation.session import Session
from clew.demo.talk import Talk, bash, edit, read, talk, tool
from clew.facts.searchable_text import FIELDS, Words, input_text, words
from clew.wire.json_codec import encode

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
SMALL = base64.b64encode(PNG).decode()
LARGE = base64.b64encode(PNG * 9).decode()


def said(told: Talk) -> list[tuple[str, str]]:
    return [(piece.field, piece.text) for entry in told.entries for piece in words(entry)]


def of(entry: dict[str, Any]) -> list[Words]:
    return [piece for each in Session(encode(entry)).entries for piece in words(each)]


def user(content: Any, **fields: Any) -> list[Words]:
    return of({"type": "user", "message": {"role": "user", "content": content}, **fields})


def test_each_field() -> None:
    told = talk().user("Mend the gate").user("# A skill", meta=True)
    told = told.reply("I look.", thinking="Rust?", call=bash("ls -l", "List")).result("gate").reply("Rust.")
    assert said(told) == [
        ("prompt", "Mend the gate"),
        ("meta", "# A skill"),
        ("thinking", "Rust?"),
        ("reply", "I look."),
        ("input", "ls -l\nList"),
        ("result", "gate"),
        ("reply", "Rust."),
    ]
    assert {field for field, _ in said(told)} | {"summary"} == set(FIELDS)


def test_input_names_its_tool_and_a_result_tells_whether_it_failed() -> None:
    told = talk().user("go").reply(calls=[bash("false"), bash("true")]).result("exit code 1", error=True).result("fine")
    found = [piece for entry in told.entries for piece in words(entry)]
    assert [(p.field, p.tool, p.failed) for p in found] == [
        ("prompt", "", False),
        ("input", "Bash", False),
        ("input", "Bash", False),
        ("result", "", True),
        ("result", "", False),
    ]


def test_the_strings_of_an_input_come_in_their_order() -> None:
    told = talk().user("go").reply(call=edit("gate.md", "squeaks", "is silent"))
    assert said(told)[1] == ("input", "gate.md\nsqueaks\nis silent")
    deep = {"todos": [{"content": "oil", "n": 1, "done": False}, {"content": "paint"}], "note": None}
    assert input_text(deep) == "oil\npaint"
    assert input_text("a string") == "a string"
    assert input_text({}) == input_text(None) == input_text([]) == ""


def test_what_the_person_typed_is_a_prompt_and_what_the_program_wrote_is_not() -> None:
    assert user("<command-name>/model</command-name>\n<command-args>opus</command-args>") == [
        Words("prompt", "/model opus")
    ]
    assert user("<bash-input>ls</bash-input>") == [Words("prompt", "! ls")]
    context = "<ide_opened_file>The user opened a.py</ide_opened_file>"
    assert user([{"type": "text", "text": context}, {"type": "text", "text": "继续"}]) == [
        Words("prompt", "继续"),
        Words("meta", "The user opened a.py"),
    ]
    assert [w.field for w in user("<local-command-stdout>ok</local-command-stdout>")] == ["meta"]
    assert [w.field for w in user("[Request interrupted by user]")] == ["meta"]
    assert [w.field for w in user("<task-notification>done</task-notification>")] == ["meta"]
    assert [w.field for w in user("This session is being continued", isCompactSummary=True)] == ["summary"]
    assert [w.field for w in user('<teammate-message teammate_id="x">hi</teammate-message>')] == ["prompt"]
    assert user("") == []
    assert user(context) == [Words("meta", "The user opened a.py")]


def test_a_text_beside_a_result() -> None:
    found = user([{"type": "tool_result", "tool_use_id": "a", "content": "out"}, {"type": "text", "text": "note"}])
    assert found == [Words("result", "out"), Words("meta", "note")]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("plain", ["plain"]),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], ["one\ntwo"]),
        ([{"type": "tool_reference", "tool_name": "Grep"}], ["Grep"]),
        ([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": SMALL}}], ["[image]"]),
        ({"type": "text", "text": "an object"}, ["an object"]),
        (None, []),
        ("", []),
        (7, []),
    ],
)
def test_a_result_in_every_form(content: Any, expected: list[str]) -> None:
    assert [w.text for w in user([{"type": "tool_result", "tool_use_id": "a", "content": content}])] == expected


# -- never base64


def hides_pictures(told: Talk) -> bool:
    assert SMALL.encode() in told.bytes() or LARGE.encode() in told.bytes()
    return not any(SMALL[:24] in text for _, text in said(told))


def test_pictures_are_not_words() -> None:
    assert hides_pictures(talk().user("Look", images=[PNG]))
    assert hides_pictures(talk().user("Look").reply(call=read("a.png", image=PNG)).result())
    queued = [{"type": "text", "text": "and this"}, {"type": "image", "source": {"type": "base64", "data": SMALL}}]
    assert hides_pictures(told := talk().user("Look").attachment("queued_command", prompt=queued))
    assert ("prompt", "and this") in said(told)


def test_a_picture_in_an_input_is_not_words_but_other_data_is() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": SMALL}
    asked = talk().user("go")
    assert said(asked.reply(call=tool("mcp__draw", image=source, title="Gate")))[1:] == [
        ("input", "base64\nimage/png\nGate")
    ]
    assert said(asked.reply(call=tool("mcp__note", data={"title": "Gate"})))[1:] == [("input", "Gate")]
    assert said(asked.reply(call=tool("mcp__note", data="Gate")))[1:] == [("input", "Gate")]
    for encoded in (LARGE, f"data:image/png;base64,{LARGE}", base64.urlsafe_b64encode(PNG * 9).decode()):
        assert said(asked.reply(call=tool("mcp__draw", image=encoded)))[1:] == []
        assert said(asked.reply(call=tool("mcp__draw", image=encoded, title="Gate")))[1:] == [("input", "Gate")]
    path = "/" + "/".join(["a.folder"] * 40)
    assert said(asked.reply(call=read(path)))[1:] == [("input", path)]


def test_signatures_and_hidden_thoughts_are_not_words() -> None:
    blocks = [
        {"type": "thinking", "thinking": "", "signature": LARGE},
        {"type": "redacted_thinking", "data": LARGE},
        {"type": "thinking", "thinking": "Rust?", "signature": LARGE},
        {"type": "web_search_tool_result", "content": [{"encrypted_content": LARGE}]},
        {"type": "server_tool_use", "name": "web_search", "input": {"query": "rust"}},
        {"type": "tomorrow", "text": "unknown"},
    ]
    found = of({"type": "assistant", "message": {"role": "assistant", "content": blocks}})
    assert found == [Words("thinking", "Rust?"), Words("input", "rust", "web_search")]


# -- queued prompts and entries that say nothing


def test_a_prompt_typed_while_the_model_was_busy_is_a_prompt() -> None:
    told = talk().user("go").attachment("queued_command", prompt="and hurry", commandMode="prompt")
    assert said(told)[1:] == [("prompt", "and hurry")]
    human = talk().user("go").attachment("queued_command", prompt="and hurry", origin={"kind": "human"})
    assert said(human)[1:] == [("prompt", "and hurry")]


@pytest.mark.parametrize(
    "inside",
    [
        {"prompt": "<task-notification>x</task-notification>", "commandMode": "task-notification"},
        {"prompt": "from elsewhere", "origin": {"kind": "peer"}},
        {"prompt": "  "},
        {"prompt": None},
        {},
    ],
)
def test_what_else_was_queued_is_not_a_prompt(inside: dict[str, Any]) -> None:
    assert "prompt" not in [field for field, _ in said(talk().user("go").attachment("queued_command", **inside))[1:]]


def test_the_rest_says_nothing() -> None:
    told = talk().queue("enqueue", "wait").attachment("date", content="queued_command").title("Gate").last_prompt("go")
    told = told.progress("bash_progress", output="1/2").system("informational", content="note").turn_duration(5)
    assert said(told.summary_line("Gate").pr_link(3, "ada/gate").snapshot()) == []
    assert of({"type": "user"}) == of({"type": "assistant"}) == of({"type": "tomorrow", "message": {}}) == []


def test_a_reply_that_is_a_plain_string() -> None:
    assert of({"type": "assistant", "message": {"role": "assistant", "content": "hello"}}) == [Words("reply", "hello")]


# -- any script


@given(st.text(alphabet="日本語中文한글العربيةбудь😀é \n", min_size=1).filter(str.strip))
def test_text_of_any_script_comes_through_whole(text: str) -> None:
    told = talk().user("x").reply(text, thinking=text, call=tool("Bash", command=text)).result(text)
    assert said(told)[1:] == [("thinking", text), ("reply", text), ("input", text), ("result", text)]
    assert said(talk().user(text)) == [("prompt", text.strip())]


def test_it_is_a_public_name() -> None:
    assert clew.words is words
