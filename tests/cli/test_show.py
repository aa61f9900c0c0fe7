"""`clew show`, as it is typed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from clew.demo.demo_tree import DemoSummary
from clew.demo.talk import DENSE, Talk, bash, edit, plan, talk, task, todo

pytestmark = pytest.mark.portable

Run = Callable[..., tuple[int, str, str]]
TOKEN = "ghp_" + "Ab3dEf6hIj" * 3 + "KLMNOP"


def four() -> Talk:
    told = talk(step=DENSE)
    for number in range(1, 5):
        told = told.user(f"q{number}").reply(f"a{number}")
    return told


def asked(out: str) -> list[str]:
    return [line[2:] for line in out.splitlines() if line.startswith("❯ ")]


def values(out: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in out.splitlines()]
    assert all(row["clew"] == 1 for row in found)
    return found


@pytest.mark.usefixtures("utc")
@pytest.mark.req("R230")
def test_a_session_with_its_header(clew: Run, claude: Path) -> None:
    told = (
        talk(step=DENSE).user("ls please").reply("Here.", call=bash("ls")).result("a\nb").reply("Two.").title("Listing")
    )
    path = told.write(claude)
    code, out, err = clew("show", path.stem[:6])
    assert (code, err) == (0, "")
    assert out == dedent(f"""\
        Listing
        /home/ada/garden · main · 2026-01-05 09:00 · {path.stat().st_size / 1000:.1f} kB · version 2.1.232
        claude -r {path.stem}

        ❯ ls please
        Here.
        ● Bash ls  1s
          ⎿ a
            b
        Two.
    """)


def test_a_session_by_its_id_its_path_or_as_the_newest(clew: Run, claude: Path) -> None:
    path = four().write(claude)
    whole = clew("show", path.stem)
    assert whole[0] == 0
    assert whole == clew("show", path.stem[:4]) == clew("show", path.stem.upper()) == clew("show")
    assert asked(clew("show", str(path))[1]) == ["q1", "q2", "q3", "q4"]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("--turns", "2"), ["q2"]),
        (("--turns", "2-3"), ["q2", "q3"]),
        (("--turns", "3-"), ["q3", "q4"]),
        (("--turns", "1-2"), ["q1", "q2"]),
        (("--turns", "-1"), ["q4"]),
        (("--turns", "-2"), ["q3"]),
        (("--turns=-2-",), ["q3", "q4"]),
        (("--turns=-3--2",), ["q2", "q3"]),
        (("--last", "1"), ["q4"]),
        (("--last", "9"), ["q1", "q2", "q3", "q4"]),
        (("--turns", "1-3", "--last", "2"), ["q2", "q3"]),
    ],
)
def test_some_of_the_turns(clew: Run, claude: Path, words: tuple[str, ...], shown: list[str]) -> None:
    path = four().write(claude)
    code, out, err = clew("show", path.stem, *words)
    assert (code, asked(out), err) == (0, shown, "")
    assert [row["prompt"] for row in values(clew("show", path.stem, "--json", *words)[1])] == shown


@pytest.mark.parametrize(
    ("words", "says"), [(("--turns", "9"), "'9'"), (("--turns", "7-9"), "'7-9'"), (("--last", "0"), "'--last 0'")]
)
def test_turns_that_are_not_there_are_nothing_matched(
    clew: Run, claude: Path, words: tuple[str, ...], says: str
) -> None:
    path = four().write(claude)
    for more in ((), ("--json",)):
        assert clew("show", path.stem, *words, *more) == (
            1,
            "",
            f"clew: No turn matches {says}.\nThe session has 4 turns.\n",
        )


@pytest.mark.parametrize("text", ["x", "1-2-3", "-", "", "2-x", "x-2"])
def test_what_is_no_range_of_turns(clew: Run, text: str) -> None:
    code, out, err = clew("show", f"--turns={text}")
    assert (code, out) == (2, "")
    assert "write 3, 3-7, 3- or -1" in err and err.endswith("Try: clew show --help\n")


def test_minus_one_is_the_last_turn_in_every_command(clew: Run, claude: Path) -> None:
    path = four().write(claude)
    assert asked(clew("show", path.stem, "--turns", "-1")[1]) == ["q4"]
    assert clew("drop", path.stem, "--turn", "-1", "--json", "--dry-run") == clew(
        "drop", path.stem, "--turn", "4", "--json", "--dry-run"
    )
    assert clew("compact", path.stem, "--turns", "-1", "--extractive", "--dry-run", "--json") == clew(
        "compact", path.stem, "--turns", "4", "--extractive", "--dry-run", "--json"
    )


def test_a_range_of_turns_that_is_far_too_long_is_refused_quickly(clew: Run, claude: Path) -> None:
    path = four().write(claude)
    code, out, err = clew("drop", path.stem, "--turn", "3-99999999999")
    assert (code, out) == (1, "") and "No turn matches '5'" in err


def test_another_branch_and_a_remark_that_there_is_one(clew: Run, claude: Path) -> None:
    path = four().rewind(to=2).user("other\nway").reply("b").write(claude)
    code, out, err = clew("show", path.stem)
    assert (code, asked(out)) == (0, ["q1", "other"])
    assert err == f"1 other branch: 1 (q2). See: clew trace {path.stem[:8]}\n"
    assert clew("show", path.stem, "--quiet")[2] == ""
    assert asked(clew("show", path.stem, "--branch", "1")[1]) == ["q1", "q2", "q3", "q4"]
    code, out, err = clew("show", path.stem, "--branch", "9")
    assert (code, out, err) == (1, "", "clew: No branch matches '9'.\nDid you mean 1, 2?\n")


def test_what_to_show_of_each_turn(clew: Run, claude: Path) -> None:
    told = talk(step=DENSE).user("go").user("Caveat.", meta=True).reply("ok", thinking="hm", call=bash("seq 9"))
    told = told.result("\n".join("123456789"))
    child = talk(seed=2, step=DENSE).user("count").reply("inner words")
    told = told.reply(call=task("Count", "count")).agent(0, child).reply("end")
    path = told.write(claude)

    def show(*words: str) -> str:
        return clew("show", path.stem, *words)[1]

    assert "ok" not in show("--depth", "prompts") and "Bash" not in show("--depth", "replies")
    assert "    … 3 more lines" in show() and "    … 7 more lines" in show("--lines", "2")
    assert "    9\n" in show("--lines", "0") and "    9\n" in show("--depth", "full")
    assert "✻ hm" in show("-t") and "✻ hm" in show("--full") and "✻" not in show("--depth", "full")
    assert "Caveat." in show("--meta") and "Caveat." not in show("--full")
    assert "│ inner words" in show() and "inner words\n" not in show("--no-agents").replace("⎿ inner words", "")


def test_each_kind_of_call_in_the_demo(clew: Run, claude: Path) -> None:
    told = talk(step=DENSE).user("go").reply(call=todo([("dig", "completed"), "sow"])).result()
    told = told.reply(call=plan("# Beds\n1. dig")).result().reply(call=edit("/home/ada/garden/x", "a", "b")).result()
    out = clew("show", told.write(claude).stem)[1]
    assert "● TodoWrite 1/2 done  1s\n    ☒ dig\n    ☐ sow\n" in out
    assert "● ExitPlanMode Beds  1s\n  # Beds\n  1. dig\n" in out
    assert "● Edit x  1s\n    @@ -1,1 +1,1 @@\n" in out and "    -a\n    +b\n" in out


@pytest.mark.req("R236")
def test_windows_paths_are_short_inside_their_project(clew: Run, demo: DemoSummary) -> None:
    out = clew("show", demo.sessions["drift"])[1]
    assert out.splitlines()[1].startswith("C:\\Users\\ada\\source\\repos\\ChessClock · master · ")
    assert "\n● Read src\\Ticker.cs" in out and "\n● Edit src\\Ticker.cs" in out


@pytest.mark.req("R234")
def test_the_compaction_of_the_demo_is_marked(clew: Run, demo: DemoSummary) -> None:
    assert "──── compacted (auto, 171.2k tokens before" in clew("show", demo.sessions["compacted"])[1]


@pytest.mark.req("R051")
def test_damage_is_a_remark_and_what_was_saved_is_shown(clew: Run, claude: Path, demo: DemoSummary) -> None:
    code, out, err = clew("show", demo.sessions["damaged"])
    assert (code, len(asked(out))) == (0, 5)
    assert err == "5 damaged lines, 4 entries saved from them. See: clew check b4908dd9\n"
    path = talk(seed=9, step=DENSE).user("go").raw(b"oops\n").reply("ok").write(claude)
    assert clew("show", path.stem)[2].startswith("1 damaged line, 0 entries saved from it. See: ")


def test_a_session_that_lost_its_first_prompt_shows_the_rest(clew: Run, claude: Path) -> None:
    told = talk(step=DENSE).user("lost").reply("still here").user("next").reply("ok")
    path = told.write(claude)
    path.write_bytes(b"".join([b"oops\n", *told.lines()[1:]]))
    assert "still here" in clew("show", path.stem)[1]


@pytest.mark.req("R015")
def test_an_empty_session_is_said_to_be_so(clew: Run, demo: DemoSummary) -> None:
    code, out, err = clew("show", demo.sessions["empty"])
    assert (code, out.splitlines()[0], err) == (0, "(no prompt)", "This session has no prompts.\n")


@pytest.mark.req("R010")
def test_a_result_that_was_too_long_for_the_file_is_shown_as_far_as_it_is_there(clew: Run, demo: DemoSummary) -> None:
    code, out, err = clew("show", demo.sessions["overflow"], "--full")
    assert (code, err) == (0, "") and "tool-results" in out


@pytest.mark.req("R235")
def test_secrets_are_masked_on_both_streams_unless_revealed(clew: Run, claude: Path) -> None:
    torn = f"{TOKEN[:9]}\x1b[0m{TOKEN[9:]}"
    child = talk(seed=2, step=DENSE).user("go").reply(f"agent says {TOKEN}")
    told = talk(branch=f"fix/{TOKEN}").user(f"use {TOKEN}").reply(f"ok {torn}", thinking=TOKEN)
    told = (
        told.reply(call=bash(f"curl {TOKEN} " + "x" * 200)).result(f"{torn}\n" * 9).reply(call=todo([f"use {TOKEN}"]))
    )
    told = told.result().reply(call=edit("/x", "a", TOKEN)).result().reply(call=plan(TOKEN)).result()
    told = told.reply(call=task(f"Use {TOKEN}", "go")).agent(0, child).compact(f"So {TOKEN}").user("on").reply("ok")
    path = told.rewind(to=1).user(f"left {torn}").reply("x").at(-3).user("end").reply("y").title(TOKEN).write(claude)
    for words in ((), ("--full", "--meta"), ("--json",), ("--depth", "prompts"), ("--branch", "1")):
        code, out, err = clew("show", path.stem, *words)
        assert code == 0 and "[REDACTED:github-token]" in out
        assert TOKEN not in out and TOKEN not in err
    _, out, err = clew("show", path.stem)
    assert "[REDACTED:" in err
    _, out, err = clew("show", path.stem, "--reveal", "--full")
    assert TOKEN in out and TOKEN[:20] in err


def test_json_has_a_turn_a_line(clew: Run, claude: Path) -> None:
    first, *rest = values(clew("show", four().write(claude).stem, "--json")[1])
    assert (first["kind"], first["prompt"], first["replies"][0]["text"]) == ("turn", "q1", "a1")
    assert len(rest) == 3


def test_an_id_that_is_not_there_or_not_enough_of_one(clew: Run, claude: Path) -> None:
    for seed, start in enumerate(("abc11111", "abc22222")):
        talk(f"{start}-0000-4000-8000-000000000000", seed=seed).user("x").reply("y").write(claude)
    code, out, err = clew("show", "abc")
    assert (code, out) == (2, "")
    assert err == (
        "clew: 'abc' matches 2 sessions.\n"
        "Give more of the id: abc11111-0000-4000-8000-000000000000, abc22222-0000-4000-8000-000000000000\n"
    )
    code, out, err = clew("show", "zzzz")
    assert (code, out, err) == (1, "", "clew: No session matches 'zzzz'.\nList the sessions with: clew ls\n")
    assert clew("show", "")[0] == 1


def test_nothing_to_show_at_all(clew: Run, claude: Path) -> None:
    code, out, err = clew("show")
    assert (code, out) == (1, "")
    assert err == (
        f"clew: No session folder matches '{claude}'.\n"
        "Name another folder with --claude-dir, or create a demo: clew demo DIR\n"
    )


def test_attachments_that_a_resume_puts_into_words_are_counted(clew: Run, claude: Path) -> None:
    told = talk().user("go").attachment("plan_mode", reminderType="full", isSubAgent=False).reply("ok")
    number = told.write(claude).stem
    code, _, err = clew("show", number)
    assert code == 0 and "A resume also sends 1 attachment in the words of Claude Code" in err
    lines = [json.loads(line) for line in clew("show", number, "--json")[1].splitlines()]
    assert [line["kind"] for line in lines] == ["turn", "left_out"] and lines[-1]["attachments"] == 1
    sound = talk(seed=4).user("go").reply("ok").write(claude).stem
    assert "attachment" not in clew("show", sound)[2]
    assert "left_out" not in clew("show", sound, "--json")[1]
