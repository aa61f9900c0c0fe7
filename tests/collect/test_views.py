"""The views: what counts once, what a lead asks for, and which rows a query of one day reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from clew.collect.sql.fact_tables import CALL, REPLY, TURN, FactTable
from clew.collect.sql.query_result import QueryEngine
from tests.collect.collect_fixture import World, session
from tests.collect.engines import answer, duckdb, postgresql, sqlite
from tests.collect.postgres import PASSWORD, Store
from tests.collect.talks import growing_turn, outcome_session

DAYS, ROWS = 40, 200
DAY = "2026-03-07"


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


def ask(world: World, query: str) -> list[tuple[Any, ...]]:
    with sqlite(world.connection) as engine:
        return answer(engine, query)[1]


# -- what a lead asks for


def test_refusals_are_told_from_failures(world: World) -> None:
    world.write(session(1), outcome_session())
    world.poll()
    rows = ask(world, "SELECT subject, failed, refused FROM calls WHERE failed = 1 ORDER BY time")
    assert rows == [("rm -rf /", 1, 1), ("false", 1, 0), ("rm x", 1, 1), ("rm y", 1, 0)]


def test_commands_skills_agents_commits_and_pull_requests_are_named(world: World) -> None:
    world.write(session(1), outcome_session())
    world.write(session(2), outcome_session())  # a copy: everything counts once
    world.poll()
    assert ask(world, "SELECT turn, command FROM turns WHERE session LIKE '%1' ORDER BY turn") == [
        (1, "/review"),
        (2, ""),
    ]
    assert ask(world, "SELECT command, count(*) FROM replies GROUP BY command ORDER BY command") == [
        ("", 4),
        ("/review", 5),
    ]
    assert ask(world, "SELECT reply, skill FROM replies WHERE skill <> ''") == [("msg_outcomes_5", "tidy")]
    assert ask(
        world, "SELECT tool, agent_type, skill FROM calls WHERE agent_type <> '' OR skill <> '' ORDER BY tool"
    ) == [
        ("Agent", "reviewer", ""),
        ("Skill", "", "tidy"),
    ]
    assert ask(world, "SELECT branch, message, call FROM commits") == [("main", "Fix it", "toolu_outcomes_1")]
    assert ask(world, "SELECT url, repository FROM pull_requests") == [
        ("https://github.com/shop/outcomes/pull/7", "shop/outcomes")
    ]
    assert ask(world, "SELECT refused, failed, commits, pull_requests FROM sessions")[0] == (2, 4, 1, 1)


def test_percentiles_are_those_of_the_nearest_rank(world: World) -> None:
    world.write(session(1), b"".join(growing_turn(n, minutes=1) for n in range(20)))
    world.poll()
    waits = sorted(took for (took,) in ask(world, "SELECT took_ms FROM turns WHERE took_ms > 0"))
    at = [waits[-(-len(waits) * share // 100) - 1] for share in (50, 90, 95)]
    query = "SELECT turns, p50_ms, p90_ms, p95_ms, longest_ms FROM waits_daily"
    assert ask(world, query) == [(len(waits), *at, waits[-1])]


# -- copies


@pytest.mark.parametrize("engine", [sqlite, duckdb, postgresql])
def test_a_reply_whose_copies_have_other_days_counts_once(world: World, engine: Any) -> None:
    """An official fork gives the last line the time of the fork."""
    original = b"".join(growing_turn(n) for n in range(4))
    world.write(session(1), original)
    world.poll()
    fork = original.replace(b"2026-05-01T09:09:10", b"2026-05-03T08:00:00")
    assert fork != original
    world.write(session(2), fork)
    world.write(session(3), original)
    world.poll()
    with engine(world.connection) as opened:
        assert _counts(opened) == (4, 200, 4)
        days = answer(opened, "SELECT day, sum(replies) AS replies FROM usage_daily GROUP BY day ORDER BY day")[1]
        assert days == [("2026-05-01", 3), ("2026-05-03", 1)]
        one = answer(opened, "SELECT sum(replies) FROM usage_daily WHERE day = '2026-05-01'")[1]
        assert one == [(3,)], "narrowed to a day, the copy of another day is known"


def _counts(engine: QueryEngine) -> tuple[Any, ...]:
    [(replies, output)] = answer(engine, "SELECT count(*), sum(output) FROM replies")[1]
    [(calls,)] = answer(engine, "SELECT count(*) FROM calls")[1]
    return replies, output, calls


# -- a query of one day


def fill(store: Store, table: FactTable) -> None:
    """Rows of many days and files, as quickly as the server makes them."""
    values = {
        "host": "'h' || (n % 7)",
        "file": "n % 50",
        "session": "'s' || (n % 50)",
        "day": f"to_char(date '2026-03-01' + (n / {ROWS}), 'YYYY-MM-DD')",
        "time": "''",
        "turn": "n",
        "model": "'claude-opus-5'",
        table.key[-1]: "n" if table is TURN else "md5(n::text)",
    }
    columns = {name: values.get(name, "''" if type == "text" else "1") for name, type in table.columns.items()}
    store.ask(
        f"INSERT INTO clew.{table.name} ({', '.join(columns)}) SELECT {', '.join(columns.values())} "
        f"FROM generate_series(0, {DAYS * ROWS - 1}) AS n"
    )
    store.ask(f"ANALYZE clew.{table.name}")


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in (*plan.get("Plans", ()), *plan.get("children", ())):
        yield from nodes(below)


@pytest.mark.parametrize(
    ("table", "query"),
    [
        (REPLY, "SELECT project, sum(cost_micros) FROM {0}.usage_daily WHERE day = '{1}' GROUP BY project"),
        (REPLY, "SELECT * FROM {0}.replies WHERE day = '{1}'"),
        (CALL, "SELECT tool, sum(failed) FROM {0}.calls WHERE day = '{1}' GROUP BY tool"),
        (TURN, "SELECT p90_ms FROM {0}.waits_daily WHERE day = '{1}'"),
    ],
)
@pytest.mark.parametrize(("user", "schema"), [("rio", "clew"), ("nia", "clew_numbers")])
def test_postgresql_reads_only_the_rows_of_the_day(
    store: Store, table: FactTable, query: str, user: str, schema: str
) -> None:
    if user == "nia" and not store.ask("SELECT 1 FROM pg_roles WHERE rolname = 'nia'"):
        store.cluster.user("nia", "clew_numbers")
    fill(store, table)
    with psycopg.connect(store.address(user), password=PASSWORD) as connection:
        asked = query.format(schema, DAY)
        found: Any = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {asked}".encode()).fetchone()
    plan = found[0][0]["Plan"]
    reads = [node for node in nodes(plan) if node.get("Relation Name") == table.name]
    assert reads and all(node["Node Type"] in ("Index Scan", "Bitmap Heap Scan", "Index Only Scan") for node in reads)
    assert any(DAY in json.dumps(node) for node in nodes(plan))
    rows = sum(node["Actual Rows"] * node["Actual Loops"] for node in reads)
    assert ROWS <= rows <= 2 * ROWS, f"{rows} of {DAYS * ROWS} rows were read"


def test_duckdb_reads_only_the_rows_of_the_day(world: World) -> None:
    """The columns of a reply are read in the files of its day; of other days only the keys, to find copies."""
    world.write(session(1), b"".join(growing_turn(n, minutes=240) for n in range(60)))
    world.poll()
    with duckdb(world.connection) as engine:
        [(day, count)] = answer(engine, "SELECT day, count(*) FROM replies GROUP BY day ORDER BY day LIMIT 1 OFFSET 3")[
            1
        ]
        connection: Any = getattr(engine, "connection")  # noqa: B009 - only this engine has one
        [(_, text)] = connection.execute(
            f"EXPLAIN (ANALYZE, FORMAT JSON) SELECT sum(cost_micros) FROM usage_daily WHERE day = '{day}'"
        ).fetchall()
    [scan] = [
        node
        for node in nodes(json.loads(text)["operator"][0])
        if "cost_micros" in str(node["extra_info"].get("Projections")) and node["type"] == "TABLE_SCAN"
    ]
    assert (scan["intermediate_rows"], day in scan["extra_info"]["Filters"]) == (count, True)
