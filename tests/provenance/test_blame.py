"""Which session, turn and prompt wrote each line: on generated histories, the demo, real samples, and special files."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import pytest
from msgspec.structs import replace

import clew
from clew.conversation.session import Session
from clew.demo.talk import Talk, edit, talk, write
from tests.provenance.histories import Score, generate, judge
from tests.provenance.replays import replay_files, write_files

LONG = "the_total_of_the_order = compute_total(order)"


@pytest.fixture(autouse=True)
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CACHE", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / "home" / name))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))


# -- many lines


def test_lines_of_generated_histories_are_placed_right_or_not_at_all(tmp_path: Path) -> None:
    score = Score()
    for seed in range(8):
        judge(generate(tmp_path / str(seed), seed, steps=9), score)
    assert (score.wrong, score.invented) == (0, 0), score.examples
    assert score.share >= 0.95


@pytest.mark.soak
def test_many_generated_histories(tmp_path: Path) -> None:
    score = Score()
    for seed in range(120):
        judge(generate(tmp_path / str(seed), f"soak {seed}"), score)
        shutil.rmtree(tmp_path / str(seed))
    assert (score.wrong, score.invented) == (0, 0), score.examples
    assert score.share >= 0.95


def place_files(sessions: Iterable[Session], claude: Path, folder: Path) -> tuple[int, int, int]:
    """Write the files that sessions changed into another folder; count the lines placed right, wrong and not at all."""
    right = wrong = unknown = 0
    for path, lines in write_files(folder, replay_files(sessions)).items():
        found = clew.blame(path, claude=claude, git=False)
        assert [line.text for line in found.lines] == [text for text, _ in lines]
        for line, (_, owner) in zip(found.lines, lines, strict=True):
            right += bool(line.change and line.change.call.id == owner)
            wrong += bool(line.change and line.change.call.id != owner)
            unknown += line.change is None and owner is not None
    return right, wrong, unknown


def test_the_edits_of_the_demo_are_found_in_a_moved_project(tmp_path: Path) -> None:
    from clew.demo.demo_tree import write_demo

    write_demo(tmp_path / "claude", datetime.now(UTC))
    right, wrong, unknown = place_files(clew.sessions(), tmp_path / "claude", tmp_path / "moved")
    assert wrong == 0 and right > 40 and unknown == 0


@pytest.mark.shared
def test_the_edits_of_real_sessions_are_found(shared: Path, tmp_path: Path) -> None:
    source, claude = shared / "corpus", tmp_path / "claude"
    for path in source.rglob("*.jsonl"):
        part = path.relative_to(source)
        name = path.name if path.name.startswith("agent-") else f"{uuid5(NAMESPACE_URL, str(part))}.jsonl"
        target = claude / "projects" / f"-{part.parts[0]}" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    sessions = [*clew.sessions(), *(clew.read(path) for path in claude.rglob("agent-*.jsonl"))]
    right, wrong, unknown = place_files(sessions, claude, tmp_path / "moved")
    assert wrong == 0 and right > 1500
    assert right >= 0.95 * (right + unknown)


# -- one file


class Place:
    """A project with one file, and the Claude folder with its sessions."""

    def __init__(self, root: Path) -> None:
        self.claude = root / "claude"
        self.folder = root / "project"
        self.folder.mkdir()
        self.path = self.folder / "a.py"

    def talk(self, seed: int = 0) -> Talk:
        return talk(cwd=str(self.folder), seed=seed)

    def write(self, made: Talk, content: str) -> Talk:
        """Let a session write the file."""
        self.path.write_text(content)
        return made.reply(call=write(str(self.path), content)).result()

    def blame(self) -> clew.Blame:
        return clew.blame(self.path, claude=self.claude, git=False)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_line_names_session_turn_prompt_tool_and_time(place: Place) -> None:
    made = place.write(place.talk().user("Begin").reply("Yes.").user("Write the sum"), f"{LONG}\n}}\n")
    made.write(place.claude)
    found = place.blame()
    change = found.lines[1].change
    assert change and (change.session, change.turn, change.prompt) == (made.session_id, 2, "Write the sum")
    assert (change.tool, change.added, change.removed, change.failed, change.agent) == ("Write", 2, 0, False, "")
    assert change.time and found.is_as_recorded and found.lines[1].evidence == "record"


def test_a_session_without_a_change_of_the_file_says_nothing(place: Place) -> None:
    place.write(place.talk().user("go"), "x\n").write(place.claude)
    other = place.folder / "b.py"
    other.write_text("x\n")
    found = clew.blame(other, claude=place.claude, git=False)
    assert not found.changes and found.lines[0].reason == "no recorded change of the file"


def test_a_missing_file_is_reported(place: Place) -> None:
    with pytest.raises(clew.NotFound):
        place.blame()
    place.path.write_bytes(b"\xff\xfe\x00binary")
    with pytest.raises(clew.ClewError, match="not a text file"):
        place.blame()


def test_failed_and_rejected_calls_write_nothing(place: Place) -> None:
    made = place.write(place.talk().user("go"), "a\n")
    made = made.reply(call=edit(str(place.path), "a", LONG)).result("no", error=True)
    made = made.reply(call=edit(str(place.path), "a", LONG)).deny()
    made.write(place.claude)
    place.path.write_text(f"a\n{LONG}\n")
    assert [line.change is not None for line in place.blame().lines] == [True, False]


def test_a_line_of_a_person_is_never_a_sessions(place: Place) -> None:
    place.write(place.talk().user("go"), f"{LONG}\n}}\n").write(place.claude)
    place.path.write_text(f"{LONG}\n}}\ndef by_hand(the_order):\n}}\n")
    found = place.blame()
    assert [line.evidence for line in found.lines] == ["record", "", "", ""]
    assert not found.is_as_recorded and found.lines[2].reason == "not written by a recorded change"


def test_a_copy_counts_once_and_for_the_original(place: Place) -> None:
    made = place.write(place.talk(1).user("go"), f"{LONG}\n")
    made.write(place.claude)
    made.fork().pause(hours=1).user("Go on").reply("Yes.").write(place.claude)
    [change] = place.blame().changes
    assert change.session == made.session_id


def test_a_copy_that_clew_made_is_not_the_author(place: Place) -> None:
    made = place.write(place.talk(1).user("go"), f"{LONG}\n").reply("Written.")
    path = made.write(place.claude)
    from clew.cli import main

    assert main(["clone", str(path), "--quiet", "--claude-dir", str(place.claude)]) == 0
    assert len(list(path.parent.glob("*.jsonl"))) == 2
    [change] = place.blame().changes
    assert change.session == made.session_id


def test_a_session_that_only_the_archive_has_still_counts(place: Place) -> None:
    from clew.cli import main

    path = place.write(place.talk(1).user("Write the sum"), f"{LONG}\n").reply("Written.").write(place.claude)
    assert main(["collect", "--quiet", "--claude-dir", str(place.claude)]) == 0
    path.unlink()
    [line] = place.blame().lines
    assert line.change and (line.change.prompt, line.change.kept) == ("Write the sum", "archived")


def test_a_moved_project_keeps_its_history_and_a_stranger_does_not(place: Place, tmp_path: Path) -> None:
    place.write(place.talk().user("go"), f"{LONG}\n{LONG}1\n{LONG}2\n}}\n").write(place.claude)
    moved = place.folder.rename(tmp_path / "elsewhere") / "a.py"
    assert [line.evidence for line in clew.blame(moved, git=False).lines] == ["record"] * 4
    stranger = tmp_path / "stranger" / "a.py"
    stranger.parent.mkdir()
    stranger.write_text("something = else_entirely(written)\n}\n")
    assert not clew.blame(stranger, git=False).changes
    renamed = moved.rename(moved.with_name("b.py"))
    assert not clew.blame(renamed, git=False).changes
    named = clew.blame(renamed, earlier_paths=[str(place.path)], git=False)
    assert [line.evidence for line in named.lines] == ["record"] * 4


def test_an_agent_writes_for_its_session(place: Place) -> None:
    child = place.write(place.talk(5).user("Sum up"), f"{LONG}\n").reply("Done.")
    from clew.demo.talk import task

    made = (
        place.talk(1).user("Let an agent do it").reply(call=task("Sum up", "Sum up")).agent(None, child).reply("Done.")
    )
    made.write(place.claude)
    [change] = clew.file_changes(path=place.path)
    assert (change.session, change.turn, change.prompt) == (made.session_id, 1, "Let an agent do it")
    assert change.agent


def test_changes_are_selected_by_session_time_and_outcome(place: Place) -> None:
    first = place.write(place.talk(1).user("go"), "a\n")
    first = first.reply(call=edit(str(place.path), "a", "b")).result("no", error=True)
    first.write(place.claude)
    later = replace(place.talk(2), now=first.now).pause(hours=5).user("again")
    place.write(later, "c\n").write(place.claude)
    session = clew.find(first.session_id)
    assert [change.failed for change in clew.file_changes(session, failed=True)] == [False, True]
    assert len(clew.file_changes()) == 2
    assert len(clew.file_changes(since=first.now)) == len(clew.file_changes(until=first.now)) == 1
    assert clew.file_changes(path=place.folder / "b.py") == []


def test_changes_of_another_system_are_found_by_their_path(place: Place) -> None:
    name = r"C:\Users\ada\shop\a.py"
    talk(cwd=r"C:\Users\ada\shop").user("go").reply(call=write(name, "a\n")).result().write(place.claude)
    [change] = clew.file_changes(path=name)
    assert change.path == name


# -- git


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True)


def test_a_commit_is_named_for_each_line_that_has_one(place: Place) -> None:
    place.path.write_text("one\ntwo\n")
    git(place.folder, "init", "-q")
    git(place.folder, "add", "a.py")
    git(place.folder, "commit", "-qm", "Add two lines")
    place.path.write_text("one\ntwo\nthree\n")
    lines = clew.blame(place.path).lines
    assert [line.commit.summary if line.commit else "" for line in lines] == ["Add two lines", "Add two lines", ""]
    assert lines[0].commit and lines[0].commit.author == "Ada" and lines[0].commit.time


def test_git_runs_nothing_that_a_repository_names(place: Place, tmp_path: Path) -> None:
    tripwire = tmp_path / "TRIPPED"
    place.path.write_text("one\n")
    (place.folder / ".gitattributes").write_text("*.py filter=evil diff=evil\n")
    git(place.folder, "init", "-q")
    git(place.folder, "add", ".")
    git(place.folder, "commit", "-qm", "x")
    script = f"touch {tripwire}; cat"
    for name in ("filter.evil.clean", "filter.evil.smudge", "diff.evil.textconv", "core.fsmonitor", "core.pager"):
        git(place.folder, "config", name, script)
    place.path.write_text("one\ntwo\n")
    lines = clew.blame(place.path).lines
    assert lines[0].commit and not lines[1].commit
    assert not tripwire.exists()
