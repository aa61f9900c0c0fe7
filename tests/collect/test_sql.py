"""The view layer over an archive: what its rows say, kept up to date, and read only."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

import clew
from clew.collect.config import Identity
from clew.collect.identity import Owner, hash_name, resolve_owner, save_owner
from clew.collect.masking import Policy
from clew.collect.sinks.outbox import Delivery
from clew.collect.sql.archive_engine import SqliteEngine, cache_path, open_archive_engine, refresh_facts
from clew.collect.sql.dataframes import frame
from clew.collect.sql.fact_cursor import FactCursor
from clew.collect.sql.fact_tables import FileFacts
from clew.collect.sql.open_store import open_engine
from clew.collect.sql.query_result import build_result, to_cell
from clew.collect.sql.sql_values import sql_name, sql_text
from clew.collect.sql.views import VIEWS
from clew.demo.demo_tree import write_demo
from clew.demo.talk import bash, talk
from clew.errors import BadQuery, StoreError
from clew.facts.prices import load
from clew.system.environment import user_name
from tests.collect.collect_fixture import World, line, session
from tests.collect.engines import answer
from tests.collect.talks import outcome_session

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


@pytest.fixture(scope="module")
def demo() -> Iterator[World]:
    """The demo tree in an archive, for tests that only ask."""
    made = World()
    shutil.rmtree(made.root)
    write_demo(made.root, NOW)
    made.poll()
    yield made
    made.close()


def ask(world: World, query: str) -> list[tuple[Any, ...]]:
    with open_archive_engine(world.path) as engine:
        return answer(engine, query)[1]


def test_a_session_its_turns_replies_and_calls(world: World) -> None:
    made = talk().user("List them").reply("Here:", call=bash("ls")).result("a b").reply("Two.").user("Thanks")
    path = made.write(world.root)
    world.poll()
    read = clew.read(path)
    turns = ask(world, "SELECT turn, prompt, state, replies, calls, failed FROM turns ORDER BY turn")
    assert turns == [
        (t.number, t.text, t.state, len(t.replies), len(t.calls), sum(c.failed for c in t.calls)) for t in read.turns
    ]
    calls = ask(world, "SELECT session, turn, tool, subject, failed, is_open, output_chars FROM calls")
    assert calls == [(read.id, 1, "Bash", "ls", 0, 0, 3)]
    assert ask(world, "SELECT turn, text FROM replies ORDER BY time, reply") == [(1, "Here:"), (1, "Two.")]
    assert ask(world, "SELECT session, title, turns, calls, replies FROM sessions") == [(read.id, read.title, 2, 1, 2)]


def test_usage_is_what_the_facts_say(demo: World) -> None:
    total = sum(map(clew.usage, clew.sessions(claude=str(demo.root))), clew.Usage())
    [row] = ask(
        demo, "SELECT sum(replies), sum(input), sum(output), sum(cache_write_5m), sum(cache_read) FROM usage_daily"
    )
    count = total.total
    assert row == (len(total.replies), count.input, count.output, count.cache_write_5m, count.cache_read)
    days = ask(demo, "SELECT day, sum(output) FROM usage_daily GROUP BY day ORDER BY day")
    assert days == [(day, count.output) for day, count in total.by_day.items()]
    models = ask(demo, "SELECT model, sum(output) FROM replies WHERE input > 0 GROUP BY model ORDER BY model")
    assert models == [(model, count.output) for model, count in total.by_model.items() if count.input]


def test_a_fork_counts_once_and_where_it_was_said(world: World) -> None:
    first = talk().user("One").reply("1").write(world.root)
    data = first.read_bytes()
    copied = [{**json.loads(line), "forkedFrom": {"sessionId": first.stem}} for line in data.splitlines()]
    earliest = session(0, "projects/-a")
    assert earliest < first.relative_to(world.root).as_posix()
    world.write(earliest, b"".join(json.dumps(line).encode() + b"\n" for line in copied))
    world.poll()
    assert ask(world, "SELECT count(*) FROM turns") == [(2,)]
    assert ask(world, "SELECT session FROM replies") == [(first.stem,)]


def test_of_two_tellings_the_one_with_most_output_counts(world: World) -> None:
    told = {"type": "assistant", "uuid": "a", "parentUuid": None, "timestamp": "2026-05-01T10:00:00Z"}
    for file, output in ((1, 7), (2, 50), (3, 12)):
        usage = {"input_tokens": 3, "output_tokens": output}
        message = {"id": "msg_1", "role": "assistant", "model": "claude-opus-5", "usage": usage, "content": []}
        world.write(session(file), json.dumps({**told, "message": message}).encode() + b"\n")
    world.poll()
    assert ask(world, "SELECT input, output FROM replies") == [(3, 50)]
    assert ask(world, "SELECT replies, output FROM usage_daily") == [(1, 50)]


def test_agents_belong_to_their_session(demo: World) -> None:
    session = clew.find("82d8", claude=str(demo.root))
    found = ask(demo, f"SELECT DISTINCT agent FROM replies WHERE session = '{session.id}' AND agent <> '' ORDER BY 1")
    assert [row[0] for row in found] == sorted(agent.id for agent in session.agents)
    begun = ask(demo, f"SELECT began_agent FROM calls WHERE session = '{session.id}' AND began_agent <> '' ORDER BY 1")
    assert {row[0] for row in begun} <= {agent.id for agent in session.agents}
    assert begun


def test_what_is_new_is_there_at_the_next_question(world: World) -> None:
    base = talk().user("One").reply("1")
    path = base.write(world.root)
    world.poll()
    assert ask(world, "SELECT turns FROM sessions") == [(1,)]
    path.write_bytes(base.user("Two").reply("2").bytes())
    world.poll()
    assert ask(world, "SELECT turns FROM sessions") == [(2,)]
    assert ask(world, "SELECT count(*) FROM replies") == [(2,)]


def test_only_changed_files_are_read_again(demo: World, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    cache = str(tmp_path / "facts.db")
    refresh_facts(demo.connection, cache, load(), lambda done, total: seen.append((done, total))).close()
    assert len(seen) > 20 and seen[-1][0] == seen[-1][1]
    seen.clear()
    refresh_facts(demo.connection, cache, load(), lambda done, total: seen.append((done, total))).close()
    assert seen == []


@pytest.mark.parametrize("damage", [b"", b"no database at all, but long enough to be looked at as one" * 40])
def test_a_cache_that_is_lost_is_made_again(demo: World, damage: bytes) -> None:
    before = ask(demo, "SELECT * FROM turns ORDER BY session, agent, turn")
    cache = Path(cache_path(demo.path))
    assert cache.stat().st_mode & 0o777 == 0o600
    cache.write_bytes(damage)
    assert ask(demo, "SELECT * FROM turns ORDER BY session, agent, turn") == before


def test_another_archive_in_the_same_place_does_not_see_the_old_facts(demo: World, tmp_path: Path) -> None:
    cache = str(tmp_path / "facts.db")
    refresh_facts(demo.connection, cache, load()).close()
    other = World()
    try:
        connection = refresh_facts(other.connection, cache, load())
        assert connection.execute("SELECT count(*) FROM turns").get == 0
        connection.close()
    finally:
        other.close()


def test_without_a_place_for_the_cache_it_is_in_memory(demo: World, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    connection = refresh_facts(demo.connection, str(blocked / "facts.db"), load())
    assert connection.execute("SELECT count(*) > 0 FROM turns").get == 1
    connection.close()


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("DELETE FROM fact_turn", "Only read-only queries are allowed"),
        ("DROP VIEW turns", "Only read-only queries are allowed"),
        ("DELETE FROM turns", "Only read-only queries are allowed"),
        ("PRAGMA query_only = 0", "Only read-only queries are allowed"),
        ("ATTACH 'x.db' AS x", "Only read-only queries are allowed"),
        ("CREATE TEMP TABLE x(a)", "Only read-only queries are allowed"),
        ("SELECT load_extension('x')", "not authorized"),
        ("SELECT 1; DELETE FROM fact_turn", "Only one statement"),
        ("SELECT * FROM nowhere", "no such table: nowhere"),
        ("SELECT absent FROM turns", "no such column: absent"),
        ("SELEC 1", "syntax error"),
        ("SELECT max(1, 2, ", "incomplete input"),
        ("   -- nothing", "The query is empty"),
    ],
)
def test_a_query_that_does_not_read_is_refused_in_one_sentence(demo: World, query: str, words: str) -> None:
    before = ask(demo, "SELECT count(*) FROM turns")
    with pytest.raises(BadQuery) as caught, open_archive_engine(demo.path) as engine, engine.run(query) as found:
        list(found.rows)
    assert words in caught.value.reason and "\n" not in caught.value.reason
    assert "usage_daily" in caught.value.hint
    assert ask(demo, "SELECT count(*) FROM turns") == before


def test_there_is_nothing_to_ask_without_an_archive(world: World, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), open_engine(archive=str(tmp_path / "none.db")):
        pass
    with pytest.raises(StoreError, match="is not a store"), open_engine("mysql://x"):
        pass


def test_a_question_can_be_interrupted() -> None:
    """SQLite lets Python look in from time to time, so that Ctrl-C ends even a query without an end."""
    connection = apsw.Connection(":memory:")
    engine = SqliteEngine(connection)
    calls = iter(range(3))

    def interrupt() -> bool:
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return False

    connection.set_progress_handler(interrupt, 100_000)
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    with pytest.raises(KeyboardInterrupt), engine.run(endless) as found:
        list(found.rows)


def test_values_are_plain_whatever_an_engine_gives() -> None:
    from decimal import Decimal

    given = [Decimal(7), Decimal("7.50"), True, b"\xc3\xa4\xff", NOW, [1, "a"], None, 2.5, "x"]
    assert [to_cell(value) for value in given] == [
        *(7, 7.5, 1, "ä\ufffd", "2026-06-01T12:00:00+00:00", '[1,"a"]', None, 2.5, "x")
    ]
    assert build_result(["a", "a", "b", "a"], []).columns == ["a", "a_2", "b", "a_3"]


def test_texts_and_names_fit_every_engine() -> None:
    assert sql_text("a\0b\ud83dc") == "a\u2400b\ufffdc"
    assert len(sql_name("x" * 5000)) == len(sql_name("y" * 5000)) < 100
    assert sql_name("x" * 5000) != sql_name("y" * 5000)


class Shelf:
    """A sink of facts in memory."""

    name = "shelf"
    leaves = True

    def __init__(self) -> None:
        self.facts: list[FileFacts] = []

    def write(self, batch: Sequence[FileFacts], /) -> None:
        self.facts += batch

    def close(self) -> None:
        pass


class Clock:
    """Half a second passes whenever somebody looks."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.5
        return self.now


def test_a_session_that_grows_all_the_time_is_summed_up_now_and_then(world: World) -> None:
    """It rests twenty times as long as its facts took; others do not wait for it, and nothing is forgotten."""
    shelf, clock = Shelf(), Clock()
    cursor = FactCursor(world.connection, shelf.name, load(), clock)
    delivery = Delivery(shelf, cursor, world.connection, Policy())

    def told(*files: int) -> list[int]:
        for file in files:
            world.append(session(file), line(len(shelf.facts)))
        world.poll()
        shelf.facts.clear()
        assert delivery.run(0.0)
        return [each.file for each in shelf.facts]

    assert told(1) == [1]
    assert told(1, 2) == [2]  # the first rests
    assert told() == []  # and what was told is not told again
    assert cursor.place.position == 1
    clock.now += 10
    assert told() == [1]
    assert told() == []
    assert cursor.place.position == 3
    fresh = FactCursor(world.connection, "other", load(), clock)
    assert [facts.file for batch in fresh.batches(Policy()) for facts in batch] == [1, 2]


HOSTILE = (
    {"timestamp": "0001-01-01T00:00:00+14:00"},
    {"timestamp": "9999-12-31T23:59:59-14:00"},
    {"timestamp": 10**25},
    {"timestamp": -1},
    {"uuid": "u" * 5000},
    {"message": {"id": "m" * 5000, "role": "assistant", "model": "\0\ud800", "usage": {"output_tokens": 10**30}}},
    {"message": {"id": "m", "model": "claude-opus-5", "usage": {"input_tokens": -(10**30), "output_tokens": 10**18}}},
    {"message": {"id": "n", "content": [{"type": "tool_use", "id": "t" * 9000, "name": "mcp__\0__x", "input": []}]}},
    {"type": "user", "message": {"role": "user", "content": "\ud800\0"}},
    {"type": "system", "subtype": "turn_duration", "durationMs": 10**300},
    {"type": "system", "subtype": "turn_duration", "durationMs": -5},
    {"cwd": "\0", "version": "\udfff", "gitBranch": 7, "sessionId": []},
)


@pytest.mark.parametrize("odd", HOSTILE, ids=lambda odd: json.dumps(odd)[:40])
def test_no_line_keeps_the_others_from_being_asked(world: World, odd: dict[str, Any]) -> None:
    """Whatever stands in a file, its facts fit into the tables, and can be added up."""
    usual = {"type": "assistant", "uuid": "a", "parentUuid": None, "timestamp": "2026-05-01T10:00:00Z"}
    prompt = {"type": "user", "uuid": "p", "parentUuid": None, "message": {"role": "user", "content": "Hello"}}
    lines = [prompt, {**usual, "parentUuid": "p"} | odd, {**usual, "parentUuid": "p", "uuid": "b"} | odd]
    world.write(session(1), b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    world.poll()
    for view in ("sessions", "turns", "replies", "calls", "file_changes", "usage_daily"):
        ask(world, f"SELECT * FROM {view}")
    [(turns,)] = ask(world, "SELECT count(*) FROM turns")
    assert turns >= 1


def test_file_changes_are_those_of_the_library(demo: World) -> None:
    rows = ask(demo, "SELECT call, session, agent, path, tool, added, removed, prompt FROM file_changes")
    changes = clew.file_changes(claude=str(demo.root))
    known = {c.call.id: (c.session, c.agent, c.path, c.tool, c.added, c.removed) for c in changes}
    assert {call: tuple(row) for call, *row, _ in rows} == known and len(known) > 10
    prompts = {c.call.id: c.prompt for c in changes}
    assert all(row[-1] in ("", prompts[row[0]]) for row in rows if not row[2])  # a branch that was left has no turn
    assert sum(bool(row[-1]) for row in rows) > 10


# -- frames


@pytest.mark.parametrize("kind", ["polars", "pandas", "duckdb"])
def test_a_frame_of_each_kind(demo: World, kind: Any) -> None:
    query = "SELECT tool, count(*) AS calls FROM calls GROUP BY tool ORDER BY calls DESC, tool LIMIT 2"
    found = frame(query, archive=demo.path, kind=kind)
    assert list(found.columns) == ["tool", "calls"]
    rows = {"polars": "rows", "duckdb": "fetchall"}.get(kind)
    values = getattr(found, rows)() if rows else [tuple(row) for row in found.to_numpy()]
    assert values == [("Bash", 74), ("Edit", 15)]


def test_a_frame_without_rows_has_its_columns(demo: World) -> None:
    assert clew.frame("SELECT tool, turn FROM calls WHERE 1 = 0", archive=demo.path).columns == ["tool", "turn"]


def test_rows_of_every_view_name_who_when_and_where(world: World) -> None:
    demo = world
    write_demo(demo.root / "demo", NOW)
    shutil.copytree(demo.root / "demo", demo.root, dirs_exist_ok=True)
    demo.write(session(9), outcome_session())
    save_owner(demo.connection, Owner("ada@example.com", "laptop", "payments"))
    demo.poll()
    for view in VIEWS:
        query = f"SELECT DISTINCT developer, machine, team FROM {view}"
        assert ask(demo, query) == [("ada@example.com", "laptop", "payments")], view
        weeks = ask(demo, f"SELECT DISTINCT day, week, month FROM {view} WHERE day <> ''")
        assert weeks
        for day, week, month in weeks:
            assert (week, month) == (date.fromisoformat(day).strftime("%G-W%V"), day[:7])
        assert ask(demo, f"SELECT count(*) FROM {view} WHERE day = '' AND (week <> '' OR month <> '')") == [(0,)]


def test_names_are_those_of_git_and_the_machine_unless_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert resolve_owner(Identity()).developer == user_name()
    (tmp_path / ".gitconfig").write_text(
        '[core]\n\temail = no@x\n[user]\n\tname = Ada\n\temail = "ada@example.com" # me\n'
    )
    assert resolve_owner(Identity()) == Owner("ada@example.com", socket.gethostname(), "")
    assert resolve_owner(Identity("bob", "tower", "shop")) == Owner("bob", "tower", "shop")
    hashed = resolve_owner(Identity(machine="tower", is_hashed=True))
    assert hashed == Owner(hash_name(" ADA@example.com"), hash_name("tower"), "")
    assert "ada" not in hashed.developer and len(hashed.developer) == 16
