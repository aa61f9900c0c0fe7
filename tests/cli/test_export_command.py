"""`clew export`, as it is typed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.demo.talk import bash, talk
from clew.demo.tree import Summary

Run = Callable[..., tuple[int, str, str]]
TOKEN = "ghp_" + "Ab3dEf6hIj" * 3 + "KLMNOP"


def values(out: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in out.splitlines()]
    assert all(row["clew"] == 1 for row in found)
    return found


@pytest.fixture
def path(claude: Path) -> Path:
    told = talk().user(f"use {TOKEN}").reply(f"ok {TOKEN}", call=bash(f"curl {TOKEN}")).result(TOKEN).reply("done")
    return told.raw(b"damaged \xff\n").user("more").reply("end").write(claude)


@pytest.mark.req("R237")
@pytest.mark.req("R235")
def test_json_is_the_session_and_its_turns_without_secrets(clew: Run, path: Path) -> None:
    code, out, err = clew("export", path.stem)
    head, first, second = values(out)
    assert (code, err) == (0, "Secrets were masked in 6 places. --reveal leaves them.\n")
    assert (head["kind"], head["id"], head["turns"], head["damaged_lines"]) == ("session", path.stem, 2, 1)
    assert (first["prompt"], second["prompt"]) == ("use [REDACTED:github-token]", "more")
    assert TOKEN not in out
    assert clew("export", path.stem, "--reveal")[1].count(TOKEN) == 6
    assert clew("export", path.stem, "--json")[1] == out


@pytest.mark.req("R237")
def test_every_session_of_the_demo_can_be_exported(clew: Run, demo: Summary) -> None:
    for number in demo.sessions.values():
        code, out, _ = clew("export", number)
        head, *turns = values(out)
        assert code == 0 and head["turns"] == sum(turn["number"] > 0 for turn in turns)


@pytest.mark.req("R235")
def test_no_secret_of_the_demo_gets_out(clew: Run, demo: Summary, claude: Path) -> None:
    canaries = ("ghp_" + "Demo", "AKIA" + "DEMO", "sk_live_" + "51Demo", "correct-" + "horse-42")
    stored = "".join(p.read_text(errors="replace") for p in claude.rglob("*.jsonl"))
    assert all(canary in stored for canary in canaries)
    number = demo.sessions["secrets"]
    for words in (
        ("export", number),
        ("show", number, "--full"),
        ("show", number, "--json"),
        ("ls",),
        ("ls", "prompts"),
    ):
        _, out, err = clew(*words)
        assert not any(canary in out + err for canary in canaries)


def test_the_file_as_it_is_needs_a_word(clew: Run, claude: Path, path: Path, tmp_path: Path) -> None:
    code, out, err = clew("export", path.stem, "--format", "jsonl")
    assert (code, out) == (2, "")
    assert err.endswith("Add --reveal to export it all the same.\n")
    assert clew("export", path.stem, "--format", "jsonl", "--reveal", "-o", str(tmp_path / "copy"))[0] == 0
    assert (tmp_path / "copy").read_bytes() == path.read_bytes()


def test_to_a_new_file_that_only_its_owner_reads(clew: Run, path: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    code, out, err = clew("export", path.stem, "-o", str(target))
    assert (code, out) == (0, f"{target}\n")
    assert err == "Secrets were masked in 6 places. --reveal leaves them.\n"
    assert target.stat().st_mode & 0o777 == 0o600
    assert target.read_text() == clew("export", path.stem)[1]
    before = target.read_bytes()
    code, out, err = clew("export", path.stem, "-o", str(target))
    assert (code, out, err) == (
        2,
        "",
        f"clew: {target}: File exists.\nNothing is written over: name another file.\n",
    )
    assert target.read_bytes() == before


def test_a_file_is_made_known_as_json(clew: Run, path: Path, tmp_path: Path) -> None:
    (row,) = values(clew("export", path.stem, "-o", str(tmp_path / "x"), "--json")[1])
    assert row == {"clew": 1, "kind": "exported", "session": path.stem, "path": str(tmp_path / "x")}


def test_a_folder_that_is_not_there(clew: Run, path: Path, tmp_path: Path) -> None:
    code, out, err = clew("export", path.stem, "-o", str(tmp_path / "no" / "x"))
    assert (code, out) == (2, "")
    assert err == f"clew: {tmp_path / 'no' / 'x'}: No such file or directory.\nLook whether the path is right.\n"


def test_nothing_is_left_of_an_export_that_did_not_begin(clew: Run, claude: Path, tmp_path: Path) -> None:
    assert clew("export", "nope", "-o", str(tmp_path / "x"))[0] == 1
    assert not (tmp_path / "x").exists()
