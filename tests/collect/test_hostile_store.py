"""A store with rows that nobody should trust: nothing is written outside of the mirror, and the rest is read."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from clew.collect.mirror.mirrored_path import candidate_places, is_safe_path
from clew.collect.sinks.lake.delta_tables import Lake, build_table
from clew.collect.sql.line_rows import LINE
from clew.demo.talk import talk
from tests.collect.postgres import Store
from tests.collect.team import Team, contents

SESSION = "0d6cfcc5-fdb8-4c4c-a68a-{:012}"
LINE_OF = (
    b'{"type":"user","uuid":"u%d","message":{"role":"user","content":"said %d"},"timestamp":"2026-01-01T00:00:00Z"}'
)
PATHS = (
    "../../escape.jsonl",
    "/escape.jsonl",
    f"projects/../../{SESSION.format(1)}.jsonl",
    f"projects/a/../{SESSION.format(1)}.jsonl",
    f"projects/./{SESSION.format(1)}.jsonl",
    f"projects//{SESSION.format(1)}.jsonl",
    f"projects/a\x1b[31m/{SESSION.format(1)}.jsonl",
    f"projects/a\nb/{SESSION.format(1)}.jsonl",
    f"projects\\a\\{SESSION.format(1)}.jsonl",
    f"projects/{'x' * 300}/{SESSION.format(1)}.jsonl",
    f"projects/c:/{SESSION.format(1)}.jsonl",
    "projects/a/settings.json",
    "projects/a/not-a-session.jsonl",
    "settings.json",
    "",
    "projects/\udcff/" + SESSION.format(1) + ".jsonl",
)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kind", ["session", "agent", "index", "history", "settings"])
def test_no_other_path_is_accepted(path: str, kind: str) -> None:
    assert not is_safe_path(path, kind)


def test_the_names_of_a_host_are_places_of_its_own() -> None:
    first, second = (candidate_places("projects/a/b.jsonl", host * 32, 7) for host in "ab")
    assert first[0] == second[0] and not set(first[1:]) & set(second[1:])


def row(host: str = "f" * 32, file: int = 1, **values: Any) -> dict[str, Any]:
    """A row of the table `line`, as a sound host would write it but for some values."""
    raw = values.pop("raw", LINE_OF % (file, file))
    path = values.pop("path", f"projects/-home-eve-x/{SESSION.format(file)}.jsonl")
    defaults: dict[str, Any] = {
        name: "" if type == "text" else 0 for name, type in LINE.columns.items() if type != "number or nothing"
    }
    sound = {"host": host, "file": file, "seq": file, "number": 1, "length": len(raw or b"") + 1, "path": path}
    names = {"kind": "session", "session": Path(path).stem, "project": "-home-eve-x"}
    return {**defaults, **sound, **names, "hash": sha256(raw or b"").hexdigest(), "raw": raw, **values}


SOUND = [row(file=1), row(file=2)]
HOSTILE = [
    *(row(file=number, path=path) for number, path in enumerate(PATHS[:-1], 10) if "\udcff" not in path),
    row(file=40, hash="0" * 64),
    row(file=41, raw=b"two\nlines", masked=1),
    row(file=42, raw=None),
    row(file=43, length=-5),
    row(host="../../etc", file=44),
    row(host="", file=45),
    row(file=46, kind="settings"),
    row(file=47, path=f"projects/-home-eve-x/{SESSION.format(1)}.jsonl"),  # the name of another file
    row(file=48, path=f"projects/-HOME-eve-x/{SESSION.format(2)}.jsonl"),  # the same on some file systems
    row(file=2, start=3, seq=3),  # overlaps the line before it
    row(file=2, generation=-1, seq=4),
]


def insert(store: Store, rows: list[dict[str, Any]]) -> None:
    for one in rows:
        names = ", ".join(one)
        store.ask(f"INSERT INTO clew.line({names}) VALUES({', '.join(['%s'] * len(one))})", list(one.values()))
        store.ask("INSERT INTO clew.host(host, seq) VALUES(%s, 100) ON CONFLICT (host) DO NOTHING", [one["host"]])


def check(team: Team) -> None:
    """The sound sessions are there, whatever else is; nothing is anywhere else."""
    before = {path for path in team.folder.rglob("*") if team.reader not in path.parts}
    code, _, err = team.read("ls", quiet=False)
    assert code == 0 and "left out" in err
    titles = {one["title"] for one in team.rows("ls")}
    assert {"said 1", "said 2"} <= titles
    assert not titles & {f"said {number}" for number in (*range(10, 30), *range(40, 47))}
    stored = contents(team.tree)
    assert stored[SOUND[0]["path"]] == SOUND[0]["raw"] + b"\n"
    assert stored[SOUND[1]["path"]] == SOUND[1]["raw"] + b"\n"
    assert all(path.startswith(("projects/-home-eve-x", "projects/-HOME-eve-x")) for path in stored)
    assert {path for path in team.folder.rglob("*") if team.reader not in path.parts} == before
    for words in (("usage",), ("search", "said"), ("ls", "projects"), ("files",)):
        assert team.read(*words)[0] in (0, 1)


def test_postgresql(store: Store, tmp_path: Path) -> None:
    insert(store, SOUND + HOSTILE)
    check(Team(tmp_path, store.address("rio")))


def test_a_lake(tmp_path: Path) -> None:
    lake = Lake(f"delta:{tmp_path}/lake", "", {})
    rows = [*SOUND, *HOSTILE]
    values = [tuple(one[name] for name in LINE.columns) for one in rows]
    lake.add(LINE.name, build_table(LINE.name, values, [""] * len(rows), [one["raw"] for one in rows]))
    check(Team(tmp_path, lake.name))


def test_a_lake_of_another_version_is_named(tmp_path: Path) -> None:
    import pyarrow
    from deltalake import write_deltalake

    write_deltalake(f"{tmp_path}/lake/line", pyarrow.table({"host": ["a"], "words": ["hello"]}))
    code, out, err = Team(tmp_path, f"delta:{tmp_path}/lake").read("ls")
    assert (code, out) == (2, "") and "another version of clew" in err


def test_an_empty_place_is_no_store(tmp_path: Path) -> None:
    code, _, err = Team(tmp_path, f"delta:{tmp_path}/nothing").read("ls")
    assert code == 2 and "is not there" in err
    (tmp_path / "empty").mkdir()
    code, _, err = Team(tmp_path, f"delta:{tmp_path}/empty").read("ls")
    assert code == 2 and "has no lines of clew" in err


def test_rows_that_were_erased_are_gone_here_too(tmp_path: Path) -> None:
    team = Team(tmp_path, f"delta:{tmp_path}/lake")
    for seed in (1, 2):
        talk(seed=seed).user(f"Loaf {seed}").reply("Yes").write(team.root(0))
    team.collect(0, team.address)
    rows = team.rows("ls")
    assert len(rows) == 2
    table = Lake(team.address, "", {}).table(LINE.name)
    table.delete(f"session = '{rows[0]['id']}'")
    assert [one["id"] for one in team.rows("ls")] == [rows[1]["id"]]
    assert len(contents(team.tree)) == 1
