"""Who may do what in a PostgreSQL store, tried as real users of the server: a table of statements and roles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from subprocess import run

import psycopg
import pytest

from clew.collect.config import SinkConfig
from clew.collect.identity import Owner, save_owner
from clew.collect.job import CollectJob, open_collector
from clew.collect.masking import Policy
from clew.collect.sinks.address import deliveries
from clew.collect.sinks.postgres.connection import PostgresConnection
from clew.collect.sql.content_columns import CONTENT_COLUMNS, number_columns
from clew.collect.sql.fact_tables import TABLES
from clew.collect.sql.views import VIEWS
from clew.demo.talk import bash, edit, talk
from tests.collect.collect_fixture import KEY, World, session
from tests.collect.engines import answer, reading, send
from tests.collect.postgres import PASSWORD, Cluster, Store, furnished, needed
from tests.collect.test_tables import said

USERS = {
    "ada": "clew_writer",
    "rio": "clew_reader",
    "nia": "clew_numbers",
    "lea": "clew_team_reader",
    "tom": "clew_team_numbers",
    "zoe": "",
}
TEAMS = ("payments", "search")


@pytest.fixture(scope="module")
def filled(cluster: Cluster) -> Store:
    """A store with one session of each of two teams. `lea` and `tom` are of the team payments."""
    store = furnished(cluster, "rights")
    for user, role in USERS.items():
        if not cluster.ask(f"SELECT 1 FROM pg_roles WHERE rolname = '{user}'"):
            cluster.ask(f"CREATE ROLE {user} LOGIN PASSWORD '{PASSWORD}' {f'IN ROLE {role}' if role else ''}")
    store.ask("INSERT INTO clew.member VALUES('lea', 'payments'), ('tom', 'payments'), ('nobody', 'search')")
    for number, team in enumerate(TEAMS):
        world = World()
        world.write(session(number), said(10 * number, f"Secret plan of {team}"))
        world.poll()
        save_owner(world.connection, Owner(f"{team}@example.com", "laptop", team))
        link = PostgresConnection(store.address("ada" if number == 0 else "ben"), PASSWORD)
        assert [(each.rejected, each.error) for each in send(world.connection, link, Policy(KEY))] == [(0, None)] * 2
        link.close()
        world.close()
    return store


def attempt(store: Store, user: str, statement: str) -> object:
    """The first value, `-` for none, or `denied`."""
    with psycopg.connect(store.address(user), password=PASSWORD) as connection:
        try:
            cursor = connection.execute(statement.encode())
            row = cursor.fetchone() if cursor.description else (cursor.rowcount,)
        except psycopg.errors.InsufficientPrivilege:
            return "denied"
        finally:
            connection.rollback()
    return row[0] if row else "-"


DENIED = "denied"
LINE_DAY = "2026_05_01"
# What each of ada, rio, nia, lea, tom and zoe gets. Two lines and one turn of each team; `ada` wrote those of payments.
TABLE: dict[str, tuple[object, ...]] = {
    "SELECT count(*) FROM clew.line": (DENIED, 4, DENIED, 2, DENIED, DENIED),
    "SELECT count(raw) FROM clew.line": (DENIED, 4, DENIED, 2, DENIED, DENIED),
    f"SELECT count(*) FROM clew.line_{LINE_DAY}": (DENIED,) * 6,
    "SELECT count(*) FROM clew.fact_turn": (1, 2, 2, 1, 1, DENIED),
    "SELECT count(turn) FROM clew.fact_turn": (1, 2, 2, 1, 1, DENIED),
    "SELECT max(prompt) FROM clew.fact_turn WHERE team = 'payments'": (
        "Secret plan of payments", "Secret plan of payments", DENIED, "Secret plan of payments", DENIED, DENIED
    ),
    "SELECT max(prompt) FROM clew.turns WHERE team = 'search'": (
        None, "Secret plan of search", DENIED, None, DENIED, DENIED
    ),
    "SELECT max(text) FROM clew.fact_reply": ("Answer 0.", "Answer 10.", DENIED, "Answer 0.", DENIED, DENIED),
    "SELECT max(title) FROM clew.fact_file": (
        "Secret plan of payments", "Secret plan of search", DENIED, "Secret plan of payments", DENIED, DENIED
    ),
    "SELECT count(*) FROM clew.fact_turn WHERE prompt LIKE 'S%'": (1, 2, DENIED, 1, DENIED, DENIED),
    "SELECT to_jsonb(f) FROM clew.fact_turn f": (True, True, DENIED, True, DENIED, DENIED),
    "SELECT sum(output)::int FROM clew.usage_daily": (5, 10, DENIED, 5, DENIED, DENIED),
    "SELECT sum(output)::int FROM clew_numbers.usage_daily": (DENIED, DENIED, 10, DENIED, 5, DENIED),
    "SELECT count(*) FROM clew_numbers.turns": (DENIED, DENIED, 2, DENIED, 1, DENIED),
    "SELECT max(prompt) FROM clew_numbers.turns": (DENIED, DENIED, "", DENIED, "", DENIED),
    "SELECT max(developer) FROM clew_numbers.sessions": (
        DENIED, DENIED, "search@example.com", DENIED, "payments@example.com", DENIED
    ),
    "SELECT count(*) FROM clew.host": (1, 2, DENIED, DENIED, DENIED, DENIED),
    "SELECT count(*) FROM clew.member": (DENIED, DENIED, DENIED, 1, 1, DENIED),
    "INSERT INTO clew.member VALUES(session_user, 'search')": (DENIED,) * 6,
    "UPDATE clew.member SET team = 'search'": (DENIED,) * 6,
    "UPDATE clew.about SET value = '1'": (DENIED,) * 6,
    "DELETE FROM clew.line": (DENIED,) * 6,
    "DELETE FROM clew.fact_turn": (1, DENIED, DENIED, DENIED, DENIED, DENIED),
    "UPDATE clew.fact_turn SET writer = 'ben'": (DENIED,) * 6,
    "UPDATE clew.fact_turn SET team = 'x'": (1, DENIED, DENIED, DENIED, DENIED, DENIED),
    "INSERT INTO clew.host VALUES('h', 1)": (1, DENIED, DENIED, DENIED, DENIED, DENIED),
    "SELECT cardinality(clew.make_days(ARRAY['2026-01-01']))": (0, DENIED, DENIED, DENIED, DENIED, DENIED),
    f"DROP TABLE clew.line_{LINE_DAY}": (DENIED,) * 6,
    "CREATE TABLE clew.mine(x int)": (DENIED,) * 6,
    "CREATE TABLE clew_numbers.mine(x int)": (DENIED,) * 6,
    "TRUNCATE clew.fact_turn": (DENIED,) * 6,
    "ALTER TABLE clew.line DISABLE ROW LEVEL SECURITY": (DENIED,) * 6,
    "SET ROLE clew_reader": (DENIED, -1, DENIED, DENIED, DENIED, DENIED),
    "CREATE OR REPLACE VIEW clew.turns AS SELECT 1": (DENIED,) * 6,
}  # fmt: skip


@pytest.mark.parametrize("statement", TABLE)
def test_each_statement_as_each_user(filled: Store, statement: str) -> None:
    results = [attempt(filled, user, statement) for user in USERS]
    expected = TABLE[statement]
    shown = [True if isinstance(each, dict) else each for each in results]
    assert dict(zip(USERS, shown, strict=True)) == dict(zip(USERS, expected, strict=True))


def test_a_user_who_becomes_a_group_role_sees_no_more(filled: Store) -> None:
    with psycopg.connect(filled.address("lea"), password=PASSWORD) as connection:
        connection.execute("SET ROLE clew_team_reader")
        assert connection.execute("SELECT count(*) FROM clew.line").fetchone() == (2,)


def test_a_member_of_no_team_sees_nothing(filled: Store) -> None:
    if not filled.ask("SELECT 1 FROM pg_roles WHERE rolname = 'max'"):
        filled.cluster.user("max", "clew_team_reader")
    for table in ("line", *(table.name for table in TABLES), *VIEWS):
        assert attempt(filled, "max", f"SELECT count(*) FROM clew.{table}") == 0


def test_clew_sql_asks_the_same_of_every_reader(filled: Store) -> None:
    queries = {
        "rio": [("payments", "Secret plan of payments"), ("search", "Secret plan of search")],
        "nia": [("payments", ""), ("search", "")],
        "lea": [("payments", "Secret plan of payments")],
        "tom": [("payments", "")],
    }
    for user, rows in queries.items():
        with reading(filled, user) as engine:
            assert answer(engine, "SELECT team, prompt FROM turns ORDER BY team")[1] == rows
            for view in VIEWS:
                answer(engine, f"SELECT * FROM {view}")


def test_every_text_column_is_contents_or_a_label() -> None:
    """A new column has to be sorted into one of both, or readers of numbers would see it."""
    labels = {
        "host", "path", "project", "session", "agent", "developer", "machine", "team", "branch", "version", "started",
        "ended", "time", "day", "week", "kind", "state", "round_kind", "input", "complexity", "reply", "model",
        "stop_reason", "call", "tool", "server", "began_agent", "agent_type", "command", "skill", "name", "repository"
    }  # fmt: skip
    for table in TABLES:
        texts = {name for name, type in table.columns.items() if type == "text"}
        assert texts - CONTENT_COLUMNS <= labels, table.name
        assert set(number_columns(table)).isdisjoint(CONTENT_COLUMNS)


# -- days


@pytest.mark.parametrize(
    ("day", "result"),
    [
        ("2026-13-39", "22008"),
        ("2026-02-30", "22008"),
        ("0000-01-01", "22008"),
        ("2026-1-1", "22007"),
        ("infinity", "22007"),
        ("2019-12-31", ["2019-12-31"]),
        ("2098-01-01", ["2098-01-01"]),
        ("2026-02-28", []),
    ],
)
def test_a_writer_makes_only_real_days_near_today(store: Store, day: str, result: object) -> None:
    with psycopg.connect(store.address("ada"), password=PASSWORD, autocommit=True) as connection:
        try:
            found = connection.execute("SELECT clew.make_days(%s)", ([day],)).fetchone()
            assert found == (result,)
        except psycopg.DataError as error:
            assert error.sqlstate == result
    days = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'clew.line'::regclass"
    assert store.ask(days) == [(2 if result == [] else 1,)]


def test_lines_of_a_wrong_clock_arrive_as_undated(store: Store) -> None:
    world = World()
    try:
        world.write(session(1), said(0).replace(b"2026-05-01", b"2071-05-01") + said(1))
        world.poll()
        link = PostgresConnection(store.address("ada"), PASSWORD)
        for _ in range(2):
            lines, _ = send(world.connection, link, Policy(KEY))
            assert (lines.rejected, lines.error) == (0, None)
            world.connection.execute("DELETE FROM sink")
        link.close()
    finally:
        world.close()
    assert store.ask("SELECT day, count(*), min(time) FROM clew.line GROUP BY day ORDER BY day") == [
        ("", 2, "2071-05-01T10:00:00.000Z"),
        ("2026-05-01", 2, "2026-05-01T10:00:01.000Z"),
    ]


# -- an owner who is not a superuser, and facts without contents


def test_an_owner_without_other_rights_sets_up_and_upgrades_a_store(cluster: Cluster, standing: Store) -> None:
    from clew.collect.sinks.postgres.setup import set_up_store

    cluster.ask(f"CREATE ROLE boss LOGIN PASSWORD '{PASSWORD}'")
    cluster.ask("CREATE DATABASE owned OWNER boss")
    link = PostgresConnection(cluster.address("boss", "owned"), PASSWORD)
    for _ in range(2):
        set_up_store(link)
    link.close()
    world = World()
    try:
        world.write(session(1), said(0))
        world.poll()
        ada = PostgresConnection(cluster.address("ada", "owned"), PASSWORD)
        assert [(each.rejected, each.error) for each in send(world.connection, ada, Policy(KEY))] == [(0, None)] * 2
        ada.close()
    finally:
        world.close()
    assert attempt(Store(cluster, "owned"), "boss", "SELECT count(*) FROM clew.line") == 2


@pytest.fixture
def job(tmp_path: Path) -> Iterator[CollectJob]:
    talk().user("Prompt-marker").reply(
        "Reply-marker", call=edit("/home/ada/garden/File-marker.py", "old-marker", "new-marker")
    ).result("ok").reply("", call=bash("cat Command-marker")).result("Error-marker", error=True).write(
        tmp_path / "claude"
    )
    yield CollectJob(str(tmp_path / "claude"), str(tmp_path / "archive.db"))


def test_nothing_of_the_contents_arrives_if_they_are_not_sent(job: CollectJob, store: Store, tmp_path: Path) -> None:
    (tmp_path / "password").write_text(PASSWORD)
    sinks = [
        SinkConfig(store.address("ada"), token_file=str(tmp_path / "password"), send="facts", contents=False),
        SinkConfig(f"delta:{tmp_path / 'lake'}", send="facts", contents=False),
    ]
    with open_collector(job) as collector, deliveries(collector, sinks) as waiting:
        collector.poll()
        for delivery in waiting:
            outcome = delivery.run(0.0)
            assert outcome is not None and outcome.sent and not outcome.rejected and outcome.error is None
    address = f"postgresql://postgres@/{store.name}?host={store.cluster.folder}&port={store.cluster.port}"
    dump = run([needed() / "pg_dump", "--column-inserts", address], capture_output=True, check=True).stdout
    import pyarrow.parquet

    lake = b"".join(
        repr(pyarrow.parquet.ParquetFile(file).read().to_pylist()).encode()
        for file in tmp_path.glob("lake/**/*.parquet")
    )
    for stored in (dump, lake):
        assert (b"Bash" in stored and b"fact" in stored) or stored is lake
        assert b"-marker" not in stored
        assert b"garden" in stored  # the project is a label
