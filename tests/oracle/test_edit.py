"""Sessions that clew reshaped: the real Claude Code resumes them with exactly the messages that the plan says."""

from __future__ import annotations

import os
from concurrent.futures import Future
from datetime import UTC, datetime
from pathlib import Path

import pytest
from claude_agent_sdk import get_session_messages, list_sessions

import clew
from clew.conversation.resume_request import build_request
from clew.conversation.session import Session
from clew.demo.demo_tree import write_demo
from clew.wire.session_writer import create
from tests.oracle.claude import LATEST
from tests.oracle.conftest import Claude
from tests.oracle.edited import Case, cases, other_cases
from tests.oracle.judge import PROMPT, Verdict, bench, first_difference
from tests.oracle.test_resume_made import MADE

pytestmark = pytest.mark.oracle

OLDER = ("2.1.45", "2.1.29", "2.0.76")
LARGEST = 400_000  # bytes of a real session that is edited
SOAKS = os.environ.get("CLEW_SOAK") == "1"
SAMPLED = ("2.1.325", "2.1.29", "2.0.50")


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def chosen(sources: dict[str, Session], one_in: int, folder: Path, other_in: int = 0) -> list[Case]:
    """All edits of all sources, or one plan in so many and one other edit in so many where time is short."""
    plans, others = list(cases(sources)), list(other_cases(sources, folder))
    return [*plans, *others] if SOAKS else [*plans[::one_in], *others[:: other_in or one_in]]


def score(claude: Claude, version: str, found: list[Case], folder: Path, kind: str = "") -> dict[str, str]:
    """What each case got wrong, if anything; prints how many were right. `kind` begins their names in the table."""
    assert found, "there is nothing to judge"
    with bench(claude, version) as boxes:
        judged: dict[str, tuple[Case, Future[Verdict]]] = {}
        for case in found:
            path = case.write(case.plan, folder / version)
            name = f"{kind}/{case.name}" if kind else ""
            judged[case.name] = case, boxes.judge(path.read_bytes(), path.stem, name)
        wrong = {name: why for name, (case, future) in judged.items() if (why := fault(case, future.result()))}
    print(f"\n{version}: {len(found) - len(wrong)} of {len(found)} edited sessions resume as planned")
    return wrong


def fault(case: Case, verdict: Verdict) -> str:
    expected = build_request(case.plan.session.items, verdict.version, PROMPT, verdict.context)
    if expected.messages != verdict.ours.messages:
        return f"what was written is not what was planned: {first_difference(expected.messages, verdict.ours.messages)}"
    return verdict.difference()


def made_sessions(folder: Path) -> dict[str, Session]:
    return {make.__name__: clew.read(make().write(folder / make.__name__)) for make in MADE}


def demo_sessions(folder: Path) -> dict[str, Session]:
    made = write_demo(folder / "demo", datetime(2026, 3, 1, tzinfo=UTC))
    return {story: clew.find(session, claude=folder / "demo") for story, session in made.sessions.items()}


@pytest.mark.parametrize(("version", "one_in"), [(LATEST, 3), ("2.1.29", 12)])
def test_the_demo(claude: Claude, version: str, one_in: int, tmp_path: Path) -> None:
    wrong = score(claude, version, chosen(demo_sessions(tmp_path), one_in, tmp_path), tmp_path / "made", "demo")
    assert not wrong, "\n".join(f"{name}: {why}" for name, why in wrong.items())


@pytest.mark.shared
@pytest.mark.timeout(7200 if SOAKS else 300)
@pytest.mark.parametrize("version", [LATEST, "2.1.29"])
def test_real_sessions(claude: Claude, shared: Path, version: str, tmp_path: Path) -> None:
    corpus = [p for p in sorted((shared / "corpus").glob("**/*.jsonl")) if p.stat().st_size < LARGEST]
    found = {str(p.relative_to(shared)): clew.read(p) for p in corpus if not p.stem.startswith("agent-")}
    sound = resumable({**found, **recorded(shared, version)}, version)
    assert len(sound) >= 40
    wrong = score(claude, version, chosen(sound, 60, tmp_path), tmp_path / "made")
    assert not wrong, "\n".join(f"{name}: {why}" for name, why in wrong.items())


def recorded(shared: Path, version: str) -> dict[str, Session]:
    """The sessions that a version of the program wrote for the samples."""
    paths = sorted((shared / "oracle" / "samples" / version).glob("*/.claude/projects/*/*.jsonl"))
    named = {f"{version}/{path.relative_to(shared).parts[3]}/{path.stem[:8]}": path for path in paths}
    return {name: clew.read(path) for name, path in named.items() if not path.stem.startswith("agent-")}


def resumable(sources: dict[str, Session], version: str) -> dict[str, Session]:
    return {name: s for name, s in sources.items() if s.turns and not clew.request(s, version).refusal}


@pytest.mark.parametrize("version", [LATEST, *OLDER])
def test_made_sessions_on_each_version(claude: Claude, version: str, tmp_path: Path) -> None:
    found = chosen(made_sessions(tmp_path), 1 if version == LATEST else 3, tmp_path, other_in=8)
    assert score(claude, version, found, tmp_path / "made", "made") == {}


@pytest.mark.shared
def test_recorded_sessions_on_the_newest_version(claude: Claude, shared: Path, tmp_path: Path) -> None:
    sound = resumable({k: s for version in SAMPLED for k, s in recorded(shared, version).items()}, LATEST)
    assert len(sound) > 20
    assert score(claude, LATEST, chosen(sound, 30, tmp_path, other_in=90), tmp_path / "made") == {}


def test_the_sdk_lists_and_reads_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The functions of `claude-agent-sdk` see in each copy what they would see in the plan under its old ids."""
    sources = made_sessions(tmp_path / "sources")
    root, other = tmp_path / "claude", tmp_path / "other"
    found = list(cases(sources))
    right = 0
    for case in found:
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(root))
        made = case.plan.write(folder=root / "projects" / "-home-ada-garden")
        assert made.id in {info.session_id for info in list_sessions()}, case.name
        read = get_session_messages(made.id)
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(other))
        lines = [item.raw for item in case.plan.session.items]
        create(other / "projects" / "-home-ada-garden" / f"{made.id}.jsonl", lines)
        right += [m.message for m in read] == [m.message for m in get_session_messages(made.id)] != []
    print(f"\nclaude-agent-sdk: {right} of {len(found)} edited sessions are listed and read as planned")
    assert right == len(found)
