"""Every list shows the same sessions in the same order with the same titles, whatever happened to the files."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import clew as library
from clew.cli import main
from clew.conversation.session_listing import Outline, newest_conversations
from clew.conversation.titles import WINDOW
from clew.demo.demo_tree import DemoSummary
from clew.demo.talk import Talk, talk
from clew.mcp.session_tools import call
from clew.wire.content_time import last_time
from clew.wire.layout import Tree, session_at

Run = Callable[..., tuple[int, str, str]]
Listing = list[tuple[str, str]]
MANY = 1000


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def listings(root: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Listing]:
    """The sessions of a tree as (id, title), as each part of clew lists them."""
    capsys.readouterr()
    main(["ls", "--json", "--quiet", "--reveal", "--claude-dir", str(root)])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    tree = Tree(root)
    files = [file for project in tree.projects() for file in project.sessions()]
    shown = {row["id"] for row in rows if row["path"]}
    return {
        "ls": [(row["id"], row["title"]) for row in rows if row["path"]],
        "browser": [(o.id, o.title) for o in newest_conversations(files)],
        "library": [(s.id, s.title) for s in library.sessions(claude=root) if s.id in shown],
        "search": [(r.session, r.title) for r in library.search("", MANY, claude=root) if r.session in shown],
        "mcp": list(mcp_listing(tree)),
    }


def mcp_listing(tree: Tree) -> Iterator[tuple[str, str]]:
    cursor, text = 0, "cursor="
    while "cursor=" in text:
        text = call(tree, "list_sessions", {"limit": 50, "cursor": cursor})
        found = re.findall(r"session ([0-9a-f-]{36})\n\W*title: (.*)", text)
        yield from found
        cursor += len(found)


def assert_equal(found: dict[str, Listing], *, titles_in: tuple[str, ...] = ("browser", "library", "search")) -> None:
    ids = {name: [id for id, _ in listing] for name, listing in found.items()}
    assert all(listed == ids["ls"] for listed in ids.values()), ids
    for name in titles_in:
        assert found[name] == found["ls"], name


def disturb(root: Path, seed: int) -> None:
    """What happens to files that nobody uses: titles are appended, and copies have other file times."""
    rng = random.Random(seed)
    for path in sorted(root.glob("projects/*/*.jsonl")):
        if not path.stat().st_size:
            continue
        with path.open("ab") as file:
            title = {"type": "ai-title", "aiTitle": f"Title {seed} of {path.stem[:4]}", "sessionId": path.stem}
            file.write(json.dumps(title).encode() + b"\n")
        when = rng.randrange(1_000_000_000, 2_000_000_000)
        os.utime(path, (when, when))


@pytest.mark.req("R350")
def test_all_lists_of_the_demo_are_equal_and_file_times_change_nothing(
    demo: DemoSummary, claude: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = listings(claude, capsys)
    assert_equal(first)
    for seed in (1, 2):
        disturb(claude, seed)
        again = listings(claude, capsys)
        assert_equal(again)
        assert [id for id, _ in again["ls"]] == [id for id, _ in first["ls"]]
        assert all(title.startswith(f"Title {seed}") or title for _, title in again["ls"])


@pytest.mark.shared
def test_all_lists_of_real_sessions_are_equal(shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "claude"
    for number, path in enumerate(sorted((shared / "corpus").rglob("*.jsonl"))):
        target = root / "projects" / f"-corpus-{number % 7}" / f"{uuid.UUID(int=number)}.jsonl"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    first = listings(root, capsys)
    assert len(first["ls"]) > 20
    assert_equal(first)
    disturb(root, 1)
    again = listings(root, capsys)
    assert_equal(again)
    assert [id for id, _ in again["ls"]] == [id for id, _ in first["ls"]]


def large(seed: int, *, opening: str, middle: Callable[[Talk], Talk]) -> Talk:
    """A session that is larger than the two ends that lists read, with something in between."""
    filler = "x " * (WINDOW // 2 + 2_000)
    told = talk(seed=seed).user(opening).reply(filler)
    return middle(told.user("and then?").reply(filler)).user("the end").reply(filler)


@pytest.mark.parametrize(
    ("opening", "middle"),
    [
        ("the first prompt", lambda told: told.title("A title in the middle")),
        ("<command-name>/init</command-name>", lambda told: told.user("a prompt in the middle").reply("ok")),
        ("<local-command-stdout>no prompt</local-command-stdout>", lambda told: told.user("later").reply("ok")),
    ],
)
def test_a_large_session_has_one_title(
    opening: str, middle: Callable[[Talk], Talk], claude: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = large(1, opening=opening, middle=middle).write(claude)
    assert path.stat().st_size > 3 * WINDOW
    assert_equal(listings(claude, capsys))


def test_an_appended_title_does_not_make_a_session_new(clew: Run, demo: DemoSummary, claude: Path) -> None:
    rows = [json.loads(line) for line in clew("ls", "--json", "--quiet")[1].splitlines()]
    oldest = [row for row in rows if row["path"]][-1]
    with open(oldest["path"], "a") as file:
        file.write(
            '{"type":"ai-title","aiTitle":"Static site","sessionId":"x","timestamp":"2030-01-01T00:00:00.000Z"}\n'
        )
    again = [json.loads(line) for line in clew("ls", "--json", "--quiet")[1].splitlines()]
    assert [row["id"] for row in again] == [row["id"] for row in rows]
    assert {row["id"]: row["ended"] for row in again} == {row["id"]: row["ended"] for row in rows}
    since = clew("ls", "--json", "--quiet", "--since", "2026-05-31")[1]
    assert oldest["id"] not in since and rows[0]["id"] in since
    assert clew("show", "--json")[1] == clew("show", rows[0]["id"], "--json")[1]


# -- the time itself


@pytest.mark.parametrize("notes", [0, 3, 400])
@pytest.mark.parametrize("length", [10, 9_000, 70_000])
def test_the_last_time_is_found_however_far_from_the_end(tmp_path: Path, notes: int, length: int) -> None:
    told = talk(seed=notes).user("hi").reply("hello")
    path = told.write(tmp_path)
    note = json.dumps({"type": "ai-title", "aiTitle": "t" * length}).encode() + b"\n"
    with path.open("ab") as file:
        file.write(note * min(notes, 1_000_000 // length + 1))
        file.write(b'{"type":"user","uuid":"x","timest')  # being written at this moment
    assert last_time(session_at(path)) == told.entries[-1].time
    assert Outline(session_at(path)).when == told.entries[-1].time


@pytest.mark.parametrize(
    "content", [b"", b"\n\n\n", b"not json\n", b'{"type":"mode"}\n', b"\xff\xfe" * 9_000, b"[]\n1\n"]
)
def test_a_file_without_a_time_has_that_of_the_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    os.utime(path, (1_000, 1_000))
    assert last_time(session_at(path)) is None
    assert Outline(session_at(path)).when.timestamp() == 1_000


def test_windows_line_ends_and_a_byte_order_mark_are_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    line = b'\xef\xbb\xbf{"type":"user","uuid":"x","timestamp":"2026-01-05T09:00:00.000Z"}\r\n'
    path.write_bytes(line)
    assert f"{last_time(session_at(path)):%H:%M}" == "09:00"


def test_every_list_means_the_same_by_a_range_of_time(clew: Run, claude: Path, demo: DemoSummary) -> None:
    """A session belongs to a range if it was used in it, also one that began before or ended after it."""
    long = (
        talk(seed=77, cwd="/home/ada/span")
        .user("start")
        .pause(days=40)
        .reply("late")
        .pause(days=1)
        .user("x")
        .reply("y")
    )
    path = long.write(claude)
    used = [time for s in library.sessions(claude=claude) for time in (s.started, s.ended) if time]
    times = sorted({time.replace(microsecond=0) for time in used})
    present, spanned = {s.id for s in library.sessions(claude=claude)}, 0  # ls and search also have gone ones
    for since, until in [*zip(times[::3], times[3::3], strict=False), (None, times[5]), (times[-5], None)]:
        given = {"since": since, "until": until}
        words = [word for name, time in given.items() if time for word in (f"--{name}", time.isoformat())]
        query = [f"{name}:{time.isoformat()}" for name, time in given.items() if time]
        ids = [json.loads(line)["id"] for line in clew("ls", "--json", *words)[1].splitlines()]
        found = [json.loads(line)["session"] for line in clew("search", *query, "--json", "-n", "100")[1].splitlines()]
        assert set(found) == set(ids)
        assert present & set(ids) == {s.id for s in library.sessions(claude=claude, since=since, until=until)}
        spanned += path.stem in ids
    assert spanned > 1
