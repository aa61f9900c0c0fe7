"""The graph: any parents become a forest, and the drawings in early descriptions load as drawn."""

from __future__ import annotations

import pytest

import clew
from clew.conversation.entry_graph import Cycle, Dangling, Duplicate, Graph
from clew.demo.talk import bash, talk
from tests.conversation.lines import opened, reply, result, session, text, texts, use, user, uuids


@pytest.mark.req("R140")
def test_entries_hang_below_their_parents_and_null_makes_a_root() -> None:
    found = session(
        user("A", None, "Why?"), reply("B", "A", text("Because.")), user("C", "B", "And?"), user("R", None, "Anew.")
    ).graph
    assert list(found.nodes) == ["A", "B", "C", "R"]
    assert found.roots == ["A", "R"]
    assert found.children == {"A": ["B"], "B": ["C"]}
    assert found.leaves == ["C", "R"]
    assert found.problems == ()


def test_lines_without_a_uuid_are_no_nodes() -> None:
    told = talk().queue("enqueue", "wait").user("hi").reply("hello").last_prompt().title("Greeting")
    assert [e.type for e in opened(told).graph.nodes.values()] == ["user", "assistant"]


@pytest.mark.req("R142")
def test_the_blocks_of_a_reply_form_a_chain() -> None:
    told = talk(version="2.1.29").user("go").reply("I look.", thinking="Hm.", calls=[bash("ls"), bash("pwd")])
    prompt, *blocks = opened(told).entries
    assert [e.parent for e in blocks] == [prompt.uuid, *(e.uuid for e in blocks[:-1])]
    assert len(opened(told).replies) == 1
    assert opened(told).graph.forks == []


@pytest.mark.req("R153")
@pytest.mark.req("R144")
def test_a_chain_from_an_early_description_loads_as_drawn() -> None:
    """A to G: a command, its expansion, two calls, their results one below the other, and the answer."""
    found = session(
        user("A", None, "implement-spec"),
        user("B", "A", [text("# Spec Implementation Workflow")], isMeta=True),
        reply("C", "B", use("toolu_read", "Read"), mid="msg_1"),
        reply("D", "C", use("toolu_glob", "Glob"), mid="msg_1"),
        result("E", "D", "toolu_read"),
        result("F", "E", "toolu_glob"),
        reply("G", "F", text("Done.")),
    )
    assert found.graph.roots == ["A"]
    assert found.graph.children == {"A": ["B"], "B": ["C"], "C": ["D"], "D": ["E"], "E": ["F"], "F": ["G"]}
    assert uuids(found.active) == list("ABCDEFG")
    assert [(c.name, c.entry.uuid, c.result_entry and c.result_entry.uuid) for c in found.calls] == [
        ("Read", "C", "E"),
        ("Glob", "D", "F"),
    ]
    assert [turn.text for turn in found.turns] == ["implement-spec"]


@pytest.mark.req("R152")
@pytest.mark.req("R143")
@pytest.mark.req("R147")
def test_a_tree_from_an_early_description_loads_as_drawn() -> None:
    """Two parallel calls: the result of the first is a sibling of the second, and the answer goes on below the result."""
    found = session(
        user("root", None, "Fix the login bug"),
        reply("A", "root", text("I look."), mid="msg_1"),
        reply("B", "A", use("toolu_b"), mid="msg_1"),
        reply("C", "B", use("toolu_c"), mid="msg_1"),
        result("D", "B", "toolu_b", sourceToolAssistantUUID="B"),
        reply("E", "D", text("Fixed.")),
    )
    assert found.graph.children == {"root": ["A"], "A": ["B"], "B": ["C", "D"], "D": ["E"]}
    assert found.graph.forks == ["B"]
    assert uuids(found.graph.path("E")) == ["root", "A", "B", "D", "E"]
    assert uuids(found.active) == ["root", "A", "B", "C", "D", "E"]
    assert [branch.is_active for branch in found.branches] == [True]


@pytest.mark.req("R143")
@pytest.mark.req("R147")
def test_results_of_parallel_calls_are_on_the_path_though_they_hang_beside_it() -> None:
    told = talk(version="2.1.29").user("go").reply(calls=[bash("a"), bash("b"), bash("c")])
    told = told.result("A", for_=1).result("B", for_=2).result("C", for_=0).reply("done")
    found = opened(told)
    assert len(found.graph.path(str(found.entries[-1].uuid))) == 4  # the prompt, the first call, its result, the answer
    assert [e.type for e in found.active] == ["user", *["assistant"] * 3, *["user"] * 3, "assistant"]
    assert [call.output for call in found.turns[0].calls] == ["C", "A", "B"]


@pytest.mark.req("R145")
def test_a_result_names_its_caller_wherever_it_hangs() -> None:
    found = session(
        user("A", None, "go"),
        reply("B", "A", use("toolu_1"), mid="m"),
        reply("C", "B", use("toolu_2"), mid="m"),
        result("D", "C", "toolu_1", sourceToolAssistantUUID="B"),
        result("E", "D", "toolu_2", sourceToolAssistantUUID="C"),
    )
    for call in found.calls:
        assert call.result_entry is not None
        assert call.result_entry.source_tool_assistant == call.entry.uuid
        assert call.result_entry.parent != call.entry.uuid


@pytest.mark.req("R146")
def test_the_path_runs_from_the_root_to_the_latest_message() -> None:
    found = opened(talk().user("one").reply("1").user("two").reply("2"))
    assert found.leaf is not None
    assert found.leaf.text == "2"
    assert [e.text for e in found.graph.path(str(found.leaf.uuid))] == ["one", "1", "two", "2"]
    assert [e.text for e in found.active] == ["one", "1", "two", "2"]


@pytest.mark.req("R146")
def test_a_plain_chain_from_an_early_description_loads_as_drawn() -> None:
    found = session(
        user("A", None, [text("帮我分析这个项目的结构")]),
        reply("B", "A", use("call_33f4a566fb7e425a9f6327b4")),
        result("C", "B", "call_33f4a566fb7e425a9f6327b4", "文件内容..."),
        reply("D", "C", text("我来帮你分析这个项目...")),
    )
    assert uuids(found.active) == list("ABCD")
    assert found.calls[0].output == "文件内容..."


# -- what is wrong with a graph is a value


@pytest.mark.req("R148")
def test_a_missing_parent_makes_a_root_and_loses_nothing() -> None:
    found = session(user("A", None, "one"), reply("B", "gone", text("1")), user("C", "B", "two"))
    assert found.graph.roots == ["A", "B"]
    (problem,) = found.graph.problems
    assert isinstance(problem, Dangling)
    assert (problem.entry.uuid, problem.parent) == ("B", "gone")
    assert str(problem) == "line 2: the parent gone is not in the file"
    assert [turn.text for turn in found.turns] == ["one", "two"]


@pytest.mark.req("R148")
def test_a_cycle_is_opened_at_its_first_entry() -> None:
    found = session(user("A", "C", "one"), reply("B", "A", text("1")), user("C", "B", "two"))
    assert found.graph.roots == ["A"]
    (problem,) = found.graph.problems
    assert isinstance(problem, Cycle)
    assert set(problem.uuids) == {"A", "B", "C"}
    assert uuids(found.graph.path("C")) == ["A", "B", "C"]
    assert [turn.text for turn in found.turns] == ["one", "two"]
    assert texts(clew.request(found).messages)[:3] == ["user: one", "assistant: 1", "user: two"]


@pytest.mark.req("R148")
def test_an_entry_may_be_its_own_parent() -> None:
    found = session(user("A", "A", "one"), reply("B", "A", text("1")))
    assert found.graph.roots == ["A"]
    assert uuids(found.active) == ["A", "B"]
    assert len(found.branches) == 1


def test_of_two_entries_with_one_uuid_the_later_counts() -> None:
    found = session(user("A", None, "draft"), reply("B", "A", text("1")), user("A", None, "final"))
    (problem,) = found.graph.problems
    assert isinstance(problem, Duplicate)
    assert [e.text for e in problem.entries] == ["draft", "final"]
    assert found.graph.nodes["A"].text == "final"
    assert found.turns[0].text == "final"


def test_children_may_stand_before_their_parents() -> None:
    found = session(reply("C", "B", text("2")), user("B", "A", "two"), reply("A", None, text("1")))
    assert found.graph.problems == ()
    assert uuids(found.graph.path("C")) == ["A", "B", "C"]
    assert list(found.graph.ancestry("C")) == ["C", "B", "A"]
    assert list(found.graph.ancestry("A")) == ["A"]


# -- kinds of entries


@pytest.mark.req("R151")
def test_progress_holds_the_chain_together_and_is_no_message() -> None:
    told = talk(version="2.1.29").progress("hook_progress", hookEvent="SessionStart").user("go")
    told = told.reply(call=bash("make")).progress("bash_progress", output="1/2").result("ok").reply("done")
    found = opened(told)
    assert found.entries[1].parent == found.entries[0].uuid
    assert len(found.graph.roots) == 1
    assert "progress" not in {e.type for e in found.active}
    assert len(found.turns) == 1
    assert texts(clew.request(found).messages)[0] == "user: go"
    assert all(clew.words(e) == [] for e in found.entries if e.type == "progress")
    (call,) = found.turns[0].calls
    assert found.calls[0].progress
    assert call.output == "ok"


@pytest.mark.req("R149")
def test_a_boundary_is_a_root_with_a_logical_predecessor() -> None:
    told = talk().user("one").reply("1").compact("What came before.").user("two").reply("2")
    found = opened(told)
    boundary = next(e for e in found.entries if e.is_boundary)
    assert found.graph.roots == [found.entries[0].uuid, boundary.uuid]
    assert boundary.logical_parent == found.entries[1].uuid
    assert [turn.text for turn in found.turns] == ["one", "two"]


@pytest.mark.req("R150")
def test_sidechain_entries_form_a_chain_of_their_own() -> None:
    found = session(
        user("A", None, "go", sessionId="s"),
        reply("B", "A", use("toolu_1", "Task", prompt="Look.")),
        user("S", None, "Look.", isSidechain=True, sessionId="s"),
        reply("T", "S", text("Seen."), isSidechain=True, sessionId="s"),
        result("C", "B", "toolu_1"),
        reply("D", "C", text("Done.")),
    )
    assert found.graph.roots == ["A", "S"]
    assert uuids(found.active) == ["A", "B", "C", "D"]
    assert found.graph.nodes["S"].session_id == found.graph.nodes["A"].session_id
    assert [uuids(agent.session.active) for agent in found.agents] == [["S", "T"]]


def test_a_graph_can_be_made_of_any_entries() -> None:
    assert list(Graph([]).nodes) == []
    assert Graph([]).roots == []
