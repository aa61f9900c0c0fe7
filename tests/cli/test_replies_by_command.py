"""Replies, their usage and what a file holds, of hand-written transcripts, as `show`, `usage`, `check` and `trace` say."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.side_tree import PROJECT, SESSION, call, entry, prompt, put, reply, result, text, uuid, write_lines

Json = dict[str, Any]
THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def transcript(claude: Path, *lines: Json) -> Path:
    return write_lines(claude / "projects" / PROJECT / f"{SESSION}.jsonl", *lines)


def rows(clew: Run, *words: str) -> list[Json]:
    return [json.loads(line) for line in clew(*words, "--json")[1].splitlines()]


def piece(number: int, parent: int, *blocks: Json, stop: str | None = None, **usage: Any) -> Json:
    """One of the lines of the reply `msg_1`."""
    line = reply(number, parent, *blocks, requestId="req_1")
    line["message"] |= {"id": "msg_1", "stop_reason": stop}
    line["message"]["usage"] = usage or {"input_tokens": 1000, "output_tokens": 480}
    return line


def streamed(stop: str | None = "tool_use") -> list[Json]:
    """A reply of four blocks on four lines, and what came after it."""
    return [
        prompt(1, None, "List all plates"),
        piece(2, 1, THINKING),
        piece(3, 2, text("I look.")),
        piece(4, 3, call("toolu_01A", "ls a")),
        piece(5, 4, call("toolu_01B", "ls b"), stop=stop),
        result(6, 4, "toolu_01A", "a.fits"),
        result(7, 5, "toolu_01B", "b.fits"),
        reply(8, 7, text("There are two.")),
    ]


def replies(clew: Run) -> list[Json]:
    return [said for row in rows(clew, "show", SESSION) if row["kind"] == "turn" for said in row["replies"]]


# -- replies


@pytest.mark.req("R130", "R131", "R132")
def test_four_lines_are_one_reply_with_four_blocks(clew: Run, claude: Path) -> None:
    transcript(claude, *streamed())
    first, last = replies(clew)
    assert (first["id"], first["thinking"], first["text"]) == ("msg_1", "Hm.", "I look.")
    assert [(made["id"], made["output"]) for made in first["calls"]] == [
        ("toolu_01A", "a.fits"),
        ("toolu_01B", "b.fits"),
    ]
    assert first["stop_reason"] == "tool_use"
    assert (last["text"], last["stop_reason"]) == ("There are two.", "end_turn")


@pytest.mark.req("R132", "R134")
@pytest.mark.parametrize("reason", ["end_turn", "tool_use", "stop_sequence", "max_tokens", "star_count", None])
def test_any_stop_reason_is_that_of_the_whole_reply(clew: Run, claude: Path, reason: str | None) -> None:
    transcript(claude, *streamed(reason))
    assert replies(clew)[0]["stop_reason"] == reason


@pytest.mark.req("R135")
def test_lines_of_a_reply_need_no_request_id_and_no_neighbours(clew: Run, claude: Path) -> None:
    lines = streamed()
    apart = [*lines[:4], lines[5], lines[4], *lines[6:]]  # the first result comes before the second call
    transcript(claude, *({key: value for key, value in line.items() if key != "requestId"} for line in apart))
    first, _ = replies(clew)
    assert (first["thinking"], first["text"]) == ("Hm.", "I look.")
    assert [made["output"] for made in first["calls"]] == ["a.fits", "b.fits"]


@pytest.mark.req("R130", "R136")
def test_several_blocks_on_a_line_read_like_one_on_each(clew: Run, claude: Path) -> None:
    lines = streamed()
    transcript(claude, *lines)
    expected = replies(clew)
    both = [piece(3, 1, THINKING, text("I look.")), piece(5, 3, call("toolu_01A", "ls a"), call("toolu_01B", "ls b"))]
    both[1]["message"]["stop_reason"] = "tool_use"
    lines[5]["parentUuid"] = uuid(5)
    transcript(claude, lines[0], *both, *lines[5:])
    found = replies(clew)
    for said in (*expected, *found):
        del said["time"]
        for made in said["calls"]:
            del made["seconds"]
    assert found == expected


@pytest.mark.req("R233")
def test_the_blocks_of_a_reply_are_printed_together(clew: Run, claude: Path) -> None:
    """A line of another reply stands between its lines, as when an agent works at the same time."""
    lines = [piece(2, 1, text("First half.")), reply(3, 2, text("Between.")), piece(4, 3, text("Second half."))]
    transcript(claude, prompt(1, None, "Go"), *lines)
    assert [said["text"] for said in replies(clew)] == ["First half.\nSecond half.", "Between."]
    shown = clew("show", SESSION)[1]
    assert shown.index("First half.") < shown.index("Second half.") < shown.index("Between.")


@pytest.mark.req("R231")
def test_an_open_call_shows_what_it_printed_so_far(clew: Run, claude: Path) -> None:
    calls = reply(2, 1, call("toolu_01Slow", "slow"), call("toolu_01Quick", "quick"))
    reports = [
        entry("progress", uuid(number), uuid(2), number, parentToolUseID="toolu_01Slow", toolUseID=f"bash-{number}",
              data={"type": "bash_progress", "output": lines[-2:], "fullOutput": lines})
        for number, lines in ((3, "1\n"), (4, "1\n2\n"))
    ]  # fmt: skip
    transcript(claude, prompt(1, None, "Go"), calls, *reports, result(5, 2, "toolu_01Quick", "done"))
    shown = clew("show", SESSION)[1]
    assert "● Bash slow  (no result)\n  ⎿ 1\n    2\n● Bash quick  3s\n  ⎿ done\n" in shown


@pytest.mark.req("R070", "R073")
def test_a_rewind_takes_contents_that_stand_in_a_snapshot_and_its_update(
    clew: Run, claude: Path, tmp_path: Path
) -> None:
    project = tmp_path / "observatory"
    old, new = put(project / "old.txt", "changed\n"), put(project / "new.txt", "changed too\n")
    noted = [
        {
            "type": "file-history-snapshot",
            "messageId": uuid(1),
            "snapshot": {"messageId": uuid(1), "trackedFileBackups": files, "timestamp": "2026-02-03T10:00:01.000Z"},
            "isSnapshotUpdate": is_update,
        }
        for files, is_update in (
            ({"old.txt": "as it was\n"}, False),
            ({"old.txt": "as it was\n", "new.txt": "as new\n"}, True),
        )
    ]
    asked = [prompt(1, None, "Change them", cwd=str(project)), reply(2, 1, text("Done."), cwd=str(project))]
    transcript(claude, noted[0], asked[0], noted[1], asked[1])
    code, out, err = clew("rewind", SESSION, "--code", "--yes", "--edits", "overwrite")
    assert code == 0, err
    assert "restore  old.txt" in out and "restore  new.txt" in out
    assert (old.read_text(), new.read_text()) == ("as it was\n", "as new\n")


@pytest.mark.req("R232")
def test_what_the_program_wrote_is_not_printed_as_a_prompt(clew: Run, claude: Path) -> None:
    body = prompt(2, 1, "# How to count plates", isMeta=True)
    transcript(claude, prompt(1, None, "Count the plates"), body, reply(3, 2, text("Two.")))
    assert "How to count plates" not in clew("show", SESSION)[1]
    shown = clew("show", SESSION, "--meta")[1]
    assert "❯ Count the plates" in shown and "❯ # How to count plates" not in shown
    assert [row["prompt"] for row in rows(clew, "show", SESSION) if row["kind"] == "turn"] == ["Count the plates"]


@pytest.mark.req("R110")
def test_the_record_of_an_edit_is_printed_as_a_unified_diff(clew: Run, claude: Path) -> None:
    made = {"file_path": "/home/mira/observatory/plates.txt", "old_string": "two", "new_string": "three"}
    hunk = {"oldStart": 7, "oldLines": 3, "newStart": 7, "newLines": 3}
    hunk["lines"] = [" plates:", "-two", "+three", " end"]  # type: ignore[assignment]
    record = {"filePath": made["file_path"], "oldString": "two", "newString": "three", "structuredPatch": [hunk]}
    transcript(
        claude,
        prompt(1, None, "Correct it"),
        reply(2, 1, {"type": "tool_use", "id": "toolu_01E", "name": "Edit", "input": made}),
        result(3, 2, "toolu_01E", "The file has been updated.", record),
        reply(4, 3, text("Done.")),
    )
    diff = ["@@ -7,3 +7,3 @@", " plates:", "-two", "+three", " end"]
    (edited,) = (each for said in replies(clew) for each in said["calls"])
    assert edited["diff"].splitlines()[-5:] == diff
    shown = [line.strip() for line in clew("show", SESSION, "--full")[1].splitlines()]
    assert all(line.strip() in shown for line in diff)


# -- usage


def spent(clew: Run, *by: str) -> dict[str, tuple[int, int, int]]:
    """Replies, input and output, by name."""
    return {row["name"]: (row["replies"], row["input"], row["output"]) for row in rows(clew, "usage", *by)}


@pytest.mark.req("R121", "R124")
def test_a_reply_on_four_lines_is_counted_once(clew: Run, claude: Path) -> None:
    transcript(claude, *streamed())
    assert spent(clew)["Total"] == (2, 1010, 485)
    assert spent(clew, "session")["Total"] == (2, 1010, 485)
    assert spent(clew, "turns", SESSION)["Total"] == (2, 1010, 485)


@pytest.mark.req("R122")
@pytest.mark.parametrize("outputs", [(2, 2, 480), (480, 2, 2), (2, 480, 2)])
def test_the_highest_output_of_a_reply_counts(clew: Run, claude: Path, outputs: tuple[int, ...]) -> None:
    lines = [piece(n, n - 1, text("I look."), input_tokens=5, output_tokens=out) for n, out in enumerate(outputs, 2)]
    transcript(claude, prompt(1, None, "Go"), *lines)
    assert spent(clew)["Total"] == (1, 5, 480)


@pytest.mark.req("R120", "R123")
def test_every_kind_of_token_is_counted_and_any_may_be_missing(clew: Run, claude: Path) -> None:
    full = {
        "input_tokens": 3,
        "output_tokens": 150,
        "cache_creation_input_tokens": 5423,
        "cache_read_input_tokens": 13001,
        "cache_creation": {"ephemeral_5m_input_tokens": 5000, "ephemeral_1h_input_tokens": 423},
        "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 1},
        "service_tier": None,
    }
    lean = reply(3, 2, text("Two."))
    lean["message"]["usage"] = {"input_tokens": 1500, "output_tokens": 300}
    transcript(claude, prompt(1, None, "Go"), piece(2, 1, text("I look."), stop="end_turn", **full), lean)
    total = rows(clew, "usage")[-1]
    names = ("input", "output", "cache_write_5m", "cache_write_1h", "cache_read", "web_searches", "web_fetches")
    assert [total[name] for name in names] == [1503, 450, 5000, 423, 13001, 2, 1]


@pytest.mark.req("R124")
def test_totals_by_day_model_and_session(clew: Run, claude: Path) -> None:
    later = reply(4, 3, text("Three."), timestamp="2026-02-05T10:00:00.000Z")
    later["message"] |= {"model": "claude-haiku-4-5-20251001", "usage": {"input_tokens": 7, "output_tokens": 70}}
    transcript(claude, prompt(1, None, "Go"), reply(2, 1, text("Two.")), prompt(3, 2, "More"), later)
    total = {"Total": (2, 17, 75)}
    days = {"2026-02-03": (1, 10, 5), "2026-02-05": (1, 7, 70)}
    assert spent(clew, "daily", "--tz", "UTC") == {**days, **total}
    models = {"claude-opus-4-5-20251101": (1, 10, 5), "claude-haiku-4-5-20251001": (1, 7, 70)}
    assert spent(clew, "model") == {**models, **total}
    assert list(spent(clew, "session").values()) == [(2, 17, 75), (2, 17, 75)]


# -- what a file holds


@pytest.mark.req("R055", "R087", "R169", "R180")
def test_the_inventory_equals_an_independent_count(clew: Run, claude: Path) -> None:
    old = [{**line, "version": "2.0.50"} for line in streamed()]
    marks = [entry("system", uuid(9), uuid(8), 9, subtype="turn_duration", durationMs=7000)]
    title: Json = {"type": "summary", "summary": "Plates", "leafUuid": uuid(8)}
    lines: list[Json] = [*old, *marks, title, prompt(10, 9, "Thanks"), reply(11, 10, text("Yes."))]
    path = transcript(claude, *lines)
    said = [line["message"] for line in lines if "message" in line]
    blocks = [block["type"] for message in said if isinstance(message["content"], list) for block in message["content"]]
    (found,) = rows(clew, "check", SESSION)
    held = found["inventory"]
    assert (held["lines"], held["size"]) == (len(lines), path.stat().st_size)
    assert held["types"] == Counter(line["type"] for line in lines)
    assert held["versions"] == {"2.0.50": 8, "2.1.29": 3}
    assert held["blocks"] == Counter(blocks)
    assert held["stop_reasons"] == Counter(str(m["stop_reason"] or "null") for m in said if m["role"] == "assistant")
    assert (held["calls"], held["human_turns"], held["result_entries"]) == (2, 2, 2)
    assert held["result_share"] == 0.5
    assert (found["verdict"], found["flaws"]) == ("sound", [])
    printed = clew("check", SESSION)[1]
    assert "Turns: 2 by the user, 2 calls; 50% of the user entries are results" in printed
    assert "Versions: 2.0.50 8, 2.1.29 3" in printed


@pytest.mark.req("R057")
def test_bytes_that_are_not_utf8_do_not_end_a_file(clew: Run, claude: Path) -> None:
    path = transcript(claude, *streamed())
    put(path, path.read_bytes().replace(b"I look.", b"I l\xff\xfek."))
    (found,) = rows(clew, "check", SESSION)
    assert found["inventory"]["lines"] == 8
    assert [flaw["line"] for flaw in found["flaws"] if "UTF-8" in flaw["text"]] == [3]
    shown = clew("show", SESSION)[1]
    assert "I l" in shown and "There are two." in shown


# -- the graph


def drawn(clew: Run) -> list[tuple[int, int, int]]:
    """What `trace --entries` draws from top to bottom: the number in the uuid of an entry, its parent's, and its lane."""
    found = [row for row in rows(clew, "trace", SESSION, "--entries", "--full") if row["kind"] == "run"]
    return [(int(row["first"][-4:]), int((row["parent"] or "0")[-4:]), row["lane"]) for row in found]


@pytest.mark.req("R152")
def test_the_parallel_calls_of_an_early_description_are_drawn_as_a_tree(clew: Run, claude: Path) -> None:
    """The result of the first call is a sibling of the second call, and the answer goes on below the result."""
    transcript(
        claude,
        prompt(1, None, "Fix the login bug"),
        piece(2, 1, text("I look.")),
        piece(3, 2, call("toolu_01B", "ls b")),
        piece(4, 3, call("toolu_01C", "ls c"), stop="tool_use"),
        result(5, 3, "toolu_01B", "b", sourceToolAssistantUUID=uuid(3)),
        reply(6, 5, text("Fixed.")),
    )
    assert drawn(clew) == [(1, 0, 0), (2, 1, 0), (3, 2, 0), (4, 3, 1), (5, 3, 0), (6, 5, 0)]
    assert "1 turn on 1 branch" in clew("trace", SESSION)[1]


@pytest.mark.req("R153")
def test_the_chain_of_an_early_description_is_drawn_as_a_chain(clew: Run, claude: Path) -> None:
    """A command, its expansion, two calls, their results one below the other, and the answer."""
    transcript(
        claude,
        prompt(1, None, "implement-spec"),
        prompt(2, 1, "# Spec Implementation Workflow", isMeta=True),
        piece(3, 2, call("toolu_01B", "ls b")),
        piece(4, 3, call("toolu_01C", "ls c"), stop="tool_use"),
        result(5, 4, "toolu_01B", "b"),
        result(6, 5, "toolu_01C", "c"),
        reply(7, 6, text("Done.")),
    )
    assert drawn(clew) == [(number, number - 1, 0) for number in range(1, 8)]
    assert [made["output"] for said in replies(clew) for made in said["calls"]] == ["b", "c"]
