"""A PostgreSQL store: every line once, whatever fails, and nobody sees or changes what is not theirs."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from clew.collect.masking import Policy
from clew.collect.sinks.outbox import Delivery, SequenceCursor
from clew.collect.sinks.postgres.connection import PostgresConnection
from clew.collect.sinks.postgres.setup import set_up_store, setup_sql
from clew.collect.sinks.postgres.tables import PostgresFacts, PostgresLines
from clew.errors import BadQuery, StoreError
from tests.collect.collect_fixture import KEY, World, session
from tests.collect.engines import answer, reading, send
from tests.collect.postgres import PASSWORD, Cluster, Store, needed, run
from tests.collect.proxy import Proxy

ONE = session(1)
SECRET = "sk-ant-api03-" + "Zq7" * 12


def said(number: int, text: str = "", day: int = 1) -> bytes:
    """A prompt and its answer, in two lines with times."""
    time = f"2026-05-{day:02}T10:{number // 60 % 60:02}:{number % 60:02}.000Z"
    uuid = f"{number:08}-0000-4000-8000-{{:012}}"
    above = {"parentUuid": f"{number - 1:08}-0000-4000-8000-{2:012}"} if number else {"parentUuid": None}
    user = {"type": "user", "uuid": uuid.format(1), **above, "timestamp": time}
    usage = {"input_tokens": 3, "output_tokens": 5}
    message = {"id": f"msg_{number}", "role": "assistant", "model": "claude-opus-5", "usage": usage}
    reply = {"type": "assistant", "uuid": uuid.format(2), "parentUuid": uuid.format(1), "timestamp": time}
    content = [{"type": "text", "text": f"Answer {number}."}]
    lines: list[dict[str, Any]] = [
        {**user, "message": {"role": "user", "content": text or f"Question {number}?"}},
        {**reply, "message": {**message, "stop_reason": "end_turn", "content": content}},
    ]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


def deliver(world: World, store: Store, user: str = "ada", policy: Policy | None = None, port: int = 0) -> list[Any]:
    link = PostgresConnection(store.address(user, port), PASSWORD)
    try:
        return send(world.connection, link, policy or Policy(KEY))
    finally:
        link.close()


def rows(store: Store) -> tuple[int, int]:
    """How many lines there are, and how many that differ."""
    [(all, once)] = store.ask("SELECT count(*), count(DISTINCT (host, file, generation, start)) FROM clew.line")
    return all, once


def test_lines_and_facts_are_there_once(world: World, store: Store) -> None:
    world.write(ONE, said(0) + said(1, day=2) + b'{"type":"summary","summary":"no time"}\n')
    world.poll()
    assert [(o.sent, o.rejected, o.error) for o in deliver(world, store)] == [(5, 0, None), (1, 0, None)]
    assert [o.sent for o in deliver(world, store)] == [0, 0]
    world.append(ONE, said(2, day=2))
    world.poll()
    assert [o.sent for o in deliver(world, store)] == [2, 1]
    assert rows(store) == (7, 7)
    assert store.ask("SELECT tableoid::regclass::text, count(*) FROM clew.line GROUP BY 1 ORDER BY 1") == [
        ("clew.line_2026_05_01", 2),
        ("clew.line_2026_05_02", 4),
        ("clew.line_undated", 1),
    ]
    assert store.ask("SELECT raw FROM clew.line ORDER BY start")[0][0] + b"\n" == said(0).splitlines(True)[0]
    with reading(store) as engine:
        assert answer(engine, "SELECT turn, prompt, replies FROM turns ORDER BY turn")[1] == [
            (1, "Question 0?", 1),
            (2, "Question 1?", 1),
            (3, "Question 2?", 1),
        ]
        assert answer(engine, "SELECT day, sum(output) AS n FROM usage_daily GROUP BY day ORDER BY day")[1] == [
            ("2026-05-01", 5),
            ("2026-05-02", 10),
        ]


def test_everything_again_changes_nothing(world: World, store: Store) -> None:
    world.write(ONE, b"".join(said(n) for n in range(40)))
    world.poll()
    deliver(world, store)
    before = store.ask("SELECT * FROM clew.fact_turn ORDER BY turn")
    world.connection.execute("DELETE FROM sink")
    assert [o.sent for o in deliver(world, store)] == [80, 1]
    assert rows(store) == (80, 80)
    assert store.ask("SELECT * FROM clew.fact_turn ORDER BY turn") == before


def test_a_rewritten_file_replaces_its_facts_and_keeps_its_lines(world: World, store: Store) -> None:
    world.write(ONE, said(0) + said(1))
    world.poll()
    deliver(world, store)
    world.write(ONE, said(0, "Something else?"))
    world.poll()
    deliver(world, store)
    assert store.ask("SELECT generation, count(*) FROM clew.line GROUP BY 1 ORDER BY 1") == [(1, 4), (2, 2)]
    with reading(store) as engine:
        assert answer(engine, "SELECT prompt FROM turns")[1] == [("Something else?",)]


def test_facts_that_come_late_do_not_replace_newer_ones(world: World, store: Store) -> None:
    from clew.collect.sql.fact_rows import changed_since
    from clew.collect.sql.open_files import build_facts
    from clew.facts.prices import load

    world.write(ONE, said(0))
    world.poll()
    [file] = changed_since(world.connection, 0)
    old = build_facts(world.connection, world.archive.host, file, Policy(KEY), load())
    world.append(ONE, said(1))
    world.poll()
    deliver(world, store)
    link = PostgresConnection(store.address("ada"), PASSWORD)
    PostgresFacts(link).write([old])
    link.close()
    assert store.ask("SELECT count(*) FROM clew.fact_turn") == [(2,)]


# -- what goes wrong


def failure(address: str, password: str = PASSWORD, deadline: float = 30.0) -> StoreError:
    link = PostgresConnection(address, password, deadline)
    try:
        with pytest.raises(StoreError) as caught, link.use() as connection:
            connection.execute("SELECT 1 FROM clew.line LIMIT 1")
        return caught.value
    finally:
        link.close()


@pytest.mark.parametrize(
    ("address", "password", "kind", "retryable", "words"),
    [
        ("postgresql://ada@127.0.0.1:{port}/{name}", "wrong", "password", False, "rejected this user"),
        ("postgresql://eve@127.0.0.1:{port}/{name}", PASSWORD, "password", False, "rejected this user"),
        ("postgresql://ada@127.0.0.1:{port}/nowhere", PASSWORD, "missing", False, "has no such database"),
        ("postgresql://ada@127.0.0.1:{port}/postgres", PASSWORD, "missing", False, "has no tables of clew"),
        ("postgresql://ada@127.0.0.1:1/{name}", PASSWORD, "unavailable", True, "does not answer"),
        ("postgresql://ada@127.0.0.1:x/{name}", PASSWORD, "unknown", False, "is not a valid address"),
        ("postgresql://ada@127.0.0.1:{port}/{name}?sslmode=require", PASSWORD, "tls", False, "TLS"),
        ("postgresql://ada@127.0.0.1:{port}/{name}", PASSWORD, "denied", False, "does not allow this"),
    ],
)
def test_each_failure_has_a_kind_a_sentence_and_a_next_step(
    standing: Store, address: str, password: str, kind: str, retryable: bool, words: str
) -> None:
    error = failure(address.format(port=standing.cluster.port, name=standing.name), password)
    assert (error.kind, error.retryable) == (kind, retryable)
    assert words in str(error) and "\n" not in str(error)
    assert error.hint or retryable or kind == "unknown"
    assert PASSWORD not in str(error)


def test_a_bad_address_does_not_tell_its_password() -> None:
    with pytest.raises(StoreError) as caught:
        PostgresConnection("postgresql://ada:hunter2@host/db?nonsense=1&x")
    assert "hunter2" not in f"{caught.value} {caught.value.hint} {caught.value.__cause__}"
    assert caught.value.kind == "unknown"


@pytest.mark.parametrize(
    ("address", "mode"),
    [
        ("postgresql://ada@db.example.org/x", "verify-full"),
        ("postgresql://ada@localhost,db.example.org/x", "verify-full"),
        ("postgresql://ada@db.example.org/x?sslmode=require", "require"),
        ("postgresql://ada@localhost/x", None),
        ("postgresql:///x?host=/run/postgresql", None),
    ],
)
def test_what_leaves_the_machine_is_encrypted_unless_the_address_says_otherwise(address: str, mode: str | None) -> None:
    assert PostgresConnection(address).options.get("sslmode") == mode


def test_a_server_that_the_environment_names_is_asked_with_encryption(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "db.example.org")
    assert PostgresConnection("postgresql:///x").options.get("sslmode") == "verify-full"
    monkeypatch.setenv("PGHOST", "/run/postgresql")
    assert "sslmode" not in PostgresConnection("postgresql:///x").options


def test_a_missing_table_stops_the_delivery_and_nothing_is_lost(world: World, store: Store) -> None:
    world.write(ONE, said(0))
    world.poll()
    store.ask("ALTER TABLE clew.line RENAME TO hidden")
    lines, _ = deliver(world, store)
    assert (lines.sent, lines.error.kind, lines.error.retryable) == (0, "missing", False)
    assert "clew collect setup" in lines.error.hint
    store.ask("ALTER TABLE clew.hidden RENAME TO line")
    assert deliver(world, store)[0].sent == 2


def test_a_record_that_the_server_cannot_take_is_put_aside(world: World, store: Store) -> None:
    world.write(ONE, b"".join(said(n) for n in range(30)) + said(30, "p" * 5000) + said(31))
    world.poll()
    store.ask("ALTER TABLE clew.line ADD CHECK (length < 2000)")
    lines, _ = deliver(world, store)
    assert (lines.sent, lines.rejected, lines.error) == (63, 1, None)
    assert rows(store) == (63, 63)
    reason = str(world.connection.execute("SELECT reason FROM rejected").get)
    assert "cannot take a record" in reason and "ppp" not in reason


def test_a_cut_network_loses_nothing_and_repeats_nothing(world: World, store: Store) -> None:
    proxy = Proxy(store.cluster.port)
    link = PostgresConnection(store.address("ada", proxy.port), PASSWORD)
    sink = PostgresLines(link)
    delivery = Delivery(sink, SequenceCursor(world.connection, sink.name), world.connection, Policy(KEY))
    try:
        for number in range(6):
            world.append(ONE, b"".join(said(number * 50 + n) for n in range(50)))
            world.poll()
            proxy.cut()
            outcome = delivery.run(1e9 * (2 * number + 1))
            assert outcome and outcome.error and outcome.error.kind == "unavailable" and outcome.error.retryable
            proxy.heal()
            outcome = delivery.run(1e9 * (2 * number + 2))
            assert outcome and outcome.error is None
    finally:
        link.close()
        proxy.close()
    assert rows(store) == (600, 600)


def test_an_unknown_outcome_is_sent_again_and_counts_once(world: World, store: Store) -> None:
    world.write(ONE, b"".join(said(n) for n in range(50)))
    world.poll()
    proxy = Proxy(store.cluster.port)
    try:
        proxy.deafen(b"COMMIT")
        lines, _ = deliver(world, store, port=proxy.port)
        assert lines.sent == 0 and lines.error.kind == "unavailable"
        assert rows(store) == (100, 100)  # it was committed, and nobody heard
        proxy.heal()
        assert [o.error for o in deliver(world, store, port=proxy.port)] == [None, None]
        assert rows(store) == (100, 100)
    finally:
        proxy.close()


def test_a_network_that_swallows_everything_is_given_up(store: Store) -> None:
    proxy = Proxy(store.cluster.port)
    link = PostgresConnection(store.address("ada", proxy.port), PASSWORD, deadline=1.0)
    try:
        with link.use() as connection:
            connection.execute("SELECT 1")
        proxy.swallow()
        with pytest.raises(StoreError) as caught, link.use() as connection:
            connection.execute("SELECT 2")
        assert (caught.value.kind, caught.value.retryable) == ("unavailable", True)
        proxy.heal()
        with link.use() as connection:
            assert connection.execute("SELECT 3").fetchone() == (3,)
    finally:
        link.close()
        proxy.close()


# -- many hosts


def test_twenty_hosts_at_once(store: Store) -> None:
    errors: list[Any] = []

    def host(number: int) -> None:
        world = World()
        try:
            for part in range(3):
                world.append(session(1), b"".join(said(part * 10 + n, day=1 + (number + n) % 9) for n in range(10)))
                world.poll()
                errors.extend(o.error or o.rejected for o in deliver(world, store) if o.error or o.rejected)
        finally:
            world.close()

    threads = [threading.Thread(target=host, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert rows(store) == (20 * 60, 20 * 60)
    assert store.ask("SELECT count(*), min(seq), max(seq) FROM clew.host") == [(20, 60, 60)]
    with reading(store) as engine:
        assert answer(engine, "SELECT count(*) AS n FROM sessions")[1] == [(20,)]
        assert answer(engine, "SELECT count(*) AS n, sum(output) AS o FROM replies")[1] == [
            (30, 150)
        ]  # copies count once


def test_two_hosts_that_bring_a_new_day_at_the_same_time(store: Store) -> None:
    make = "SELECT clew.make_days(ARRAY['2026-03-01', '2026-03-02'])"
    with psycopg.connect(store.address("ada"), password=PASSWORD) as first:
        first.execute(make)
        second = psycopg.connect(store.address("ben"), password=PASSWORD, autocommit=True)
        waiting = threading.Thread(target=second.execute, args=(make,))
        waiting.start()
        while not store.ask("SELECT 1 FROM pg_locks WHERE NOT granted"):
            assert waiting.is_alive()
        first.commit()
        waiting.join()
        second.close()
    days = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'clew.line'::regclass"
    assert store.ask(days) == [(3,)]  # and the one without a day


# -- who may do what


def refused(store: Store, user: str, statement: str) -> str:
    with (
        psycopg.connect(store.address(user), password=PASSWORD, autocommit=True) as connection,
        pytest.raises(psycopg.Error) as caught,
    ):
        connection.execute(statement.encode())
    return caught.value.sqlstate or ""


def test_a_writer_sees_only_what_it_wrote(world: World, store: Store) -> None:
    world.write(ONE, said(0))
    world.poll()
    deliver(world, store)
    for user, seen in (("ada", [("Question 0?",)]), ("ben", []), ("rio", [("Question 0?",)])):
        with reading(store, user) as engine:
            assert answer(engine, "SELECT prompt FROM turns")[1] == seen
    for user in ("ada", "ben"):
        assert refused(store, user, "SELECT * FROM clew.line") == "42501"
        assert refused(store, user, "DELETE FROM clew.line") == "42501"
        assert refused(store, user, "CREATE TABLE clew.mine(x int)") == "42501"
        assert refused(store, user, "SELECT clew.make_days(ARRAY['2026-01-01); DROP TABLE clew.host'])") == "22007"


def test_a_writer_cannot_change_what_another_wrote(world: World, store: Store) -> None:
    world.write(ONE, said(0))
    world.poll()
    deliver(world, store)
    world.append(ONE, said(1))
    world.poll()
    lines, facts = deliver(world, store, "ben")
    assert [o.error.kind for o in (lines, facts)] == ["epoch", "denied"]
    with psycopg.connect(store.address("ben"), password=PASSWORD, autocommit=True) as connection:
        assert connection.execute("DELETE FROM clew.fact_turn").rowcount == 0
        assert connection.execute("UPDATE clew.host SET seq = 0").rowcount == 0
    assert refused(store, "ben", "INSERT INTO clew.host VALUES('h', 1, now(), 'ada')") == "42501"
    assert rows(store) == (2, 2)


def test_a_reader_changes_nothing(world: World, store: Store) -> None:
    world.write(ONE, said(0))
    world.poll()
    deliver(world, store)
    for statement in (
        "DELETE FROM clew.line",
        "INSERT INTO clew.host VALUES('h', 1)",
        "UPDATE clew.fact_turn SET prompt = ''",
        "SELECT clew.make_days(ARRAY['2026-01-01'])",
        "DROP VIEW clew.turns",
    ):
        assert refused(store, "rio", statement) == "42501"


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM host",
        "SELECT 1; DELETE FROM clew.host",
        "SELECT 1; COMMIT; DELETE FROM clew.host",
        "WITH gone AS (DELETE FROM host RETURNING 1) SELECT * FROM gone",
        "SELECT clew.make_days(ARRAY['2021-01-01'])",
        "COPY host TO PROGRAM 'true'",
        "SET TRANSACTION READ WRITE",
    ],
)
def test_a_query_cannot_write_even_as_the_one_who_owns_everything(standing: Store, query: str) -> None:
    from clew.collect.sinks.postgres.query_engine import PostgresEngine

    standing.ask("INSERT INTO clew.host VALUES('h', 1) ON CONFLICT DO NOTHING")
    folder, port = standing.cluster.folder, standing.cluster.port
    link = PostgresConnection(f"postgresql://postgres@/{standing.name}?host={folder}&port={port}")
    try:
        with pytest.raises(BadQuery) as caught, PostgresEngine(link).run(query) as found:
            list(found.rows)
        assert "\n" not in caught.value.reason
    finally:
        link.close()
    assert standing.ask("SELECT count(*) FROM clew.host") == [(1,)]
    assert standing.ask("SELECT to_regclass('clew.line_2021_01_01')") == [(None,)]


def test_what_a_query_does_on_the_side_is_undone(standing: Store) -> None:
    with reading(standing) as engine:
        answer(engine, "SELECT lo_create(0)")  # PostgreSQL 15 lets this pass in a transaction that only reads
    assert standing.ask("SELECT count(*) FROM pg_largeobject_metadata") == [(0,)]


def test_the_tables_can_be_made_again_and_from_what_is_printed(store: Store, tmp_path: Path) -> None:
    folder, port = store.cluster.folder, store.cluster.port
    link = PostgresConnection(f"postgresql://postgres@/{store.name}?host={folder}&port={port}")
    set_up_store(link)
    link.close()
    script = tmp_path / "setup.sql"
    script.write_text(setup_sql())
    store.cluster.ask("CREATE DATABASE printed")
    address = f"postgresql://postgres@/printed?host={folder}&port={port}"
    run([str(needed() / "psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", str(script), address])
    tables = "SELECT relname, relkind, relacl::text FROM pg_class WHERE relnamespace = 'clew'::regnamespace ORDER BY 1"
    assert store.cluster.ask(tables, "printed") == store.ask(tables)


_COLUMNS = """
SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns
WHERE table_schema = 'clew' AND table_name NOT LIKE 'line%' ORDER BY 1, 2
"""


def test_tables_of_version_1_are_brought_up_to_date_and_keep_their_rows(world: World, store: Store) -> None:
    """The tables as the first version made them: its own SQL."""
    store.cluster.ask("CREATE DATABASE earlier")
    earlier = Store(store.cluster, "earlier")
    address = f"postgresql://postgres@/earlier?host={store.cluster.folder}&port={store.cluster.port}"
    script = Path(__file__).with_name("postgres_version_1.sql")
    run([str(needed() / "psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", str(script), address])
    old = [row for row in earlier.ask(_COLUMNS) if row[0] == "fact_turn"]
    assert "round" not in {name for _, name, _, _ in old}
    values = {name: "'kept'" if type == "text" else "7" for _, name, type, _ in old if name != "writer"}
    values["writer"] = "'ada'"
    earlier.ask(f"INSERT INTO clew.fact_turn({', '.join(values)}) VALUES({', '.join(values.values())})")
    world.write(ONE, said(0) + said(1))
    world.poll()

    refused = deliver(world, earlier)
    assert all("has tables of another version of clew" in str(each.error) for each in refused), refused
    assert rows(earlier) == (0, 0)
    link = PostgresConnection(address)
    set_up_store(link)
    set_up_store(link)
    link.close()
    assert earlier.ask("SELECT value FROM clew.about WHERE name = 'schema'") == [("5",)]
    assert earlier.ask(_COLUMNS) == store.ask(_COLUMNS)
    assert earlier.ask("SELECT turn, prompt, round, round_kind FROM clew.fact_turn") == [(7, "kept", 0, "")]
    assert [(each.rejected, each.error) for each in deliver(world, earlier)] == [(0, None), (0, None)]
    with reading(earlier) as engine:
        query = "SELECT turn, round, round_kind, input FROM turns WHERE prompt <> 'kept' ORDER BY turn"
        assert answer(engine, query)[1] == [(1, 1, "first", "text"), (2, 2, "continue", "text")]


def test_no_byte_of_a_secret_is_in_the_server(world: World, store: Store) -> None:
    """Neither in its tables nor in its log nor in its journal; also if a record with one is refused."""
    store.ask("ALTER TABLE clew.line ADD CHECK (length < 3000)")
    world.write(ONE, said(0, f"the key is {SECRET}") + said(1, f"{SECRET} {'x ' * 2000}"))
    world.write(session(2), b'{"broken ' + SECRET.encode() + b"\n" + said(2))
    world.poll()
    lines, facts = deliver(world, store)
    assert (lines.rejected, lines.error, facts.error) == (1, None, None)
    store.ask("CHECKPOINT")
    facts_of_one = "clew.fact_turn t JOIN clew.fact_file f USING (host, file) WHERE turn = 1 AND t.path LIKE '%1.jsonl'"
    [(prompt, title)] = store.ask(f"SELECT t.prompt, f.title FROM {facts_of_one}")
    assert "[REDACTED:anthropic-key:" in prompt and SECRET not in title
    [(number,)] = store.ask("SELECT oid FROM pg_database WHERE datname = current_database()")
    data = store.cluster.data
    files = [store.cluster.folder / "log", *data.glob(f"base/{number}/[0-9]*"), *data.glob("pg_wal/0*")]
    held = [path.read_bytes() for path in files]
    assert not any(SECRET.encode() in each for each in held)
    assert sum(b"[REDACTED:anthropic-key:" in each for each in held) >= 2


# -- TLS


def test_a_certificate_is_checked(tmp_path: Path) -> None:
    cluster = Cluster.make(ssl="on")
    try:
        for name in ("ours", "other"):
            authority(tmp_path, name)
        certificate(tmp_path, "ours", cluster.data)
        cluster.start()
        cluster.ask(f"CREATE ROLE ada LOGIN PASSWORD '{PASSWORD}'")
        address = f"postgresql://ada@localhost:{cluster.port}/postgres?sslmode=verify-full&sslrootcert={tmp_path}"
        link = PostgresConnection(f"{address}/ours.crt", PASSWORD)
        with link.use() as connection:
            [found] = connection.execute("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").fetchall()
        link.close()
        assert found == (True,)
        for wrong in (f"{address}/other.crt", f"{address}/ours.crt".replace("localhost", "127.0.0.1")):
            error = failure(wrong)
            assert (error.kind, error.retryable) == ("tls", False)
            assert "sslrootcert" in error.hint
    finally:
        cluster.remove()


def authority(folder: Path, name: str) -> None:
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    out = ("-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.crt")
    run(["openssl", "req", "-x509", *key, *out, "-days", "2", "-subj", f"/CN={name}"])


def certificate(folder: Path, issuer: str, data: Path) -> None:
    """One for localhost, where the server looks for it."""
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    run(["openssl", "req", *key, "-keyout", f"{folder}/s.key", "-out", f"{folder}/s.csr", "-subj", "/CN=localhost"])
    (folder / "names").write_text("subjectAltName=DNS:localhost")
    signer = ("-CA", f"{folder}/{issuer}.crt", "-CAkey", f"{folder}/{issuer}.key", "-CAcreateserial")
    out = ("-out", f"{folder}/s.crt", "-days", "2", "-extfile", f"{folder}/names")
    run(["openssl", "x509", "-req", "-in", f"{folder}/s.csr", *signer, *out])
    from tests.collect.postgres import own

    for source, name in (("s.crt", "server.crt"), ("s.key", "server.key")):
        target = data / name
        target.write_bytes((folder / source).read_bytes())
        target.chmod(0o600)
        own(target)
