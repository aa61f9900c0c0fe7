"""`clew follow`: what is written is said, in the order it was written, and the end is quiet."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from clew.cli import main
from clew.demo.talk import DENSE, Talk, bash, edit, talk, task

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX")

DEADLINE = 30
SCRIPT = """
import sys
from clew.cli import main
sys.exit(main(sys.argv[1:]))
"""
RUN = [sys.executable, "-c", SCRIPT, "follow"]


class Follower:
    """A `clew follow` that runs beside the test; what it says is kept as it comes."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.out: list[str] = []
        self.err: list[str] = []
        pipes = ((process.stdout, self.out), (process.stderr, self.err))
        self._readers = [threading.Thread(target=self._keep, args=pair, daemon=True) for pair in pipes]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _keep(pipe: IO[str], kept: list[str]) -> None:
        while line := pipe.readline():
            kept.append(line.rstrip("\n"))

    def until(self, is_so: Callable[[], bool]) -> None:
        end = time.monotonic() + DEADLINE
        while not is_so():
            assert time.monotonic() < end, (self.out, self.err)
            assert self.process.poll() is None or is_so(), (self.out, self.err)
            time.sleep(0.01)

    def says(self, text: str) -> None:
        self.until(lambda: any(text in line for line in self.out))

    def remarks(self, text: str) -> None:
        self.until(lambda: any(text in line for line in self.err))

    def stop(self) -> None:
        """Interrupt it, as a person would."""
        self.process.send_signal(signal.SIGINT)
        assert self.ends() == 130, self.err

    def ends(self) -> int:
        code = self.process.wait(DEADLINE)
        for reader in self._readers:
            reader.join(DEADLINE)
        return code


@contextmanager
def following(root: Path, *arguments: str, cwd: Path | None = None) -> Iterator[Follower]:
    command = [*RUN, *arguments, "--claude-dir", str(root), "--interval", "0.02"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", cwd=cwd or root
    ) as process:
        try:
            yield Follower(process)
        finally:
            if process.poll() is None:
                process.kill()


def files(told: Talk, root: Path) -> dict[Path, bytes]:
    return {root / name: data for name, data in told.contents()}


def write(found: dict[Path, bytes]) -> None:
    for path, data in found.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def grow(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(data)


def rest(told: Talk, before: Talk) -> bytes:
    assert told.bytes().startswith(before.bytes())
    return told.bytes()[len(before.bytes()) :]


def spoken(lines: Sequence[str]) -> list[str]:
    """The words alone: how far in they stand, and on which rail, is the printer's affair."""
    return [line.lstrip(" │⎿") for line in lines if line.strip()]


def depth(lines: Sequence[str], text: str) -> int:
    line = next(line for line in lines if text in line)
    return len(line) - len(line.lstrip(" │"))


BEGUN = talk(step=DENSE).user("one").reply("first").user("two").reply("second", call=bash("make"))


def test_the_last_turns_come_first(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    BEGUN.write(tmp_path)
    assert main(["follow", "--once", "--claude-dir", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert spoken(out.splitlines()) == ["❯ two", "second", "● Bash make  (no result)"]
    assert err == f"Following {BEGUN.session_id}.\n"
    assert main(["follow", "--once", "--last", "9", "-q", "--claude-dir", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert spoken(out.splitlines())[:2] == ["❯ one", "first"]
    assert err == ""
    assert main(["follow", "--once", "--last", "0", "-q", "--claude-dir", str(tmp_path)]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.req("R230")
@pytest.mark.req("R327")
def test_what_is_written_is_said_as_it_comes(tmp_path: Path) -> None:
    path = BEGUN.write(tmp_path)
    with following(tmp_path, "-q") as follower:
        follower.says("make")
        told = BEGUN.pause(seconds=41).result("built").reply("Built.", call=bash("make test"))
        grow(path, rest(told, BEGUN))
        follower.says("make test …")
        more = told.pause(seconds=6).result("2 tests failed\nsorry", error=True).reply("Two fail.").user("three")
        lines = rest(more, told)
        grow(path, lines[:-7])
        follower.says("Two fail.")
        grow(path, lines[-7:])
        follower.says("three")
        follower.stop()
    assert spoken(follower.out) == [
        "❯ two",
        "second",
        "● Bash make  (no result)",
        "● Bash make → ok  42s",
        "Built.",
        "● Bash make test …",
        "● Bash make test  7s  FAILED",
        "2 tests failed",
        "sorry",
        "Two fail.",
        "❯ three",
    ]
    assert follower.err == []


def test_results_and_changes_if_asked_for(tmp_path: Path) -> None:
    begun = talk(step=DENSE).user("go").reply("yes")
    path = begun.write(tmp_path)
    told = begun.reply(calls=[bash("ls"), edit("/home/ada/garden/a.py", "x = 1", "x = 2")])
    with following(tmp_path, "-q", "--results") as follower:
        follower.says("yes")
        grow(path, rest(told.result("a.py\nb.py", for_=0).result(for_=1).reply("Done."), begun))
        follower.says("Done.")
        follower.stop()
    after = spoken(follower.out)[2:]
    assert after[:6] == [
        "● Bash ls …",
        "● Edit a.py …",
        "● Bash ls → ok  2s",
        "a.py",
        "b.py",
        "● Edit a.py → ok  2s",
    ]
    assert after[-3:] == ["-x = 1", "+x = 2", "Done."]


@pytest.mark.req("R151")
@pytest.mark.req("R231")
def test_progress_updates_its_call_now_and_then(tmp_path: Path) -> None:
    told = talk(version="2.1.29", step=DENSE).user("go").reply(call=bash("make"))
    path = told.write(tmp_path)
    more = told.progress("bash_progress", output="at once").pause(seconds=11)
    more = more.progress("bash_progress", output="cc a.c\ncc b.c").progress("bash_progress", output="soon after")
    with following(tmp_path, "-q") as follower:
        follower.says("● Bash make")
        grow(path, rest(more.result("ok"), told))
        follower.says("ok")
        follower.stop()
    assert spoken(follower.out)[2:] == ["● Bash make … cc b.c  13s", "● Bash make → ok  15s"]


def test_compactions_queued_prompts_and_damage_are_said(tmp_path: Path) -> None:
    path = BEGUN.write(tmp_path)
    told = BEGUN.result("ok").attachment("queued_command", prompt="and that", commandMode="prompt").reply("Yes.")
    told = told.raw(b'{"torn\n').compact("So far so good.", pre_tokens=152_000)
    with following(tmp_path, "-q") as follower:
        follower.says("make")
        grow(path, rest(told, BEGUN))
        follower.says("So far so good.")
        follower.stop()
    assert spoken(follower.out)[3:] == [
        "● Bash make → ok  1s",
        "❯ and that",
        "Yes.",
        f"✗ line {len(told.lines()) - 2} is damaged (unreadable)",
        next(line for line in follower.out if "compacted (auto" in line and "152.0k" in line),
        "So far so good.",
    ]


def test_agents_are_followed_and_found_when_they_begin(tmp_path: Path) -> None:
    inner = talk(seed=1, step=DENSE).user("list them").reply("Listing", call=bash("ls")).result("a b").reply("Two.")
    child = talk(seed=2, step=DENSE).user("find them").reply("Looking", call=task("List all", "list them", "Explore"))
    child = child.agent(None, inner).reply("There are two.")
    begun = talk(seed=3, step=DENSE).user("How many?").reply("I'll ask.", call=task("Find them", "find them"))
    whole = begun.agent(None, child).reply("Two.")
    path = begun.write(tmp_path)
    agents = {p: data for p, data in files(whole, tmp_path).items() if p != path}
    (outer, *_), (inside, *_) = ([p for p in agents if p.suffix == ".jsonl" and n in agents[p].decode()] for n in NAMES)
    with following(tmp_path, "-q") as follower:
        follower.says("● Agent Find them")
        write({p: data for p, data in agents.items() if p.suffix == ".json"})
        lines = agents[outer].splitlines(keepends=True)
        grow(outer, b"".join(lines[:3]))
        follower.says("Looking")
        grow(inside, agents[inside])
        follower.says("Bash ls → ok")
        grow(outer, b"".join(lines[3:]))
        follower.says("There are two.")
        grow(path, rest(whole, begun))
        follower.until(lambda: follower.out[-1] == "Two.")
        follower.stop()
    assert spoken(follower.out)[3:] == [
        "◆ agent Find them  (general-purpose)",
        "Looking",
        "● Agent List all …",
        "◆ agent List all  (Explore)",
        "Listing",
        "● Bash ls …",
        "● Bash ls → ok  1s",
        "Two.",
        "◆ agent Find them  (general-purpose)",
        "● Agent List all → ok  7s",
        "There are two.",
        "● Agent Find them → ok  13s",
        "Two.",
    ]
    assert 0 == depth(follower.out, "I'll ask.") < depth(follower.out, "Looking") < depth(follower.out, "Listing")


NAMES = ("Looking", "Listing")


def test_json_is_a_line_for_each_entry(tmp_path: Path) -> None:
    path = BEGUN.write(tmp_path)
    told = BEGUN.pause(seconds=4).result("built").raw(b"[]\n").reply("Done.")
    with following(tmp_path, "--json") as follower:
        follower.says("make")
        grow(path, rest(told, BEGUN))
        follower.says("Done.")
        follower.stop()
    values = [json.loads(line) for line in follower.out]
    assert {value["clew"] for value in values} == {1}
    assert [(v["kind"], v.get("type"), v["line"]) for v in values] == [
        ("entry", "user", 3),
        ("entry", "assistant", 4),
        ("entry", "assistant", 5),
        ("entry", "user", 6),
        ("damaged", None, 7),
        ("entry", "assistant", 8),
    ]
    whole = told.bytes()
    assert all(whole[v["offset"] - 1 : v["offset"]] == b"\n" for v in values)
    assert (values[0]["text"], values[0]["speaker"], values[0]["role"]) == ("two", "prompt", "user")
    assert values[2]["calls"] == [{**values[2]["calls"][0], "tool": "Bash", "label": "Bash make"}]
    (result,) = values[3]["results"]
    assert (result["tool"], result["failed"], result["seconds"], result["text"]) == ("Bash", False, 5.0, "built")


def test_a_last_line_without_its_newline_is_shown_once(tmp_path: Path) -> None:
    path = BEGUN.write(tmp_path)
    path.write_bytes(BEGUN.bytes()[:-1])
    with following(tmp_path, "-q") as follower:
        follower.says("make")
        grow(path, b"\n" + rest(BEGUN.result("ok"), BEGUN))
        follower.says("ok")
        follower.stop()
    assert [line for line in follower.out if "make" in line] == ["● Bash make  (no result)", "● Bash make → ok  1s"]


def test_a_file_that_is_written_anew_is_shown_anew(tmp_path: Path) -> None:
    path = BEGUN.write(tmp_path)
    with following(tmp_path) as follower:
        follower.says("make")
        other = path.with_name("other")
        other.write_bytes(talk(BEGUN.session_id, seed=5).user("another story").reply("yes").bytes())
        other.replace(path)
        follower.says("another story")
        follower.remarks("The file was rewritten.")
        follower.stop()


def test_a_vanished_file_is_waited_for(tmp_path: Path) -> None:
    path = BEGUN.write(tmp_path)
    with following(tmp_path) as follower:
        follower.says("make")
        path.unlink()
        follower.remarks("is gone.")
        path.write_bytes(BEGUN.result("ok").reply("Back again.").bytes())
        follower.says("Back again.")
        follower.stop()


@pytest.mark.parametrize("is_switched", [False, True])
def test_a_newer_session_is_announced_and_followed_only_if_asked_to(tmp_path: Path, is_switched: bool) -> None:
    path = BEGUN.write(tmp_path)
    newer = talk(seed=7, step=DENSE).user("a new day").reply("Good morning.")
    with following(tmp_path, *(["--switch"] if is_switched else [])) as follower:
        follower.says("make")
        newer.write(tmp_path)
        follower.remarks(newer.session_id[:8])
        if is_switched:
            follower.says("Good morning.")
        else:
            grow(path, rest(BEGUN.result("ok").reply("Still here."), BEGUN))
            follower.says("Still here.")
        follower.stop()
    assert any("Good morning." in line for line in follower.out) == is_switched


def test_with_an_id_newer_sessions_are_of_no_interest(tmp_path: Path) -> None:
    path = BEGUN.write(tmp_path)
    with following(tmp_path, BEGUN.session_id[:8], "--switch") as follower:
        follower.says("make")
        talk(seed=7, step=DENSE).user("a new day").reply("Good morning.").write(tmp_path)
        grow(path, rest(BEGUN.result("ok").reply("Still here."), BEGUN))
        follower.says("Still here.")
        follower.stop()
    assert len(follower.err) == 1
    assert not any("a new day" in line for line in follower.out)


def test_an_interrupt_is_quiet(tmp_path: Path) -> None:
    BEGUN.write(tmp_path)
    with following(tmp_path, "-q") as follower:
        follower.says("make")
        follower.stop()
    assert follower.err == []


def test_it_ends_when_nothing_was_written_for_a_while(tmp_path: Path) -> None:
    BEGUN.write(tmp_path)
    begun = time.monotonic()
    with following(tmp_path, "-q", "--until-idle", "0.3") as follower:
        assert follower.ends() == 0
    assert time.monotonic() - begun >= 0.3


def test_nobody_reads_any_more(tmp_path: Path) -> None:
    """The end of the pipe is noticed although nothing more is written to the session."""
    BEGUN.write(tmp_path)
    command = [*RUN, "--claude-dir", str(tmp_path), "--interval", "0.02"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(DEADLINE) == 0
        assert process.stderr.read().startswith(b"Following")


def test_secrets_are_masked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = "sk-ant-api03-" + "aB3dE5fG7h" * 9 + "AA"
    talk(step=DENSE).user(f"Use {key}").reply(f"I'll use {key}").write(tmp_path)
    for options in ([], ["--json"]):
        assert main(["follow", "--once", *options, "--claude-dir", str(tmp_path)]) == 0
        assert "sk-ant" not in capsys.readouterr().out
    assert main(["follow", "--once", "--reveal", "--claude-dir", str(tmp_path)]) == 0
    assert key in capsys.readouterr().out


@pytest.mark.parametrize("wrong", [["--interval", "x"], ["--until-idle", "-1"], ["--once", "--until-idle", "1"]])
def test_wrong_options(tmp_path: Path, wrong: list[str]) -> None:
    assert main(["follow", *wrong, "--claude-dir", str(tmp_path)]) == 2


def test_no_session_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["follow", "--once", "--claude-dir", str(tmp_path)]) == 1
    assert main(["follow", "ffff", "--once", "--claude-dir", str(tmp_path)]) == 1
    assert capsys.readouterr().out == ""
