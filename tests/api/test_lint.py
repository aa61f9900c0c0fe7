"""What the API refuses: a table of requests, sound and unsound, and the rule that each breaks."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.api.endpoint import PROFILES
from clew.api.lint import Violation, lint, violations
from clew.api.lint_blocks import KINDS
from clew.api.request_body import MessagesRequest, prepare
from clew.demo.demo_tree import write_demo
from tests.api.helper import assistant, call, result, text, thinking, user

Json = dict[str, Any]

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 20).decode()
LARGE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 5_300_000).decode()
MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
TOOL: Json = {"name": "Bash", "input_schema": {"type": "object"}}


def image(data: str = PNG, kind: str = "image/png") -> Json:
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def picture(**source: Any) -> Json:
    return {"type": "image", "source": source}


def document(**source: Any) -> Json:
    return {"type": "document", "source": source}


def body(*messages: Any, **more: Any) -> Json:
    return {"model": "m", "max_tokens": 2048, "messages": list(messages or (user(),)), **more}


def talk(*content: Any, answer: Any = None) -> Json:
    """A call, whatever comes between, and its result."""
    return body(user(), assistant(*content), user(answer if answer is not None else [result()]))


PAIR = [assistant(call()), user([result()])]
THINKS = {"thinking": {"type": "enabled", "budget_tokens": 1024}}

SOUND: dict[str, Json] = {
    "one prompt": body(),
    "blocks": body(user([text("a"), text("b")])),
    "turns": body(user(), assistant(text("x")), user("more")),
    "a call and its result": body(user(), *PAIR),
    "two calls": body(user(), assistant(call("a"), call("b")), user([result("b"), result("a")])),
    "text behind results": body(user(), assistant(call()), user([result(), text("and?")])),
    "a result without content": body(user(), assistant(call()), user([{"type": "tool_result", "tool_use_id": "toolu_1"}])),
    "an empty result": body(user(), assistant(call()), user([result(content="")])),
    "a failed result": body(user(), assistant(call()), user([result(is_error=True)])),
    "an image in a result": body(user(), assistant(call()), user([result(content=[text("x"), image()])])),
    "thinking before text": body(user(), assistant(thinking(), text("x")), user("y")),
    "thinking before a call": talk(thinking(), call()),
    "hidden thinking": body(user(), assistant({"type": "redacted_thinking", "data": "x"}, text("y")), user("z")),
    "thinking enabled in a tool cycle": {**talk(thinking(), call()), **THINKS},
    "thinking enabled after old turns": {**body(user(), assistant(text("x")), user("y")), **THINKS},
    "adaptive thinking": {**talk(call()), "thinking": {"type": "adaptive"}},
    "four marks": body(user([text(t) | MARK for t in "abcd"])),
    "an hour before five minutes": body(user([text("a") | HOUR, text("b") | MARK])),
    "a mark on a tool and a result": {**talk(call(), answer=[result() | MARK]), "tools": [TOOL | MARK]},
    "a picture": body(user([image()])),
    "a picture by address": body(user([picture(type="url", url="https://a.example/x.png")])),
    "a file": body(user([document(type="base64", media_type="application/pdf", data=PNG)])),
    "a text file": body(user([document(type="text", media_type="text/plain", data="x")])),
    "system text": body(system="Be kind."),
    "system blocks": body(system=[text("Be kind.") | MARK]),
    "system messages between": body(user(), {"role": "system", "content": "x", "output_config": {}}, assistant(text("y"))),
    "tools": body(tools=[TOOL], tool_choice={"type": "tool", "name": "Bash"}),
    "server tools": body(tools=[{"type": "web_search_20250305", "name": "web_search"}]),
    "server calls": body(
        user(),
        assistant(
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
            text("x"),
        ),
        user("y"),
    ),
    "letters of all scripts": body(user("Grüße 🧵 ünïcödé 漢字")),
    "an empty last assistant message": body(user(), assistant()),
    "warm": body(temperature=0.7),
    "metadata": body(metadata={"user_id": "x"}, stop_sequences=["END"], stream=True),
}  # fmt: skip

UNSOUND: dict[str, tuple[Json, str]] = {
    "no model": ({"max_tokens": 1, "messages": [user()]}, "field"),
    "no limit": ({"model": "m", "messages": [user()]}, "field"),
    "no messages": ({"model": "m", "max_tokens": 1}, "field"),
    "messages that are none": ({"model": "m", "max_tokens": 1, "messages": "hi"}, "field"),
    "an empty list": ({"model": "m", "max_tokens": 1, "messages": []}, "messages"),
    "a limit that is no number": (body() | {"max_tokens": "9"}, "field"),
    "a limit below zero": (body() | {"max_tokens": -1}, "field"),
    "an unknown field": (body(parentUuid="x"), "extra"),
    "an unknown field of a message": (body(user() | {"uuid": "x"}), "extra"),
    "an unknown field of a block": (body(user([text("a") | {"isMeta": True}])), "extra"),
    "a message that is none": (body("hi"), "message"),
    "an unknown role": (body({"role": "tool", "content": "x"}), "role"),
    "no content": (body({"role": "user"}), "content"),
    "the assistant first": (body(assistant(text("x")), user()), "first"),
    "an empty prompt": (body(user("")), "empty"),
    "an empty list of blocks": (body(user([])), "empty"),
    "an empty message amid": (body(user(), assistant(), user()), "empty"),
    "an empty text block": (body(user([text("")])), "empty"),
    "a blank text block": (body(user([text(" \n")])), "blank"),
    "a blank prompt": (body(user("  ")), "blank"),
    "an empty text of the model": (body(user(), assistant(text("")), user()), "empty"),
    "an empty system block": (body(system=[text("")]), "empty"),
    "a system of numbers": (body(system=7), "system"),
    "a picture in the system": (body(system=[image()]), "role"),
    "trailing space of a prefill": (body(user(), assistant(text("So "))), "trailing"),
    "an unknown type": (body(user([{"type": "perfume"}])), "type"),
    "a block that is none": (body(user(["x"])), "block"),
    "a text without text": (body(user([{"type": "text"}])), "field"),
    "a text of numbers": (body(user([{"type": "text", "text": 1}])), "field"),
    "a call by the user": (body(user([call()])), "role"),
    "a result by the model": (body(user(), assistant(result()), user()), "role"),
    "thinking by the user": (body(user([thinking()])), "role"),
    "a picture by the model": (body(user(), assistant(image()), user()), "role"),
    "a call without an answer": (body(user(), assistant(call()), user("next")), "unanswered"),
    "a call at the end": (body(user(), assistant(call())), "unanswered"),
    "one of two results": (body(user(), assistant(call("a"), call("b")), user([result("a")])), "unanswered"),
    "a result too late": (body(user(), assistant(call()), user("x"), assistant(text("y")), user([result()])), "orphan"),
    "a result without a call": (body(user([result()])), "orphan"),
    "a result of another call": (body(user(), assistant(call("a")), user([result("b")])), "orphan"),
    "two results": (body(user(), assistant(call()), user([result(), result()])), "twice"),
    "text before a result": (body(user(), assistant(call()), user([text("x"), result()])), "late"),
    "the same call twice": (body(user(), assistant(call(), call()), user([result()])), "unique"),
    "the same call in two messages": (body(user(), *PAIR, *PAIR), "unique"),
    "an id of other letters": (body(user(), assistant(call("a b")), user([result("a b")])), "id"),
    "an input that is no object": (body(user(), assistant(call() | {"input": "x"}), user([result()])), "field"),
    "a call without a name": (body(user(), assistant(call(tool="")), user([result()])), "name"),
    "a call in a result": (body(user(), assistant(call()), user([result(content=[call("b")])])), "result"),
    "an empty text in a result": (body(user(), assistant(call()), user([result(content=[text("")])])), "empty"),
    "a picture in a failed result": (talk(call(), answer=[result(content=[image()], is_error=True)]), "result"),
    "a result of numbers": (body(user(), assistant(call()), user([result(content=7)])), "result"),
    "thinking without a signature": (body(user(), assistant({"type": "thinking", "thinking": "x"}, call())), "field"),
    "thinking with an empty signature": (body(user(), assistant(thinking(signature=""), text("y")), user()), "signature"),
    "thinking alone": (body(user(), assistant(thinking()), user()), "thinking"),
    "thinking last": (body(user(), assistant(text("x"), thinking()), user()), "thinking"),
    "a tool cycle that begins without thinking": ({**talk(call()), **THINKS}, "thinking_start"),
    "a budget too small": (body(thinking={"type": "enabled", "budget_tokens": 10}), "budget"),
    "a budget beyond the limit": (body(thinking={"type": "enabled", "budget_tokens": 4096}), "budget"),
    "thinking at another temperature": (body(**THINKS, temperature=0.5), "temperature"),
    "thinking and a forced tool": (body(**THINKS, tools=[TOOL], tool_choice={"type": "any"}), "tool_choice"),
    "too warm": (body(temperature=2), "temperature"),
    "a blank stop sequence": (body(stop_sequences=[" "]), "stop"),
    "five marks": (body(user([text(t) | MARK for t in "abcde"])), "marks"),
    "five marks, one in a result": (
        {**talk(call(), answer=[result(content=[text("x") | MARK])]), "system": [text(t) | MARK for t in "abcd"]},
        "marks",
    ),
    "a mark on thinking": (body(user(), assistant(thinking() | MARK, text("x")), user()), "mark"),
    "a mark on nothing": (body(user([text("") | MARK])), "mark"),
    "a mark of another kind": (body(user([text("a") | {"cache_control": {"type": "eternal"}}])), "mark"),
    "a mark of another lifetime": (body(user([text("a") | {"cache_control": {"type": "ephemeral", "ttl": "1d"}}])), "mark"),
    "a mark on a tool of another kind": (body(tools=[TOOL | {"cache_control": {"type": "x"}}]), "mark"),
    "five minutes before an hour": (body(user([text("a") | MARK, text("b") | HOUR])), "mark_order"),
    "two tools of one name": (body(tools=[TOOL, TOOL]), "tools"),
    "a tool name with a space": (body(tools=[TOOL | {"name": "my tool"}]), "tools"),
    "a tool without a schema": (body(tools=[{"name": "x"}]), "tools"),
    "a choice without tools": (body(tool_choice={"type": "auto"}), "tool_choice"),
    "a choice of no tool": (body(tools=[TOOL], tool_choice={"type": "tool", "name": "X"}), "tool_choice"),
    "a picture of another kind": (body(user([image(kind="image/tiff")])), "image"),
    "a picture that is another": (body(user([image(kind="image/gif")])), "image"),
    "a picture that is no base64": (body(user([image("%%%")])), "image"),
    "a picture that is not even ASCII": (body(user([image("b\u00e9d")])), "image"),
    "an empty picture": (body(user([image("")])), "image"),
    "a picture too large": (body(user([image(LARGE)])), "image"),
    "a picture by a plain address": (body(user([picture(type="url", url="http://a/x")])), "image"),
    "a picture from nowhere": (body(user([picture(type="air")])), "image"),
    "a picture file without an id": (body(user([picture(type="file")])), "image"),
    "too many pictures": (body(user([image()] * 101)), "images"),
    "a file of another kind": (body(user([document(type="base64", media_type="text/html", data=PNG)])), "document"),
    "a text file of another kind": (body(user([document(type="text", media_type="text/html", data="x")])), "document"),
    "an empty text file": (body(user([document(type="text", media_type="text/plain", data="")])), "document"),
    "a file from nowhere": (body(user([document(type="air")])), "document"),
    "half a surrogate pair": (body(user("a \ud83e b")), "text"),
}  # fmt: skip

ADVICE: dict[str, tuple[Json, str]] = {
    "two prompts in a row": (body(user(), user()), "turns"),
    "two replies in a row": (body(user(), assistant(text("a")), assistant(text("b")), user()), "turns"),
    "a prefill": (body(user(), assistant(text("So"))), "prefill"),
    "thinking amid": (body(user(), assistant(text("a"), thinking(), text("b")), user()), "thinking_first"),
}


def refused(found: list[Violation]) -> list[str]:
    return [v.rule for v in found if v.is_refused]


@pytest.mark.parametrize("name", SOUND)
def test_what_is_sound_breaks_no_rule(name: str) -> None:
    assert refused(violations(SOUND[name])) == []


@pytest.mark.parametrize("name", UNSOUND)
def test_what_is_unsound_breaks_its_rule(name: str) -> None:
    made, rule = UNSOUND[name]
    found = violations(made)
    assert rule in refused(found), [str(v) for v in found]
    assert all(v.message for v in found)


@pytest.mark.parametrize("name", ADVICE)
def test_advice_is_told_and_refuses_nothing(name: str) -> None:
    made, rule = ADVICE[name]
    found = violations(made)
    assert refused(found) == []
    assert rule in [v.rule for v in found]


def test_a_violation_says_where() -> None:
    [found] = [v for v in lint([user(), assistant(call("toolu_9")), user("next")]) if v.rule == "unanswered"]
    assert str(found).startswith("messages.1: `tool_use` ids were found without `tool_result` blocks")
    assert "toolu_9" in str(found)


def test_results_may_come_in_a_second_message_of_the_same_turn() -> None:
    talk = [user(), assistant(call("a"), call("b")), user([result("a")]), user([result("b"), text("x")])]
    assert refused(lint(talk)) == []
    split = [user(), assistant(text("x")), assistant(call()), user([result()])]
    assert refused(lint(split)) == []


def test_with_a_beta_unknown_fields_may_stand() -> None:
    made = body(context_management={"edits": []})
    assert refused(violations(made)) == ["extra"]
    assert refused(violations(made, ["context-management-2025-06-27"])) == []


KEYS = [
    "type",
    "role",
    "content",
    "text",
    "id",
    "name",
    "tool_use_id",
    "source",
    "cache_control",
    "input",
    "data",
    "ttl",
]
anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.sampled_from(sorted(KINDS))),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)),
    max_leaves=12,
)
fields = st.dictionaries(st.sampled_from(KEYS), anything, max_size=4)
block = st.builds(lambda kind, rest: {**rest, "type": kind}, st.sampled_from(sorted(KINDS)), fields)
message = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.sampled_from(["user", "assistant", "system"]),
    st.one_of(anything, st.lists(block, max_size=3)),
)


@given(st.lists(st.one_of(message, anything), max_size=4), anything, anything, fields)
def test_nothing_breaks_the_rules_themselves(messages: list[Any], system: Any, tools: Any, choice: Json) -> None:
    made = body(*messages, system=system, tools=tools, tool_choice=choice, stop_sequences=tools, temperature=system)
    assert all(isinstance(v, Violation) for v in violations(made))


@given(st.sampled_from(sorted(SOUND)), st.sampled_from(sorted(PROFILES)))
def test_a_sound_request_stays_sound_with_our_marks(name: str, profile: str) -> None:
    made = SOUND[name]
    system = made.get("system", ())
    asked = MessagesRequest(
        model="m",
        messages=[user("word " * 2000), assistant(text("x")), *made["messages"]],
        system=system,
        tools=made.get("tools", ()),
    )
    assert refused(violations(prepare(asked, PROFILES[profile]).body)) == []


def test_what_a_resume_of_the_demo_sends_is_sound(tmp_path: Path) -> None:
    write_demo(tmp_path / "claude", datetime(2026, 6, 1, tzinfo=UTC))
    found = {s.id: refused(lint(clew.request(s).messages)) for s in clew.sessions(claude=tmp_path / "claude")}
    assert len(found) > 20
    assert {name: rules for name, rules in found.items() if rules} == {}


@pytest.mark.shared
def test_what_the_real_program_was_seen_to_send_is_sound(shared: Path) -> None:
    """Its ordinary requests break no rule; a file with two results for one call made older versions send both."""
    samples = shared / "oracle/samples"
    ordinary = [m for path in samples.glob("2.*/*/expected.json") for m in _sent(path).values()]
    assert len(ordinary) > 100
    assert [rules for messages in ordinary if (rules := refused(lint(messages)))] == []
    for version, rules in (("2.1.45", ["twice"]), ("2.1.325", [])):
        odd = _sent(samples / f"acceptance/expected-{version}.json")
        assert refused(lint(odd["i05_two_results"])) == rules


def _sent(path: Path) -> dict[str, list[Json]]:
    told = json.loads(path.read_text(encoding="utf-8"))
    return {name: each["messages"] for name, each in told.items() if isinstance(each, dict) and each.get("messages")}
