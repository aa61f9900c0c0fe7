"""The parts of a message: each kind typed, an unknown kind kept, a text the same in every form."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.wire.content_block import Block, result_text
from clew.wire.entry import Entry, read
from clew.wire.json_codec import decode, encode


def said(content: Any, kind: str = "assistant", **fields: Any) -> Entry:
    message = {"role": kind, "content": content, **fields}
    (item,) = read(encode({"type": kind, "uuid": "u", "message": message}))
    assert isinstance(item, Entry)
    assert item.leniency == ""
    return item


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


@pytest.mark.req("R090")
@given(st.text())
def test_a_string_and_a_list_of_the_same_text_read_alike(words: str) -> None:
    plain, listed = said(words, "user"), said([text(words)], "user")
    assert plain.text == listed.text == words
    assert plain.blocks == listed.blocks == [Block(type="text", text=words)]


@pytest.mark.req("R091")
def test_the_text_is_that_of_the_text_blocks_in_order() -> None:
    entry = said(
        [
            {"type": "thinking", "thinking": "hidden", "signature": "s"},
            text("one"),
            {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "text"}},
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "result"},
            {"type": "novelty", "text": "not a text block"},
            text("two"),
        ]
    )
    assert entry.text == "one\ntwo"


@pytest.mark.req("R092")
def test_each_known_block_is_typed() -> None:
    think, talk, use, answer = said(
        [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            text("hello"),
            {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "/a", "limit": 5}},
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x", "is_error": True},
        ]
    ).blocks
    assert (think.type, think.thinking, think.signature) == ("thinking", "hm", "c2ln")
    assert (talk.type, talk.text) == ("text", "hello")
    assert (use.type, use.id, use.name, use.input) == ("tool_use", "toolu_1", "Read", {"file_path": "/a", "limit": 5})
    assert (answer.tool_use_id, answer.content, answer.is_error) == ("toolu_1", "x", True)


def test_uses_and_results_are_found_among_the_blocks() -> None:
    entry = said(
        [
            text("a"),
            {"type": "tool_use", "id": "toolu_1", "name": "A", "input": {}},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": "raw"},
            {"type": "tool_use", "id": "toolu_2", "name": "B", "input": {}},
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"},
        ]
    )
    assert [use.id for use in entry.uses] == ["toolu_1", "toolu_2"]
    assert [result.tool_use_id for result in entry.results] == ["toolu_1"]
    assert said("a string").uses == said("a string").results == []


@pytest.mark.req("R093")
def test_a_block_of_an_unknown_kind_is_kept_and_ignored() -> None:
    novelty = {"type": "hologram", "text": "t", "depth": [1, 2], "id": "h"}
    entry = said([novelty, text("seen")])
    assert [b.type for b in entry.blocks] == ["hologram", "text"]
    assert entry.text == "seen"
    assert entry.uses == entry.results == []
    assert entry.data["message"]["content"][0] == novelty


@pytest.mark.req("R100")
@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("plain", "plain"),
        ("", ""),
        (None, ""),
        ([], ""),
        ([text("a"), text("b")], "a\nb"),
        ([text("a"), {"type": "image", "source": {"type": "base64", "data": "x"}}], "a\n[image]"),
        ([{"type": "tool_reference", "tool_name": "Grep"}], "Grep"),
        ([{"type": "document", "source": {}}], "[document]"),
        (
            ["bare", 5, None, {"type": "novelty", "text": "still text"}, {"type": "text", "text": None}],
            "bare\nstill text",
        ),
        ({"type": "text", "text": "an object"}, "an object"),
        ({"anything": 1}, ""),
        (5, ""),
    ],
)
def test_a_result_may_have_any_form(content: Any, words: str) -> None:
    (block,) = said([{"type": "tool_result", "tool_use_id": "toolu_1", "content": content}], "user").results
    assert block.content == content
    assert block.result_text == result_text(content) == words


def test_a_result_may_have_no_content_at_all() -> None:
    (block,) = said([{"type": "tool_result", "tool_use_id": "toolu_1"}], "user").results
    assert block.content is None
    assert block.result_text == ""


@pytest.mark.req("R101")
@pytest.mark.parametrize("ident", ["toolu_01AbC", "call_00_x9", "tooluse_kZ", "?", "U", "", "4f2a-uuid"])
def test_an_id_may_have_any_form(ident: str) -> None:
    use, result = said(
        [
            {"type": "tool_use", "id": ident, "name": "Read", "input": {}},
            {"type": "tool_result", "tool_use_id": ident, "content": ""},
        ]
    ).blocks
    assert use.id == result.tool_use_id == ident


@pytest.mark.req("R102")
@pytest.mark.parametrize("signature", ["", "EqQBCkgIAhABGAIiQA==", "a" * 4000, "+/=\u2028ä"])
@pytest.mark.parametrize("thought", ["", "Let me see.\n"])
def test_a_signature_is_kept_unchanged(signature: str, thought: str) -> None:
    block = {"type": "thinking", "thinking": thought, "signature": signature}
    entry = said([block])
    assert (entry.blocks[0].thinking, entry.blocks[0].signature) == (thought, signature)
    assert encode(entry.data) == entry.line.json
    assert entry.data["message"]["content"] == [block]


def test_a_thought_may_have_no_signature() -> None:
    assert said([{"type": "thinking", "thinking": "x"}]).blocks[0].signature is None


@pytest.mark.req("R103")
@pytest.mark.parametrize(("given_", "failed"), [({}, False), ({"is_error": None}, False), ({"is_error": False}, False)])
def test_a_result_without_an_error_mark_did_not_fail(given_: dict[str, Any], failed: bool) -> None:
    entry = said([{"type": "tool_result", "tool_use_id": "t", "content": "", **given_}], "user")
    assert entry.failed(entry.results[0]) is failed


def test_an_image_keeps_its_source() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    (block,) = said([{"type": "image", "source": source}], "user").blocks
    assert decode(block.source) == source


def test_the_input_of_a_call_may_be_anything() -> None:
    for given_ in ({}, {"a": {"b": [None]}}, "a string", None, [1]):
        (block,) = said([{"type": "tool_use", "id": "t", "name": "X", "input": given_}]).uses
        assert block.input == given_


def test_a_tool_name_may_hold_newlines_and_quotes() -> None:
    name = 'Task" >\n<parameter name="description'
    assert said([{"type": "tool_use", "id": "t", "name": name, "input": {}}]).uses[0].name == name


@pytest.mark.req("R120", "R123")
def test_usage_is_typed_and_every_part_of_it_may_be_missing() -> None:
    message = said("x", usage={"input_tokens": 3, "output_tokens": 5}).message
    assert message is not None
    assert message.usage is not None
    assert (message.usage.input_tokens, message.usage.output_tokens, message.usage.service_tier) == (3, 5, None)
    whole = {
        "input_tokens": 1,
        "cache_creation_input_tokens": 2,
        "cache_read_input_tokens": 3,
        "cache_creation": {"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 5},
        "output_tokens": 6,
        "service_tier": "standard",
        "server_tool_use": {"web_search_requests": 7, "web_fetch_requests": 8},
    }
    usage = said("x", usage=whole).message.usage  # type: ignore[union-attr]
    assert usage is not None
    assert usage.cache_creation is not None
    assert usage.server_tool_use is not None
    assert (usage.cache_creation_input_tokens, usage.cache_read_input_tokens, usage.service_tier) == (2, 3, "standard")
    assert (usage.cache_creation.ephemeral_5m, usage.cache_creation.ephemeral_1h) == (4, 5)
    assert (usage.server_tool_use.web_search, usage.server_tool_use.web_fetch) == (7, 8)


@pytest.mark.req("R084")
@pytest.mark.parametrize(
    "edits", [None, {"applied_edits": []}, {"applied_edits": [{"type": "clear_tool_uses"}]}, "new"]
)
def test_context_management_is_tolerated_and_kept(edits: Any) -> None:
    entry = said([text("x")], context_management=edits, container=None, stop_details=None)
    assert entry.text == "x"
    assert entry.data["message"]["context_management"] == edits


@pytest.mark.req("R134")
@pytest.mark.parametrize(
    "reason", ["end_turn", "tool_use", "stop_sequence", "max_tokens", "refusal", "brand_new", None]
)
def test_a_stop_reason_may_be_any_word_or_none(reason: str | None) -> None:
    message = said("x", stop_reason=reason).message
    assert message is not None
    assert message.stop_reason == reason
