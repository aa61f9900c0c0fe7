"""Promises of the formats and of the edits, on hand-written files, as users meet them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from clew import detail, read
from tests.cli.conftest import Run
from tests.cli.side_tree import PROJECT, SESSION, call, entry, prompt, put, reply, result, text, uuid, write_lines


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def transcript(claude: Path) -> Path:
    return claude / "projects" / PROJECT / f"{SESSION}.jsonl"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def two_turns(claude: Path, id: str = "toolu_01Plates") -> Path:
    return write_lines(
        transcript(claude),
        prompt(1, None, "List all plates"),
        reply(2, 1, text("Here they come."), call(id, "ls plates")),
        result(3, 2, id, "a.fits b.fits", {"stdout": "a.fits b.fits", "stderr": ""}),
        reply(4, 3, text("There are two.")),
        prompt(5, 4, "Which is the older one?"),
        reply(6, 5, text("The first.")),
    )


@pytest.mark.req("R012")
def test_the_prompt_history_is_listed_and_never_searched_or_listed_as_a_conversation(clew: Run, claude: Path) -> None:
    two_turns(claude)
    typed = {"display": "look for the wombat", "pastedContents": {}, "timestamp": 1770112800000, "sessionId": SESSION}
    like_an_entry = {**prompt(9, None, "look for the wombat"), **typed, "project": "/home/mira/observatory"}
    write_lines(claude / "history.jsonl", like_an_entry)
    assert "look for the wombat" in clew("ls", "prompts")[1]
    assert clew("search", "wombat")[:2] == (1, "")
    assert clew("search", "plates")[0] == 0
    rows = [json.loads(row) for row in clew("ls", "--json")[1].splitlines()]
    assert [row["id"] for row in rows] == [SESSION]
    assert "wombat" not in clew("show", SESSION, "--full")[1]


@pytest.mark.req("R040")
def test_a_long_first_prompt_is_cut_in_the_index_and_whole_everywhere_else(clew: Run, claude: Path) -> None:
    long = "Describe plate " + ", ".join(str(number) for number in range(200)) + " and the last one"
    write_lines(transcript(claude), prompt(1, None, long), reply(2, 1, text("Done.")))
    index = put(claude / "projects" / PROJECT / "sessions-index.json", '{"version": 1, "entries": []}')
    assert clew("repair", "--index", "-p", PROJECT)[0] == 0
    (row,) = json.loads(index.read_bytes())["entries"]
    assert row["firstPrompt"].endswith("…") and len(row["firstPrompt"]) <= 201
    assert long.startswith(row["firstPrompt"].removesuffix("…"))
    assert " and the last one" in clew("show", SESSION)[1].replace("\n", " ").replace("  ", " ")


@pytest.mark.req("R076")
def test_boundaries_durations_and_commands_are_shown_for_what_they_are(clew: Run, claude: Path) -> None:
    parts = {"command-name": "/status", "command-message": "status", "command-args": "now"}
    command = "\n".join(f"<{tag}>{words}</{tag}>" for tag, words in parts.items())
    printed = "<local-command-stdout>all is well</local-command-stdout>"
    write_lines(
        transcript(claude),
        prompt(1, None, "List all plates"),
        reply(2, 1, text("There are two.")),
        entry("system", uuid(3), uuid(2), 3, subtype="turn_duration", durationMs=83_000, isMeta=False),
        entry("system", uuid(4), uuid(3), 4, subtype="local_command", content=command, level="info"),
        entry("system", uuid(10), uuid(4), 4, subtype="local_command", content=printed, level="info"),
        entry("system", uuid(5), uuid(10), 5, subtype="star_count", content="seven stars", level="info"),
        entry("system", uuid(6), None, 6, subtype="compact_boundary", content="Conversation compacted",
              logicalParentUuid=uuid(5), compactMetadata={"trigger": "manual", "preTokens": 155_000}),
        entry("user", uuid(7), uuid(6), 7, isCompactSummary=True,
              message={"role": "user", "content": "Summary: two plates."}),
        prompt(8, 7, "Go on"),
        reply(9, 8, text("Yes.")),
    )  # fmt: skip
    code, out, err = clew("show", SESSION)
    assert (code, err) == (0, "")
    assert "manual" in out and "155.0k tokens before" in out
    assert "took 1m23s" in out
    assert "· /status now\n" in out and "· all is well\n" in out and "command-name" not in out
    shown = clew("show", SESSION, "--full", "--meta")[1]
    assert "Go on" in shown
    assert clew("check", SESSION)[0] == 0
    details = [detail(each) for each in read(transcript(claude)).entries if each.type == "system"]
    assert [type(each).__name__ for each in details] == [
        "TurnDuration",
        "LocalCommand",
        "LocalCommand",
        "SystemNotice",
        "Compaction",
    ]


@pytest.mark.req("R101")
@pytest.mark.parametrize("id", ["toolu_01Plates", "call_00_x9"])
def test_a_call_of_any_form_of_id_has_its_result(clew: Run, claude: Path, id: str) -> None:
    two_turns(claude, id)
    turn = json.loads(clew("show", SESSION, "--json")[1].splitlines()[0])
    (made,) = (each for said in turn["replies"] for each in said["calls"])
    assert (made["id"], made["output"]) == (id, "a.fits b.fits")
    assert "● Bash ls plates  1s\n  ⎿ a.fits b.fits" in clew("show", SESSION)[1]
    assert clew("check", SESSION)[0] == 0


@pytest.mark.req("R283")
def test_the_leaf_of_a_summary_is_the_one_of_the_clone(clew: Run, claude: Path) -> None:
    path = two_turns(claude)
    title = {"type": "summary", "summary": "Two plates", "leafUuid": uuid(6)}
    path.write_bytes(path.read_bytes() + json.dumps(title).encode() + b"\n")
    made = json.loads(clew("clone", SESSION, "--json")[1])
    copied = lines(Path(made["path"]))
    (leaf,) = (line["leafUuid"] for line in copied if line["type"] == "summary")
    (last,) = (line["uuid"] for line in copied if line.get("message", {}).get("id") == "msg_6")
    assert leaf == last != uuid(6)
    assert "Two plates" in clew("show", made["id"])[1]


EDITS = {
    "clone": (),
    "drop": ("--turn", "2"),
    "trim": ("--tools", "remove"),
    "redact": ("--pattern", "fits"),
    "compress": ("--extractive", "--bands", "rest:brief"),
}


@pytest.mark.req("R301")
@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("damage", ["torn", "lost", "changed"])
def test_an_edit_that_cannot_be_read_back_as_planned_is_taken_back(
    clew: Run, claude: Path, monkeypatch: pytest.MonkeyPatch, edit: str, damage: str
) -> None:
    """The file system keeps other bytes than it was given."""
    path = two_turns(claude)
    before = {p: p.read_bytes() for p in claude.rglob("*") if p.is_file()}
    link = os.link

    def store(source: Any, target: Any, **options: Any) -> None:
        data = Path(source).read_bytes()
        if Path(target).parent == path.parent:
            kept = data.splitlines(keepends=True)
            other = {
                "torn": data[: data.rindex(b"msg_") - 40] + b"\n",
                "lost": b"".join(line for line in kept if b"List all plates" not in line),
                "changed": data.replace(b"List all plates", b"List all planes"),
            }
            Path(source).write_bytes(other[damage])
        link(source, target, **options)

    monkeypatch.setattr(os, "link", store)
    code, out, err = clew(edit, SESSION, *EDITS[edit])
    monkeypatch.undo()
    assert code == 2 and "Made a session" not in out
    assert "is not what was written" in err
    assert {p: p.read_bytes() for p in claude.rglob("*") if p.is_file()} == before
    assert path.exists()


@pytest.mark.req("R301")
@pytest.mark.parametrize("edit", EDITS)
def test_a_dry_run_says_what_would_be_made_and_writes_nothing(clew: Run, claude: Path, edit: str) -> None:
    two_turns(claude)
    before = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in claude.rglob("*") if p.is_file()}
    code, out, _ = clew(edit, SESSION, *EDITS[edit], "--dry-run")
    assert code == 0 and "Would make a session of 5e551011: " in out
    assert {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in claude.rglob("*") if p.is_file()} == before


@pytest.mark.req("R316")
def test_the_state_file_names_files_from_the_home_folder_on(
    clew: Run, claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = two_turns(claude)
    put(path, path.read_bytes() + b'{"type":"half')
    state = tmp_path / "state.json"
    assert clew("collect", "--state", str(state), "--archive", str(tmp_path / "archive.db"))[0] == 0
    size = path.read_bytes().rindex(b"\n") + 1
    row = {"offset": size, "mtime": path.stat().st_mtime_ns // 1_000_000}
    name = f"~/claude/projects/{PROJECT}/{SESSION}.jsonl"
    assert json.loads(state.read_bytes())["claude_code"]["files"] == {name: row}
