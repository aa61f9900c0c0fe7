"""Pastes are folded to marks, pictures are taken by their path, and all comes back when it is sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.console.input_history import ProjectHistory
from clew.console.pasted_text import Pastes, history_record, mark_before
from clew.wire.prompt_history import append_prompt, prompts, read_history

LONG = "\n".join("abcdef")


def test_a_short_paste_stays_and_a_long_one_is_folded() -> None:
    pastes = Pastes()
    assert pastes.fold("one\r\ntwo", Path("/")) == "one\ntwo"
    mark = pastes.fold(LONG, Path("/"))
    assert mark == "[Pasted text #1 +5 lines]"
    assert pastes.fold("x" * 1000, Path("/")) == "[Pasted text #2]"
    assert pastes.unfold(f"see {mark} there") == f"see {LONG} there"
    assert [p.number for p in pastes.used(f"{mark} [Pasted text #2] {mark} [Pasted text #9]")] == [1, 2]


def test_what_looks_like_a_mark_and_is_none_stays() -> None:
    assert Pastes().unfold("[Pasted text #7 +2 lines]") == "[Pasted text #7 +2 lines]"


def test_a_mark_in_a_paste_is_not_unfolded_again() -> None:
    pastes = Pastes()
    first = pastes.fold(LONG, Path("/"))
    second = pastes.fold(f"{first}\n" * 5, Path("/"))
    assert pastes.unfold(second) == f"{first}\n" * 5


def test_a_mark_is_deleted_as_one() -> None:
    assert mark_before("see [Image #3]") == len("[Image #3]")
    assert mark_before("see [Image #3] ") == 0


@pytest.mark.parametrize("form", ["{}", "'{}'", "file://{}", " {}\n"])
def test_a_picture_is_taken_by_its_path(tmp_path: Path, form: str) -> None:
    file = tmp_path / "a.PNG"
    file.write_bytes(b"\x89PNG\r\n\x1a\n")
    pastes = Pastes()
    assert pastes.fold(form.format(file), tmp_path) == "[Image #1]"
    assert pastes.known[1].picture == file.resolve()
    assert pastes.fold(str(tmp_path / "missing.png"), tmp_path) == str(tmp_path / "missing.png")


def test_a_picture_with_spaces_in_its_name(tmp_path: Path) -> None:
    file = tmp_path / "a b.png"
    file.write_bytes(b"")
    assert Pastes().fold(str(file).replace(" ", "\\ "), tmp_path) == "[Image #1]"
    assert Pastes().fold("a b.png", tmp_path) == "[Image #1]"


def test_the_history_is_written_and_read_as_claude_code_has_it(tmp_path: Path) -> None:
    path = tmp_path / "claude" / "history.jsonl"
    pastes = Pastes()
    mark = pastes.fold(LONG, tmp_path)
    append_prompt(path, "first", {}, "/p", "s1")
    append_prompt(path, f"see {mark}", history_record(pastes.used(mark)), "/p", "s1")
    append_prompt(path, "elsewhere", {}, "/q", "s2")
    append_prompt(path, "last", {}, "/p", "s1")
    append_prompt(path, "last", {}, "/p", "s1")
    assert [p.display for p in prompts(read_history(path))][:2] == ["first", f"see {mark}"]
    assert list(ProjectHistory(path, "/p").load_history_strings()) == ["last", f"see {LONG}", "first"]
    assert list(ProjectHistory(tmp_path / "none", "/p").load_history_strings()) == []
