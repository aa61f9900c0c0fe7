"""Write, Edit, MultiEdit: what changes, what stays, what is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from clew.chat.tools.atomic_files import digest
from clew.chat.tools.builtin.edit_file import EDIT, MULTI_EDIT
from clew.chat.tools.builtin.read_file import READ
from clew.chat.tools.builtin.write_file import WRITE
from clew.chat.tools.structured_patch import diff_hunks
from clew.chat.tools.tool import Tool, ToolContext
from clew.facts.tool_catalog import result_kind
from tests.chat.tools.tool_fixture import good, misuse, run, stage, trouble


@pytest.fixture
def scene(tmp_path: Path) -> ToolContext:
    return stage(tmp_path)


def put(scene: ToolContext, name: str, data: bytes | str, is_read: bool = True) -> Path:
    path = scene.state.cwd / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    if is_read:
        run(READ, scene, file_path=str(path))
    return path


def leftovers(scene: ToolContext) -> list[str]:
    return [name for name in os.listdir(scene.state.cwd) if name.startswith(".clew")]


@pytest.mark.req("R111")
def test_a_new_file_is_written_with_its_folders(scene: ToolContext) -> None:
    path = scene.state.cwd / "a" / "b" / "c.txt"
    result = run(WRITE, scene, file_path=str(path), content="x\r\ny\n")
    assert result.content == f"File created successfully at: {path}"
    assert result.detail == {
        "type": "create",
        "filePath": str(path),
        "content": "x\r\ny\n",
        "structuredPatch": [],
        "originalFile": None,
    }
    assert path.read_bytes() == b"x\r\ny\n"
    assert good(run(EDIT, scene, file_path=str(path), old_string="y", new_string="z"))


def test_a_file_that_was_read_is_replaced(scene: ToolContext) -> None:
    path = put(scene, "a", "one\ntwo\n")
    result = run(WRITE, scene, file_path="a", content="one\n2\n")
    assert result.content == f"The file {path} has been updated successfully."
    patch = {"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": [" one", "-two", "+2"]}
    assert result.detail == {
        "type": "update",
        "filePath": str(path),
        "content": "one\n2\n",
        "structuredPatch": [patch],
        "originalFile": "one\ntwo\n",
    }
    assert good(run(WRITE, scene, file_path="a", content="again"))


@pytest.mark.parametrize("tool", ["Write", "Edit", "MultiEdit"])
def test_a_file_is_read_before_it_is_changed_and_as_it_is_now(scene: ToolContext, tool: str) -> None:
    tools: dict[str, tuple[Tool, dict[str, Any]]] = {
        "Write": (WRITE, {"content": "b"}),
        "Edit": (EDIT, {"old_string": "a", "new_string": "b"}),
        "MultiEdit": (MULTI_EDIT, {"edits": [{"old_string": "a", "new_string": "b"}]}),
    }
    made, input = tools[tool]
    path = put(scene, "a", "a", is_read=False)
    unread = "File has not been read yet. Read it first before writing to it."
    assert misuse(run(made, scene, file_path="a", **input)) == unread
    run(READ, scene, file_path="a")
    path.write_text("aa")
    assert misuse(run(made, scene, file_path="a", **input)).startswith("File has been modified since it was read")
    path.write_text("a")
    os.utime(path, (1, 1))
    assert good(run(made, scene, file_path="a", **input))
    assert path.read_text() == "b"
    assert leftovers(scene) == []


def test_an_edit_and_its_record(scene: ToolContext) -> None:
    text = "".join(f"line {i}\n" for i in range(1, 21))
    path = put(scene, "a", text)
    result = run(EDIT, scene, file_path="a", old_string="line 10\n", new_string="ten\n")
    assert result.content == f"The file {path} has been updated successfully."
    lines = [" line 7", " line 8", " line 9", "-line 10", "+ten", " line 11", " line 12", " line 13"]
    assert result.detail == {
        "filePath": str(path),
        "oldString": "line 10\n",
        "newString": "ten\n",
        "originalFile": text,
        "structuredPatch": [{"oldStart": 7, "oldLines": 7, "newStart": 7, "newLines": 7, "lines": lines}],
        "userModified": False,
        "replaceAll": False,
    }
    assert result_kind(result.detail) == "Edit"


def test_all_occurrences(scene: ToolContext) -> None:
    path = put(scene, "a", "x y x\nx")
    text = misuse(run(EDIT, scene, file_path="a", old_string="x", new_string="z"))
    assert text.startswith("Found 3 matches of the string to replace, but replace_all is false.")
    result = run(EDIT, scene, file_path="a", old_string="x", new_string="z", replace_all="true")
    assert good(result).startswith(f"The file {path} has been updated. All occurrences")
    assert result.detail["replaceAll"] is True
    assert path.read_text() == "z y z\nz"


def test_edits_that_cannot_be_made(scene: ToolContext) -> None:
    put(scene, "a", "x")
    same = "No changes to make: old_string and new_string are exactly the same."
    assert misuse(run(EDIT, scene, file_path="a", old_string="x", new_string="x")) == same
    assert misuse(run(EDIT, scene, file_path="nowhere", old_string="x", new_string="y")) == "File does not exist."
    exists = misuse(run(EDIT, scene, file_path="a", old_string="", new_string="y"))
    assert exists.startswith("Cannot create new file - file already exists.")
    missing = misuse(run(EDIT, scene, file_path="a", old_string="other", new_string="y"))
    assert missing == "String to replace not found in file.\nString: other"
    put(scene, "b", b"\x7fELF\0x", is_read=False)
    scene.state.seen[scene.state.cwd / "b"] = scene.state.seen[scene.state.cwd / "a"]
    put(scene, "n.ipynb", '{"cells": []}')
    assert "NotebookEdit" in misuse(run(EDIT, scene, file_path="n.ipynb", old_string="x", new_string="y"))
    (scene.state.cwd / "folder").mkdir()
    assert trouble(run(EDIT, scene, file_path="folder", old_string="x", new_string="y")).startswith("EISDIR: ")
    assert trouble(run(WRITE, scene, file_path="folder", content="y")).startswith("EISDIR: ")
    assert trouble(run(WRITE, scene, file_path="a/b", content="y")).startswith("ENOTDIR: ")
    assert "cannot hold the letter" in misuse(run(WRITE, scene, file_path="c", content="\ud800"))
    assert not (scene.state.cwd / "c").exists()


def test_binary_files_are_not_changed(scene: ToolContext) -> None:
    path = put(scene, "b", "text")
    path.write_bytes(b"a\0b")
    known = scene.state.seen[path]
    scene.state.seen[path] = replace(known, digest=digest(b"a\0b"))
    assert "binary file" in misuse(run(EDIT, scene, file_path="b", old_string="a", new_string="c"))
    assert "binary file" in misuse(run(WRITE, scene, file_path="b", content="c"))
    assert path.read_bytes() == b"a\0b"


def test_an_empty_text_makes_a_file(scene: ToolContext) -> None:
    result = run(EDIT, scene, file_path="new", old_string="", new_string="hello\n")
    assert good(result)
    assert (scene.state.cwd / "new").read_text() == "hello\n"
    put(scene, "empty", "")
    assert good(run(EDIT, scene, file_path="empty", old_string="", new_string="x"))


def test_the_nearest_place_is_told_with_its_white_space(scene: ToolContext) -> None:
    put(scene, "a.py", "def f():\n\tif x:\n\t\treturn 1\n")
    text = misuse(run(EDIT, scene, file_path="a.py", old_string="    if x:\n        return 1", new_string="pass"))
    assert text.splitlines()[3:] == [
        "",
        "The nearest text is at lines 2-3 of the file:",
        "     2→\tif x:",
        "     3→\t\treturn 1",
        "It differs in:",
        "- file, line 2: ⇥if·x:",
        "+ old_string: ····if·x:",
        "- file, line 3: ⇥⇥return·1",
        "+ old_string: ········return·1",
    ]
    text = misuse(run(EDIT, scene, file_path="a.py", old_string="\t\treturn 2", new_string="pass"))
    assert text.splitlines()[-3:] == ["It differs in:", "- file, line 3: \t\treturn 1", "+ old_string: \t\treturn 2"]


def test_many_edits_are_made_in_order_or_not_at_all(scene: ToolContext) -> None:
    path = put(scene, "a", "one two")
    edits = [{"old_string": "one", "new_string": "1"}, {"old_string": "1 two", "new_string": "x" * 60}]
    result = run(MULTI_EDIT, scene, file_path="a", edits=edits)
    assert good(result).splitlines() == [
        f"Applied 2 edits to {path}:",
        '1. Replaced "one" with "1"',
        f'2. Replaced "1 two" with "{"x" * 50}..."',
    ]
    assert result.detail["originalFileContents"] == "one two"
    assert [e["old_string"] for e in result.detail["edits"]] == ["one", "1 two"]
    assert set(result.detail) == {"filePath", "edits", "originalFileContents", "structuredPatch", "userModified"}
    assert result_kind(result.detail) == "MultiEdit"
    text = misuse(
        run(
            MULTI_EDIT,
            scene,
            file_path="a",
            edits=[
                {"old_string": "xx", "new_string": "y", "replace_all": True},
                {"old_string": "no", "new_string": "y"},
            ],
        )
    )
    assert text.startswith("String to replace not found in file (edit 2).")
    assert path.read_text() == "x" * 60
    assert "at least 1 item" in misuse(run(MULTI_EDIT, scene, file_path="a", edits=[]))


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"\xef\xbb\xbfa\r\nb\r\n", "a\nb", "c\nd\ne", b"\xef\xbb\xbfc\r\nd\r\ne\r\n"),
        (b"a\r\nb\nc\r\nd\r\n", "b\nc", "x\ny", b"a\r\nx\r\ny\r\nd\r\n"),
        (b"a\nb\r\nc\n", "c", "x\ny", b"a\nb\r\nx\ny\n"),
        ("grün\r\n".encode("utf-16"), "grün", "blau", "blau\r\n".encode("utf-16")),
        (b"caf\xe9\n", "café", "thé", b"th\xe9\n"),
        (b"a\r\n", "a\r\n", "b\r\n", b"b\r\n"),
        (b"no newline", "no", "still no", b"still no newline"),
    ],
)
def test_line_ends_mark_and_encoding_are_kept(
    scene: ToolContext, before: bytes, old: str, new: str, after: bytes
) -> None:
    path = put(scene, "a", before)
    assert good(run(EDIT, scene, file_path="a", old_string=old, new_string=new))
    assert path.read_bytes() == after


def test_what_the_encoding_cannot_hold(scene: ToolContext) -> None:
    path = put(scene, "a", b"caf\xe9\r\n")
    text = misuse(run(EDIT, scene, file_path="a", old_string="café", new_string="茶"))
    assert text == f"{path} is kept as cp1252, which cannot hold the letter '\\u8336'."
    result = run(WRITE, scene, file_path="a", content="茶\n")
    assert good(result).endswith("It was kept as cp1252 and is UTF-8 now.")
    assert path.read_bytes() == "茶\r\n".encode()


def test_mode_and_links_are_kept(scene: ToolContext) -> None:
    path = put(scene, "run.sh", "a")
    path.chmod(0o750)
    (scene.state.cwd / "link").symlink_to("run.sh")
    assert good(run(EDIT, scene, file_path="link", old_string="a", new_string="b"))
    assert (scene.state.cwd / "link").is_symlink()
    assert path.read_text() == "b"
    assert path.stat().st_mode & 0o777 == 0o750


def test_links_do_not_lead_out_of_the_project(scene: ToolContext, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    secret = outside / "secret"
    secret.write_text("a")
    (scene.state.cwd / "file").symlink_to(secret)
    (scene.state.cwd / "folder").symlink_to(outside)
    (scene.state.cwd / "dangling").symlink_to(outside / "new")
    (outside / "loose").symlink_to(secret)
    for name in ("file", "folder/secret", "folder/new", "dangling", str(outside / "loose")):
        assert good(run(READ, scene, file_path=str(secret)))
        assert "through a symbolic link" in misuse(run(WRITE, scene, file_path=name, content="b"))
        assert "through a symbolic link" in misuse(run(EDIT, scene, file_path=name, old_string="a", new_string="b"))
    assert secret.read_text() == "a"
    assert sorted(os.listdir(outside)) == ["loose", "secret"]
    assert good(run(WRITE, scene, file_path=str(outside / "asked"), content="b"))  # permission is another's matter


def test_the_snapshot_is_taken_before_the_change_and_only_then(scene: ToolContext) -> None:
    path = put(scene, "a", "a")
    taken: list[tuple[Path, str]] = []
    scene = replace(scene, before_change=lambda p: taken.append((p, p.read_text() if p.exists() else "")))
    misuse(run(EDIT, scene, file_path="a", old_string="z", new_string="b"))
    assert taken == []
    run(EDIT, scene, file_path="a", old_string="a", new_string="b")
    run(WRITE, scene, file_path="new", content="b")
    assert taken == [(path, "a"), (scene.state.cwd / "new", "")]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(scene: ToolContext) -> None:
    scene.state.cwd.chmod(0o500)
    assert trouble(run(WRITE, scene, file_path="a", content="x")).startswith("EACCES: ")
    scene.state.cwd.chmod(0o700)


LETTERS = st.text("ab \n\té€", max_size=12)


@given(
    st.text("ab \n\té", max_size=40),
    LETTERS.filter(bool),
    LETTERS,
    st.booleans(),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([("utf-8", b""), ("utf-8", b"\xef\xbb\xbf"), ("utf-16-le", b"\xff\xfe")]),
)
def test_an_edit_is_a_replace(
    tmp_path_factory: pytest.TempPathFactory,
    text: str,
    old: str,
    new: str,
    everywhere: bool,
    line_end: str,
    form: tuple[str, bytes],
) -> None:
    encoding, mark = form
    scene = stage(tmp_path_factory.mktemp("edit"))

    def written(text: str) -> bytes:
        return mark + text.replace("\n", line_end).encode(encoding)

    path = put(scene, "a", written(text))
    result = run(EDIT, scene, file_path="a", old_string=old, new_string=new, replace_all=everywhere)
    count = text.count(old)
    if old == new or count == 0 or (count > 1 and not everywhere):
        assert misuse(result)
        assert path.read_bytes() == written(text)
    else:
        # a text without newlines has no line end to keep
        kept = line_end if "\n" in text else "\n"
        assert path.read_bytes() == mark + text.replace(old, new).replace("\n", kept).encode(encoding)
        assert result.detail["originalFile"] == text
    assert leftovers(scene) == []


ROWS = st.lists(st.sampled_from("abcde"), max_size=30).map(lambda rows: "".join(row + "\n" for row in rows))


@given(ROWS, ROWS)
def test_hunks_turn_the_one_into_the_other(before: str, after: str) -> None:
    lines = before.split("\n")[:-1]
    shift = 0
    for hunk in diff_hunks(before, after):
        old = [line[1:] for line in hunk["lines"] if line[0] in " -"]
        new = [line[1:] for line in hunk["lines"] if line[0] in " +"]
        assert (len(old), len(new)) == (hunk["oldLines"], hunk["newLines"])
        at = hunk["oldStart"] - 1 + shift
        assert at == hunk["newStart"] - 1
        assert lines[at : at + len(old)] == old
        lines[at : at + len(old)] = new
        shift += len(new) - len(old)
    assert "".join(line + "\n" for line in lines) == after


@pytest.mark.skipif(shutil.which("patch") is None, reason="there is no patch")
def test_hunks_are_what_patch_applies(tmp_path: Path) -> None:
    before = "".join(f"line {i % 7}\n" for i in range(3000))
    rows = before.splitlines(keepends=True)
    rows[5], rows[1500:1503], rows[2990] = "changed\n", [], "line\x0cwith\x0cfeeds\nand more\n"
    after = "".join(rows)
    found = diff_hunks(before, after)
    assert len(found) == 3
    head = "--- a\n+++ a\n"
    body = "".join(
        f"@@ -{h['oldStart']},{h['oldLines']} +{h['newStart']},{h['newLines']} @@\n"
        + "".join(f"{x}\n" for x in h["lines"])
        for h in found
    )
    (tmp_path / "a").write_bytes(before.encode())
    subprocess.run(["patch", "-s", "a"], input=(head + body).encode(), cwd=tmp_path, check=True)
    assert (tmp_path / "a").read_bytes() == after.encode()


def test_a_lost_last_newline_is_a_change() -> None:
    assert diff_hunks("a\n", "a")[0]["lines"] == ["-a", "+a"]
    assert diff_hunks("a", "a") == []
    assert diff_hunks("", "a\n")[0] == {"oldStart": 1, "oldLines": 0, "newStart": 1, "newLines": 1, "lines": ["+a"]}


def test_the_nearest_place_is_found_in_a_file_of_like_lines(scene: ToolContext) -> None:
    text = "".join(f"{n},tide gauge,{n * 7 % 11},harbour station with a long name,ok\n" for n in range(4000))
    put(scene, "a.csv", text)
    wanted = "3711,tide gauge,6,harbour station with a long name,OK\n"
    assert "at line 3712 of the file" in misuse(run(EDIT, scene, file_path="a.csv", old_string=wanted, new_string="x"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_the_owner_is_kept(scene: ToolContext) -> None:
    path = put(scene, "a", "a")
    os.chown(path, 12345, 12346)
    assert good(run(EDIT, scene, file_path="a", old_string="a", new_string="b"))
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 12346)


def test_a_folder_that_becomes_a_link_on_the_way_is_not_followed(scene: ToolContext, tmp_path: Path) -> None:
    folder, outside = scene.state.cwd / "folder", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()

    def swap(path: Path) -> None:
        folder.rename(scene.state.cwd / "moved")
        folder.symlink_to(outside)

    result = run(WRITE, replace(scene, before_change=swap), file_path="folder/a", content="x")
    assert trouble(result).startswith(("ENOTDIR: ", "ELOOP: "))
    assert os.listdir(outside) == []
