"""What calls made of files, told from their records alone."""

from __future__ import annotations

from typing import Any

import pytest

from clew.conversation.session import Session
from clew.demo.talk import bash, edit, talk, tool, write
from clew.facts.file_changes import ABSENT, UNKNOWN, FileChange, FileContent, collect_changes

PATH = "/home/ada/a.py"


def of(told: Any) -> dict[str, FileChange]:
    return collect_changes(Session(told.bytes()).calls)


def test_a_file_is_written_and_edited() -> None:
    told = talk().user("go").reply(call=write(PATH, "one\ntwo\n")).result().reply(call=edit(PATH, "two", "2")).result()
    assert of(told) == {PATH: FileChange(PATH, ABSENT, FileContent(True, "one\n2\n"))}


def test_what_failed_changed_nothing() -> None:
    told = talk().user("go").reply(call=write(PATH, "one")).result("no", error=True).reply(call=bash("ls")).result("a")
    assert of(told) == {}


def test_an_edit_tells_what_a_command_had_made_of_the_file() -> None:
    path = "/home/ada/b.py"
    detail = {"filePath": path, "oldString": "1", "newString": "I", "originalFile": "1\n2\n", "replaceAll": False}
    told = talk().user("go").reply(call=bash("seq 2 > b.py")).result("").reply(call=edit(path, "1", "I"))
    assert of(told.result("ok", detail=detail)) == {
        path: FileChange(path, FileContent(True, "1\n2\n"), FileContent(True, "I\n2\n"))
    }


@pytest.mark.parametrize("everywhere", [True, False])
def test_one_place_is_edited_or_all_of_them(everywhere: bool) -> None:
    told = talk().user("go").reply(call=write(PATH, "aa")).result()
    told = told.reply(call=edit(PATH, "a", "b", everywhere=everywhere)).result()
    assert of(told)[PATH].after.text == ("bb" if everywhere else "ba")


def test_several_edits_are_one_change() -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "c"}]
    call = tool("MultiEdit", file_path=PATH, edits=edits)
    told = talk().user("go").reply(call=call).result("ok", detail={"originalFileContents": "a", "edits": edits})
    assert of(told) == {PATH: FileChange(PATH, FileContent(True, "a"), FileContent(True, "c"))}


def test_a_notebook_tells_both_states() -> None:
    call = tool("NotebookEdit", notebook_path="/n.ipynb", new_source="1")
    told = talk().user("go").reply(call=call).result("ok", detail={"original_file": "{}", "updated_file": "{1}"})
    assert of(told) == {"/n.ipynb": FileChange("/n.ipynb", FileContent(True, "{}"), FileContent(True, "{1}"))}


def test_an_edit_of_nothing_begins_a_file() -> None:
    call = tool("Edit", file_path=PATH, old_string="", new_string="new\n")
    told = talk().user("go").reply(call=call).result("ok", detail={"originalFile": ""})
    assert of(told) == {PATH: FileChange(PATH, ABSENT, FileContent(True, "new\n"))}


@pytest.mark.parametrize(
    "detail",
    [["done"], {}, {"originalFile": "elsewhere"}, {"originalFile": "old", "userModified": True}, {"originalFile": 7}],
)
def test_what_nothing_tells_is_unknown(detail: Any) -> None:
    call = tool("Edit", file_path=PATH, old_string="old", new_string="new")
    assert of(talk().user("go").reply(call=call).result("ok", detail=detail))[PATH].after == UNKNOWN
