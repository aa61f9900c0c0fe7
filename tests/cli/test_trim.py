"""`clew trim`, as it is typed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.conversation.load import read
from clew.demo.talk import bash, talk
from clew.edit.trim_presets import PRESETS
from tests.cli.hand_written import ONE, reply, result, text, use, user, write

Run = Callable[..., tuple[int, str, str]]
LONG = "a line of output\n" * 100


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def path(claude: Path) -> Path:
    told = talk()
    for number in range(30):
        told = told.user(f"question {number}").reply("so", thinking="Hm.", call=bash(f"look {number}")).result(LONG)
        told = told.reply(f"answer {number}")
    return told.write(claude)


def files(path: Path) -> list[Path]:
    return sorted(path.parent.glob("*.jsonl"))


@pytest.mark.req("R300")
def test_it_prints_the_new_id_how_to_go_on_and_a_table(clew: Run, path: Path) -> None:
    code, out, err = clew("trim", path.stem)
    [made] = [p for p in files(path) if p != path]
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert made.stem in lines
    assert f"Resume with:  cd /home/ada/garden && claude -r {made.stem}" in lines
    assert lines[-1].startswith("180 → 150 entries, 30 → 30 turns, 30 → 30 calls, 30 → 0 thinking blocks.")
    named = [line.split("  ")[0] for line in lines]
    for category in (
        "prompts",
        "replies",
        "thinking",
        "tool input",
        "tool result",
        "not sent",
        "system, tools",
        "all",
    ):
        assert category in named
    session = read(made)
    assert [len(call.output) < 200 for call in session.calls] == [True] * 10 + [False] * 20


@pytest.mark.req("R301")
@pytest.mark.parametrize("option", ["--dry-run", "--diff"])
def test_what_is_only_shown_is_not_written(clew: Run, path: Path, option: str) -> None:
    code, out, _ = clew("trim", path.stem, option)
    assert code == 0
    assert out
    assert files(path) == [path]


@pytest.mark.req("R300")
def test_json_tells_each_category_before_and_after(clew: Run, path: Path) -> None:
    code, out, _ = clew("trim", path.stem, "--preset", "heavy", "--json")
    [told] = map(json.loads, out.splitlines())
    assert (code, told["clew"], told["kind"], told["written"]) == (0, 1, "edit", True)
    old, new = told["before"], told["after"]
    assert (old["calls"], new["calls"], old["turns"], new["turns"]) == (30, 5, 30, 30)
    assert new["tokens"] < old["tokens"]
    assert old["tokens_measured"] is True
    assert new["bytes"] < old["bytes"] == path.stat().st_size
    for side in (old, new):
        shares = side["categories"]
        assert sum(s["tokens"] for s in shares.values()) + side["tokens_before_messages"] == side["tokens"]
        assert sum(s["bytes"] for s in shares.values()) == side["bytes"]
    assert new["categories"]["prompts"] | {"share": 0} == old["categories"]["prompts"] | {"share": 0}
    assert new["categories"]["thinking"]["tokens"] == 0 < old["categories"]["thinking"]["tokens"]


def calls(clew: Run, path: Path, *options: str) -> list[dict[str, Any]]:
    code, out, err = clew("trim", path.stem, "--json", *options)
    assert code == 0, err
    told = json.loads(out)
    return [{**call.input, "output": call.output} for call in read(told["path"]).calls]


@pytest.mark.req("R287")
def test_options_say_which_calls_and_how(clew: Run, path: Path) -> None:
    assert [c["command"] for c in calls(clew, path, "--keep-last", "2")] == ["look 28", "look 29"]
    assert [c["command"] for c in calls(clew, path, "--keep-calls", "1")] == ["look 29"]
    assert len(calls(clew, path, "--percent", "50%")) == 15
    assert len(calls(clew, path, "--tool", "Read")) == 30
    assert calls(clew, path, "--tool", "Read", "--tool", "Bash") == []
    cut = calls(clew, path, "--tools", "truncate", "--keep-last", "1")
    assert [len(c["output"]) < 200 for c in cut] == [True] * 29 + [False]


def test_options_add_to_a_preset(clew: Run, path: Path) -> None:
    assert len(calls(clew, path, "--preset", "light")) == 30
    assert len(calls(clew, path, "--preset", "light", "--keep-last", "3")) == 3
    made = json.loads(clew("trim", path.stem, "--preset", "light", "--thinking", "--json")[1])
    assert made["after"]["thinking"] == 0


@pytest.mark.req("R302")
@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_can_be_repeated(clew: Run, path: Path, preset: str) -> None:
    once = json.loads(clew("trim", path.stem, "--preset", preset, "--json")[1])
    twice = json.loads(clew("trim", once["id"], "--preset", preset, "--json")[1])
    assert twice["before"] == twice["after"]
    assert twice["after"]["tokens"] == pytest.approx(once["after"]["tokens"], abs=2)
    first, second = (read(made["path"]) for made in (once, twice))
    assert [e.text for e in first.active] == [e.text for e in second.active]


@pytest.mark.req("R302")
@pytest.mark.parametrize(("share", "left"), [("50", 3), ("30", 4), ("100", 0)])
def test_a_share_can_be_repeated(clew: Run, claude: Path, share: str, left: int) -> None:
    lines = []
    for at in range(0, 28, 4):
        asked = reply(at + 2, use(f"toolu_{at}", "Read", file_path="/a"), stop="tool_use")
        lines += [user(at + 1, f"question {at}"), asked, result(at + 3, f"toolu_{at}", LONG), reply(at + 4, text("so"))]
    write(claude, ONE, *lines)
    options = ("--tools", "remove", "--percent", share, "--json")
    once = json.loads(clew("trim", ONE, *options)[1])
    twice = json.loads(clew("trim", once["id"], *options)[1])
    assert [len(read(made["path"]).calls) for made in (once, twice)] == [left, left]
    assert twice["before"] == twice["after"]


@pytest.mark.req("R293")
def test_thinking_beside_a_call_that_goes_keeps_its_signature(clew: Run, claude: Path) -> None:
    thought = {"type": "thinking", "thinking": "Where is it? \u00e9", "signature": "EpwB/CkgI+Bg=="}
    asked = reply(2, thought, text("I look."), use("toolu_1", "Read", file_path="/a"), stop="tool_use")
    write(claude, ONE, user(1, "go"), asked, result(3, "toolu_1", LONG), reply(4, text("done")))
    made = json.loads(clew("trim", ONE, "--tools", "remove", "--json")[1])
    lines = [json.loads(line) for line in Path(made["path"]).read_text().splitlines()]
    assert lines[1]["message"]["content"] == [thought, text("I look.")]
    assert json.dumps(thought, separators=(",", ":")) in Path(made["path"]).read_text()


def test_the_help_knows_every_preset(clew: Run) -> None:
    code, out, _ = clew("trim", "--help")
    assert code == 0
    for name in PRESETS:
        assert f"{name}:" in out


@pytest.mark.parametrize("share", ["101", "-1", "half"])
def test_a_share_that_is_none_is_refused(clew: Run, share: str) -> None:
    code, _, err = clew("trim", "x", f"--percent={share}")
    assert code == 2
    assert "is not a percentage" in err


def test_it_says_that_sizes_are_estimated_where_no_reply_reports_one(clew: Run, claude: Path) -> None:
    zero = {"input_tokens": 0, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    path = talk().user("hi").reply("hello", thinking="Hm.", usage=zero).write(claude)
    code, out, _ = clew("trim", path.stem, "--dry-run")
    assert code == 0
    assert out.rstrip().endswith("Tokens are estimated: no reply reports a size.")
