"""What people who come from another tool ask for besides, each on a hand-written tree and as it is typed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.seeds.capture import plant, type_command

Typed = Callable[..., list[str]]

NAME = ("early", "leaping", "liskov")
SIX = [
    {"tool": "Glob", "input": {"pattern": "*.py"}},
    {"tool": "Grep", "input": {"pattern": "HUSUM", "output_mode": "content"}},
    {"tool": "Read", "input": {"file_path": "tide.py"}},
    {"tool": "Edit", "input": {"file_path": "tide.py", "old_string": "03:12", "new_string": "04:01"}},
    {"tool": "Write", "input": {"file_path": "new.py", "content": "NEW = 1\n"}},
    {"tool": "Bash", "input": {"command": "cat new.py"}},
]


@pytest.fixture
def typed(tmp_path: Path) -> Typed:
    """Type a command in the home of a tree; the lines that it printed."""

    def run(line: str, tree: str = "") -> list[str]:
        if tree:
            plant(tree, tmp_path)
        return type_command(line, tmp_path, in_shell=False)

    return run


def chat(typed: Typed, home: Path, *steps: object) -> list[dict[str, object]]:
    """Let a model of a mock take these steps in a project; the bodies of the requests."""
    project = home / "gezeiten"
    project.mkdir()
    (project / "tide.py").write_text('HUSUM = "03:12"\n')
    (home / "script.json").write_text(json.dumps({"rules": [{"prompt": "tide", "steps": [*steps, "Done."]}]}))
    mock = "clew mock --quiet --script ../script.json --ledger ../ledger.jsonl --bodies"
    allowed = "--permission-mode acceptEdits --allowedTools 'Bash(cat *)'"
    printed = typed(
        f"cd gezeiten && {mock} -- clew chat -p 'the tide' {allowed} --session-id 1d2e3f40-5a6b-4c7d-8e9f-0a1b2c3d4e5f"
    )
    assert printed == ["Done."]
    rows = map(json.loads, (home / "ledger.jsonl").read_text().splitlines())
    return [row["body"] for row in rows if row.get("body", {}).get("tools")]


@pytest.mark.req("R353")
def test_a_search_is_narrowed_down_by_git_branch(typed: Typed) -> None:
    printed = typed("clew search cent branch:fix/rundung", "recall")
    assert printed[0].startswith("3b6f0c52  ") and " · fix/rundung · " in printed[0]
    assert typed("clew search cent branch:main")[-1] == "[1]"
    assert typed("clew search tagesabschluss -branch:fix/rundung")[0].startswith("b81d2e07  ")


@pytest.mark.req("R354")
def test_a_session_that_only_the_index_knows_is_found_and_marked(typed: Typed) -> None:
    printed = typed("clew search murmeltier", "recall")
    assert printed[0].startswith("e40a7c1d  Umzug der Belege nach PostgreSQL (Murmeltier)")
    left = "its title and first prompt are all that is left"
    assert printed[-1].strip() == f"only in the index: the transcript is gone; {left}"
    assert "claude -r" not in "\n".join(printed)
    row = next(line for line in typed("clew ls") if line.startswith("e40a7c1d"))
    assert "(only in the index: the transcript is gone)" in row


@pytest.mark.req("R241", "R355")
def test_the_name_of_a_new_session_ends_with_a_surname(typed: Typed, tmp_path: Path) -> None:
    chat(typed, tmp_path)
    about = typed("clew show 1d2e")[1]
    first, second, last = about.split(" · ")[-1].split("-")  # made from the id, which is always the same here
    assert (first, second, last) == NAME


@pytest.mark.req("R356")
def test_a_request_defines_the_tools_and_asks_for_a_stream(typed: Typed, tmp_path: Path) -> None:
    [body] = chat(typed, tmp_path)
    tools = body["tools"]
    assert isinstance(tools, list)
    names = {tool["name"] for tool in tools}
    assert {"Read", "Write", "Edit", "Bash", "Glob", "Grep"} <= names and names & {"Task", "Agent"}
    assert all(tool["description"] and tool["input_schema"]["type"] == "object" for tool in tools)
    assert body["stream"] is True


@pytest.mark.req("R357")
def test_the_tools_run_here(typed: Typed, tmp_path: Path) -> None:
    chat(typed, tmp_path, *([step] for step in SIX))
    shown = "\n".join(typed("clew show 1d2e"))
    project = tmp_path / "gezeiten"
    assert (project / "tide.py").read_text() == 'HUSUM = "04:01"\n'
    assert (project / "new.py").read_text() == "NEW = 1\n"
    calls = re.findall(r"^● (\w+)", shown, re.MULTILINE)
    assert calls == ["Glob", "Grep", "Read", "Edit", "Write", "Bash"] and "FAILED" not in shown
    assert "⎿ tide.py:1:HUSUM" in shown and '+HUSUM = "04:01"' in shown and "⎿ NEW = 1" in shown


@pytest.mark.req("R358")
def test_files_are_put_back_and_conversations_branch(typed: Typed, tmp_path: Path) -> None:
    chat(typed, tmp_path, *([step] for step in SIX))
    assert typed("clew rewind 1d2e --code --yes --quiet") == [
        "Turn 1: the tide",
        "  delete   new.py",
        "  restore  tide.py",
    ]
    assert (tmp_path / "gezeiten" / "tide.py").read_text() == 'HUSUM = "03:12"\n'
    assert not (tmp_path / "gezeiten" / "new.py").exists()
    fork = "clew chat -p --resume 1d2e3f40-5a6b-4c7d-8e9f-0a1b2c3d4e5f --at 1 'the tide again'"
    typed(f"cd gezeiten && clew mock --quiet --script ../script.json -- {fork}")
    assert [line for line in typed("clew show 1d2e --depth prompts") if line.startswith("❯")] == ["❯ the tide"]
    copy = typed("cd gezeiten && clew show --depth prompts")
    assert [line for line in copy if line.startswith("❯")] == ["❯ the tide", "❯ the tide again"]


@pytest.mark.req("R359")
def test_a_line_without_a_field_that_it_must_have_is_named(typed: Typed, tmp_path: Path) -> None:
    plant("cloner", tmp_path)
    [path] = (tmp_path / ".claude" / "projects").glob("*/51c0e7a9*.jsonl")
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    prompt = json.loads(lines[-5])
    assert prompt["type"] == "user" and "Then write them" in prompt["message"]["content"]
    assert not [line for line in typed("clew check 51c0") if "has no" in line]
    del prompt["cwd"], prompt["version"]
    lines[-5] = json.dumps(prompt) + "\n"
    path.write_text("".join(lines), encoding="utf-8")
    found = [line for line in typed("clew check 51c0") if "has no" in line]
    assert len(found) == 1 and "12" in found[0] and "has no cwd, version" in found[0]


@pytest.mark.req("R360")
def test_the_pause_that_makes_a_round_a_resume_can_be_set(typed: Typed) -> None:
    def kinds(printed: list[str]) -> list[str]:
        return [line.split()[1] for line in printed if line[:1].isdigit()]

    assert kinds(typed("clew show c7d1 --rounds", "rounds")) == ["first", "continue", "resume", "continue", "new"]
    assert kinds(typed("clew show c7d1 --rounds --gap 4h")) == ["first", "continue", "new", "continue", "new"]
    assert kinds(typed("clew show c7d1 --rounds --gap 1m")) == ["first", "resume", "resume", "resume", "resume"]


@pytest.mark.req("R361")
def test_rounds_have_a_kind_and_a_complexity(typed: Typed) -> None:
    rows = [json.loads(line) for line in typed("clew show c7d1 --rounds --json", "rounds")]
    found = [(row["round_kind"], row["complexity"]) for row in rows]
    assert found == [
        ("first", "high"),
        ("continue", "low"),
        ("resume", "medium"),
        ("continue", "low"),
        ("new", "medium"),
    ]


@pytest.mark.req("R362")
def test_the_slug_is_shown_as_a_label(typed: Typed) -> None:
    assert typed("clew show c7d1 --depth prompts", "rounds")[1].endswith(" · version 2.1.45 · amber-rolling-curie")


@pytest.mark.req("R363")
def test_what_a_return_code_means_is_shown(typed: Typed) -> None:
    printed = typed("clew show 07d4 --turns 1", "client")
    place = next(number for number, line in enumerate(printed) if line.startswith("● Bash docker build ."))
    assert "return code: The build failed" in "\n".join(printed[place : place + 6])


@pytest.mark.req("R364")
def test_totals_and_hours_of_the_statistics_stand_beside_our_own(typed: Typed) -> None:
    printed = typed("clew usage --reconcile", "collector")
    totals = [
        line.removeprefix("stats-cache.json totals: ") for line in printed if line.startswith("stats-cache.json totals")
    ]
    assert totals == [
        "sessions: theirs 2, ours 2.",
        "messages: theirs 11, ours 11.",
        "tool calls: theirs 3, ours 3.",
        "sessions by hour: theirs 00h:1 23h:1, ours 00h:1 23h:1.",
    ]


@pytest.mark.req("R365")
def test_todo_lists_and_plans_are_listed_and_shown(typed: Typed) -> None:
    plans = typed("clew ls plans", "collector")
    assert plans[1].split()[0] == "d3a81f6c" and "steady-humming-euler" in plans[1]
    todos = typed("clew ls todos")
    assert len(todos) == 2 and todos[1].split()[0] == "d3a81f6c"
    shown = "\n".join(typed("clew show d3a8 --todos"))
    assert "Fix login" in shown and "Check the address form" in shown and "Notarize the wombat build." in shown


@pytest.mark.req("R366")
def test_long_outputs_and_file_histories_can_be_left_out(typed: Typed) -> None:
    kept = typed("clew collect --dry-run --quiet", "collector")
    assert {"tool-results", "file-history"} <= {part for line in kept for part in line.split("/")}
    lean = typed("clew collect --dry-run --lean --quiet")
    assert not {"tool-results", "file-history", "shell-snapshots"} & {part for line in lean for part in line.split("/")}
    typed("clew collect --lean --quiet --to records.jsonl")
    files = typed('grep -o \'"file":"[^"]*\' records.jsonl | sort -u')
    assert len(files) == 6 and not [name for name in files if "tool-results" in name or "file-history" in name]
