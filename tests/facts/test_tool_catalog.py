"""Tools: what a record is told from its shape, a diff from its hunks, a call named in a line."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from clew.conversation.load import request
from clew.conversation.replies import Call
from clew.conversation.session import Session
from clew.demo.talk import bash, edit, talk, tool, write
from clew.facts.tool_catalog import TOOLS, call_diff, diff, label, result_kind, subject, tool_name
from clew.wire.json_codec import encode

PATCH = [{"oldStart": 3, "oldLines": 3, "newStart": 3, "newLines": 4, "lines": [" a", "-b", "+B", "+bb", " c"]}]
USAGE = {"input_tokens": 1, "output_tokens": 2}


def call(name: str, /, **given: Any) -> Call:
    (found,) = Session(talk().user("go").reply(call=tool(name, **given)).bytes()).calls
    return found


# -- records


@pytest.mark.req("R104")
@pytest.mark.parametrize(
    ("detail", "kind"),
    [
        ({"mode": "files_with_matches", "filenames": ["a"], "numFiles": 1}, "Grep"),
        ({"mode": "content", "filenames": [], "numFiles": 0, "content": "", "numLines": 0, "appliedLimit": 9}, "Grep"),
        (
            {
                "type": "text",
                "file": {"filePath": "/a", "content": "x", "numLines": 1, "startLine": 1, "totalLines": 1},
            },
            "Read",
        ),
        ({"type": "image", "file": {"base64": "aGk=", "type": "image/png"}}, "Read"),
        ({"type": "file_unchanged", "file": {"filePath": "/a"}}, "Read"),
        ("Error: File not found", "error"),
    ],
)
def test_records_of_searches_and_reads(detail: Any, kind: str) -> None:
    assert result_kind(detail) == kind


@pytest.mark.req("R105")
@pytest.mark.parametrize(
    ("detail", "kind"),
    [
        ({"filenames": ["a"], "durationMs": 5, "numFiles": 1, "truncated": False}, "Glob"),
        ({"stdout": "x", "stderr": "", "interrupted": False, "isImage": False}, "Bash"),
        (
            {
                "stdout": "",
                "stderr": "",
                "interrupted": False,
                "isImage": False,
                "returnCodeInterpretation": "no match",
            },
            "Bash",
        ),
        ({"stdout": "", "stderr": "", "interrupted": False, "backgroundTaskId": "b1"}, "Bash"),
        ({"type": "create", "filePath": "/a", "content": "x", "structuredPatch": [], "originalFile": None}, "Write"),
        ({"type": "update", "filePath": "/a", "content": "x", "structuredPatch": PATCH, "originalFile": "y"}, "Write"),
        (
            {
                "filePath": "/a",
                "oldString": "b",
                "newString": "B",
                "originalFile": "a\nb",
                "structuredPatch": PATCH,
                "userModified": False,
                "replaceAll": False,
            },
            "Edit",
        ),
        ({"filePath": "/a", "edits": [], "originalFileContents": "", "structuredPatch": PATCH}, "MultiEdit"),
        ({"oldTodos": [], "newTodos": []}, "TodoWrite"),
        (
            {
                "status": "completed",
                "prompt": "p",
                "agentId": "a1",
                "content": [],
                "totalDurationMs": 5,
                "totalTokens": 9,
                "totalToolUseCount": 1,
                "usage": USAGE,
            },
            "Task",
        ),
        ({"content": [], "totalDurationMs": 5, "totalTokens": 9, "totalToolUseCount": 1, "usage": USAGE}, "Task"),
        ({"isAsync": True, "status": "async_launched", "agentId": "a1", "outputFile": "/o"}, "Task"),
    ],
)
def test_records_of_the_other_tools(detail: Any, kind: str) -> None:
    assert result_kind(detail) == kind


@pytest.mark.req("R106")
@pytest.mark.parametrize("kind", ["create", "update"])
def test_a_bare_type_is_a_write(kind: str) -> None:
    assert result_kind({"type": kind}) == "Write"


@pytest.mark.req("R107")
def test_the_old_form_of_a_read_is_one() -> None:
    assert result_kind({"type": "file", "file": "the text"}) == "Read"


@pytest.mark.req("R108")
@pytest.mark.parametrize(
    "text", ["Error: File not found: /a", "User rejected tool use", "Sibling tool call errored", ""]
)
def test_a_string_is_an_error(text: str) -> None:
    assert result_kind(text) == "error"


@pytest.mark.parametrize(
    "odd", [None, 5, [], [{"type": "text"}], {}, {"type": "text"}, {"brand": "new"}, {"type": ["create"]}]
)
def test_what_is_not_known_has_no_kind(odd: Any) -> None:
    assert result_kind(odd) == ""


@pytest.mark.req("R109")
@pytest.mark.parametrize("version", ["2.0.50", "2.1.29", "2.1.325"])
def test_the_record_is_never_sent(version: str) -> None:
    said = (
        talk(version=version).user("go").reply(call=bash("ls")).result("out", detail={"stdout": "only in the record"})
    )
    session = Session(said.reply("done").bytes())
    assert session.calls[0].detail == {"stdout": "only in the record"}
    sent = encode(request(session, version, "next").messages)
    assert b'"out"' in sent
    assert b"toolUseResult" not in sent
    assert b"only in the record" not in sent


# -- diffs


@pytest.mark.req("R110")
def test_hunks_become_a_unified_diff() -> None:
    assert diff({"filePath": "/a.py", "structuredPatch": PATCH}) == [
        "--- /a.py",
        "+++ /a.py",
        "@@ -3,3 +3,4 @@",
        " a",
        "-b",
        "+B",
        "+bb",
        " c",
    ]


@pytest.mark.req("R110")
def test_several_hunks_stand_behind_each_other() -> None:
    second = {"oldStart": 20, "oldLines": 1, "newStart": 21, "newLines": 0, "lines": ["-gone"]}
    found = diff({"structuredPatch": [*PATCH, "odd", second]}, name="b.py")
    assert found[:2] == ["--- b.py", "+++ b.py"]
    assert found[-2:] == ["@@ -20,1 +21,0 @@", "-gone"]


@pytest.mark.req("R110")
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_diff_is_one_that_git_applies(tmp_path: Path) -> None:
    before, after = "one\ntwo\nthree\nfour\n", "one\n2\n2b\nthree\nfour\n"
    said = talk(cwd=str(tmp_path)).user("go").reply(call=write("a.txt", before)).result()
    said = said.reply(call=edit("a.txt", "two\n", "2\n2b\n")).result()
    made, changed = Session(said.bytes()).calls
    (tmp_path / "a.txt").write_text(before)
    patch = "\n".join(["--- a/a.txt", "+++ b/a.txt", *call_diff(changed)[2:], ""])
    git = ["git", "-C", str(tmp_path), "apply", "--unsafe-paths", f"--directory={tmp_path}", "-"]
    subprocess.run(git, input=patch, text=True, check=True, capture_output=True)
    assert (tmp_path / "a.txt").read_text() == after
    assert call_diff(made)[3:] == [f"+{line}" for line in before.splitlines()]


@pytest.mark.req("R111")
def test_a_new_file_has_no_hunks_and_is_shown_whole() -> None:
    record: dict[str, Any] = {
        "type": "create",
        "filePath": "/n",
        "content": "a\nb\n",
        "structuredPatch": [],
        "originalFile": None,
    }
    assert diff(record) == ["--- /dev/null", "+++ /n", "@@ -0,0 +1,2 @@", "+a", "+b"]
    assert diff({**record, "content": "a\nb"}) == diff(record)


def test_an_edit_without_hunks_is_compared() -> None:
    found = diff({"filePath": "/a", "oldString": "x\ny", "newString": "x\nz", "structuredPatch": []})
    assert found == ["--- /a", "+++ /a", "@@ -1,2 +1,2 @@", " x", "-y", "+z"]


@pytest.mark.parametrize(
    "odd", [None, "Error", [], {}, {"structuredPatch": None}, {"type": "create"}, {"oldString": 1}]
)
def test_a_record_without_a_change_has_no_diff(odd: Any) -> None:
    assert diff(odd) == []


def test_a_call_without_a_record_is_shown_from_what_was_asked() -> None:
    asked = call("Edit", file_path="/a", old_string="x", new_string="y")
    assert call_diff(asked) == ["--- /a", "+++ /a", "@@ -1 +1 @@", "-x", "+y"]
    assert call_diff(call("Write", file_path="/a", content="x\n"))[2:] == ["@@ -0,0 +1,1 @@", "+x"]
    assert call_diff(call("Bash", command="ls")) == []


# -- names and labels


@pytest.mark.req("R112")
def test_the_usual_tools_are_known() -> None:
    named = "Read Write Edit Bash Glob Grep Task TodoWrite WebSearch WebFetch ExitPlanMode TaskOutput AskUserQuestion"
    assert set(f"{named} NotebookEdit EnterPlanMode".split()) <= set(TOOLS)


@pytest.mark.req("R112")
@pytest.mark.parametrize(
    ("name", "given_", "shown"),
    [
        ("Hologram", {"depth": 3, "query": "a  cat"}, "Hologram a cat"),
        ("Hologram", {"depth": 3}, "Hologram"),
        ("mcp__github__create_issue", {"name": "bug"}, "github: create_issue bug"),
        ('Task" >\n<parameter name="x', {"prompt": "p"}, 'Task" > <parameter name="x p'),
    ],
)
def test_an_unknown_tool_is_named_by_what_tells_most(name: str, given_: dict[str, Any], shown: str) -> None:
    assert label(call(name, **given_)) == shown


@pytest.mark.req("R113")
@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("Read", "file_path offset? limit?"),
        ("Write", "file_path content"),
        ("Edit", "file_path old_string new_string replace_all?"),
        ("Bash", "command description? timeout?"),
        ("Glob", "pattern path?"),
        ("Grep", "pattern path? glob? output_mode?"),
        ("Task", "description subagent_type prompt model?"),
        ("TodoWrite", "todos"),
        ("WebSearch", "query"),
        ("WebFetch", "url prompt"),
    ],
)
def test_the_inputs_of_a_tool_are_known(name: str, inputs: str) -> None:
    assert set(inputs.split()) <= set(TOOLS[name].inputs)
    assert TOOLS[name].required == tuple(each for each in inputs.split() if not each.endswith("?"))


def test_every_tool_is_named_by_inputs_that_it_has() -> None:
    for known in TOOLS.values():
        assert {name.removesuffix("?") for name in known.inputs} >= set(known.named_by)


@pytest.mark.req("R113")
@pytest.mark.parametrize(
    ("name", "given_", "shown"),
    [
        ("Bash", {"command": "git  log\n| head"}, "Bash git log | head"),
        ("Read", {"file_path": "/home/ada/garden/src/a.py"}, "Read src/a.py"),
        ("Read", {"file_path": "/home/ada/notes.md"}, "Read ~/notes.md"),
        ("Read", {"file_path": "/etc/hosts"}, "Read /etc/hosts"),
        ("Grep", {"pattern": "def", "path": "/home/ada/garden/src"}, "Grep def src"),
        ("TaskUpdate", {"taskId": 7, "status": "completed"}, "TaskUpdate 7 completed"),
        ("TodoWrite", {"todos": [{"status": "completed"}, {"status": "pending"}, "odd"]}, "TodoWrite 1/2 done"),
        ("TodoWrite", {"todos": []}, "TodoWrite"),
        (
            "AskUserQuestion",
            {"questions": [{"question": "Which\none?"}, {"question": "Why?"}]},
            "AskUserQuestion Which one?; Why?",
        ),
        ("ExitPlanMode", {"plan": "\n# The plan\n1. dig"}, "ExitPlanMode The plan"),
        ("ExitPlanMode", {}, "ExitPlanMode"),
        ("Read", {}, "Read"),
        ("Bash", {"command": ["odd"]}, "Bash"),
    ],
)
def test_a_call_is_named_by_what_it_is_about(name: str, given_: dict[str, Any], shown: str) -> None:
    assert label(call(name, **given_), "/home/ada/garden") == shown


@pytest.mark.req("R236")
def test_a_windows_path_is_shortened_too() -> None:
    assert subject("Read", {"file_path": "C:\\work\\garden\\src\\a.py"}, "C:\\work\\garden") == "src\\a.py"
    assert (
        subject("Read", {"file_path": "C:\\work\\gardening\\a.py"}, "C:\\work\\garden") == "C:\\work\\gardening\\a.py"
    )


def test_the_tool_of_a_server_is_named_with_it() -> None:
    assert tool_name("mcp__server__a__b") == "server: a__b"
    assert tool_name("mcp__server") == "server"
    assert tool_name("Bash") == "Bash"


@pytest.mark.parametrize("odd", [5, "x", None, {"a": 1}, [5, "x", None]])
def test_inputs_and_records_of_the_wrong_type_are_no_error(odd: object) -> None:
    for name, key in (("TodoWrite", "todos"), ("AskUserQuestion", "questions"), ("ExitPlanMode", "plan")):
        assert isinstance(subject(name, {key: odd}), str)
    assert isinstance(diff({"filePath": "x", "structuredPatch": odd}), list)
    assert isinstance(diff({"filePath": "x", "structuredPatch": [{"lines": odd}]}), list)
