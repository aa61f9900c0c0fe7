"""What `clone`, `trim` and `compress` write, read as lines of JSON and held against a hand-written source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.side_tree import PROJECT, SESSION, call, entry, prompt, reply, result, text, uuid, write_lines

Json = dict[str, Any]
STRANGE: Json = {"type": "star-chart", "sessionId": SESSION, "stars": [1, 2.50, {"name": "Vega"}]}


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def snapshot(number: int, *, update: bool = False) -> Json:
    inner = {"messageId": uuid(number), "trackedFileBackups": {}, "timestamp": "2026-02-03T10:00:00.000Z"}
    return {"type": "file-history-snapshot", "messageId": uuid(number), "snapshot": inner, "isSnapshotUpdate": update}


def thinking(words: str, signature: str) -> Json:
    return {"type": "thinking", "thinking": words, "signature": signature}


def lines_of(claude: Path) -> tuple[Path, list[Json]]:
    """A session with every kind of link: parents, callers, snapshots, a queue, a title and a boundary."""
    queued = {"type": "queue-operation", "operation": "enqueue", "content": "wait", "sessionId": SESSION}
    unknown = snapshot(0)
    unknown["messageId"] = unknown["snapshot"]["messageId"] = "99999999-0000-4000-8000-000000000000"
    lines = [
        {**queued, "timestamp": "2026-02-03T10:00:00.000Z"},
        snapshot(1),
        unknown,
        prompt(1, None, "List all plates"),
        reply(2, 1, thinking("Hm.", "c2lnMQ==")),
        reply(3, 2, text("I look."), call("toolu_01A", "ls a")),
        result(4, 3, "toolu_01A", "a.fits", {"stdout": "a.fits", "stderr": ""}, sourceToolAssistantUUID=uuid(3)),
        reply(5, 4, call("toolu_01B", "ls b")),
        result(6, 5, "toolu_01B", "b.fits", {"stdout": "b.fits", "stderr": ""}, sourceToolAssistantUUID=uuid(5)),
        snapshot(5, update=True),
        reply(7, 6, text("There are two.")),
        STRANGE,
        entry("system", uuid(8), None, 8, subtype="compact_boundary", content="Compacted", logicalParentUuid=uuid(7),
              compactMetadata={"trigger": "manual", "preTokens": 1550}),
        prompt(9, 8, "This was said: two plates.", isCompactSummary=True),
        prompt(10, 9, "Thanks"),
        reply(11, 10, text("Yes.")),
        {"type": "summary", "summary": "Two plates", "leafUuid": uuid(11)},
    ]  # fmt: skip
    lines[4]["message"]["id"] = lines[5]["message"]["id"]  # one reply on two lines
    return write_lines(claude / "projects" / PROJECT / f"{SESSION}.jsonl", *lines), lines


def written(clew: Run, *words: str) -> tuple[Path, list[Json]]:
    """The new session that an edit makes, without the line in which clew says where it came from."""
    code, out, err = clew(*words, "--json")
    assert code == 0, err
    path = Path(json.loads(out.splitlines()[0])["path"])
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    return path, [row for row in rows if "origin" not in row["type"]]


def parents(rows: list[Json]) -> list[str]:
    return [row["parentUuid"] for row in rows if row.get("parentUuid")]


def blocks(rows: list[Json], kind: str) -> list[Json]:
    lists = (row["message"]["content"] for row in rows if "message" in row)
    return [block for blocks in lists if isinstance(blocks, list) for block in blocks if block["type"] == kind]


# -- clone


@pytest.mark.req("R280", "R281", "R282", "R284")
def test_a_clone_has_new_ids_and_the_links_of_its_source(clew: Run, claude: Path) -> None:
    _, source = lines_of(claude)
    path, clone = written(clew, "clone", SESSION)
    assert len(clone) == len(source)
    assert {row["sessionId"] for row in clone if "sessionId" in row} == {path.stem} != {SESSION}
    assert ["sessionId" in row for row in clone] == ["sessionId" in row for row in source]
    new = {old["uuid"]: row["uuid"] for old, row in zip(source, clone, strict=True) if "uuid" in old}
    assert len(set(new.values())) == len(new) and not set(new) & set(new.values())
    places = ("parentUuid", "logicalParentUuid", "sourceToolAssistantUUID", "leafUuid", "messageId")
    for old, row in zip(source, clone, strict=True):
        for name in places:
            assert row.get(name) == new.get(old.get(name, ""), old.get(name)), (name, row)
        if "snapshot" in old:
            assert row["snapshot"]["messageId"] == new.get(old["messageId"], old["messageId"])
        assert row.get("message") == old.get("message")


@pytest.mark.req("R285", "R286", "R349")
def test_a_clone_lies_beside_its_source_and_leaves_it_alone(clew: Run, claude: Path) -> None:
    source, _ = lines_of(claude)
    before = source.read_bytes(), source.stat().st_mtime_ns
    path, _ = written(clew, "clone", SESSION)
    assert (source.read_bytes(), source.stat().st_mtime_ns) == before
    assert path.parent == source.parent and path != source
    (found,) = (json.loads(line) for line in clew("check", path.stem, "--json")[1].splitlines())
    assert (found["verdict"], found["damage"]) == ("sound", [])


# -- trim


@pytest.mark.req("R287", "R288", "R289", "R291")
def test_removed_calls_take_their_results_and_leave_no_gap(clew: Run, claude: Path) -> None:
    lines_of(claude)
    _, left = written(clew, "trim", SESSION, "--tools", "remove")
    assert blocks(left, "tool_use") == blocks(left, "tool_result") == []
    texts = [block["text"] for block in blocks(left, "text")]
    assert [each for each in texts if each in ("I look.", "There are two.", "Yes.")] == [
        "I look.",
        "There are two.",
        "Yes.",
    ]
    known = {row["uuid"] for row in left if "uuid" in row}
    assert set(parents(left)) <= known
    by_text = {row["message"]["content"][0].get("text"): row for row in left if row["type"] == "assistant"}
    assert by_text["There are two."]["parentUuid"] == by_text["I look."]["uuid"]


@pytest.mark.req("R291")
def test_a_cut_between_calls_leaves_pairs(clew: Run, claude: Path) -> None:
    lines_of(claude)
    _, left = written(clew, "trim", SESSION, "--tools", "remove", "--keep-calls", "1")
    assert [use["id"] for use in blocks(left, "tool_use")] == ["toolu_01B"]
    assert [each["tool_use_id"] for each in blocks(left, "tool_result")] == ["toolu_01B"]


@pytest.mark.req("R290")
def test_snapshots_of_removed_entries_go_and_others_stay(clew: Run, claude: Path) -> None:
    lines_of(claude)
    _, left = written(clew, "trim", SESSION, "--tools", "remove")
    (asked,) = (row["uuid"] for row in left if row.get("message", {}).get("content") == "List all plates")
    named = [row["messageId"] for row in left if row["type"] == "file-history-snapshot"]
    assert named == [asked, "99999999-0000-4000-8000-000000000000"]


@pytest.mark.req("R292", "R293")
def test_thinking_goes_with_its_signature_or_stays_with_it(clew: Run, claude: Path) -> None:
    _, source = lines_of(claude)
    path, left = written(clew, "trim", SESSION, "--thinking")
    assert blocks(left, "thinking") == [] and b"c2lnMQ==" not in path.read_bytes()
    assert blocks(left, "text") == blocks(source, "text") and blocks(left, "tool_use") == blocks(source, "tool_use")
    _, kept = written(clew, "trim", SESSION, "--tools", "remove")
    assert blocks(kept, "thinking") == [thinking("Hm.", "c2lnMQ==")]


@pytest.mark.req("R303")
@pytest.mark.parametrize(
    "edit",
    [("clone",), ("trim", "--preset", "heavy"), ("redact", "--pattern", "plates"), ("drop", "--turn", "1")],
    ids=lambda edit: edit[0],
)
def test_entries_of_unknown_types_stay(clew: Run, claude: Path, edit: tuple[str, ...]) -> None:
    lines_of(claude)
    path, left = written(clew, edit[0], SESSION, *edit[1:])
    assert [row for row in left if row["type"] == "star-chart"] == [{**STRANGE, "sessionId": path.stem}]


# -- compress


@pytest.mark.req("R297", "R298")
def test_a_compression_is_marked_by_a_boundary_and_summaries(clew: Run, claude: Path) -> None:
    turns: list[Json] = []
    for number in range(1, 13, 2):
        turns.append(prompt(number, number - 1 or None, f"Question {number}: " + "which plates are there? " * 40))
        turns.append(reply(number + 1, number, text("The plates are on the shelf. " * 200)))
    write_lines(claude / "projects" / PROJECT / f"{SESSION}.jsonl", *turns)
    _, made = written(clew, "compress", SESSION, "--extractive", "--bands", "2:verbatim,rest:brief")
    (boundary,) = (row for row in made if row.get("subtype") == "compact_boundary")
    assert (boundary["type"], boundary["parentUuid"]) == ("system", None)
    assert boundary["logicalParentUuid"] == uuid(8)  # the last entry that was shortened: two of six turns are kept
    facts = boundary["compactMetadata"]
    assert facts["trigger"] == "manual" and facts["preTokens"] > facts["postTokens"] > 0
    replies = [row for row in made if row["type"] == "assistant"]
    summaries = [row for row in made if row["type"] == "summary"]
    assert [row["leafUuid"] for row in summaries][:4] == [row["uuid"] for row in replies[:4]]
    assert [row["message"]["content"] for row in replies[4:]] == [row["message"]["content"] for row in turns[9::2]]
    assert "compacted" in clew("show", json.loads(clew("ls", "--json")[1].splitlines()[0])["id"])[1]
