"""`clew files` and `clew blame`: tables, JSON, ranges of lines, and what is on the disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import overload

import pytest
from msgspec.structs import replace

from clew.cli.read.files import _by_prompt
from clew.demo.talk import Talk, edit, talk, task, write
from clew.provenance.recorded_changes import RecordedChange, changes_of
from tests.conversation.lines import opened

Run = Callable[..., tuple[int, str, str]]
LONG = "the_total_of_the_order = compute_total(order)"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def saved(made: Talk, path: Path, content: str) -> Talk:
    """Let a session write a file that is then on the disk."""
    path.write_text(content)
    return made.reply(call=write(str(path), content)).result()


def test_files_by_project_with_prompts_lines_and_the_state_on_disk(clew: Run, claude: Path, project: Path) -> None:
    made = talk(cwd=str(project)).user("Write the sums")
    for name in ("same.py", "changed.py", "gone.py"):
        made = saved(made, project / name, "a\nb\n")
    made = made.user("Shorten it").reply(call=edit(str(project / "same.py"), "b", "c")).result()
    (project / "same.py").write_text("a\nc\n")
    (project / "changed.py").write_text("a\nb\nby hand\n")
    (project / "gone.py").unlink()
    made.write(claude)
    code, out, err = clew("files")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == str(project)
    assert lines[1].split()[:3] == ["same.py", "+3", "−1"] and lines[1].endswith("as written")
    assert lines[2].split() == [made.session_id[:8], "turn", "1", "+2", "−0", "Write", "the", "sums"]
    assert lines[3].split()[3:] == ["+1", "−1", "Shorten", "it"]
    states = [line.split("  ")[-1] for line in lines if line.startswith(("  gone", "  changed"))]
    assert states == ["gone", "changed since"]
    assert "3 files, +7 −1 lines, 1 session." in err and "shell commands" in err
    rows = [json.loads(line) for line in clew("files", "--json")[1].splitlines()]
    assert {row["name"]: row["on_disk"] for row in rows} == {
        "same.py": "as written",
        "changed.py": "changed since",
        "gone.py": "gone",
    }
    assert [prompt["turn"] for prompt in rows[0]["prompts"]] == [1, 2]


def test_files_of_a_session_a_time_and_an_agent(clew: Run, claude: Path, project: Path) -> None:
    first = saved(talk(cwd=str(project), seed=1).user("One"), project / "a.py", "a\n").reply("ok")
    first.write(claude)
    child = saved(talk(cwd=str(project), seed=3).user("Look"), project / "b.py", "b\n").reply("ok")
    later = replace(talk(cwd=str(project), seed=2), now=first.now).pause(hours=3).user("Two")
    later.reply(call=task("Look", "Look")).agent(None, child).reply("ok").write(claude)
    assert "b.py" not in clew("files", first.session_id[:8])[1]
    since = first.now.strftime("%Y-%m-%dT%H:%M:%SZ")
    code, out, _ = clew("files", "--since", since)
    assert "a.py" not in out and "turn 1 (agent)" in out and "Two" in out
    assert "b.py" not in clew("files", "--until", since)[1]
    code, out, err = clew("files", "--since", "1m")
    assert (code, out) == (1, "") and err.startswith("No session changed a file")


def test_failed_calls_are_not_listed(clew: Run, claude: Path, project: Path) -> None:
    made = talk(cwd=str(project)).user("go").reply(call=write(str(project / "a.py"), "a")).deny()
    made.write(claude)
    assert clew("files")[0] == 1


def test_a_narrow_terminal_gets_short_lines(
    clew: Run, claude: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = talk(cwd=str(project)).user("Write all the sums of the orders of this year, please, and do not forget one")
    saved(made, project / "a_file_with_a_long_name.py", f"{LONG}\n").write(claude)
    monkeypatch.setenv("COLUMNS", "40")
    for module in ("files", "blame"):
        monkeypatch.setattr(f"clew.cli.read.{module}.is_terminal", lambda: True)
    out = clew("files")[1]
    assert max(map(len, out.splitlines()[1:])) <= 40 and "    +1 −0" in out
    out = clew("blame", str(project / "a_file_with_a_long_name.py"))[1]
    assert max(map(len, out.splitlines())) <= 40 and out.startswith("1 = ")


def test_blame_names_session_turn_prompt_and_evidence(clew: Run, claude: Path, project: Path) -> None:
    path = project / "a.py"
    made = saved(talk(cwd=str(project)).user("Write the sum"), path, f"{LONG}\n}}\n")
    made.write(claude)
    path.write_text(f"{LONG}\n}}\nby hand\n")
    code, out, err = clew("blame", str(path), "--no-git")
    first, second, third = out.splitlines()
    assert code == 0
    assert first.split()[:4] == ["1", "=", made.session_id[:8], "t1"] and "Write the sum" in first
    assert first.endswith(f"│ {LONG}") and second.split() == ["2", "=", "│", "}"]
    assert third.split() == ["3", "│", "by", "hand"]
    assert "3 lines: 2 by record (=), 0 by content (~), 1 unknown (1 not written by a recorded change)." in err
    assert "1 change in 1 session; the file differs from the last recorded change." in err


def test_blame_of_some_lines_as_json(clew: Run, claude: Path, project: Path) -> None:
    path = project / "a:1"
    saved(talk(cwd=str(project)).user("go"), path, "a\nb\nc\nd\n").write(claude)
    for asked, numbers in (("", [1, 2, 3, 4]), (":2", [2]), (":2-3", [2, 3]), (":3-", [3, 4]), (":1-99", [1, 2, 3, 4])):
        rows = [json.loads(line) for line in clew("blame", f"{path}{asked}", "--json")[1].splitlines()]
        assert [row["line"] for row in rows] == numbers
    assert rows[0]["prompt"] == "go" and rows[0]["evidence"] == "record" and rows[0]["commit"] is None
    code, _, err = clew("blame", f"{path}:9")
    assert code == 1 and "The file has 4 lines." in err


def test_blame_of_a_file_that_no_session_changed(clew: Run, claude: Path, project: Path) -> None:
    claude.mkdir(exist_ok=True)
    (project / "a.py").write_text("a\n")
    code, out, err = clew("blame", str(project / "a.py"))
    assert code == 1 and out.endswith("│ a\n") and "No session recorded a change of" in err
    code, _, err = clew("blame", str(project / "missing.py"))
    assert code == 1 and "No file matches" in err


def test_secrets_are_masked(clew: Run, claude: Path, project: Path) -> None:
    key = "sk-ant-api03-" + "a1B2" * 20
    path = project / "a.py"
    saved(talk(cwd=str(project)).user(f"Use {key}"), path, f'key = "{key}"\n').write(claude)
    for words in (("files",), ("files", "--json"), ("blame", str(path)), ("blame", str(path), "--json")):
        assert key not in clew(*words)[1] and key[:12] in clew(*words, "--reveal")[1]


class Visited(Sequence[RecordedChange]):
    """Changes that count how often one of them is looked at."""

    def __init__(self, changes: Sequence[RecordedChange]) -> None:
        self.changes = changes
        self.visits = 0

    def __len__(self) -> int:
        return len(self.changes)

    @overload
    def __getitem__(self, index: int) -> RecordedChange: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[RecordedChange]: ...
    def __getitem__(self, index: int | slice) -> RecordedChange | Sequence[RecordedChange]:
        self.visits += 1
        return self.changes[index]


def test_changes_of_one_file_by_many_prompts() -> None:
    told = talk()
    for number in range(50):
        told = told.user(f"Do {number}.").reply(call=write("gate.py", f"{number}\n")).result().reply("Done.")
    changes = Visited(changes_of(opened(told)))
    assert [[change.turn for change in group] for group in _by_prompt(changes)] == [[n] for n in range(1, 51)]
    assert changes.visits <= 2 * len(changes)
