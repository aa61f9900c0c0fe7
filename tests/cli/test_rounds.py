"""Rounds at the command line, on sessions that are written here line by line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from clew import read
from clew.conversation.rounds import COMPLEXITIES, KINDS, rounds
from clew.conversation.speaker import INPUTS
from clew.index import query_syntax
from clew.index.session_index import Index
from clew.mcp.session_tools import call
from clew.wire.layout import Tree

Run = Callable[..., tuple[int, str, str]]
Json = dict[str, Any]

ID = "c102b7ad-6e4b-4c03-b5da-21cfba48f81f"
SELECTED = "<ide_selection>The user selected the lines 78 to 78 from plan.md</ide_selection>"
OPENED = "<ide_opened_file>The user opened the file plan.md in the IDE.</ide_opened_file>"
TASK = "帮我实现##v0.2.3的任务，包括解析器和测试"


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def said(uuid: str, parent: str | None, at: str, content: Any, **more: Any) -> Json:
    head = {"parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": "e:\\work\\runner"}
    body = {"type": "user", "message": {"role": "user", "content": content}, "uuid": uuid}
    return {**head, "sessionId": ID, "version": "2.1.45", "gitBranch": "master", **body, "timestamp": _time(at), **more}


def replied(uuid: str, parent: str, at: str, *content: Json, **more: Any) -> Json:
    usage = {"input_tokens": 1500, "output_tokens": 300}
    message: Json = {"id": f"msg_{uuid}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-20250514"}
    message |= {"content": list(content), "stop_reason": "end_turn", "stop_sequence": None, "usage": usage}
    head = {"parentUuid": parent, "isSidechain": False, "sessionId": ID, "version": "2.1.45", "type": "assistant"}
    return {**head, "message": message, "uuid": uuid, "timestamp": _time(at), **more}


def result(uuid: str, parent: str | None, at: str, call: str, output: str = "ok", **more: Any) -> Json:
    failed = more.pop("failed", False)
    block = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": failed}
    return said(uuid, parent, at, [block], **more)


def use(call: str, name: str = "Read", **given: Any) -> Json:
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def _time(at: str) -> str:
    return f"2026-02-18T{at}.000Z"


def write(claude: Path, *lines: Json) -> Path:
    path = claude / "projects" / "e--work-runner" / f"{ID}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path


DAY = (
    {"type": "queue-operation", "operation": "dequeue", "timestamp": _time("02:00:00"), "sessionId": ID},
    said("u1", None, "02:00:41", [text(SELECTED), text(TASK)], permissionMode="acceptEdits"),
    replied(
        *("a1", "u1", "02:01:02"),
        {"type": "thinking", "thinking": "让我分析", "signature": ""},
        text("我来帮你"),
        use("call_1", file_path="e:\\work\\runner\\main.py"),
        use("call_2", "Task", description="look", prompt="Look around."),
    ),
    result("u2", "a1", "02:01:05", "call_1", "no such file", failed=True, slug="deep-dazzling-harbor"),
    result("u3", "u2", "02:01:06", "call_2"),
    replied("a2", "u3", "02:02:00", text("做完了")),
    said("u4", "a2", "02:03:00", [text(OPENED), text("继续")]),
    replied("a3", "u4", "02:03:30", text("好")),
    said("u5", "a3", "05:03:30", [text(OPENED), text("将结果更新到项目文档")]),
    replied("a4", "u5", "05:04:30", text("更新了")),
    said("u6", "a4", "05:05:00", "Please explain the parser in one paragraph."),
    replied("a5", "u6", "05:05:10", text("It parses.")),
)


def listed(clew: Run, *words: str) -> list[Json]:
    code, out, err = clew("show", ID, "--rounds", "--json", *words)
    assert (code, err) == (0, "")
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.usefixtures("utc")
@pytest.mark.req("R177", "R178", "R179")
def test_the_rounds_of_a_day_as_a_table(clew: Run, claude: Path) -> None:
    size = write(claude, *DAY).stat().st_size / 1000
    code, out, err = clew("show", ID[:6], "--rounds")
    assert (code, err) == (0, "")
    assert [re.sub(" {2,}", " | ", line.rstrip()) for line in out.splitlines()] == dedent(f"""\
        {TASK}
        e:\\work\\runner · master · 2026-02-18 05:05 · {size:.1f} kB · version 2.1.45 · deep-dazzling-harbor
        claude -r {ID}

        ROUND | KIND | TIME | TOOK | INPUT | COMPLEXITY | FEATURES | TEXT
        1 | first | 2026-02-18 02:00 | 1m19s | ide_selection | high | 2 calls, 1 agent, 1 error, thinking | {TASK}
        2 | continue | 2026-02-18 02:03 | 30s | ide_opened_file | low | 继续
        3 | resume | 2026-02-18 05:03 | 1m00s | ide_opened_file | medium | after 3h00m | 将结果更新到项目文档
        4 | new | 2026-02-18 05:05 | 10s | text | medium | Please explain the parser in one paragraph.
    """).splitlines()


@pytest.mark.req("R171", "R174", "R175", "R177", "R178", "R179")
def test_the_rounds_of_a_day_as_json(clew: Run, claude: Path) -> None:
    write(claude, *DAY)
    first, second, third, fourth = listed(clew)
    marks = {"permission_mode": "acceptEdits", "parent": None, "pause": None, "is_short": False, "is_active": True}
    place = {"turn": 1, "uuid": "u1", "line": 2, "time": "2026-02-18T02:00:41.000Z", "seconds": 79.0}
    counts = {"replies": 2, "calls": 2, "tools": {"Read": 1, "Task": 1}, "thinking": 1, "agents": 1, "errors": 1}
    kinds = {"round": 1, "round_kind": "first", "round_type": "new_session", "input": "ide_selection"}
    words = {"complexity": "high", "slug": "deep-dazzling-harbor", "text": TASK}
    assert first == {"clew": 1, "kind": "round", **kinds, **marks, **place, **counts, **words}
    shown = ("round_kind", "round_type", "input", "complexity", "is_short", "text", "pause", "parent")
    assert [second[name] for name in shown] == [
        *("continue", "new_round", "ide_opened_file", "low", True, "继续", 60.0, "a2")
    ]
    assert [third[name] for name in shown] == [
        *("resume", "resume", "ide_opened_file", "medium", False, "将结果更新到项目文档", 10800.0, "a3")
    ]
    assert [fourth[name] for name in shown[:5]] == ["new", "new_round", "text", "medium", False]


@pytest.mark.req("R174")
@pytest.mark.parametrize(
    ("gap", "kinds"),
    [
        ("5m", ["first", "continue", "resume", "new"]),
        ("59s", ["first", "resume", "resume", "new"]),
        ("60s", ["first", "continue", "resume", "new"]),
        ("0.5", ["first", "resume", "resume", "new"]),
        ("3h", ["first", "continue", "new", "new"]),
        ("1d", ["first", "continue", "new", "new"]),
    ],
)
def test_the_gap_that_makes_a_resume_is_an_option(clew: Run, claude: Path, gap: str, kinds: list[str]) -> None:
    write(claude, *DAY)
    found = listed(clew, "--gap", gap)
    assert [each["round_kind"] for each in found] == kinds
    assert [each["round_type"] == "resume" for each in found] == [kind == "resume" for kind in kinds]


@pytest.mark.req("R174")
def test_five_minutes_is_the_gap_without_the_option(clew: Run, claude: Path) -> None:
    write(
        claude,
        said("u1", None, "10:00:00", "first, a task that is long enough"),
        said("u2", "u1", "10:05:00", "exactly five minutes later than that"),
        said("u3", "u2", "10:10:01", "five minutes and a second later still"),
    )
    assert [each["round_type"] for each in listed(clew)] == ["new_session", "new_round", "resume"]


@pytest.mark.parametrize("gap", ["soon", "-5m", "5 parsecs", "", "1e400d"])
def test_a_gap_that_is_none(clew: Run, claude: Path, gap: str) -> None:
    write(claude, *DAY)
    code, out, err = clew("show", ID, "--rounds", f"--gap={gap}")
    assert (code, out) == (2, "")
    assert "is not a length of time: write 5m, 90s or 1h" in err


def test_a_gap_needs_rounds(clew: Run, claude: Path) -> None:
    write(claude, *DAY)
    assert clew("show", ID, "--gap", "5m") == (
        2,
        "",
        "clew: --gap needs --rounds. Write: clew show ID --rounds --gap 10m\n",
    )


@pytest.mark.req("R171", "R172", "R173", "R176")
def test_what_divides_rounds(clew: Run, claude: Path) -> None:
    write(
        claude,
        said("u1", None, "10:00:00", "with a mode", permissionMode="default"),
        replied("a1", "u1", "10:00:01", use("call_1")),
        result("u2", "a1", "10:20:00", "call_1"),  # a result continues, however late
        result("u3", None, "10:20:01", "call_1"),  # and whatever its parent is
        replied("a2", "u2", "10:20:02", text("done")),
        said("u4", "a2", "10:20:03", "also with a mode", permissionMode="plan"),
        said("u5", "u4", "10:20:04", "neither a mode nor a result"),
        result("u6", "u5", "10:20:05", "call_9", "a result with a mode", permissionMode="default"),
        said("u7", None, "10:20:06", "no parent"),
    )
    found = listed(clew)
    assert [(each["uuid"], each["round_type"], each["round_kind"]) for each in found] == [
        ("u1", "new_session", "first"),
        ("u4", "new_session", "continue"),
        ("u5", "new_round", "new"),
        ("u6", "new_session", "result"),
        ("u7", "new_session", "first"),
    ]
    assert [each["permission_mode"] for each in found] == ["default", "plan", None, "default", None]
    assert found[3]["complexity"] is None
    assert found[3]["input"] == "tool_result"
    assert found[3]["text"] == "a result with a mode"


@pytest.mark.req("R173", "R176")
def test_a_file_that_begins_with_a_result(clew: Run, claude: Path) -> None:
    write(claude, result("u1", "lost", "10:00:00", "call_1"), said("u2", "u1", "10:00:01", "go on"))
    first, second = listed(clew)
    assert (first["round_type"], first["round_kind"], first["turn"]) == ("continue", "result", None)
    assert (second["round_type"], second["round_kind"], second["turn"]) == ("new_round", "continue", 1)


def test_what_the_program_writes_as_the_user_begins_no_round(clew: Run, claude: Path) -> None:
    command = "<command-name>/model</command-name><command-args></command-args>"
    write(
        claude,
        said("m1", None, "10:00:00", "<local-command-caveat>Caveat: …</local-command-caveat>", isMeta=True),
        said("u1", "m1", "10:00:00", command),
        said("m2", "u1", "10:00:00", "<local-command-stdout>Set model</local-command-stdout>"),
        said("u2", "m2", "10:00:09", "Please write the parser for the config file."),
        said("m3", "u2", "10:00:10", "[Request interrupted by user]"),
        said("m4", "m3", "10:00:11", "This session is being continued …", isCompactSummary=True),
        said("u3", "m4", "10:00:12", "继续"),
    )
    assert [each["text"] for each in listed(clew)] == ["/model", "Please write the parser for the config file.", "继续"]


def test_rounds_of_left_branches_are_listed_and_marked(clew: Run, claude: Path) -> None:
    write(
        claude,
        said("u1", None, "10:00:00", "Explain the opening hours of the shop."),
        replied("a1", "u1", "10:00:01", text("Nine to five.")),
        said("u2", "a1", "10:00:02", "Add the public holidays to them."),
        replied("a2", "u2", "10:00:03", text("Added.")),
        said("u3", "a1", "10:00:04", "Forget it. What about the lunch break?"),
        replied("a3", "u3", "10:00:05", text("None.")),
    )
    found = listed(clew)
    assert [(each["round"], each["is_active"], each["turn"]) for each in found] == [
        (1, True, 1),
        (2, False, None),
        (3, True, 2),
    ]
    assert "left branch" in clew("show", ID, "--rounds")[1].splitlines()[6]
    assert [each["uuid"] for each in listed(clew, "--branch", "1")] == ["u1", "u2"]
    assert [each["uuid"] for each in listed(clew, "--last", "1")] == ["u3"]
    assert [each["uuid"] for each in listed(clew, "--turns", "1")] == ["u1"]


@pytest.mark.req("R177")
@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ([text(SELECTED), text("Why is that so?")], "ide_selection"),
        (f"{SELECTED}\nWhy is that so?", "ide_selection"),
        ([text(OPENED), text("继续")], "ide_opened_file"),
        ([text(OPENED), text(SELECTED), text("both")], "ide_selection"),
        ([text("帮我分析这个项目的结构")], "text"),
        ("plain", "text"),
        ([{"type": "tool_result", "tool_use_id": "call_x", "content": "文件内容..."}], "tool_result"),
    ],
)
def test_kinds_of_input(clew: Run, claude: Path, content: Any, kind: str) -> None:
    write(claude, said("u1", None, "10:00:00", content), replied("a1", "u1", "10:00:01", text("ok")))
    [only] = listed(clew)
    assert only["input"] == kind


@pytest.mark.req("R179")
@pytest.mark.parametrize(
    ("words", "is_first", "complexity"),
    [
        ("帮我分析这个项目的结构", True, "high"),
        ("帮我实现xxx功能...", True, "high"),
        ("继续", False, "low"),
        ("下一步", False, "low"),
        ("继续下一步", False, "low"),
        ("next step", False, "low"),
        ("将xxx更新到文档", False, "medium"),
        ("Write the result into the docs.", False, "medium"),
        ("hi", True, "low"),
    ],
)
def test_complexity_follows_from_the_length_and_the_place(
    clew: Run, claude: Path, words: str, is_first: bool, complexity: str
) -> None:
    before = [] if is_first else [said("u0", None, "10:00:00", "A task."), replied("a0", "u0", "10:00:01", text("ok"))]
    write(claude, *before, said("u1", "a0" if before else None, "10:00:02", words))
    assert listed(clew)[-1]["complexity"] == complexity


@pytest.mark.req("R176", "R177", "R179")
def test_turns_carry_their_round_and_input_in_show_and_export(clew: Run, claude: Path) -> None:
    write(claude, *DAY)
    expected = [
        (1, "first", "ide_selection", "high"),
        (2, "continue", "ide_opened_file", "low"),
        (3, "resume", "ide_opened_file", "medium"),
        (4, "new", "text", "medium"),
    ]
    names = ("round", "round_kind", "input", "complexity")
    shown = [json.loads(line) for line in clew("show", ID, "--json")[1].splitlines()]
    assert [tuple(turn[name] for name in names) for turn in shown] == expected
    head, *turns = [json.loads(line) for line in clew("export", ID)[1].splitlines()]
    assert [tuple(turn[name] for name in names) for turn in turns] == expected
    assert (head["rounds"], head["slug"]) == (4, "deep-dazzling-harbor")
    assert "round 3 · resume · ide_opened_file" in clew("export", ID, "--format", "html")[1]
    assert "round 3 · resume · ide_opened_file" in clew("export", ID, "--format", "markdown")[1]


def test_prompts_of_the_history_carry_their_round_and_input(clew: Run, claude: Path) -> None:
    lines = [said("u0", None, "10:00:00", "Plan the work of today.")]
    for number in range(1, 4):
        lines += [replied(f"a{number}", f"u{number - 1}", f"10:0{number}:00", text("ok"))]
        lines += [said(f"u{number}", f"a{number}", f"10:0{number}:30", [text(SELECTED), text("continue")])]
    write(claude, *lines)
    typed = [("10:00:00", "Plan the work of today."), ("10:02:29", "continue"), ("10:03:30", "[Pasted text #1]")]
    rows = [
        {"display": words, "timestamp": _time(at), "project": "e:\\work\\runner", "sessionId": ID}
        for at, words in typed
    ]
    rows += [{**rows[0], "display": "Something else", "timestamp": _time("11:00:00")}, {**rows[1], "sessionId": "gone"}]
    (claude / "history.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = [json.loads(line) for line in clew("ls", "prompts", "--json")[1].splitlines()]
    assert {(each["session"], each["title"]): (each["round"], each["input"]) for each in found} == {
        (ID, "Plan the work of today."): (1, "text"),
        (ID, "continue"): (3, "ide_selection"),
        (ID, "[Pasted text #1]"): (4, "ide_selection"),  # by its time
        (ID, "Something else"): (None, None),
        ("gone", "continue"): (None, None),
    }


@pytest.mark.parametrize("how", [(), ("--substring",), ("--regex",), ("--semantic",)])
def test_passages_of_every_search_carry_their_round_and_input(clew: Run, claude: Path, how: tuple[str, ...]) -> None:
    lines = [said("u0", None, "10:00:00", "Plan the work of today.")]
    for number in range(1, 4):
        lines += [replied(f"a{number}", f"u{number - 1}", f"10:0{number}:00", text("ok"))]
        lines += [said(f"u{number}", f"a{number}", f"10:0{number}:30", f"Question {number} is about the weather.")]
    lines += [replied("a4", "u3", "10:04:00", use("toolu_1", "Bash", command="curl wombat.example"))]
    lines += [result("u4", "a4", "10:04:01", "toolu_1", "a wombat in the rain"), said("u5", "u4", "10:05:00", "thanks")]
    lines += [replied("a5", "u5", "10:05:01", text("The wombat eats grass in Australia."))]
    write(claude, *lines)
    (found,) = map(json.loads, clew("search", *how, "wombat", "--json")[1].splitlines())
    expected = {"input": (4, None), "result": (4, "tool_result"), "reply": (5, None)}
    passages = {each["field"]: (each["round"], each["input"]) for each in found["passages"]}
    assert "reply" in passages and passages.items() <= expected.items()
    (found,) = map(json.loads, clew("search", *how, "the weather", "--json")[1].splitlines())
    asked = {(each["round"], each["input"]) for each in found["passages"] if each["field"] == "prompt"}
    assert asked and asked <= {(2, "text"), (3, "text"), (4, "text")}


def test_the_slug_is_a_label(clew: Run, claude: Path) -> None:
    write(claude, *DAY)
    assert json.loads(clew("ls", "--json")[1])["slug"] == "deep-dazzling-harbor"
    assert "deep-dazzling-harbor" in clew("show", ID)[1].splitlines()[1]
    assert "deep-dazzling-harbor" in clew("export", ID, "--format", "html")[1]


def test_a_session_without_rounds(clew: Run, claude: Path) -> None:
    write(claude, replied("a1", "lost", "10:00:00", text("hello")))
    code, out, err = clew("show", ID, "--rounds", "--json")
    assert (code, out, err) == (1, "", "This session has no rounds: it holds no user message.\n")


def test_secrets_in_inputs_are_masked(clew: Run, claude: Path) -> None:
    token = "ghp_" + "Ab3dEf6hIj" * 3 + "KLMNOP"
    write(claude, said("u1", None, "10:00:00", f"Use {token} for the upload, please."))
    for words in (("--rounds",), ("--rounds", "--json")):
        assert token not in clew("show", ID, *words)[1]
        assert token in clew("show", ID, *words, "--reveal")[1]


def test_rounds_from_a_process_of_its_own(claude: Path) -> None:
    write(claude, *DAY)
    command = [sys.executable, "-m", "clew", "show", ID, "--rounds", "--json", "--claude-dir", str(claude)]
    done = subprocess.run(command, capture_output=True, check=True, env={**os.environ, "TZ": "UTC"})
    assert [json.loads(line)["round_kind"] for line in done.stdout.splitlines()] == [
        "first",
        "continue",
        "resume",
        "new",
    ]


# -- where else they appear


def found(clew: Run, asked: str) -> list[tuple[str, int | None, str | None]]:
    code, out, _ = clew("search", asked, "--json", "--limit", "5")
    assert code in (0, 1)
    return [(p["text"], p["round"], p["input"]) for line in out.splitlines() for p in json.loads(line)["passages"]]


@pytest.mark.req("R177")
def test_search_by_the_kind_of_input(clew: Run, claude: Path) -> None:
    write(claude, *DAY)
    assert found(clew, "input:ide_selection") == [(TASK, 1, "ide_selection")]
    assert {words for words, *_ in found(clew, "input:ide_opened_file")} == {"继续", "将结果更新到项目文档"}
    assert found(clew, "input:text") == [("Please explain the parser in one paragraph.", 4, "text")]
    assert found(clew, "input:tool_result is:error") == [("no such file", 1, "tool_result")]
    assert found(clew, "paragraph input:ide_selection,ide_opened_file") == []
    assert found(clew, "paragraph -input:tool_result") == found(clew, "paragraph input:text")


@pytest.mark.req("R174", "R176", "R179")
@pytest.mark.parametrize(
    ("asked", "numbers"),
    [
        ("round:2", {2}),
        ("round:2-3", {2, 3}),
        ("round:3-", {3, 4}),
        ("round:-1", {1}),
        ("round:resume", {3}),
        ("round:continue,first", {1, 2}),
        ("round:high", {1}),
        ("round:medium", {3, 4}),
        ("round:low", {2}),
        ("in:prompt -round:2", {1, 3, 4}),
        ("parses round:4", {4}),
        ("parses round:3", set()),
        ("round:9", set()),
    ],
)
def test_search_by_round(clew: Run, claude: Path, asked: str, numbers: set[int]) -> None:
    write(claude, *DAY)
    assert {number for _, number, _ in found(clew, asked)} == numbers


@pytest.mark.parametrize("cut", range(1, len(DAY)))
def test_the_index_counts_on_as_a_session_grows(clew: Run, claude: Path, cut: int) -> None:
    write(claude, *DAY[:cut])
    clew("search", "anything")
    write(claude, *DAY)
    assert {number for _, number, _ in found(clew, "round:resume")} == {3}
    assert [words for words, *_ in found(clew, "in:prompt round:4")] == ["Please explain the parser in one paragraph."]
    assert [words for words, *_ in found(clew, "in:prompt round:1")] == [TASK]
    assert found(clew, "round:5-") == []


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (
            "round:late",
            "round: takes a number, a range such as 3-7, or one of first, new, continue, resume, result, high,",
        ),
        ("round:-", "round: takes a number"),
        ("round:", "round: needs a value"),
        ("input:file", "input: takes ide_selection, ide_opened_file, tool_result, text."),
    ],
)
def test_a_filter_that_is_not_understood(clew: Run, claude: Path, asked: str, reason: str) -> None:
    write(claude, *DAY)
    code, out, err = clew("search", asked)
    assert (code, out) == (2, "")
    assert err.startswith(f"clew: {reason}")


def test_a_scan_of_the_text_takes_the_filters_too(claude: Path, tmp_path: Path) -> None:
    write(claude, *DAY)
    with Index.open(claude, tmp_path / "cache") as index:
        index.refresh()

        def texts(filters: str) -> set[str]:
            return {p.text for result in index.grep("pa", filters=filters) for p in result.passages}

        assert texts("round:4 in:prompt") == {"Please explain the parser in one paragraph."}
        assert texts("round:medium in:reply") == {"It parses."}
        assert texts("round:new in:reply -round:4") == set()


def test_names_of_filters_are_those_of_rounds() -> None:
    assert query_syntax.INPUTS == INPUTS
    assert query_syntax.ROUND_KINDS == KINDS
    assert query_syntax.COMPLEXITIES == COMPLEXITIES


@pytest.mark.req("R176", "R177", "R179")
def test_rounds_in_sql(clew: Run, claude: Path, tmp_path: Path) -> None:
    write(claude, *DAY)
    archive = str(tmp_path / "archive.db")
    assert clew("collect", "--archive", archive, "--quiet")[0] == 0
    words = "SELECT round, round_kind, input, complexity FROM turns ORDER BY turn"
    rows = [json.loads(line)["row"] for line in clew("sql", words, "--archive", archive, "--json")[1].splitlines()]
    assert [(r["round"], r["round_kind"], r["input"], r["complexity"]) for r in rows] == [
        (1, "first", "ide_selection", "high"),
        (2, "continue", "ide_opened_file", "low"),
        (3, "resume", "ide_opened_file", "medium"),
        (4, "new", "text", "medium"),
    ]
    row = json.loads(clew("sql", "SELECT rounds, slug FROM sessions", "--archive", archive, "--json")[1])["row"]
    assert (row["rounds"], row["slug"]) == (4, "deep-dazzling-harbor")


def test_ls_counts_rounds(clew: Run, claude: Path) -> None:
    write(claude, *DAY)
    row = json.loads(clew("ls", "--rounds", "--json")[1])
    assert row["rounds"] == 4
    assert row["round_kinds"] == {"first": 1, "continue": 1, "resume": 1, "new": 1}
    assert row["inputs"] == {"ide_selection": 1, "ide_opened_file": 2, "text": 1}
    head, line = clew("ls", "--rounds")[1].splitlines()
    assert "ROUNDS" in head and re.search(r" 4  +帮我", line)
    assert clew("ls", "agents", "--rounds") == (
        *(2, ""),
        "clew: --rounds counts those of sessions, not of agents. Write: clew ls --rounds\n",
    )


def test_rounds_for_a_model(claude: Path) -> None:
    write(claude, *DAY)
    made = call(Tree(claude), "list_rounds", {"id": ID})
    assert "4 rounds of session" in made
    assert "> round 3 · round_kind resume · turn 3 · time 2026-02-18T05:03:30.000Z · input ide_opened_file" in made
    assert "round_kind resume" not in call(Tree(claude), "list_rounds", {"id": ID, "gap": 600})


def test_rounds_in_python(claude: Path) -> None:
    session = read(write(claude, *DAY))
    assert [each.number for each in session.rounds] == [1, 2, 3, 4]
    assert [turn.round for turn in session.turns] == list(session.rounds)
    assert [turn.input for turn in session.turns] == ["ide_selection", "ide_opened_file", "ide_opened_file", "text"]
    assert session.slug == "deep-dazzling-harbor"
    plain = [json.loads(line) for line in session.path.read_bytes().splitlines()] if session.path else []
    assert [[m.get("uuid") for m in group if m.get("uuid")] for group in rounds(plain)] == [
        [entry.uuid for entry in each.entries if entry.uuid] for each in session.rounds
    ]
