"""The context: what a resume sends, weighed by category and held against what the replies report."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.api.token_estimate import IMAGE_TOKENS, estimate_tokens
from clew.conversation.session import Session
from clew.demo.talk import Talk, bash, talk
from clew.facts.context_size import CATEGORIES, UNSENT, Scale, WeighedPath, measure_context
from clew.wire.entry import Entry
from clew.wire.entry_edit import renumber, revise
from clew.wire.json_codec import encode
from tests.edit.talks import talks

PNG = b"\x89PNG\r\n\x1a\n" + b"x" * 400
WORD = "abc " * 100  # 100 tokens by the rule of thumb


def session(told: Talk) -> Session:
    return Session(told.bytes())


def size(count: int) -> dict[str, int]:
    return {"input_tokens": 5, "cache_read_input_tokens": count - 5, "cache_creation_input_tokens": 0}


def unmeasured(told: Talk) -> dict[str, int]:
    return {
        name: share.tokens for name, share in measure_context(session(told), Scale()).shares.items() if share.tokens
    }


@pytest.mark.req("R300")
def test_each_category_has_its_own() -> None:
    told = talk(version="2.1.325").user(WORD, images=[PNG]).attachment("date", rendered=WORD * 2)
    told = told.reply(WORD * 3, thinking=WORD * 4, call=bash(WORD * 5, "x")).result(WORD * 6).reply("ok")
    found = unmeasured(told)
    assert set(found) == set(CATEGORIES)
    assert found["prompts"] == 100
    assert found["added"] == 200
    assert found["replies"] == 301
    assert found["thinking"] == 400
    assert found["tool input"] == pytest.approx(500, abs=15)
    assert found["tool result"] == 600
    assert found["images"] == IMAGE_TOKENS


def test_a_picture_in_a_result_is_a_picture() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD" * 90}}
    told = talk().user("see").reply(call=bash("x")).result([{"type": "text", "text": WORD}, picture])
    found = unmeasured(told)
    assert (found["images"], found["tool result"]) == (IMAGE_TOKENS, 100)


def test_only_what_is_sent_counts() -> None:
    told = talk().user(WORD).reply(WORD).compact("Short.").user("on").reply("ok")
    found = unmeasured(told)
    assert found == {"prompts": 1, "replies": 1, "added": 2}
    branch = talk().user("one").reply(WORD).rewind(to=1).user("one, better").reply("ok")
    assert unmeasured(branch)["replies"] == 1


def test_thinking_of_another_model_is_not_sent() -> None:
    told = talk().user("a").reply("b", thinking=WORD, model="claude-opus-4-5").user("c").reply("d", thinking=WORD)
    assert unmeasured(told)["thinking"] == 100


def test_all_bytes_of_the_file_are_told() -> None:
    found = session(talk().user("日本語" * 40).reply("ok", call=bash("ls")).result(WORD).title("x"))
    assert measure_context(found).bytes == sum(len(item.raw) for item in found.items)
    assert measure_context(found).shares[UNSENT].bytes > 0
    assert measure_context(found).shares["prompts"].bytes == 360


def test_two_reports_tell_the_scale_and_what_stands_before() -> None:
    told = talk().user(WORD).reply("a", usage=size(10_150))  # before it 100 by the rule of thumb
    told = told.user(WORD * 40).reply("b", usage=size(16_150))  # and here 4,000 more and a letter
    found = measure_context(session(told))
    assert found.is_measured
    assert found.scale.factor == pytest.approx(1.5, abs=0.01)
    assert found.scale.base == pytest.approx(10_000, abs=20)
    assert found.tokens == pytest.approx(16_152, abs=5)
    assert found.shares["prompts"].tokens == pytest.approx(6_150, abs=5)


def test_one_report_tells_what_stands_before() -> None:
    found = measure_context(session(talk().user(WORD).reply("a", usage=size(10_100))))
    assert found.scale == Scale(10_000, 1.0)


def test_a_report_of_less_than_was_said_makes_the_scale_smaller() -> None:
    found = measure_context(session(talk().user(WORD * 10).reply("a", usage=size(500))))
    assert found.scale == Scale(0, 0.5)


def test_reports_from_before_a_compaction_tell_nothing() -> None:
    told = talk(version="2.1.325").user(WORD).reply("a", usage=size(150_000)).compact("Short.", keep=1)
    assert not measure_context(session(told)).is_measured
    found = measure_context(session(told.user("on").reply("b", usage=size(12_000))))
    assert found.is_measured
    assert found.tokens == pytest.approx(12_000, abs=5)


def test_without_replies_the_weights_are_told() -> None:
    found = measure_context(session(talk().user(WORD)))
    assert (found.is_measured, found.tokens) == (False, 100)
    assert measure_context(session(talk().title("x"))).tokens == 0


def test_the_weight_before_a_reply() -> None:
    told = session(talk().user(WORD).reply("a", message_id="m1").user(WORD * 2).reply("b", message_id="m2"))
    assert (WeighedPath(told).before("m1"), WeighedPath(told).before("m2")) == (100, 301)


@given(talks())
@settings(max_examples=60)
def test_it_weighs_what_the_request_holds(told: Talk) -> None:
    """Entry by entry the path is that of the request; the letters are its letters, but for what the program adds."""
    found = session(told)
    asked = clew.request(found)
    assert tuple(found.resume_path) == asked.path
    letters = sum(_letters(block) for message in asked.messages for block in message["content"])
    counted = sum(share.tokens for share in measure_context(found, Scale()).shares.values())
    blocks = sum(len(message["content"]) for message in asked.messages)
    assert counted == pytest.approx(letters, abs=25 * blocks)


@given(talks(), st.data())
@settings(max_examples=60)
def test_an_edited_session_is_weighed_as_by_itself(told: Talk, data: st.DataObject) -> None:
    """Lines that it has in common with the session before are not weighed again; lines that were edited are."""
    before = session(told)
    edited = {e.offset for e in before.entries if e.type == "user" and isinstance(e.message and e.message.content, str)}
    chosen = data.draw(st.sets(st.sampled_from(sorted(edited)))) if edited else set()
    change = {"message": {"content": encode("short")}}
    items = [revise(i, change) if isinstance(i, Entry) and i.offset in chosen else i for i in before.items]
    after = before.with_items(renumber(items))
    assert WeighedPath(after, WeighedPath(before)).weights == WeighedPath(after).weights


def _letters(block: dict[str, Any]) -> int:
    match block["type"]:
        case "text":
            return estimate_tokens(block["text"])
        case "image":
            return IMAGE_TOKENS
        case "thinking":
            return estimate_tokens(block["thinking"])
        case "tool_use":
            return estimate_tokens([block["name"], block["input"]])
    return estimate_tokens(block["content"])
