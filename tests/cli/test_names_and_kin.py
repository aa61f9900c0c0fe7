"""`clew retitle`, `tag`, `undo`, `lineage` and `merge`, as they are typed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

import clew as library
from clew.demo.talk import Talk, talk

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def told() -> Talk:
    return talk().user("one").reply("a")


def test_a_session_is_named_and_the_name_taken_back(clew: Run, claude: Path) -> None:
    path = told().title("Old").write(claude)
    assert clew("retitle", path.stem[:6], "New") == (0, f"Gave {path.stem[:8]} the title 'New'. It was 'Old'.\n", "")
    assert clew("retitle", path.stem, "New")[1] == f"{path.stem[:8]} has the title 'New' already.\n"
    assert clew("tag", path.stem, "beds", "--dry-run")[1] == f"Would give {path.stem[:8]} the tag 'beds'.\n"
    made = json.loads(clew("tag", path.stem, "beds", "--json")[1])
    assert (made["value"], made["former"], made["written"]) == ("beds", "", True)
    assert clew("tag", path.stem, "--clear")[1] == f"Gave {path.stem[:8]} no tag. It was 'beds'.\n"
    assert [json.loads(line)["what"] for line in clew("undo", "--list", "--json")[1].splitlines()] == [
        "tag",
        "tag beds",
        "retitle New",
    ]
    assert clew("undo", made["undo"])[0] == 2  # another tag since
    for _ in range(3):
        assert clew("undo")[0] == 0
    assert library.read(path).title == "Old"
    assert clew("undo")[0] == 1 and clew("undo", "--list") == (1, "", "clew wrote nothing that could be taken back.\n")


def test_a_copy_is_taken_back_after_a_look(clew: Run, claude: Path) -> None:
    path = told().write(claude)
    made = json.loads(clew("clone", path.stem, "--json")[1])
    code, out, _ = clew("undo", made["id"][:8], "--dry-run")
    assert code == 0 and out.splitlines()[1] == f"  remove: {made['path']}" and Path(made["path"]).exists()
    listed = clew("undo", "--list")[1].splitlines()
    assert listed[0].split() == ["NUMBER", "WHEN", "SOURCE", "MADE", "WHAT"]
    assert listed[1].split() == [made["undo"], "now", path.stem[:8], made["id"][:8], "clone"]
    found = json.loads(clew("undo", "--json")[1])
    assert found["undone"] and found["paths"] == [made["path"]] and not Path(made["path"]).exists()


def test_a_lineage_is_drawn_as_a_tree(clew: Run, claude: Path) -> None:
    path = told().title("Beds").write(claude)
    fork = told().fork().user("two").reply("b").write(claude)
    made = json.loads(clew("clone", path.stem, "--json")[1])
    code, out, _ = clew("lineage", made["id"])
    assert code == 0
    assert out.splitlines() == [f"{path.stem[:8]}  Beds", f"└─ {made['id'][:8]} ●  clone"]
    out = clew("lineage", path.stem, "--ascii")[1]
    assert out.splitlines() == [
        f"{path.stem[:8]} *  Beds",
        f"`- {made['id'][:8]}  clone",
        f"{fork.stem[:8]}  one  holds 2 of the same entries, and 2 of its own",
    ]
    Path(made["path"]).unlink()
    found = json.loads(clew("lineage", path.stem, "--json")[1])
    assert [(link["child"], link["exists"]) for link in found["links"]] == [(made["id"], False)]
    assert [shared["common"] for shared in found["shared"]] == [2]
    assert "(gone)" in clew("lineage", path.stem)[1]


def test_two_continuations_become_one(clew: Run, claude: Path, tmp_path: Path) -> None:
    begun = told()
    elsewhere = replace(begun, setup=replace(begun.setup, seed="elsewhere")).pause(hours=1)
    mine = begun.user("left").reply("l").write(claude)
    yours = elsewhere.user("right").reply("r").write(tmp_path / "laptop")
    code, out, err = clew("merge", mine.stem, str(yours))
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == (
        f"{yours}: 2 entries of both, 2 of the first alone, 2 of this one alone, 0 more files."
    )
    (made,) = [p for p in claude.rglob("*.jsonl") if p != mine]
    session = library.read(made)
    assert [turn.text for turn in session.turns] == ["one", "right"]
    assert sorted(b.last.text for b in session.branches) == ["left", "right"]
    code, _, err = clew("merge", mine.stem, str(mine))
    assert code == 2 and "has no entry that" in err


def test_a_former_title_that_is_no_text_is_shown_as_json(clew: Run, claude: Path) -> None:
    path = told().write(claude)
    deep = "[" * 3000 + "]" * 3000
    with path.open("a") as file:
        file.write(f'{{"type":"custom-title","customTitle":{deep},"sessionId":"{path.stem}"}}\n')
    code, out, err = clew("retitle", path.stem, "New")
    assert (code, err) == (0, "")
    assert out.startswith(f"Gave {path.stem[:8]} the title 'New'. It was '[[[[")
