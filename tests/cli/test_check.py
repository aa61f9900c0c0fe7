"""`clew check`, as it is typed."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from clew.cli import main
from clew.demo.talk import DENSE, Talk, bash, talk
from tests.content_times import set_last_use

pytestmark = pytest.mark.portable

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    return tmp_path / "claude"


@pytest.fixture
def run(claude: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def typed(*words: str) -> tuple[int, str, str]:
        code = main(["check", *words, "--claude-dir", str(claude)])
        out, err = capsys.readouterr()
        return code, out, err

    return typed


def whole(seed: int | str = 0, cwd: str = "/home/ada/garden") -> Talk:
    return (
        talk(step=DENSE, seed=seed, cwd=cwd)
        .user("one")
        .reply("a", call=bash("ls"))
        .result("x")
        .reply("b")
        .user("two")
        .reply("c")
    )


def put(told: Talk, claude: Path, *, drop: Sequence[int] = (), when: int | None = None) -> Path:
    """Write a session, without some of its lines, as if at some time."""
    path = told.write(claude)
    path.write_bytes(b"".join(line for n, line in enumerate(told.lines(), 1) if n not in drop))
    if when is not None:
        set_last_use(path, when)
    return path


def test_a_sound_session_is_said_to_be_so(run: Run, claude: Path) -> None:
    path = put(whole(), claude)
    code, out, err = run(path.stem[:8])
    assert (code, err) == (0, "")
    first, *rest = out.splitlines()
    assert first == f"{path.stem} is sound: 2.1.325 restores all 2 prompts."
    assert "Prompts: 2 in the file, 2 on the active path (100%), 2 in the context (100%)." in rest
    assert [line.split()[:2] for line in rest if line.startswith("2.")] == [
        ["2.0.50", "yes"],
        ["2.1.29", "yes"],
        ["2.1.45", "yes"],
        ["2.1.325", "yes"],
    ]


@pytest.mark.req("R051")
def test_damage_is_told_with_line_and_byte_worst_first(run: Run, claude: Path) -> None:
    path = put(whole().raw(b"not json\n").raw(b'{"type":"user","message":{"content":"and'), claude, drop=[2])
    code, out, _ = run(path.stem)
    assert code == 2
    lines = out.splitlines()
    assert lines[0].endswith("loses 1 prompt when 2.1.325 resumes it: line 8.")
    assert lines[1].startswith("  Line 7, byte ") and lines[1].endswith(": not JSON, nothing saved.")
    assert lines[2].endswith(": cut off at the end of the file, nothing saved; it looks like a prompt.")


@pytest.mark.req("R168")
def test_problems_are_told_with_their_lines(run: Run, claude: Path) -> None:
    path = put(whole(), claude, drop=[3])
    code, out, _ = run(path.stem)
    assert code == 2
    assert "is damaged but resumable: 2.1.325 restores all 2 prompts in spite of 1 missing parent." in out
    assert "  Line 3: the parent " in out
    assert "  Line 3: the result belongs to no call." in out
    assert re.search(r"^2\.1\.45 +yes +\d+ +1 of 2 \(50%\)$", out, re.MULTILINE)


def test_many_problems_of_a_kind_are_one_line(run: Run, claude: Path) -> None:
    told = talk().user("go")
    for number in range(14):
        told = told.reply(call=bash(f"ls {number}")).user(f"again {number}").raw(b"oops\n")
    path = put(told.reply("done"), claude)
    _, out, _ = run(path.stem)
    assert "  14 calls have no result: lines 2, 5, 8, 11, 14, 17, 20, 23, 26, 29 and 4 more." in out
    assert "  … and 4 more damaged lines; --json lists them." in out


def test_a_broken_session_says_why(run: Run, claude: Path) -> None:
    path = put(talk().user("one", timestamp="never"), claude)
    code, out, _ = run(path.stem)
    assert code == 2
    assert out.startswith(f"{path.stem} is broken: 2.1.325 cannot resume it, because the last message has no time.")


def test_branches_and_compactions_are_counted_apart(run: Run, claude: Path) -> None:
    told = whole().rewind(to=2).user("other").reply("d").compact("short").user("four").reply("e")
    code, out, _ = run(put(told, claude).stem)
    assert code == 0
    assert "1 in the context (25%); 1 on branches that were left, 2 before a compaction." in out


def test_another_version_can_be_asked(run: Run, claude: Path) -> None:
    path = put(whole(), claude, drop=[2])
    code, out, _ = run(path.stem, "--as", "2.1.29", "--as", "2.1.45")
    assert code == 2
    assert out.splitlines()[0].endswith("loses 1 prompt when 2.1.45 resumes it: line 1.")
    assert out.splitlines()[1] == f"  Restore them with: clew repair {path.stem[:8]}"
    assert "2.1.325" not in out
    code, _, err = run(path.stem, "--as", "soon")
    assert code == 2 and "'soon' is not a known version" in err
    for unknown in ("1.2", "2.1", "1.0.17", "2.1.326", "3.0.0"):
        code, _, err = run(path.stem, "--as", unknown)
        assert code == 2 and "name one from 2.0.50 to 2.1.325" in err


@pytest.mark.req("R087")
@pytest.mark.req("R056")
def test_the_inventory_is_printed(run: Run, claude: Path) -> None:
    _, out, _ = run(put(whole(), claude).stem)
    assert "): assistant 4, user 3" in out
    assert "Turns: 2 by the user, 1 call; 33% of the user entries are results" in out
    assert "Versions: 2.1.232 7" in out
    assert "Stop reasons: tool_use 2, end_turn 2" in out
    assert "Blocks: text 3, tool_use 1, tool_result 1" in out


def test_json_has_everything(run: Run, claude: Path) -> None:
    path = put(whole().raw(b"oops\n"), claude)
    code, out, _ = run(path.stem, "--json")
    made = json.loads(out)
    assert code == 2
    assert (made["clew"], made["kind"], made["id"], made["path"]) == (1, "health", path.stem, str(path))
    assert (made["verdict"], made["judged"]) == ("damaged", "2.1.325")
    damage = made["damage"][0]
    assert (damage["line"], damage["kind"], damage["saved"]) == (8, "unreadable", 0)
    assert [r["share"] for r in made["resumes"]] == [1.0] * 4
    assert made["prompts"] == {
        "total": 2,
        "reachable": 2,
        "context": 2,
        "left": 0,
        "compacted": 0,
        "lost": [],
        "reachable_share": 1.0,
        "context_share": 1.0,
    }
    assert made["inventory"]["types"] == {"assistant": 4, "user": 3}


def test_all_lists_what_is_not_sound_and_a_total(run: Run, claude: Path) -> None:
    put(whole(1), claude, when=1_000)
    damaged = put(whole(2), claude, drop=[2], when=3_000)
    loses = put(whole(3).raw(b'{"type":"user","message":'), claude, when=2_000)
    code, out, err = run("--all")
    assert (code, err) == (2, "")
    assert out.splitlines() == [
        f"{damaged.stem[:8]}  damaged  1 missing parent.",
        f"{loses.stem[:8]}  loses    1 prompt lost (line 8); 1 damaged line.",
        "3 sessions: 1 sound, 1 damaged but resumable, 1 losing prompts.",
    ]
    code, out, _ = run("--all", "--json")
    assert code == 2
    assert [json.loads(line)["verdict"] for line in out.splitlines()] == ["damaged", "loses", "sound"]


def test_all_minds_the_common_options(run: Run, claude: Path) -> None:
    put(whole(1), claude, when=1_000)
    put(whole(2, cwd="/home/ada/kitchen"), claude, drop=[2], when=2_000)
    assert run("--all", "--project", "garden")[:2] == (0, "1 session: 1 sound.\n")
    assert run("--all", "--limit", "1")[0] == 2
    assert run("--all", "--until", "1970-01-01T00:20:00Z")[:2] == (0, "1 session: 1 sound.\n")
    code, out, err = run("--all", "--since", "2000-01-01")
    assert (code, out) == (1, "") and err.startswith("No sessions in ")
    assert run("--all", "--since", "2000-01-01", "--quiet") == (1, "", "")


def test_a_file_that_is_gone_does_not_end_the_walk(run: Run, claude: Path) -> None:
    put(whole(1), claude)
    gone = put(whole(2), claude)
    gone.unlink()
    gone.symlink_to(gone.with_name("nowhere.jsonl"))
    assert run("--all")[:2] == (0, "1 session: 1 sound.\n")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="this user may read every file")
def test_a_file_that_cannot_be_read_is_broken_and_does_not_end_the_walk(run: Run, claude: Path) -> None:
    put(whole(1), claude, when=1_000)
    put(whole(2), claude).chmod(0)
    code, out, _ = run("--all")
    assert code == 2
    assert "broken  It cannot be read: Permission denied." in out and "2 sessions: 1 sound, 1 broken." in out
    code, _, err = run("--all", "--drift")
    assert code == 2 and "cannot be read: Permission denied." in err


def test_without_an_id_the_newest_of_this_folders_project_is_meant(
    run: Run, claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    put(whole(1, cwd=str(here)), claude, when=1_000)
    near = put(whole(2, cwd=str(here)), claude, when=2_000)
    far = put(whole(3), claude, when=3_000)
    monkeypatch.chdir(here)
    assert run()[1].startswith(near.stem)
    assert run("--project", "garden")[1].startswith(far.stem)
    monkeypatch.chdir(tmp_path)
    assert run()[1].startswith(far.stem)


def test_nothing_there_is_nothing_matched(run: Run, claude: Path) -> None:
    claude.mkdir()
    assert run()[0] == run("--all")[0] == run("no-such")[0] == run("--drift")[0] == run("--drift", "--all")[0] == 1
    put(whole(), claude)
    assert run("--project", "garden", "--since", "9999-01-01")[0] == 1


def test_an_id_and_all_do_not_go_together(run: Run, claude: Path) -> None:
    code, _, err = run("abc", "--all")
    assert code == 2 and "not allowed with" in err


def test_control_codes_of_a_transcript_do_not_reach_the_terminal(run: Run, claude: Path) -> None:
    told = talk().user("go").reply(call=bash("ls")).data()
    told[-1]["message"]["content"][0]["name"] = "Ba\x1b[31msh\nrm"
    told[-1]["type"] = "assistant"
    path = talk().line(told[0]).line(told[1]).line({"type": "x\x1b]0;title\x07y"}).write(claude)
    _, out, _ = run(path.stem)
    assert "\x1b" not in out and "\x07" not in out
    assert "the call of Bash rm has no result." in out


def test_colours_only_on_a_terminal(run: Run, claude: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(whole(), claude)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "")
    monkeypatch.delenv("NO_COLOR", raising=False)
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    assert main(["check", path.stem, "--claude-dir", str(claude)]) == 0
    shown = screen.getvalue()
    assert "\x1b[1;38;5;28m" in shown and "is sound" in shown


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_a_terminal_when_it_takes_long(
    run: Run, claude: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(3):
        put(whole(seed), claude)
    ticks = iter(range(100))
    monkeypatch.setattr("clew.cli.progress.monotonic", lambda: float(next(ticks)))
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    assert main(["check", "--all", "--claude-dir", str(claude)]) == 0
    assert "\r\x1b[K2 of 3 sessions" in screen.getvalue() and screen.getvalue().endswith("\r\x1b[K")


# -- new names


def report(out: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(out)
    return made


def test_drift_of_a_known_session_is_nothing(run: Run, claude: Path) -> None:
    code, out, err = run("--drift", put(whole(), claude).stem)
    assert (code, err) == (0, "")
    assert out == "1 file, 7 entries, 1 version.\nEvery name is known from versions up to 2.1.325.\n"


def test_drift_tells_names_and_no_words(run: Run, claude: Path) -> None:
    first = put(whole(1).user("swordfish", brandNew="swordfish"), claude)
    put(whole(2).change(version="2.9.1").line({"type": "x-new", "text": "swordfish"}).user("on", brandNew=1), claude)
    code, out, err = run("--drift", "--all")
    assert code == 0
    assert "swordfish" not in out
    assert "2 names not known from versions up to 2.1.325:" in out
    assert "Newer than the newest known version, 2.1.325: 2.9.1." in out
    rows = [line.split() for line in out.splitlines()[-2:]]
    assert rows == [
        ["type", "x-new", "1", "2.1.232", "8"],
        ["field", "user.brandNew", "2", "2.1.232", "to", "2.9.1", rows[1][-1]],
    ]
    assert first.stem[:8] not in out and first.stem[:8] in err
    made = report(run("--drift", "--all", "--json")[1])
    assert (made["kind"], made["known"], made["files"], made["newer"]) == ("drift", "2.1.325", 2, ["2.9.1"])
    assert [u["name"] for u in made["unknown"]] == ["x-new", "brandNew"]


def test_drift_without_a_session_covers_all_of_them(run: Run, claude: Path) -> None:
    for seed in range(1, 4):
        put(whole(seed).line({"type": f"x-new{seed}"}), claude)
    made = report(run("--drift", "--json")[1])
    assert (made["files"], {u["name"] for u in made["unknown"]}) == (3, {"x-new1", "x-new2", "x-new3"})
    assert run("--drift")[1] == run("--drift", "--all")[1]


def test_drift_looks_into_the_files_of_agents(run: Run, claude: Path) -> None:
    path = put(whole(), claude)
    folder = path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    child = talk(seed=5).user("go", brandNew=1, isSidechain=True)
    (folder / "agent-a1.jsonl").write_bytes(child.bytes())
    made = report(run("--drift", path.stem, "--json")[1])
    assert (made["files"], [u["name"] for u in made["unknown"]]) == (2, ["brandNew"])


def test_the_number_of_processes_does_not_change_what_is_reported(run: Run, claude: Path) -> None:
    """18 MB are read by two processes, unless one is asked for."""
    put(whole(1).user("x" * (9 << 20)).reply("y"), claude)
    put(whole(2).user("x" * (9 << 20)).reply("y"), claude, drop=[3])
    (one := put(whole(3), claude)).write_bytes(b'{"type":\n')
    put(whole(4).line({"type": "x-new"}), claude)
    for words in (("--all",), ("--drift",), ("--inventory",)):
        for more in ((), ("--json",)):
            answers = [run(*words, *more, "--jobs", jobs) for jobs in ("1", "2", "3")]
            assert answers[0] == answers[1] == answers[2]
            assert ("x-new" if words == ("--drift",) else one.stem[:8]) in answers[0][1]


@pytest.mark.parametrize("bad", ["0", "-1", "two", "257", ""])
def test_a_number_of_processes_is_a_number(run: Run, bad: str) -> None:
    code, _, err = run("--all", f"--jobs={bad}")
    assert code == 2 and "is not a number of processes: write 1 to 256" in err
