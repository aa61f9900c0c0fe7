"""What must hold for every file, however broken its parents, its order and its repetitions are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.conversation.entry_graph import Graph
from clew.conversation.replies import merge_replies, pair_calls
from clew.conversation.session import Session
from clew.wire.entry import Entry
from tests.conversation.lines import Json, pin, reply, result, session, text, use, user

VERSIONS = ("2.0.50", "2.1.29", "2.1.45", "2.1.100", "2.1.325")
NAMES = st.sampled_from([f"u{i}" for i in range(9)])
PARENTS = st.none() | NAMES | st.just("missing")
IDS = st.sampled_from(["a", "b", "c"])
MIDS = st.sampled_from(["m", "n", "o"])
FLAGS = st.fixed_dictionaries(
    {},
    optional={
        "isSidechain": st.booleans(),
        "isMeta": st.booleans(),
        "logicalParentUuid": NAMES,
        "timestamp": st.just(None),
    },
)


@st.composite
def lines(draw: st.DrawFn) -> Json:
    """Any line: duplicate, missing and cyclic parents are likely, since there are few names."""
    uuid, parent = draw(NAMES), draw(PARENTS)
    fields: Json = {**draw(FLAGS)}
    match draw(st.integers(0, 8)):
        case 0 | 1:
            return user(uuid, parent, draw(st.sampled_from(["", "go", "<command-name>/x</command-name>"])), **fields)
        case 2:
            return reply(uuid, parent, text(draw(st.sampled_from(["", "hm", "hm, yes"]))), mid=draw(MIDS), **fields)
        case 3:
            return reply(
                uuid, parent, use(draw(IDS), draw(st.sampled_from(["Read", "Task"]))), mid=draw(MIDS), **fields
            )
        case 4:
            return result(uuid, parent, draw(IDS), **fields)
        case 5:
            return {"type": "progress", "uuid": uuid, "parentUuid": parent, "data": {}, **fields}
        case 6:
            return {"type": "attachment", "uuid": uuid, "parentUuid": parent, "attachment": {"type": "date"}, **fields}
        case 7:
            kind = draw(st.sampled_from(["compact_boundary", "turn_duration"]))
            return {"type": "system", "subtype": kind, "uuid": uuid, "parentUuid": parent, **fields}
        case _:
            return pin(draw(PARENTS), explicit=draw(st.booleans()))


FILES = st.lists(lines(), max_size=16)


@pytest.mark.req("R148")
@given(FILES)
@settings(max_examples=200)
def test_any_parents_become_a_forest_that_accounts_for_every_node_once(file: list[Json]) -> None:
    entries = session(*file).entries
    graph = Graph(entries)
    assert set(graph.nodes) == {e.uuid for e in entries if e.uuid}
    seen: list[str] = []
    waiting = list(graph.roots)
    while waiting:
        node = waiting.pop()
        seen.append(node)
        waiting.extend(graph.children.get(node, ()))
    assert sorted(seen) == sorted(graph.nodes)
    for uuid in graph.nodes:
        path = graph.path(uuid)
        assert path[0].uuid in graph.roots
        assert path[-1].uuid == uuid
        assert len({e.uuid for e in path}) == len(path)
    assert set(graph.leaves) == set(graph.nodes) - set(graph.children)


@pytest.mark.req("R148")
@given(FILES)
@settings(max_examples=200)
def test_every_file_can_be_read_as_a_conversation(file: list[Json]) -> None:
    found = session(*file)
    assert len({e.uuid for e in found.active}) == len(found.active)
    said = [e for turn in found.turns for e in turn.entries]
    assert [*found.preamble, *said] == list(found.active)
    for turn in found.turns:
        assert turn.state in ("waiting", "tool", "interrupted", "complete")
    standing = {e.uuid for e in found.prompts if found.links.nodes[e.uuid] is e}  # no later line took its uuid
    assert {e.uuid for branch in found.branches for e in branch.prompts} == standing
    if all(found.links.nodes[e.uuid] is e for e in found.active):
        assert sum(branch.is_active for branch in found.branches) == bool(found.turns)
    for branch in found.branches:
        assert found.turns_of(branch)[-1].prompt.uuid == branch.last.uuid
    assert found.title == Session(b"".join(item.raw for item in found.items)).title
    assert len(found.compactions) == sum(e.is_boundary for e in found.entries)


@pytest.mark.req("R148")
@given(FILES, st.sampled_from(VERSIONS))
@settings(max_examples=200)
def test_a_request_can_be_made_of_every_file_or_is_refused_with_a_reason(file: list[Json], version: str) -> None:
    found = session(*file)
    request = clew.request(found, version, prompt="NEXT")
    assert bool(request.refusal) == (request.leaf is None)
    if request.is_resumable:
        last = next(m for m in reversed(request.messages) if m["role"] != "system")  # context may follow the prompt
        assert last["role"] == "user"
        assert last["content"][-1] == text("NEXT")
        assert all(message["content"] for message in request.messages)
    if version == "2.1.325" and request.leaf is not None and not found.is_agent:
        assert request.leaf == found.leaf


# -- replies and calls


def blocks(entries: Sequence[Entry]) -> dict[str, list[Any]]:
    return {r.id: [b.text or b.id for b in r.blocks] for r in merge_replies(entries)}


@pytest.mark.req("R130")
@pytest.mark.req("R135")
@given(st.data())
def test_replies_are_merged_whatever_the_interleaving(data: st.DataObject) -> None:
    """Each reply keeps its blocks in its own order, wherever the lines of others and of results stand between them."""
    streams = {
        mid: [reply(f"{mid}{i}", None, text(f"{mid}{i}"), mid=mid) for i in range(data.draw(st.integers(1, 5)))]
        for mid in ("m", "n", "o")
    }
    streams["results"] = [result(f"r{i}", None, f"r{i}") for i in range(3)]
    left = {name: list(stream) for name, stream in streams.items()}
    file = []
    while any(left.values()):
        name = data.draw(st.sampled_from([name for name, stream in left.items() if stream]))
        file.append(left[name].pop(0))
    merged = blocks(session(*file).entries)
    assert merged == {mid: [line["uuid"] for line in stream] for mid, stream in streams.items() if mid != "results"}


@given(st.lists(IDS, max_size=6, unique=True), st.lists(st.sampled_from("abcd"), max_size=4, unique=True), st.randoms())
@pytest.mark.req("R165")
@pytest.mark.req("R168")
def test_pairing_does_not_depend_on_the_order(used: list[str], answered: list[str], random: Any) -> None:
    file = [reply(f"call-{i}", None, use(i)) for i in used]
    file += [result(f"result-{i}", None, i, f"for {i}") for i in answered]
    random.shuffle(file)
    found = pair_calls(session(*file).entries)
    assert {call.id: call.output for call in found.calls} == {i: f"for {i}" if i in answered else "" for i in used}
    assert {call.id for call in found.open} == set(used) - set(answered)
    assert {e.uuid for e in found.orphans} == {f"result-{i}" for i in answered if i not in used}


@given(FILES)
@pytest.mark.req("R168")
def test_every_use_and_every_result_is_accounted_for(file: list[Json]) -> None:
    entries = session(*file).entries
    found = pair_calls(entries)
    answers = [
        e.offset for call in found.calls for e in ([call.result_entry] if call.result_entry else []) + [*call.extras]
    ]
    answers += [e.offset for e in found.orphans]
    assert sorted(answers) == [e.offset for e in entries if e.type == "user" for _ in e.results]
    assert {call.id for call in found.calls} == {u.id for e in entries for u in e.uses}
