"""Agents: found in every layout, linked to the call that began them, and readable on their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

import clew
from clew.conversation.agent_sessions import Agent, _link_to_calls
from clew.conversation.session import Session
from clew.conversation.titles import first_prompt
from clew.demo.talk import ABSENT, Talk, bash, talk, task
from clew.wire.layout import Project, SessionFile
from tests.conversation.lines import Json, opened, reply, result, session, text, use, user, written
from tests.step_count import Work, assert_linear

VERSIONS = ("1.0.90", "2.0.50", "2.0.76", "2.1.29", "2.1.45", "2.1.100", "2.1.232", "2.1.325")
ERRAND = task("Look around", "Look around and report.", "Explore")


def child(version: str = "2.1.232", prompt: str = "Look around and report.", model: str | None = None) -> Talk:
    told = talk(version=version, model=model).user(prompt).reply("I look.", call=bash("ls")).result("gate")
    return told.reply("There is a gate.")


def parent(version: str = "2.1.232", agent_id: str | None = None) -> Talk:
    told = talk(version=version).user("What is there?").reply("I send someone.", call=ERRAND)
    return told.agent(0, child(version), agent_id=agent_id).reply("A gate.")


@pytest.mark.req("R190")
@pytest.mark.req("R196")
@pytest.mark.parametrize("version", VERSIONS)
def test_an_agent_hangs_below_its_call_in_every_layout(version: str, tmp_path: Path) -> None:
    found = clew.read(parent(version).write(tmp_path))
    (agent,) = found.agents
    (call,) = found.turns[0].calls
    assert agent.call is not None
    assert agent.call.id == call.id
    assert found.agents_for(call) == [agent]
    assert agent.parent is None
    assert [turn.answer for turn in agent.session.turns] == ["There is a gate."]
    assert (agent.kind, agent.description) == ("Explore", "Look around")


@pytest.mark.req("R190")
def test_an_agent_without_a_description_is_named_by_its_prompt(tmp_path: Path) -> None:
    (agent,) = clew.read(parent().write(tmp_path)).agents
    assert agent.name == "Look around"
    assert Agent("abc", agent.session).name == "Look around and report."
    assert Agent("abc", Session(b"")).name == "abc"


def test_the_result_names_the_agent_that_the_file_is_called_after(tmp_path: Path) -> None:
    """An example from an early description: `agentId` aff2f18, so the file is agent-aff2f18.jsonl."""
    path = parent("2.1.4", agent_id="aff2f18").write(tmp_path)
    found = clew.read(path)
    (call,) = found.turns[0].calls
    assert call.agent_id == "aff2f18"
    assert (path.parent / found.id / "subagents" / "agent-aff2f18.jsonl").is_file()
    (agent,) = found.agents
    assert agent.id == "aff2f18"
    assert isinstance(found.file, SessionFile)


@pytest.mark.req("R191")
@pytest.mark.parametrize("layout", ["flat", "project", "nested"])
def test_the_file_leads_back_to_its_session(layout: str, tmp_path: Path) -> None:
    path = parent("2.0.50", agent_id="ab97f57").write(tmp_path)
    file = path.parent / "agent-ab97f57.jsonl"
    home = {"flat": path.parent, "project": path.parent / "subagents", "nested": path.with_suffix("") / "subagents"}
    home[layout].mkdir(parents=True, exist_ok=True)
    file.rename(home[layout] / file.name)
    (listed,) = Project(path.parent).agents()
    assert (listed.layout, listed.session_id) == (layout, path.stem)
    (agent,) = clew.read(path).agents
    assert agent.call is not None


def test_a_flat_agent_of_another_session_is_left_alone(tmp_path: Path) -> None:
    path = parent("2.0.50", agent_id="aaaaaaa").write(tmp_path)
    talk("00000000-0000-4000-8000-000000000001", version="2.0.50").user("alone").reply("yes").write(tmp_path)
    assert [a.id for a in clew.read(path).agents] == ["aaaaaaa"]
    assert clew.find("00000000", claude=tmp_path).agents == ()


@pytest.mark.req("R192")
def test_the_totals_of_an_agent(tmp_path: Path) -> None:
    told = talk(version="2.1.29").user("go").reply(call=ERRAND)
    totals = {"status": "completed", "totalDurationMs": 785728, "totalTokens": 126186, "totalToolUseCount": 77}
    path = told.agent(0, child("2.1.29"), agent_id="ab97f57").write(tmp_path)
    (agent,) = clew.read(path).agents
    assert set(agent.totals) == set(totals)
    (call,) = session(
        reply("A", None, use("toolu_1", "Task", prompt="p")),
        result("B", "A", "toolu_1", toolUseResult={**totals, "agentId": "ab97f57", "prompt": "p", "usage": {}}),
    ).calls
    assert clew.Agent("ab97f57", agent.session, call).totals == totals
    assert clew.Agent("ab97f57", agent.session).totals == {}


@pytest.mark.req("R193")
def test_an_agent_is_a_conversation_of_its_own(tmp_path: Path) -> None:
    (agent,) = clew.read(parent().write(tmp_path)).agents
    found = agent.session
    assert all(e.is_sidechain for e in found.entries)
    assert found.is_agent
    (turn,) = found.turns
    assert (turn.text, turn.state) == ("Look around and report.", "complete")
    assert [(call.name, call.output) for call in turn.calls] == [("Bash", "gate")]
    assert [e.text for e in found.prompts] == ["Look around and report."]
    assert [len(branch.prompts) for branch in found.branches] == [1]
    assert found.title == first_prompt(found) == "Look around and report."
    assert agent.file is not None
    assert clew.read(agent.file.path).turns[0].text == turn.text


@pytest.mark.req("R194")
@pytest.mark.parametrize("version", ["2.0.76", "2.1.29"])
def test_how_an_agent_begins(version: str, tmp_path: Path) -> None:
    path = parent(version, agent_id="a4c7249").write(tmp_path)
    (agent,) = clew.read(path).agents
    first = agent.session.entries[0]
    assert (first.type, first.is_sidechain, first.agent_id, first.parent) == ("user", True, "a4c7249", None)
    assert first.session_id == path.stem


@pytest.mark.req("R195")
def test_a_warmup_stub_is_skipped_and_a_longer_file_is_not(tmp_path: Path) -> None:
    path = parent("2.0.50", agent_id="aaaaaaa").write(tmp_path)
    warmup = user("W", None, "Warmup", isSidechain=True, sessionId=path.stem, agentId="bbbbbbb")
    stub = path.parent / "agent-bbbbbbb.jsonl"
    stub.write_bytes(written([warmup]))
    assert [a.id for a in clew.read(path).agents] == ["aaaaaaa"]
    stub.write_bytes(written([warmup, reply("X", "W", text("I am ready."), isSidechain=True)]))
    assert [a.id for a in clew.read(path).agents] == ["aaaaaaa", "bbbbbbb"]


@pytest.mark.req("R197")
def test_an_agent_may_have_another_model(tmp_path: Path) -> None:
    told = talk().user("go").reply(call=ERRAND).agent(0, child(model="claude-haiku-4-5")).reply("done")
    found = clew.read(told.write(tmp_path))
    (agent,) = found.agents
    assert agent.model == "claude-haiku-4-5"
    assert list(found.models) == ["claude-opus-5"]
    assert set(clew.usage(found).by_model) == {"claude-haiku-4-5", "claude-opus-5"}


@pytest.mark.req("R198")
def test_an_agent_file_that_was_renamed_shows(tmp_path: Path) -> None:
    path = parent("2.1.29", agent_id="a4c7249").write(tmp_path)
    (agent,) = clew.read(path).agents
    assert agent.recorded_id == agent.id == "a4c7249"
    folder = path.with_suffix("") / "subagents"
    (folder / "agent-a4c7249.jsonl").rename(folder / "agent-fffffff.jsonl")
    (agent,) = clew.read(path).agents
    assert (agent.id, agent.recorded_id) == ("fffffff", "a4c7249")


# -- how the call is known


def write(tmp_path: Path, lines: list[Json], agents: dict[str, tuple[Json | None, list[Json]]]) -> clew.Session:
    """A session with agents, by hand: each has a meta file or None, and its lines."""
    path = tmp_path / "projects" / "-x" / "11111111-1111-4111-8111-111111111111.jsonl"
    folder = path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    path.write_bytes(written(lines))
    for name, (meta, said) in agents.items():
        (folder / f"agent-{name}.jsonl").write_bytes(written(said))
        if meta is not None:
            (folder / f"agent-{name}.meta.json").write_text(json.dumps(meta))
    return clew.read(path)


def errands(*ids: str, **fields: str) -> list[Json]:
    return [user("A", None, "go"), reply("B", "A", *(use(i, "Task", prompt="Look.", **fields) for i in ids))]


def said(uuid: str, prompt: str = "Look.") -> list[Json]:
    return [user(uuid, None, prompt, isSidechain=True), reply(f"{uuid}1", uuid, text("Seen."), isSidechain=True)]


def calls(found: clew.Session) -> dict[str, str | None]:
    return {agent.id: agent.call.id if agent.call else None for agent in found.agents}


@pytest.mark.req("R190")
def test_the_meta_file_names_the_call_before_there_is_a_result(tmp_path: Path) -> None:
    metas = {
        "a1": {"toolUseId": "toolu_2", "agentType": "Plan", "description": "Think"},
        "a2": {"toolUseId": "toolu_1"},
    }
    found = write(tmp_path, errands("toolu_1", "toolu_2"), {k: (meta, said(k)) for k, meta in metas.items()})
    assert calls(found) == {"a2": "toolu_1", "a1": "toolu_2"}
    assert [(a.kind, a.description) for a in found.agents] == [("", ""), ("Plan", "Think")]


@pytest.mark.req("R190")
def test_a_background_agent_is_named_by_the_result_that_launched_it(tmp_path: Path) -> None:
    told = talk(version="2.1.325").user("go").reply(call=ERRAND).agent(0, child("2.1.325"), background=True)
    told = told.reply("It works on.").user(
        "<task-notification>done</task-notification>", origin={"kind": "task-notification"}
    )
    found = clew.read(told.reply("A gate.").write(tmp_path))
    (agent,) = found.agents
    assert agent.totals == {"status": "async_launched"}
    assert agent.call is not None
    assert agent.call.detail["agentId"] == agent.id
    assert len(found.turns) == 1


@pytest.mark.req("R190")
def test_without_any_name_the_prompt_tells(tmp_path: Path) -> None:
    lines = errands("toolu_1", "toolu_2")
    lines.append(reply("C", "B", use("toolu_3", "Agent", prompt="Something else.")))
    agents = {"a1": (None, said("x")), "a2": (None, said("y")), "a3": (None, said("z", "  Something else.\n"))}
    found = write(tmp_path, lines, {**agents, "a4": (None, said("w", "Never asked."))})
    assert calls(found) == {"a1": "toolu_1", "a2": "toolu_2", "a3": "toolu_3", "a4": None}


def test_a_call_that_names_another_agent_is_not_given_away(tmp_path: Path) -> None:
    lines = [*errands("toolu_1"), result("C", "B", "toolu_1", toolUseResult={"agentId": "a2"})]
    found = write(tmp_path, lines, {"a1": (None, said("x")), "a2": (None, said("y"))})
    assert calls(found) == {"a2": "toolu_1", "a1": None}


def test_agents_of_agents(tmp_path: Path) -> None:
    inner = talk().user("Look closer.").reply("Rust.")
    outer = (
        talk().user("Look around and report.").reply(call=task("Closer", "Look closer.")).agent(0, inner).reply("Rust.")
    )
    found = clew.read(talk().user("go").reply(call=ERRAND).agent(0, outer).reply("done").write(tmp_path))
    by_text = {agent.session.turns[0].text: agent for agent in found.agents}
    assert by_text["Look around and report."].parent is None
    assert by_text["Look closer."].parent == by_text["Look around and report."].id
    nested = by_text["Look closer."].call
    assert nested is not None
    assert found.agents_for(nested) == [by_text["Look closer."]]
    assert nested.id in {call.id for call in by_text["Look around and report."].session.calls}


def test_the_agents_of_a_workflow_lie_in_folders_of_their_own(tmp_path: Path) -> None:
    told = talk(version="2.1.232").user("go").reply(call=bash("run it"))
    told = told.workflow(0, {"first": child(), "second": child(prompt="Look again.")}, run="wf_1")
    found = clew.read(told.reply("done").write(tmp_path))
    assert sorted(a.session.turns[0].text for a in found.agents) == ["Look again.", "Look around and report."]
    assert {a.file.run for a in found.agents if a.file} == {"wf_1"}


# -- inside the session's own file


def test_agents_of_old_versions_lie_in_the_session_itself() -> None:
    told = talk(version="1.0.90").user("go").reply(calls=[ERRAND, task("Again", "Look again.")])
    told = told.agent(0, child("1.0.90")).agent(1, child("1.0.90", "Look again.")).reply("done")
    found = opened(told)
    assert [(a.call.input["prompt"], a.session.turns[0].text) for a in found.agents if a.call] == [
        ("Look around and report.",) * 2,
        ("Look again.",) * 2,
    ]
    assert [a.file for a in found.agents] == [None, None]
    assert [turn.text for turn in found.turns] == ["go"]
    assert len(found.branches) == 1
    assert clew.usage(found).total == clew.usage(found.entries).total


def test_one_agent_for_each_root() -> None:
    found = session(*errands("toolu_1"), *said("S"), *said("T"))
    assert calls(found) == {"S": "toolu_1", "T": None}


def test_a_session_without_agents() -> None:
    assert opened(talk().user("hi").reply("hello", agentId=ABSENT)).agents == ()
    found = opened(talk().user("go").reply(call=bash("ls")).result("a"))
    assert found.agents_for(found.calls[0]) == []


@pytest.mark.req("R350")
def test_agents_come_in_the_order_of_their_calls(tmp_path: Path) -> None:
    lines = errands("toolu_1", "toolu_2", "toolu_3")
    metas = {"c": "toolu_1", "a": "toolu_2", "b": "toolu_3"}
    found = write(tmp_path, lines, {k: ({"toolUseId": v}, said(k)) for k, v in metas.items()})
    assert found.path is not None
    assert list(calls(found)) == list(calls(clew.read(found.path))) == ["c", "a", "b"]
    later = [reply(f"L{i}", "B", use(f"toolu_{i}", "Task", prompt="Look.")) for i in (3, 2, 1)]
    found = write(tmp_path / "2", [*errands(), *later], {k: ({"toolUseId": v}, said(k)) for k, v in metas.items()})
    assert list(calls(found)) == ["b", "a", "c"]


def session_with_agents(count: int, root: Path) -> Session:
    """A session with agents that no call names, so that their prompts lead to the calls."""
    told = talk(version="2.0.50").user("Go.")
    for number in range(count):
        errand = task(f"Errand {number}.", f"Errand {number}.", "Explore")
        told = told.reply(call=errand).agent(None, child("2.0.50", f"Errand {number}.")).reply("So.")
    found = clew.read(told.write(root / str(count)))
    assert len([agent for agent in found.agents if agent.call]) == count
    return found


def test_many_agents(tmp_path: Path) -> None:
    def prepare(count: int) -> Work:
        found = session_with_agents(count, tmp_path / str(len(list(tmp_path.iterdir()))))
        agents = [replace(agent, call=None, parent=None) for agent in found.agents]
        return lambda: (_link_to_calls(found, agents), [found.agents_for(call) for call in found.calls])

    assert_linear(prepare, 15)
