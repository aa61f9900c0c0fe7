"""`clew sql` over a session and its copies, from files written by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.hand_written import ONE, Json, reply, result, text, use, user, write


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))


def stored(claude: Path) -> None:
    """Four turns with two calls each."""
    lines: list[Json] = []
    for turn in range(4):
        at = 6 * turn + 1
        lines.append(user(at, f"question {turn}"))
        for call in (1, 2):
            lines.append(reply(at + 2 * call - 1, use(f"toolu_{turn}_{call}", "Bash", command="ls"), stop="tool_use"))
            lines.append(result(at + 2 * call, f"toolu_{turn}_{call}", "a.txt " * 200))
        lines.append(reply(at + 5, text("An answer in some words. " * 30)))
    write(claude, ONE, *lines)


def sessions(clew: Run, columns: str) -> dict[str, tuple[int, ...]]:
    assert clew("collect")[0] == 0
    rows = [
        json.loads(line)["row"]
        for line in clew("sql", f"SELECT session, {columns} FROM sessions", "--json")[1].splitlines()
    ]
    return {row.pop("session"): tuple(row.values()) for row in rows}


@pytest.mark.parametrize(
    ("edit", "kept"),
    [(("clone",), 8), (("compress", "--bands", "1:verbatim,rest:brief", "--extractive"), 2)],
)
def test_each_copy_counts_its_own_calls_and_the_original_its_own(
    claude: Path, clew: Run, edit: tuple[str, ...], kept: int
) -> None:
    stored(claude)
    assert sessions(clew, "calls, replies, output") == {ONE: (8, 12, 12 * 649)}
    copies = [json.loads(clew(edit[0], ONE, *edit[1:], "--json")[1].splitlines()[-1])["id"] for _ in range(3)]
    counts = sessions(clew, "calls, replies, output")
    assert counts.pop(ONE) == (8, 12, 12 * 649)
    assert counts == dict.fromkeys(copies, (kept, 0, 0))


@pytest.mark.req("R004")
def test_a_file_that_is_not_named_by_an_id_is_no_session(claude: Path, clew: Run, tmp_path: Path) -> None:
    stored(claude)
    write(claude, "notes", user(1, "a narwhal in the notes"))
    out = tmp_path / "out.jsonl"
    assert clew("collect", "--to", str(out))[0] == 0
    assert set(sessions(clew, "calls")) == {ONE}
    delivered = [json.loads(line) for line in out.read_text().splitlines()]
    assert {row["session"] for row in delivered if row["kind"] == "session"} == {ONE}
    assert not any("narwhal" in line for line in out.read_text().splitlines())
    assert [json.loads(line)["id"] for line in clew("ls", "--json")[1].splitlines()] == [ONE]
    assert clew("search", "narwhal")[0] == 1
