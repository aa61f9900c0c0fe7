"""Usage: every reply counted once, however often and wherever it is written down."""

from __future__ import annotations

import tracemalloc
from functools import reduce
from itertools import chain
from operator import add
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.conversation.session import Session
from clew.demo.talk import bash, talk, task
from clew.facts.removed_thinking import replies_without_thinking
from clew.facts.token_usage import Count, Usage, count, total, usage
from clew.wire.bulk_scan import scan
from clew.wire.json_codec import encode
from clew.wire.usage_fields import Billed

Json = dict[str, Any]

FULL = {
    "input_tokens": 3,
    "cache_creation_input_tokens": 5423,
    "cache_read_input_tokens": 13001,
    "cache_creation": {"ephemeral_5m_input_tokens": 5000, "ephemeral_1h_input_tokens": 423},
    "output_tokens": 150,
    "service_tier": "standard",
    "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 1},
}


def line(
    tokens: Json | None,
    mid: str | None = "m",
    model: str = "opus",
    time: Any = "2026-01-05T09:00:00.000Z",
    **fields: Any,
) -> Json:
    message: Json = {"role": "assistant", "model": model, "content": []}
    message |= {} if mid is None else {"id": mid}
    message |= {} if tokens is None else {"usage": tokens}
    return {"type": "assistant", "timestamp": time, "message": message, **fields}


def file(*lines: Json) -> Session:
    return Session(b"".join(encode(each) + b"\n" for each in lines))


def spent(*lines: Json) -> Usage:
    return usage(file(*lines))


@pytest.mark.req("R120")
def test_every_field_of_the_usage_is_read() -> None:
    (entry,) = file(line(FULL)).entries
    assert entry.message is not None
    tokens = entry.message.usage
    assert tokens is not None
    assert (tokens.input_tokens, tokens.output_tokens) == (3, 150)
    assert (tokens.cache_creation_input_tokens, tokens.cache_read_input_tokens) == (5423, 13001)
    assert tokens.cache_creation is not None
    assert (tokens.cache_creation.ephemeral_5m, tokens.cache_creation.ephemeral_1h) == (5000, 423)
    assert tokens.server_tool_use is not None
    assert (tokens.server_tool_use.web_search, tokens.server_tool_use.web_fetch) == (2, 1)
    assert tokens.service_tier == "standard"
    assert count(tokens) == Count(3, 150, 5000, 423, 13001, 2, 1)


@pytest.mark.req("R120")
@pytest.mark.parametrize("tier", ["standard", "priority", None])
def test_the_service_tier_may_be_null(tier: str | None) -> None:
    (spend,) = spent(line({"output_tokens": 1, "service_tier": tier})).replies.values()
    assert spend.tier == (tier or "")


@pytest.mark.req("R121")
def test_lines_of_one_reply_count_once() -> None:
    told = talk(version="2.1.232").user("go").reply("I look.", thinking="Hm.", calls=[bash("a"), bash("b")])
    found = usage(told.entries)
    written = [e.message.usage for e in told.entries if e.message and e.message.usage]
    assert len(written) == 4
    assert len(found.replies) == 1
    assert found.total == count(written[0])


@pytest.mark.req("R122")
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_the_line_with_most_output_counts(order: tuple[int, ...]) -> None:
    """A streaming pattern from an early description: 2, 2 and 480 output tokens."""
    lines = [line({"input_tokens": 5, "output_tokens": output}) for output in (2, 2, 480)]
    assert spent(*(lines[i] for i in order)).total == Count(input=5, output=480)


@pytest.mark.req("R123")
@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ({"input_tokens": 1500, "output_tokens": 300}, Count(input=1500, output=300)),
        ({"output_tokens": 1}, Count(output=1)),
        ({}, Count()),
        ({"input_tokens": None, "output_tokens": None, "cache_creation": None, "server_tool_use": None}, Count()),
        ({"cache_creation_input_tokens": 9}, Count(cache_write_5m=9)),
        (
            {"cache_creation_input_tokens": 9, "cache_creation": {"ephemeral_1h_input_tokens": 9}},
            Count(cache_write_1h=9),
        ),
        ({"cache_creation": {"ephemeral_5m_input_tokens": 4}}, Count(cache_write_5m=4)),
        ({"output_tokens": "many", "input_tokens": 2}, Count(input=2)),
    ],
)
def test_fields_may_be_missing(tokens: Json, expected: Count) -> None:
    assert spent(line(tokens)).total == expected


def test_lines_without_usage_count_nothing() -> None:
    assert spent(line(None), {"type": "user", "message": {"role": "user", "content": "x", "usage": FULL}}).replies == {}


def test_what_the_program_said_in_the_models_name_cost_nothing() -> None:
    told = talk().user("go").api_error("overloaded").reply("ok")
    assert list(usage(told.entries).by_model) == ["claude-opus-5"]


@pytest.mark.req("R124")
def test_totals_by_session_model_and_day() -> None:
    found = spent(
        line({"input_tokens": 1, "output_tokens": 10}, "a", "opus", "2026-01-05T23:59:00.000Z"),
        line({"input_tokens": 2, "output_tokens": 20}, "b", "haiku", "2026-01-06T00:01:00.000Z"),
        line({"input_tokens": 4, "output_tokens": 40}, "c", "opus", "2026-01-06T12:00:00.000Z"),
    )
    assert found.total == Count(7, 70)
    assert found.by_model == {"haiku": Count(2, 20), "opus": Count(5, 50)}
    assert found.by_day == {"2026-01-05": Count(1, 10), "2026-01-06": Count(6, 60)}
    assert (found.total.total, list(found.by_model)) == (77, sorted(found.by_model))


@pytest.mark.req("R124")
@pytest.mark.req("R348")
@pytest.mark.parametrize(
    ("time", "day"),
    [
        ("2026-01-06T00:30:00.000Z", "2026-01-06"),
        ("2026-01-06T00:30:00.000+02:00", "2026-01-05"),
        ("2026-01-05T23:30:00-01:00", "2026-01-06"),
        (1767659400000, "2026-01-06"),
        (None, ""),
        ("soon", ""),
    ],
)
def test_a_day_is_a_day_of_utc_whatever_the_form_of_the_time(time: Any, day: str) -> None:
    assert list(spent(line(FULL, time=time)).by_day) == [day]


# -- usage adds


def test_agents_are_part_of_a_session(tmp_path: Path) -> None:
    errand = talk().user("Look.").reply("Seen.", usage={"output_tokens": 1000})
    told = talk().user("go").reply(call=task("Look", "Look.")).agent(0, errand).reply("done")
    found = clew.read(told.write(tmp_path))
    (agent,) = found.agents
    assert usage(found) == usage(found.entries) + usage(agent.session)
    assert usage(found).total.output == usage(found.entries).total.output + 1000


def test_a_fork_counts_its_own_replies_alone() -> None:
    told = talk().user("one").reply("1").user("two").reply("2")
    fork = told.fork().user("three").reply("3")
    both = usage(told.entries) + usage(fork.entries)
    assert both == usage(fork.entries)
    assert len(both.replies) == 3
    assert usage(told.user("four").reply("4").entries) + usage(fork.entries) != both


@pytest.mark.parametrize(
    "other",
    [
        {"output_tokens": 1, "cache_read_input_tokens": 1, "service_tier": "batch"},
        {"output_tokens": 1, "input_tokens": 1, "service_tier": "standard"},
    ],
)
def test_the_order_does_not_matter_however_alike_two_lines_are(other: Json) -> None:
    lines = [line({"output_tokens": 1, "input_tokens": 1, "service_tier": "batch"}), line(other)]
    first, second = map(spent, lines)
    assert first != second
    assert first + second == second + first == spent(*lines) == spent(*reversed(lines))


def test_nothing_is_the_neutral_element() -> None:
    found = spent(line(FULL))
    assert found + Usage() == Usage() + found == found
    assert Usage().total == Count() == total([])
    assert sum([], Usage()) == Usage()
    assert found != 1


def test_a_sum_of_very_many_sessions_is_no_tower() -> None:
    """It can be added up, compared and shown, also by whoever types it at a prompt."""
    found = sum((spent(line({"output_tokens": 1}, str(i))) for i in range(5000)), Usage())
    assert found.total.output == 5000
    assert repr(found) == "<Usage of 5000 replies: 5000 tokens>"
    assert hash(found) == hash(found + found)


def test_counts_add() -> None:
    assert Count(1, 2, 3, 4, 5, 6, 7) + Count(10, 20, 30, 40, 50, 60, 70) == Count(11, 22, 33, 44, 55, 66, 77)
    assert (Count(1, 2, 3, 4, 5).cache_write, Count(1, 2, 3, 4, 5).total) == (7, 15)


# -- usage of parts adds up to the whole

NUMBERS = st.integers(0, 3)
TOKENS = st.fixed_dictionaries(
    {"output_tokens": NUMBERS},
    optional={
        "input_tokens": NUMBERS,
        "cache_read_input_tokens": NUMBERS,
        "cache_creation_input_tokens": NUMBERS,
        "service_tier": st.sampled_from(["standard", "batch", None]),
    },
)
LINES = st.builds(
    line,
    TOKENS,
    st.sampled_from(["m", "n", "o", None]),
    st.sampled_from(["opus", "haiku"]),
    st.sampled_from(["2026-01-05T09:00:00.000Z", "2026-01-06T09:00:00.000Z", None]),
)
SPLITS = st.lists(st.lists(LINES, max_size=5), min_size=1, max_size=5)


@given(SPLITS, st.randoms())
def test_parts_add_up_to_the_whole_in_any_split_order_and_repetition(files: list[list[Json]], random: Any) -> None:
    whole = spent(*(each for lines in files for each in lines))
    parts = [spent(*lines) for lines in files]
    assert reduce(add, parts) == whole
    shuffled = [each for lines in files for each in lines]
    random.shuffle(shuffled)
    assert spent(*shuffled) == whole
    random.shuffle(parts)
    assert sum([*parts, *parts[:2]], Usage()) == whole
    assert sum(parts, Usage()).total == whole.total == total(whole.by_model.values()) == total(whole.by_day.values())


@given(LINES, LINES, LINES)
def test_adding_is_associative_commutative_and_idempotent(first: Json, second: Json, third: Json) -> None:
    a, b, c = spent(first), spent(second), spent(third)
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + a == a


@pytest.mark.req("R125")
def test_usage_is_called_inaccurate_where_the_thinking_it_counts_was_removed() -> None:
    details = {"output_tokens": 90, "output_tokens_details": {"thinking_tokens": 60}}
    told = (
        talk().user("hi").reply("ho", thinking="hm", usage=details, message_id="msg_1").reply("bye", message_id="msg_2")
    )
    entries = told.entries
    assert replies_without_thinking(entries) == []
    assert replies_without_thinking([e for e in entries if not any(b.type == "thinking" for b in e.blocks)]) == [
        "msg_1"
    ]


# -- how far the numbers can be trusted


@pytest.mark.parametrize(
    ("output", "length", "stop", "is_final"),
    [
        (1, 400, None, False),  # the stub that a stream begins with
        (1, 400, "end_turn", True),
        (
            100,
            400,
            None,
            True,
        ),  # no version before 2.1.60 wrote a stop reason on most lines, but many the final numbers
        (1, 3, None, True),
        (0, 0, None, True),
    ],
)
def test_a_stub_is_told_from_final_numbers(output: int, length: int, stop: str | None, is_final: bool) -> None:
    entry = line({"output_tokens": output}, uuid="u")
    entry["message"] |= {"content": [{"type": "text", "text": "x" * length}], "stop_reason": stop}
    (spend,) = spent(entry).replies.values()
    assert spend.is_final is is_final
    assert spend.count.output == output
    if not is_final:
        assert spend.estimate == length // 4


def test_all_lines_of_a_reply_tell_how_long_its_text_is() -> None:
    lines = [line({"output_tokens": 2}, uuid=name) for name in "abc"]
    for each, block in zip(
        lines,
        (
            {"type": "thinking", "thinking": "h" * 40, "signature": "s" * 500},
            {"type": "text", "text": "t" * 40},
            {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "c" * 26}},
        ),
        strict=True,
    ):
        each["message"] |= {"content": [block], "stop_reason": None}
    (spend,) = spent(*lines, lines[0]).replies.values()
    assert spend.estimate == 30
    assert spend.calls == {"toolu_1": "Bash"}
    first, rest = spent(*lines[:1]), spent(*lines[1:])
    assert (first + rest).replies == (rest + first).replies == spent(*lines).replies


def test_what_an_agent_said_counts_where_its_session_repeats_it() -> None:
    said = line({"input_tokens": 3, "output_tokens": 7}, "msg_agent", "haiku", requestId="r")
    repeated = {"type": "progress", "data": {"type": "agent_progress", "message": said}, "uuid": "p"}
    assert spent(repeated).total == Count(3, 7)
    assert spent(repeated) + spent(said) == spent(said, repeated)
    assert len((spent(repeated) + spent(said)).replies) == 1


@pytest.mark.parametrize("data", [None, "x", 3, [], {"message": 5}, {"message": {"type": "user", "message": {}}}])
def test_other_progress_counts_nothing(data: Any) -> None:
    assert spent({"type": "progress", "data": data, "uuid": "p"}).replies == {}


def test_an_advisor_is_billed_apart_from_the_reply_that_asked_it() -> None:
    advice = {"type": "advisor_message", "model": "opus", "input_tokens": 100, "output_tokens": 50}
    own = {"type": "message", "input_tokens": 1, "output_tokens": 2}
    entry = line({"input_tokens": 1, "output_tokens": 2, "iterations": [own, advice]}, model="haiku")
    found = spent(entry, entry)
    assert found.by_model == {"haiku": Count(1, 2), "opus": Count(100, 50)}
    assert spent(line({"output_tokens": 1, "iterations": 7})).total == Count(output=1)


def test_a_copy_is_known_by_its_mark_alone() -> None:
    marked = line(FULL, forkedFrom={"sessionId": "s", "messageUuid": "u"})
    assert [s.is_copy for s in usage(file(marked).entries).replies.values()] == [False]  # nothing reads it but a scan
    (spend,) = usage(piece for p in scan(encode(marked), shape=Billed) for piece in p.spoken).replies.values()
    assert spend.is_copy


def test_the_usage_of_a_large_file_keeps_none_of_its_bytes() -> None:
    iterations = [{"type": "message", "input_tokens": 1, "output_tokens": 1}]
    lines = [
        line({"output_tokens": number, "iterations": iterations}, f"msg_{number}", filler="x" * 4_000)
        for number in range(2_000)
    ]
    data = b"".join(encode(each) + b"\n" for each in lines)
    tracemalloc.start()
    counted = usage(chain.from_iterable(batch.spoken for batch in scan(data)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(counted.replies) == 2_000
    assert peak < len(data) / 3
