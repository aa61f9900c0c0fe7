"""Sessions that clew moved, unpacked, imported, synchronised or restored: the real Claude Code lists and resumes them.

The sample of a test run is small; `make soak` lets every session of the demo, of the hand-made cases and, where they
are, of the real samples arrive in every way, and asks both versions about each.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest
from claude_agent_sdk import list_sessions

from clew.cli import main
from clew.conversation.load import request
from clew.conversation.session import Session
from clew.demo.demo_tree import write_demo
from clew.wire.layout import Tree, session_at
from clew.wire.project_slug import slug
from clew.wire.session_parts import collect_parts
from clew.wire.session_writer import create_exactly
from tests.oracle.cases import CASES, file_of
from tests.oracle.claude import LATEST, Box
from tests.oracle.conftest import Claude
from tests.oracle.judge import PROMPT, verdict
from tests.oracle.recording import Answer

pytestmark = pytest.mark.oracle

SOAKS = os.environ.get("CLEW_SOAK") == "1"
SHARED = Path(__file__).parents[3] / "shared" / "corpus"
NOW = datetime.now(UTC)
SAMPLE = ("6fcd", "ba5f")  # a session from Windows, and one with a long output
Arrive = Callable[[Path, Box, Path], None]


def clew(box: Box, *words: str) -> None:
    code = main([*words, "--quiet", "--claude-dir", str(box.home / ".claude")])
    assert code in (0, 1), words


def move(source: Path, box: Box, work: Path) -> None:
    """The sessions are in the tree, under their old folders; all of these have become the project."""
    shutil.copytree(source, box.home / ".claude", dirs_exist_ok=True)
    for project in Tree(source).projects():
        clew(box, "move", project.path().path, str(box.project), "--json")


def unpack(source: Path, box: Box, work: Path) -> None:
    assert main(["pack", "--all", "-o", str(work / "all.zip"), "--quiet", "--claude-dir", str(source)]) == 0
    clew(box, "unpack", str(work / "all.zip"), "--to", str(box.project))


def take_in(source: Path, box: Box, work: Path) -> None:
    """Each transcript by itself, as it comes in a mail."""
    for number, path in enumerate(sorted((source / "projects").glob("*/*-*-*-*-*.jsonl"))):
        if path.stat().st_size:
            loose = work / f"mail{number}" / "talk.jsonl"
            loose.parent.mkdir()
            shutil.copy(path, loose)
            clew(box, "import", str(loose), "--to", str(box.project))


def sync(source: Path, box: Box, work: Path) -> None:
    clew(box, "sync", str(source), "--yes")
    for project in Tree(source).projects():
        clew(box, "move", project.path().path, str(box.project))


def restore(source: Path, box: Box, work: Path) -> None:
    """From an archive, on a machine that has nothing."""
    archive = ("--archive", str(work / "archive.db"), "--quiet", "--claude-dir", str(source))
    assert main(["collect", *archive]) == 0
    assert main(["restore", "--all", "--to", str(box.home / ".claude"), *archive]) == 0
    for project in Tree(source).projects():
        clew(box, "move", project.path().path, str(box.project))


WAYS: dict[str, Arrive] = {"move": move, "unpack": unpack, "import": take_in, "sync": sync, "restore": restore}


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def demo_tree(folder: Path) -> Path:
    """Sessions of all kinds, of three systems and many versions."""
    return write_demo(folder, NOW).root


JUDGED: dict[tuple[str, str], str] = {}  # by version and state: a way that brings the same bytes is judged once


def difference(box: Box, path: Path) -> str:
    """What the real program does otherwise than clew says, when it resumes a session where it is."""
    state = (box.version, digest(box, path))
    if state not in JUDGED:
        JUDGED[state] = ask(box, path)
    return JUDGED[state]


def digest(box: Box, path: Path) -> str:
    """Of a session and the files in its folder; the name of the box does not count."""
    total = sha256()
    for file in (path, *sorted(path.with_suffix("").rglob("*"))):
        if file.is_file():
            name = str(file.relative_to(path.parent))
            data = file.read_bytes().replace(str(box.home).encode(), b"HOME")
            total.update(f"{name} {len(data)}\n".encode() + data.replace(slug(str(box.home)).encode(), b"HOME"))
    return total.hexdigest()


def ask(box: Box, path: Path) -> str:
    data = path.read_bytes()
    try:
        theirs = box.resume(path.stem, PROMPT)
    except subprocess.TimeoutExpired:  # a file that it cannot read, or a busy machine
        if not verdict(box.version, data, Answer(None)).difference():
            return ""
        path.write_bytes(data)
        theirs = box.resume(path.stem, PROMPT)
    after = path.read_bytes()
    added = after[len(data) :] if after.startswith(data) else b""
    if theirs.rc == 0 and not added and theirs.session_id == path.stem:
        return "it was not found where it is: nothing was appended to it"
    return verdict(box.version, data, Answer(theirs, added)).difference()


def judge(box: Box, sample: Callable[[list[Path]], list[Path]] = lambda paths: paths) -> dict[str, str]:
    """Ask the real program about the sessions of the project; return what it does otherwise."""
    folder = box.home / ".claude" / "projects" / slug(str(box.project))
    paths = sorted(path for path in folder.glob("*-*-*-*-*.jsonl") if path.stat().st_size)
    assert paths, "nothing arrived"
    hanging = [path for path in paths if "hangs version" in request(Session(path), box.version).refusal]
    for path in hanging:  # old versions read every session of a project: one of these stops all others
        path.rename(path.with_suffix(".aside"))
    wrong = {}
    for path in sample(paths):
        if path in hanging:
            path.with_suffix(".aside").rename(path)
        if why := difference(box, path):
            wrong[path.stem] = why
        if path in hanging:
            path.rename(path.with_suffix(".aside"))
    for path in hanging:
        path.with_suffix(".aside").rename(path)
    return wrong


def listed(root: Path, monkeypatch: pytest.MonkeyPatch, folder: str | None = None) -> set[str]:
    """The sessions of a project, or of all, as Claude Code's own SDK lists them."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(root))
    return {session.session_id for session in list_sessions(directory=folder)}


@pytest.mark.parametrize(("version", "way", "sample"), [(LATEST, "move", SAMPLE), ("2.1.29", "unpack", SAMPLE[:1])])
def test_what_arrived_is_listed_and_resumed(
    claude: Claude, version: str, way: str, sample: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = demo_tree(tmp_path / "source")
    files = [path for path in (source / "projects").glob("*/*-*-*-*-*.jsonl") if path.stat().st_size]
    with claude(version) as box:
        WAYS[way](source, box, tmp_path)
        folder = box.home / ".claude" / "projects" / slug(str(box.project))
        assert {path.stem for path in files} <= {path.stem for path in folder.glob("*.jsonl")}
        assert listed(box.home / ".claude", monkeypatch, str(box.project)) == listed(source, monkeypatch)
        assert judge(box, lambda paths: [path for path in paths if path.stem[:4] in sample]) == {}


def case_tree(folder: Path) -> Path:
    """Some of the hand-made cases, as sessions of one project."""
    for number, name in enumerate(list(CASES)[:: len(CASES) // 32]):
        id = f"00000000-0000-4000-8000-{number:012}"
        path = create_exactly(folder / "cases" / f"{id}.jsonl", [file_of(name, id)])
        cwd = collect_parts(session_at(path)).cwd or "/home/ada/case"
        target = folder / "projects" / slug(cwd) / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)
    return folder


def sources(folder: Path) -> Iterator[Path]:
    yield demo_tree(folder / "demo")
    yield case_tree(folder / "cases")
    if SHARED.is_dir():
        real = folder / "real"
        for path in sorted(SHARED.rglob("*-*-*-*-*.jsonl")):
            cwd = collect_parts(session_at(path)).cwd
            target = real / "projects" / slug(cwd) / path.name
            if cwd.startswith("/") and 0 < path.stat().st_size < 2_000_000 and not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
                if path.with_suffix("").is_dir():
                    shutil.copytree(path.with_suffix(""), target.with_suffix(""))
        yield real


@pytest.mark.soak
@pytest.mark.skipif(not SOAKS, reason="make soak runs it")
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("version", [LATEST, "2.1.29"])
@pytest.mark.parametrize("way", WAYS)
def test_everything_that_arrived_is_listed_and_resumed(
    claude: Claude, version: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong: dict[str, str] = {}
    count = 0
    for number, source in enumerate(sources(tmp_path / "sources")):
        with claude(version) as box:
            work = tmp_path / f"work{number}"
            work.mkdir()
            WAYS[way](source, box, work)
            assert listed(box.home / ".claude", monkeypatch, str(box.project)) == listed(source, monkeypatch)
            found = judge(box)
            folder = box.home / ".claude" / "projects" / slug(str(box.project))
            here = sum(path.stat().st_size > 0 for path in folder.glob("*-*-*-*-*.jsonl"))
            print(
                f"\n{version}, {way}, {source.name}: {here - len(found)} of {here} sessions resume as clew says",
                flush=True,
            )
            wrong |= found
            count += here
    assert count >= 60 or not SHARED.is_dir()
    assert wrong == {}
