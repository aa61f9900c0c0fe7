"""Erase people, projects, sessions and texts from a PostgreSQL store: gone from every byte, and not sent again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import run

import pytest

from clew.cli import main
from clew.collect.config import SinkConfig
from clew.collect.identity import Owner, save_owner
from clew.collect.job import CollectJob, open_collector
from clew.collect.sinks.address import deliveries
from clew.collect.sinks.outbox import DeliveryOutcome, SequenceCursor
from tests.collect.collect_fixture import World, session
from tests.collect.postgres import PASSWORD, Store, needed
from tests.collect.test_tables import said

Run = Callable[..., tuple[int, str, str]]
SHOP, GARDEN = "projects/-home-ada-shop", "projects/-home-ada-garden"
SECRET = "Tulip-Rhapsody-77"


@pytest.fixture
def worlds() -> Iterator[dict[str, World]]:
    """Two people, each with an archive."""
    made = {name: World() for name in ("ada", "ben")}
    yield made
    for world in made.values():
        world.close()


@pytest.fixture
def clew(store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Type a command as the owner of the store."""
    for name in ("DATA", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    owner = f"postgresql://postgres@/{store.name}?host={store.cluster.folder}&port={store.cluster.port}"

    def typed(*words: str) -> tuple[int, str, str]:
        code = main([*words, "--to", owner])
        return code, *capsys.readouterr()

    return typed


def send(world: World, store: Store, user: str, *, again: bool = False) -> list[DeliveryOutcome]:
    """Poll and send, as `clew collect` and `clew collect resend` do."""
    (world.folder / "password").write_text(PASSWORD)
    world.connection.close()
    sink = SinkConfig(store.address(user), token_file=str(world.folder / "password"))
    try:
        with open_collector(CollectJob(str(world.root), world.path)) as collector:
            save_owner(collector.connection, Owner(f"{user}@example.com", f"{user}-laptop", "team"))
            with deliveries(collector, [sink]) as waiting:
                collector.poll()
                if again:
                    SequenceCursor(collector.connection, waiting[0].sink.name).resend()
                outcomes = [delivery.run(0.0) for delivery in waiting]
    finally:
        world.connection = world.open()
    assert all(each is not None and each.error is None and not each.rejected for each in outcomes)
    return [each for each in outcomes if each is not None]


def fill(worlds: dict[str, World], store: Store) -> None:
    for number, (user, world) in enumerate(worlds.items()):
        world.write(session(1, SHOP), said(100 * number, f"{user} asks about {SECRET}") + said(100 * number + 1))
        world.write(session(2, GARDEN), said(100 * number + 10, f"{user} waters"))
        history = {"display": f"{user} waters", "timestamp": 1_780_000_000_000, "project": "/home/ada/garden"}
        world.write("history.jsonl", json.dumps(history).encode() + b"\n")
        send(world, store, user)


def dump(store: Store) -> bytes:
    address = f"postgresql://postgres@/{store.name}?host={store.cluster.folder}&port={store.cluster.port}"
    script = run([needed() / "pg_dump", "--inserts", "--no-sync", address], capture_output=True, check=True).stdout
    return b"".join(decode_bytea(line) + b"\n" for line in script.splitlines())


def decode_bytea(line: bytes) -> bytes:
    """A line of a dump, with its raw lines in plain text."""
    return b"'".join(bytes.fromhex(part[2:].decode()) if part.startswith(rb"\x") else part for part in line.split(b"'"))


def files_of(store: Store) -> bytes:
    """Every byte of the tables in the files of the server."""
    store.ask("CHECKPOINT")
    [(number,)] = store.ask("SELECT oid FROM pg_database WHERE datname = current_database()")
    paths = store.cluster.data.glob(f"base/{number}/[0-9]*")
    return b"".join(path.read_bytes() for path in paths if path.is_file())


def count(store: Store, table: str, where: str = "true") -> int:
    return int(store.ask(f"SELECT count(*) FROM clew.{table} WHERE {where}")[0][0])


def test_a_text_is_in_no_byte_and_does_not_come_back(worlds: dict[str, World], store: Store, clew: Run) -> None:
    fill(worlds, store)
    assert SECRET.encode() in dump(store)
    before = {table: count(store, table) for table in ("line", "fact_turn", "fact_file")}
    code, out, _ = clew("collect", "erase", "--text", SECRET, "--dry-run", "--json")
    report = json.loads(out)
    assert code == 0 and not report["erased"]
    assert report["tables"] == {
        "line": {"deleted": 0, "changed": 2},
        "fact_file": {"deleted": 0, "changed": 2},
        "fact_turn": {"deleted": 0, "changed": 2},
    }
    assert SECRET.encode() in dump(store) and count(store, "erased") == 0
    code, _, err = clew("collect", "erase", "--text", SECRET)
    assert code == 2 and "no terminal is there to ask" in err
    assert clew("collect", "erase", "--text", SECRET, "--yes", "--now")[0] == 0
    assert SECRET.encode() not in dump(store) and SECRET.encode() not in files_of(store)
    assert {table: count(store, table) for table in before} == before
    assert store.ask("SELECT prompt FROM clew.turns WHERE turn = 1 AND project LIKE '%shop' ORDER BY 1") == [
        ("ada asks about [ERASED]",),
        ("ben asks about [ERASED]",),
    ]
    worlds["ada"].append(session(1, SHOP), said(2))
    for user, world in worlds.items():
        send(world, store, user)
        send(world, store, user, again=True)
        world.connection.execute("DELETE FROM sink")  # as after a backup was put back
        send(world, store, user)
    assert SECRET.encode() not in dump(store)
    assert count(store, "fact_turn", "prompt LIKE 'ada%'") == 1
    assert count(store, "line", "session LIKE '%1' AND start > 0") >= 5


def test_a_person_is_gone_and_stays_gone(worlds: dict[str, World], store: Store, clew: Run) -> None:
    fill(worlds, store)
    code, out, _ = clew("collect", "erase", "--developer", "ada@example.com", "--yes", "--now", "--json")
    report = json.loads(out)
    assert (code, report["erased"]) == (0, True)
    assert {table: rows["deleted"] for table, rows in report["tables"].items()} == {
        "line": 7, "fact_file": 2, "fact_turn": 3, "fact_reply": 3
    }  # fmt: skip
    stored = dump(store) + files_of(store)
    for word in (b"ada@example.com", b"ada asks", b"ada waters", b"ada-laptop"):
        assert word not in stored
    assert count(store, "line") == 7 and b"ben waters" in stored
    world = worlds["ada"]
    world.append(session(2, GARDEN), said(11, "ada waters again"))
    world.write(session(3, GARDEN), said(12, "ada digs"))
    assert send(world, store, "ada")[0].note == ""
    send(world, store, "ada", again=True)
    assert b"ada@example.com" not in dump(store) and b"ada digs" not in dump(store)
    assert send(world, store, "ada")[0].sent == 0  # nothing waits
    send(worlds["ben"], store, "ben", again=True)
    assert count(store, "line") == 7 and count(store, "fact_turn") == 3


@pytest.mark.parametrize(
    ("words", "gone", "kept"),
    [
        (("--project", "garden"), b"waters", SECRET.encode()),
        (("--project", "-home-ada-garden"), b"waters", SECRET.encode()),
        (("3f2a0c5e-0000-4000-8000-000000000001",), SECRET.encode(), b"waters"),
    ],
)
def test_a_project_or_a_session_is_gone(
    worlds: dict[str, World], store: Store, clew: Run, words: tuple[str, ...], gone: bytes, kept: bytes
) -> None:
    fill(worlds, store)
    assert clew("collect", "erase", *words, "--yes")[0] == 0
    for user, world in worlds.items():
        send(world, store, user, again=True)
    assert gone not in dump(store) and kept in dump(store)
    worlds["ada"].write(session(4, SHOP), said(40, "ada goes on"))
    send(worlds["ada"], store, "ada")
    assert b"ada goes on" in dump(store)


def test_an_archive_is_erased_by_its_name(worlds: dict[str, World], store: Store, clew: Run) -> None:
    fill(worlds, store)
    host = worlds["ben"].archive.host
    assert clew("collect", "erase", "--host", host, "--yes")[0] == 0
    assert b"ben waters" not in dump(store) and b"ada waters" in dump(store)


def test_what_is_not_there_is_an_error_and_what_is_ambiguous_too(
    worlds: dict[str, World], store: Store, clew: Run
) -> None:
    fill(worlds, store)
    for words in (("--developer", "eve@example.com"), ("--text", "nowhere-at-all"), ("--project", "attic"), ("ffff",)):
        code, _, err = clew("collect", "erase", *words, "--yes")
        assert code != 0 and words[-1] in err
    code, _, err = clew("collect", "erase", "3f2a", "--yes")
    assert code == 2 and "write more of it" in err
    assert count(store, "erased") == 0


def test_a_text_in_the_name_of_a_project_is_reported(worlds: dict[str, World], store: Store, clew: Run) -> None:
    fill(worlds, store)
    code, _, err = clew("collect", "erase", "--text", "garden", "--yes")
    assert code == 0 and "in a path, project or branch" in err


def test_only_the_owner_erases(worlds: dict[str, World], store: Store, tmp_path: Path) -> None:
    fill(worlds, store)
    (tmp_path / "password").write_text(PASSWORD)
    for user in ("ada", "rio"):
        words = ["collect", "erase", "--text", SECRET, "--yes", "--to", store.address(user)]
        assert main([*words, "--token-file", str(tmp_path / "password")]) == 2
    assert count(store, "erased") == 0 and SECRET.encode() in dump(store)


def test_rows_that_are_blocked_count_as_sent_and_not_as_rejected(
    worlds: dict[str, World], store: Store, clew: Run
) -> None:
    fill(worlds, store)
    assert clew("collect", "erase", "--project", "garden", "--yes")[0] == 0
    world = worlds["ada"]
    world.append(session(2, GARDEN), said(11))
    lines, facts = send(world, store, "ada")
    assert (lines.sent, lines.rejected, facts.rejected) == (2, 0, 0)
    assert world.connection.execute("SELECT count(*) FROM rejected").get == 0
    assert os.path.exists(world.path)
