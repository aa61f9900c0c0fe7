"""The builder: what holds for every conversation, and what each verb writes."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.demo.talk import (
    ABSENT,
    Talk,
    bash,
    edit,
    glob,
    grep,
    plan,
    read,
    talk,
    task,
    todo,
    tool,
    web_search,
    write,
)
from clew.wire.entry import Entry
from clew.wire.entry import read as read_items
from clew.wire.json_codec import encode
from clew.wire.timestamps import parse_timestamp

VERSIONS = ("1.0.117", "2.0.42", "2.0.76", "2.1.29", "2.1.61", "2.1.232", "2.1.325")


def blocks(entry: dict[str, Any]) -> list[dict[str, Any]]:
    content = entry["message"]["content"]
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def kinds(data: list[dict[str, Any]]) -> list[str]:
    return [blocks(entry)[0]["type"] if "message" in entry else entry["type"] for entry in data]


def parents_resolve(data: list[dict[str, Any]]) -> bool:
    known = {entry["uuid"] for entry in data if "uuid" in entry}
    return all(entry["parentUuid"] in {None, *known} for entry in data if "uuid" in entry)


# -- what always holds


@st.composite
def talks(draw: st.DrawFn) -> Talk:
    """Any conversation: turns with calls in parallel, rewinds, compactions, notes and agents in between."""
    told = talk(version=draw(st.sampled_from(VERSIONS)), seed=draw(st.integers(0, 9)))
    for _ in range(draw(st.integers(1, 6))):
        told = told.user(draw(st.text(max_size=12)))
        for _ in range(draw(st.integers(0, 2))):
            calls = [
                tool(draw(st.sampled_from(["Bash", "Grep", "mcp__x__y"])), n=n) for n in range(draw(st.integers(1, 3)))
            ]
            told = told.reply(draw(st.none() | st.just("So.")), thinking=draw(st.none() | st.just("Hm.")), calls=calls)
            for index in draw(st.permutations(range(len(calls)))):
                told = told.result(draw(st.text(max_size=8)), for_=index)
        told = told.reply("Done.")
        match draw(st.integers(0, 5)):
            case 0:
                told = told.rewind(to=draw(st.integers(1, told.turn)))
            case 1:
                told = told.compact("In short.", keep=draw(st.none() | st.integers(0, 4)))
            case 2:
                told = told.turn_duration().last_prompt().queue("enqueue", "more").snapshot()
            case 3:
                child = talk(version=told.setup.version).user("Go.").reply(call=bash("ls")).result("a").reply("Went.")
                told = told.reply(call=task("Go", "Go.")).agent(0, child).reply("Thanks.")
    return told


@given(talks())
def test_every_line_is_one_compact_object(told: Talk) -> None:
    for line in told.lines():
        assert line.endswith(b"\n") and line.count(b"\n") == 1
        value = json.loads(line)
        assert isinstance(value, dict)
        assert encode(value) + b"\n" == line
    assert b"".join(told.lines()) == told.bytes()


@given(talks())
def test_parents_resolve_and_ids_are_unique(told: Talk) -> None:
    files = [told.data(), *([dict(line) for line in agent.lines if isinstance(line, dict)] for agent in told.agents)]
    assert all(map(parents_resolve, files))
    everything = [entry for data in files for entry in data]
    uuids = Counter(entry["uuid"] for entry in everything if "uuid" in entry)
    assert max(uuids.values()) == 1
    uses = Counter(b["id"] for e in everything if "message" in e for b in blocks(e) if b["type"] == "tool_use")
    assert max(uses.values(), default=1) == 1


@given(talks())
def test_every_call_is_answered_once(told: Talk) -> None:
    data = told.data()
    uses = [b["id"] for e in data if "message" in e for b in blocks(e) if b["type"] == "tool_use"]
    results = [b["tool_use_id"] for e in data if "message" in e for b in blocks(e) if b["type"] == "tool_result"]
    assert sorted(uses) == sorted(results)


@given(talks())
def test_times_strictly_increase(told: Talk) -> None:
    for lines in (told.data(), *(agent.lines for agent in told.agents)):
        times = [line["timestamp"] for line in lines if isinstance(line, dict) and "timestamp" in line]
        moments = [found for time in times if (found := parse_timestamp(time))]
        assert len(moments) == len(times)
        assert all(a < b for a, b in pairwise(moments))


@given(talks())
def test_clew_reads_what_was_said(told: Talk) -> None:
    items = list(read_items(told.bytes()))
    assert all(isinstance(item, Entry) and not item.leniency for item in items)
    assert [entry.data for entry in told.entries] == told.data()


# -- determinism


def sample(seed: int = 0) -> Talk:
    return talk(seed=seed).user("hi").reply("hello", thinking="hm", call=bash("ls")).result("a").reply("done")


def test_the_same_words_give_the_same_bytes() -> None:
    assert sample().bytes() == sample().bytes()
    assert sample().session_id == sample().session_id


def test_another_seed_shares_no_id() -> None:
    def ids(told: Talk) -> set[str]:
        found = {told.session_id}
        for entry in told.data():
            found |= {
                entry["uuid"],
                entry.get("requestId", ""),
                entry.get("promptId", ""),
                entry["message"].get("id", ""),
            }
        return found - {""}

    assert not ids(sample(1)) & ids(sample(2))


def test_a_talk_is_a_value() -> None:
    base = talk().user("hi")
    before = base.bytes()
    one, other = base.reply("yes"), base.reply("no")
    assert base.bytes() == before
    assert one.bytes().startswith(before) and other.bytes().startswith(before)
    assert one.bytes() != other.bytes()
    base.data()[0]["uuid"] = "changed"
    assert base.bytes() == before


def test_start_step_and_pause_set_the_times() -> None:
    start = datetime(2025, 6, 1, tzinfo=UTC)
    told = talk(start=start, step=timedelta(seconds=5)).user("a").reply("b").pause(minutes=10).user("c")
    assert [entry["timestamp"] for entry in told.data()] == [
        "2025-06-01T00:00:00.000Z",
        "2025-06-01T00:00:05.000Z",
        "2025-06-01T00:10:10.000Z",
    ]
    with pytest.raises(ValueError, match="backwards"):
        told.pause(seconds=-1)


# -- replies


def test_a_reply_is_one_line_per_block() -> None:
    told = talk().user("go").reply("words", thinking="thought", calls=[bash("a"), bash("b")])
    lines = told.data()[1:]
    assert kinds(lines) == ["thinking", "text", "tool_use", "tool_use"]
    assert len({line["message"]["id"] for line in lines}) == 1
    assert len({line["requestId"] for line in lines}) == 1
    assert [line["parentUuid"] for line in lines[1:]] == [line["uuid"] for line in lines[:-1]]


def test_a_reply_may_be_joined_on_one_line() -> None:
    told = talk().user("go").reply("words", call=bash("a"), joined=True).result("x")
    assert [block["type"] for block in blocks(told.data()[1])] == ["text", "tool_use"]
    assert told.data()[2]["parentUuid"] == told.data()[1]["uuid"]


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.0.117", [None, None]),
        ("2.0.42", ["tool_use", "tool_use"]),
        ("2.0.76", [None, "tool_use"]),
        ("2.1.29", [None, None]),
        ("2.1.61", [None, "tool_use"]),
        ("2.1.232", ["tool_use", "tool_use"]),
    ],
)
def test_the_stop_reason_is_where_the_version_writes_it(version: str, expected: list[str | None]) -> None:
    lines = talk(version=version).user("go").reply("words", call=bash("a")).data()[1:]
    assert [line["message"]["stop_reason"] for line in lines] == expected


def test_output_tokens_are_a_stub_where_the_version_wrote_a_stub() -> None:
    def output(version: str) -> int:
        lines = talk(version=version).user("go").reply("many words " * 40).data()
        return int(lines[-1]["message"]["usage"]["output_tokens"])

    assert output("2.1.29") == 2
    assert output("2.1.232") > 100


def test_usage_grows_with_the_conversation_and_can_be_given() -> None:
    told = talk().user("a" * 400).reply("b").user("c").reply("d")
    first, second = (e["message"]["usage"] for e in told.data() if e["type"] == "assistant")
    assert second["cache_read_input_tokens"] == first["cache_creation_input_tokens"]
    given_ = talk().user("a").reply("b", usage={"output_tokens": 7}).data()[-1]
    assert given_["message"]["usage"]["output_tokens"] == 7


def test_one_message_may_go_on_behind_a_result() -> None:
    told = talk().user("go").reply(call=bash("a"), message_id="msg_x").result("1")
    told = told.reply(call=bash("b"), message_id="msg_x").result("2")
    one, two = (entry for entry in told.data() if entry["type"] == "assistant")
    assert one["message"]["id"] == two["message"]["id"] == "msg_x"
    assert one["requestId"] == two["requestId"]


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (
            "2.0.76",
            "parentUuid isSidechain userType cwd sessionId version gitBranch message requestId type uuid timestamp",
        ),
        (
            "2.1.215",
            "parentUuid isSidechain message requestId type uuid timestamp effort userType entrypoint cwd sessionId version"
            " gitBranch",
        ),
    ],
)
def test_keys_stand_in_the_order_of_the_version(version: str, expected: str) -> None:
    assert " ".join(talk(version=version).user("hi").reply("hello").data()[1]) == expected


def test_fields_can_be_given_and_left_out() -> None:
    told = talk().user("hi", gitBranch="x", colour="red").reply("yo", requestId=ABSENT, uuid="u-1").user("on")
    first, second, third = told.data()
    assert (first["gitBranch"], first["colour"]) == ("x", "red")
    assert "requestId" not in second
    assert third["parentUuid"] == "u-1"


# -- results


def test_results_hang_below_their_own_call_in_new_versions() -> None:
    told = talk().user("go").reply(calls=[bash("a"), bash("b")]).result("2", for_=1).result("1").reply("done")
    _, one, two, late, early, last = told.data()
    assert (late["parentUuid"], early["parentUuid"]) == (two["uuid"], one["uuid"])
    assert late["sourceToolAssistantUUID"] == two["uuid"]
    assert last["parentUuid"] == early["uuid"]


def test_results_hang_in_a_chain_in_old_versions() -> None:
    told = talk(version="2.0.76").user("go").reply(calls=[bash("a"), bash("b")]).result("1").result("2").reply("done")
    _, _, two, first, second, last = told.data()
    assert (first["parentUuid"], second["parentUuid"], last["parentUuid"]) == (
        two["uuid"],
        first["uuid"],
        second["uuid"],
    )
    assert "sourceToolAssistantUUID" not in first


def test_a_result_is_for_the_call_that_was_named() -> None:
    first, second = bash("a"), bash("b").with_id("toolu_b")
    told = talk().user("go").reply(calls=[first, second]).result("2", for_="toolu_b").result("1", for_=first)
    assert [blocks(e)[0]["tool_use_id"] for e in told.data()[3:]] == ["toolu_b", blocks(told.data()[1])[0]["id"]]
    later = told.reply("on").result("again", for_="toolu_b")
    assert blocks(later.data()[-1])[0]["tool_use_id"] == "toolu_b"


def test_a_result_needs_a_call() -> None:
    with pytest.raises(ValueError, match="no call"):
        talk().user("hi").reply("yo").result("a")
    with pytest.raises(ValueError, match="toolu_none"):
        talk().user("hi").reply("yo").result("a", for_="toolu_none")


def applied(original: str, hunks: list[dict[str, Any]]) -> list[str]:
    """A text with a patch applied; a hunk that does not fit fails."""
    old, new, at = original.splitlines(), list[str](), 0
    for hunk in hunks:
        start = hunk["oldStart"] - (hunk["oldLines"] > 0)
        new += old[at:start]
        before = [line[1:] for line in hunk["lines"] if line[0] in " -"]
        assert old[start : start + hunk["oldLines"]] == before
        new += [line[1:] for line in hunk["lines"] if line[0] in " +"]
        at = start + hunk["oldLines"]
    return new + old[at:]


TEXT = st.lists(st.sampled_from(["a", "b", "c", "", "d"]), max_size=12).map("\n".join)


@given(TEXT, TEXT)
def test_an_edit_has_a_patch_that_applies(before: str, after: str) -> None:
    told = talk().user("go").reply(call=write("/f", before)).result().reply(call=write("/f", after)).result()
    detail = told.data()[-1]["toolUseResult"]
    assert detail["type"] == "update"
    assert applied(detail["originalFile"], detail["structuredPatch"]) == after.splitlines()


def test_an_edit_knows_the_file_from_reads_and_edits() -> None:
    told = talk().user("go").reply(call=read("/f", "one\ntwo\n")).result()
    told = told.reply(call=edit("/f", "two", "2")).result().reply(call=edit("/f", "one\n2", "1\n2")).result()
    detail = told.data()[-1]["toolUseResult"]
    assert detail["originalFile"] == "one\n2\n"
    assert told.files["/f"] == "1\n2\n"
    assert list(detail) == [
        "filePath", "oldString", "newString", "originalFile", "structuredPatch", "userModified", "replaceAll",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="not in /f"):
        told.reply(call=edit("/f", "three", "3")).result()


def test_details_have_the_shape_of_their_tool() -> None:
    def detail(call: Any, content: Any = "x", version: str = "2.1.232", **more: Any) -> Any:
        return talk(version=version).user("go").reply(call=call).result(content, **more).data()[-1].get("toolUseResult")

    assert list(detail(bash("ls"), version="2.1.29")) == ["stdout", "stderr", "interrupted", "isImage"]
    assert list(detail(bash("ls"))) == ["stdout", "stderr", "interrupted", "isImage", "noOutputExpected"]
    assert detail(read("/f", "a\nb\n"), None) == {
        "type": "text",
        "file": {"filePath": "/f", "content": "a\nb\n", "numLines": 3, "startLine": 1, "totalLines": 3},
    }
    assert detail(read("/p.png", image=b"png"), None)["type"] == "image"
    assert detail(grep("x"), "a:1\nb:2")["numLines"] == 2
    assert detail(grep("x", mode="files_with_matches"), "a\nb")["filenames"] == ["a", "b"]
    assert detail(glob("*"), "a\nb")["numFiles"] == 2
    assert detail(todo(["a", ("b", "completed")]), None)["newTodos"][1]["status"] == "completed"
    assert detail(web_search("q"))["query"] == "q"
    assert detail(plan("do"))["plan"] == "do"
    assert detail(tool("mcp__a__b")) == [{"type": "text", "text": "x"}]
    assert detail(tool("Unknown")) is None
    assert detail(bash("ls"), "Exit code 1", error=True) == "Error: Exit code 1"
    assert detail(bash("ls"), detail={"own": 1}) == {"own": 1}
    assert detail(bash("ls"), detail=ABSENT) is None


def test_todos_are_remembered() -> None:
    told = talk(version="2.1.29").user("go").reply(call=todo(["a"])).result().reply(call=todo([])).result().user("on")
    assert told.data()[-2]["toolUseResult"]["oldTodos"][0]["content"] == "a"
    assert told.data()[-1]["todos"] == []


# -- the person


def test_permission_mode_is_written_from_the_version_that_has_it() -> None:
    assert "permissionMode" not in talk(version="2.0.76").user("hi").data()[0]
    assert talk().user("hi", permission_mode="plan").data()[0]["permissionMode"] == "plan"


def test_images_and_meta() -> None:
    told = talk().user("look", images=[b"png"]).user("skill body", meta=True)
    picture, meta = told.data()
    assert [block["type"] for block in blocks(picture)] == ["text", "image"]
    assert meta["isMeta"] is True
    assert told.turn == 1


def test_refusals_and_interruptions() -> None:
    told = talk().user("go").reply(call=bash("rm")).deny().interrupt(in_tool=True)
    denied, broken = told.data()[-2:]
    assert blocks(denied)[0]["is_error"] is True
    assert denied["toolUseResult"] == "User rejected tool use"
    assert blocks(broken)[0]["text"] == "[Request interrupted by user for tool use]"
    failed = talk().user("go").api_error("529", status=529).data()[-1]
    assert failed["message"]["model"] == "<synthetic>"
    assert failed["isApiErrorMessage"] is True
