"""Searching: what is found, as whose, in which order, and what is told of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import clew
from clew.errors import BadQuery
from clew.index.session_index import Index
from tests.index.helper import (
    DAY,
    NOW,
    Claude,
    append,
    call,
    custom,
    entry,
    ident,
    made,
    prompt,
    reply,
    result,
    stamp,
    thinking,
)


@pytest.mark.req("R210")
def test_titles_and_summaries_are_searched_first_and_it_is_said_which_matched(claude: Claude) -> None:
    leaf = ident("leaf")
    summary = json.dumps({"type": "summary", "summary": "Mending the heron", "leafUuid": leaf}).encode() + b"\n"
    claude.write("summary", prompt("hello"), reply("x", node=leaf), summary)
    claude.write("first", prompt("the heron is broken"), reply("x"))
    claude.write("title", prompt("hello"), reply("x"), made("A heron by the model"), custom("A heron by a person"))
    with claude.refreshed() as index:
        found = {r.session: r.passages[0] for r in index.search("heron", now=NOW)}
    assert found[ident("summary")].field == "title"
    assert found[ident("summary")].kind == "summary"
    assert found[ident("title")].kind == "custom title"
    assert (found[ident("first")].field, found[ident("first")].kind) == ("prompt", "first prompt")
    assert list(found)[-1] == ident("first")


def test_a_summary_above_its_conversation_is_a_title(claude: Claude) -> None:
    """Versions 2.0.x wrote summaries at the beginning of a file."""
    leaf, last = ident("leaf"), ident("last")
    lines = [("About the stork", last), ("About the crane", leaf)]
    summaries = [
        json.dumps({"type": "summary", "summary": text, "leafUuid": of}).encode() + b"\n" for text, of in lines
    ]
    claude.write("a", *summaries, prompt("hello"), reply("x", node=leaf), reply("y", node=last))
    with claude.refreshed() as index:
        [result] = index.search("crane", now=NOW)
    assert (result.title, result.passages[0].kind) == ("About the crane", "summary")
    assert claude.search("stork") == []


def test_a_summary_may_name_an_entry_without_words(claude: Claude) -> None:
    leaf = ident("timing")
    timing = json.dumps({"type": "system", "subtype": "turn_duration", "durationMs": 5, "uuid": leaf}).encode() + b"\n"
    summary = json.dumps({"type": "summary", "summary": "About the crane", "leafUuid": leaf}).encode() + b"\n"
    claude.write("a", prompt("hello"), reply("x"), timing, summary)
    assert claude.search("crane") == [ident("a")]


def test_a_summary_of_another_session_is_no_title(claude: Claude) -> None:
    summary = json.dumps({"type": "summary", "summary": "About the stork", "leafUuid": ident("other")}).encode() + b"\n"
    claude.write("a", summary, prompt("hello"), reply("x"))
    assert claude.search("stork") == []


@pytest.mark.req("R211")
def test_sessions_need_no_index_of_claude_code(claude: Claude) -> None:
    claude.write("a", prompt("an otter"))
    assert not list(claude.root.rglob("sessions-index.json"))
    assert claude.search("otter") == [ident("a")]


def test_by_default_only_tools_are_searched_beside_what_was_said(claude: Claude) -> None:
    noise = [
        {"type": "progress", "data": {"type": "bash_progress", "output": "wombat"}, "uuid": ident("1")},
        {"type": "progress", "data": {"type": "hook_progress", "command": "wombat"}, "uuid": ident("2")},
        {"type": "file-history-snapshot", "snapshot": {"trackedFileBackups": {"wombat": {}}}},
        {"type": "system", "content": "wombat", "uuid": ident("3")},
        {"type": "queue-operation", "operation": "enqueue", "content": "wombat"},
    ]
    claude.write(
        "a",
        prompt("hello", cwd="/wombat", wombat="wombat"),
        *(json.dumps(value).encode() + b"\n" for value in noise),
        thinking("a wombat"),
        call("Bash", command="echo wombat"),
        result("wombat", toolUseResult={"stdout": "wombat"}),
    )
    assert claude.search("wombat in:prompt,reply") == []
    with claude.refreshed() as index:
        fields = sorted(p.field for p in index.iter_passages("wombat"))
    assert fields == ["input", "result"]


@pytest.mark.req("R214")
def test_thinking_is_found_when_asked_for(claude: Claude) -> None:
    claude.write("a", prompt("hello"), thinking("perhaps a badger"))
    assert claude.search("badger") == []
    assert claude.search("badger in:thinking") == [ident("a")]


def agents(claude: Claude) -> None:
    claude.write("main", prompt("ask about the lynx"), reply("yes"))
    claude.write("parent", prompt("hello"), reply("yes"))
    line = prompt("ask about the lynx", sessionId=ident("parent"), isSidechain=True, agentId="abc")
    claude.put(claude.agent_path("parent", "abc"), line, reply("done"))


def test_agents_rank_below_main_sessions_and_can_be_left_out(claude: Claude) -> None:
    agents(claude)
    assert claude.search("lynx") == [ident("main"), ident("parent")]
    assert claude.search("lynx -is:agent") == [ident("main")]
    assert claude.search("lynx is:agent") == [ident("parent")]
    assert claude.search("lynx has:agent") == [ident("parent")]
    assert claude.search("has:agent") == [ident("parent")]


@pytest.mark.req("R216")
def test_an_agents_match_names_its_parent(claude: Claude) -> None:
    agents(claude)
    with claude.refreshed() as index:
        found = index.search("lynx is:agent")[0]
    assert found.command == f"claude -r {ident('parent')}"
    assert found.agents == {"abc"}
    assert found.passages[0].agent == "abc"
    assert found.path == str(claude.path("parent"))


@pytest.mark.parametrize("place", ["agent-abc.jsonl", "subagents/agent-abc.jsonl"])
def test_a_flat_agent_belongs_to_the_session_that_it_names(claude: Claude, place: str) -> None:
    claude.write("parent", prompt("hello"), reply("yes"))
    path = claude.root / "projects" / "-work-site" / place
    claude.put(path, prompt("a lone lynx", sessionId=ident("parent"), isSidechain=True, agentId="abc"))
    with claude.refreshed() as index:
        found = index.search("lynx")
        assert [r.session for r in found] == [ident("parent")]
        assert (found[0].path, found[0].messages) == (str(claude.path("parent")), 2)
        assert len(index.search("lynx has:agent")) == 1
        assert [r.session for r in index.search("")] == [ident("parent")]


def test_an_agent_without_its_parent_is_found_all_the_same(claude: Claude) -> None:
    claude.put(claude.agent_path("parent", "abc"), prompt("a lone lynx", isSidechain=True))
    assert claude.search("lynx") == [ident("parent")]


@pytest.mark.req("R217")
def test_context_is_the_turns_around_a_match(claude: Claude) -> None:
    lines, last = [], None
    for number in range(7):
        for kind, text in (
            ("user", f"question {number}"),
            ("assistant", [{"type": "text", "text": f"answer {number}"}]),
        ):
            node = ident(f"{kind}{number}")
            lines.append(entry(kind, text, node=node, parentUuid=last))
            last = node
    claude.write("a", *lines)
    with claude.refreshed() as index:
        passage = index.search('"answer 3"')[0].passages[0]
        around = index.context(passage, turns=2)
        assert [turn.text for turn in around] == [f"question {n}" for n in (1, 2, 3, 4, 5)]
        assert [turn.text for turn in index.context(passage, turns=0)] == ["question 3"]


@pytest.mark.req("R218")
def test_recency_density_and_depth_decide_between_equals(claude: Claude) -> None:
    claude.write("old", prompt("the marten", days=90), reply("x", days=90))
    claude.write("new", prompt("the marten", days=1), reply("x", days=1))
    assert claude.search("marten") == [ident("new"), ident("old")]
    claude.write("deep", prompt("the marten", days=90), *(reply("x", days=90) for _ in range(50)))
    assert claude.search("marten") == [ident("new"), ident("deep"), ident("old")]
    claude.write("dense", *(prompt("the marten", days=90) for _ in range(30)))
    assert claude.search("marten").index(ident("dense")) < claude.search("marten").index(ident("old"))


def test_a_prompt_is_worth_more_than_a_reply_and_a_reply_more_than_a_tool(claude: Claude) -> None:
    claude.write("tool", prompt("hi"), reply("x"), call("Bash", command="the falcon"))
    claude.write("reply", prompt("hi"), reply("the falcon"), reply("x"))
    claude.write("prompt", prompt("hi"), prompt("the falcon"), reply("x"))
    assert claude.search("falcon") == [ident("prompt"), ident("reply"), ident("tool")]


@pytest.mark.req("R219")
def test_dates_bound_what_is_found(claude: Claude) -> None:
    claude.write("old", prompt("a crane", days=40))
    claude.write("new", prompt("a crane", days=2))
    border = stamp(10)
    assert claude.search(f"crane since:{border}") == [ident("new")]
    assert claude.search(f"crane until:{border}") == [ident("old")]
    assert claude.search(f"since:{border}") == [ident("new")]
    assert claude.search(f"until:{border}") == [ident("old")]


@pytest.mark.req("R220")
def test_a_project_is_a_folder_or_a_part_of_its_name(claude: Claude) -> None:
    claude.write("site", prompt("a robin", cwd="/srv/site"))
    claude.write("below", prompt("a robin", cwd="/srv/site/docs"))
    claude.write("other", prompt("a robin", cwd="/srv/site2"), project="-srv-site2")
    assert set(claude.search("robin project:/srv/site")) == {ident("site"), ident("below")}
    assert claude.search("robin project:site2") == [ident("other")]
    assert claude.search("robin -project:/srv/site") == [ident("other")]
    assert set(claude.search("project:/srv")) == {ident("site"), ident("below"), ident("other")}


@pytest.mark.req("R221")
@pytest.mark.req("R222")
def test_a_result_tells_what_is_needed_to_go_on(claude: Claude) -> None:
    path = claude.write("a", prompt("please find the gull\nat once", days=3), reply("here", days=2), custom("Birds"))
    with claude.refreshed() as index:
        found = index.search("gull")[0]
    assert found.command == f"claude -r {ident('a')}"
    assert (found.title, found.cwd, found.branch, found.path) == ("Birds", "/srv/site", "main", str(path))
    assert (found.messages, found.matches, found.ended) == (2, 1, int(NOW - 2 * DAY))
    assert found.started == int(NOW - 3 * DAY)
    passage = found.passages[0]
    assert passage.text == "please find the gull at once"
    assert [passage.text[a:b] for a, b in passage.marks] == ["gull"]
    assert (passage.field, passage.offset, passage.time) == ("prompt", 0, int(NOW - 3 * DAY))


SYMBOLS = 'call foo_bar.baz(1) in C:\\dir\\"my file".txt; a::b->c @user #42 «ünï» don\'t 100% x+=y'


@pytest.mark.req("R223")
@pytest.mark.parametrize(
    "query",
    [
        *(
            "foo_bar.baz(",
            "FOO_BAR.BAZ()",
            r"C:\dir",
            '"my file".txt',
            "a::b->c",
            "@user",
            "#42",
            "ÜNÏ",
            "don't",
            "x+=y",
        ),
        *('"file txt"', '"foo bar baz"', "baz(1)", "100%", "foo_*", "dir/my", "^call", "(call)", "call:", "{call}"),
    ],
)
def test_a_query_is_literal_and_without_regard_to_case(claude: Claude, query: str) -> None:
    claude.write("a", prompt(SYMBOLS))
    claude.write("b", prompt("something else"))
    assert claude.search(query) == [ident("a")]


@pytest.mark.req("R223")
def test_a_phrase_spans_escaped_newlines(claude: Claude) -> None:
    claude.write("a", prompt('first line\nsecond "line"\ttail'))
    assert claude.search('"line second line tail"') == [ident("a")]


@pytest.mark.req("R223")
@pytest.mark.parametrize(
    "query", ["日本", "本語", "語の", "の検", "検索", "日本語の検索", "カタ", "タカナ", "한국", "국어", "ไท", "語"]
)
def test_any_part_of_a_run_without_spaces_is_found(claude: Claude, query: str) -> None:
    claude.write("a", prompt("これは日本語の検索です。カタカナ、한국어 그리고 ไทย"))
    claude.write("b", prompt("本日の語"))
    assert set(claude.search(query)) == ({ident("a")} if len(query) > 1 else {ident("a"), ident("b")})


@pytest.mark.req("R224")
def test_a_limit_counts_sessions_best_first(claude: Claude) -> None:
    for number in range(30):
        claude.write(f"s{number}", *(prompt("a wren", days=number) for _ in range(5)))
    assert claude.search("wren", limit=4) == [ident(f"s{n}") for n in range(4)]
    assert len(claude.search("wren", limit=100)) == 30


@pytest.mark.req("R226")
def test_the_session_that_asks_is_left_out(claude: Claude) -> None:
    claude.write("a", prompt("a swift"))
    claude.write("b", prompt("a swift"))
    assert claude.search("swift", without=ident("a")) == [ident("b")]
    assert claude.search("", without=ident("a")) == [ident("b")]


def test_a_fork_folds_into_one(claude: Claude) -> None:
    common = [prompt("a heron", node=ident("n1"), days=5), reply("a heron", node=ident("n2"), days=5)]
    claude.write("original", *common)
    fork = claude.write("fork", *common, reply("done", days=1))
    with claude.refreshed() as index:
        found = index.search("heron", now=NOW)
        assert [r.session for r in found] == [ident("fork")]
        assert found[0].matches == 2
        append(claude.path("original"), prompt("another heron", days=3))
        index.refresh()
        found = index.search("heron", now=NOW)
        assert [(r.session, r.matches) for r in found] == [(ident("original"), 3)]  # the fork has nothing of its own
        append(fork, reply("a heron at last", days=1))
        index.refresh()
        assert len(index.search("heron", now=NOW)) == 2


def test_the_title_of_a_fork_folds_too_but_not_that_of_a_stranger(claude: Claude) -> None:
    common = [prompt("hello", node=ident("n1"), days=5), custom("About herons")]
    claude.write("original", *common)
    claude.write("fork", *common, reply("done", days=1))
    assert claude.search("herons") == [ident("fork")]
    claude.write("stranger", prompt("hello", days=9), custom("About herons"))
    assert claude.search("herons") == [ident("fork"), ident("stranger")]


def test_words_in_different_passages_of_a_session_come_after_those_in_one(claude: Claude) -> None:
    claude.write("apart", prompt("the eagle", days=0), reply("an owl", days=0))
    claude.write("together", prompt("the eagle and the owl", days=80))
    claude.write("half", prompt("the eagle alone"))
    with claude.refreshed() as index:
        found = index.search("eagle owl", now=NOW)
    assert [r.session for r in found] == [ident("together"), ident("apart")]
    assert [r.grade for r in found] == ["exact", "scattered"]
    assert claude.search("eagle owl -alone") == [ident("together"), ident("apart")]
    assert claude.search('"eagle owl"') == []


def test_filters_on_tools_files_errors_branches_and_models(claude: Claude) -> None:
    claude.write(
        "a",
        prompt("go", gitBranch="feature/x"),
        call("Edit", "t1", file_path="/srv/site/main.py", new_string="magpie"),
        result("no such magpie", "t1", failed=True),
        call("Bash", "t2", command="magpie"),
        result("ok", "t2"),
    )
    claude.write("b", prompt("magpie"), call("mcp__docs__search", "t3", query="magpie"), result("magpie", "t3"))
    both = {ident("a"), ident("b")}
    assert claude.search("magpie tool:Edit") == [ident("a")]
    assert claude.search("magpie tool:mcp__*") == [ident("b")]
    assert claude.search("magpie is:error") == [ident("a")]
    assert claude.search("magpie file:main.py") == [ident("a")]
    assert claude.search("magpie branch:feature/x") == [ident("a")]
    assert set(claude.search("magpie model:opus")) == both
    assert claude.search("magpie model:haiku") == []
    assert claude.search("magpie role:user") == [ident("b")]
    assert set(claude.search("magpie role:tool")) == both
    assert claude.search("magpie -tool:Edit -tool:Bash") == [ident("b")]
    assert claude.search(f"magpie id:{ident('b')[:6]}") == [ident("b")]
    with claude.refreshed() as index:
        [found] = index.search("is:error")
        assert found.passages[0].text == "no such magpie"
        [found] = index.search("tool:Edit in:input")
        assert found.passages[0].text == "/srv/site/main.py magpie"
        [found] = index.search("file:site/main.py")
        assert found.passages[0].tool == "Edit"


def test_an_error_is_one_of_the_whole_call(claude: Claude) -> None:
    path = claude.write("a", call("Bash", "t1", command="pytest heron"), call("Bash", "t2", command="pytest ibis"))
    claude.write("b", call("Bash", "t1", command="pytest crane"), result("1 failed", "t1", failed=True))
    assert claude.search("pytest is:error") == [ident("b")]
    with path.open("ab") as file:  # the result comes when the call has long been indexed
        file.write(result("1 failed", "t1", failed=True) + result("ok", "t2"))
    assert claude.search("heron is:error") == [ident("a")]
    assert claude.search("ibis is:error") == []
    assert claude.search("ibis -is:error") == [ident("a")]
    with claude.refreshed() as index:
        assert {p.text for r in index.search("is:error") for p in r.passages} == {"1 failed"}


def test_a_passage_is_cut_from_the_piece_that_matched(claude: Claude) -> None:
    blocks = [
        {"type": "text", "text": "nothing here"},
        {"type": "text", "text": "lead " * 200 + "the puffin and the auk " + "tail " * 200},
        {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "echo puffin"}},
    ]
    claude.write("a", entry("assistant", blocks, cwd="/puffin", toolUseResult="puffin first"))
    with claude.refreshed() as index:
        by_field = {p.field: p for p in index.search("puffin")[0].passages}
        assert by_field["input"].text == "echo puffin"
        assert by_field["reply"].text.startswith("…lead")
        assert by_field["reply"].text.endswith("tail…")
        assert len(by_field["reply"].text) < 260
        [(start, stop)] = by_field["reply"].marks
        assert by_field["reply"].text[start:stop] == "puffin"
        phrase = index.search('"puffin and the auk"')[0].passages[0]
        assert [phrase.text[a:b] for a, b in phrase.marks] == ["puffin and the auk"]


def test_a_passage_of_a_file_that_has_gone_is_empty(claude: Claude) -> None:
    path = claude.write("a", prompt("a dunlin"))
    with claude.refreshed() as index:
        path.unlink()
        passages = index.search("dunlin")[0].passages
        assert {p.text for p in passages if p.field == "prompt"} <= {""}


def test_a_command_is_shown_as_it_was_typed(claude: Claude) -> None:
    text = "<command-message>ship</command-message>\n<command-name>/ship</command-name>"
    text += "\n<command-args>the plover</command-args>"
    claude.write("a", prompt(text))
    claude.write("b", prompt("<system-reminder>secret</system-reminder>look at the plover"))
    with claude.refreshed() as index:
        texts = {p.text for r in index.search("plover in:prompt") for p in r.passages}
    assert texts == {"/ship the plover", "look at the plover"}


def test_a_typing_error_is_mended_and_said(claude: Claude) -> None:
    claude.write("a", prompt("the kingfisher dives"))
    with claude.refreshed() as index:
        for wrong in ("kingfsiher", "kingfishr", "kingfisherr", "kimgfisher", "lingfisher", "kinfgishr"):
            found = index.search(f"{wrong} since:2020-01-01")
            assert [r.session for r in found] == [ident("a")], wrong
            assert found.instead == "kingfisher since:2020-01-01"
        assert index.search("kingfisher").instead == ""
        assert not index.search("zebrafinch")
        assert index.search('"the kingfihser"').instead == '"the kingfisher"'


def test_facts_of_a_session(claude: Claude) -> None:
    claude.write("a", prompt("hello"), reply("x"), made("Greeting"))
    with claude.refreshed() as index:
        facts = index.session(ident("a"))
        assert facts is not None
        assert (facts.title, facts.model, facts.messages) == ("Greeting", "claude-opus-4-5", 2)
        assert index.session("nothing") is None


def test_recent_sessions_come_newest_first(claude: Claude) -> None:
    for number in range(5):
        claude.write(f"s{number}", prompt("hi", days=number))
    with claude.refreshed() as index:
        assert [r.session for r in index.recent(3)] == [ident(f"s{n}") for n in range(3)]
        assert [r.session for r in index.recent(3, f"until:{stamp(2.5)}")] == [ident("s3"), ident("s4")]


def test_a_bad_query_is_no_result(claude: Claude) -> None:
    with claude.open() as index, pytest.raises(BadQuery):
        index.search('"open')


def test_the_demo_is_searched(demo: object, tmp_path: Path) -> None:
    from clew.index.session_index import Index

    assert isinstance(demo, Index)
    assert len(demo.search("", limit=100)) > 5
    assert demo.search("is:error", limit=50)


def test_titles_of_the_index_are_those_of_the_session(demo: Index) -> None:
    """The index keeps the parts of a title as columns, because a search must not load the session model."""
    results = demo.search("", limit=1000)
    assert len(results) > 5
    for hit in results:
        if not hit.agents:
            assert hit.title == clew.read(hit.path).title, hit.path
