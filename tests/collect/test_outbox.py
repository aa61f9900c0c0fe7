"""Sinks: what they are given, once, whatever fails."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from clew.collect.masking import Policy
from clew.collect.sinks.http import HttpSink
from clew.collect.sinks.jsonl import JsonLines
from clew.collect.sinks.outbox import POISON, Delivery, SequenceCursor
from clew.collect.sinks.record import Record
from clew.collect.sinks.rejected import list_rejected, retry_rejected
from clew.errors import StoreError
from tests.collect.collect_fixture import KEY, World, line, session

ONE, TWO = session(1), session(2)
AGENT = f"{ONE.removesuffix('.jsonl')}/subagents/agent-a1b2c3d.jsonl"
WARMUP = b'{"type":"user","isSidechain":true,"message":{"role":"user","content":"Warmup"}}\n'
SECRET = "sk-ant-api03-" + "Zq7" * 12


class Shelf:
    """A sink in memory that can be told to fail."""

    name = "shelf"
    leaves = True

    def __init__(self, fails: Callable[[Sequence[Record]], StoreError | None] = lambda records: None) -> None:
        self.fails = fails
        self.records: list[Record] = []
        self.calls = 0

    def write(self, records: Sequence[Record]) -> None:
        self.calls += 1
        if error := self.fails(records):
            raise error
        self.records += records

    def close(self) -> None:
        pass


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


def deliver(world: World, sink: Any, now: float = 0.0, **options: Any) -> Any:
    cursor = options.pop("cursor", None) or SequenceCursor(world.connection, sink.name)
    return Delivery(sink, cursor, world.connection, Policy(KEY), chance=lambda: 1.0, **options).run(now)


@pytest.mark.req("R314", "R324")
def test_each_line_is_given_once_with_all_that_names_it(world: World) -> None:
    shelf = Shelf()
    world.write(ONE, line(1) + line(2))
    world.write(AGENT, line(3) + line(4))
    world.poll()
    assert deliver(world, shelf).sent == 4
    world.append(ONE, line(5))
    world.poll()
    assert deliver(world, shelf).sent == 1
    assert deliver(world, shelf).sent == 0
    found = [(r.path, r.project, r.session, r.agent, r.line, r.offset, r.raw) for r in shelf.records]
    id, size = Path(ONE).stem, len(line(1))
    assert found == [
        (ONE, "-home-ada-shop", id, "", 1, 0, line(1)[:-1]),
        (ONE, "-home-ada-shop", id, "", 2, size, line(2)[:-1]),
        (AGENT, "-home-ada-shop", id, "a1b2c3d", 1, 0, line(3)[:-1]),
        (AGENT, "-home-ada-shop", id, "a1b2c3d", 2, size, line(4)[:-1]),
        (ONE, "-home-ada-shop", id, "", 3, 2 * size, line(5)[:-1]),
    ]


@pytest.mark.req("R315")
def test_a_failing_sink_gets_everything_at_the_next_try(world: World) -> None:
    is_down = [True]
    shelf = Shelf(lambda records: StoreError("down", "unavailable", True) if is_down[0] else None)
    world.write(ONE, b"".join(line(n) for n in range(1200)))
    world.poll()
    outcome = deliver(world, shelf)
    assert (outcome.sent, str(outcome.error)) == (0, "down")
    is_down[0] = False
    assert deliver(world, shelf).sent == 1200
    assert [r.raw for r in shelf.records] == [line(n)[:-1] for n in range(1200)]


def test_a_sink_that_fails_in_the_middle_keeps_what_it_accepted(world: World) -> None:
    world.write(ONE, b"".join(line(n) for n in range(1200)))
    world.poll()
    shelf = Shelf(lambda records: StoreError("down", "unavailable", True) if records[0].seq > 500 else None)
    assert deliver(world, shelf).sent == 500
    shelf.fails = lambda records: None
    assert deliver(world, shelf).sent == 700
    assert [r.seq for r in shelf.records] == list(range(1, 1201))


def test_a_sink_that_is_down_is_asked_less_and_less_often(world: World) -> None:
    world.write(ONE, line(1))
    world.poll()
    shelf = Shelf(lambda records: StoreError("down", "unavailable", True))
    cursor = SequenceCursor(world.connection, shelf.name)
    delivery = Delivery(shelf, cursor, world.connection, Policy(KEY), chance=lambda: 1.0)
    asked = [now for now in range(100) if delivery.run(float(now)) is not None]
    assert asked == [0, 1, 3, 7, 15, 31, 63]


def test_one_record_that_cannot_be_taken_does_not_stop_the_others(world: World) -> None:
    world.write(ONE, b"".join(line(n) for n in range(100)))
    world.poll()
    bad = line(37)[:-1]
    shelf = Shelf(lambda records: StoreError("no", POISON, False) if bad in [r.raw for r in records] else None)
    outcome = deliver(world, shelf)
    assert (outcome.sent, outcome.rejected, outcome.error) == (99, 1, None)
    assert [r.raw for r in shelf.records] == [line(n)[:-1] for n in range(100) if n != 37]
    assert world.connection.execute("SELECT sink, seq, reason FROM rejected").fetchall() == [("shelf", 38, "no")]


@pytest.mark.req("R321")
def test_a_warmup_stub_is_kept_and_not_delivered_unless_it_goes_on(world: World) -> None:
    shelf = Shelf()
    world.write(ONE, line(1))
    world.write(AGENT, WARMUP)
    world.poll()
    assert deliver(world, shelf).sent == 1
    assert world.kept()[AGENT] == WARMUP
    world.append(AGENT, line(2))
    world.poll()
    assert deliver(world, shelf).sent == 2
    assert [r.raw for r in shelf.records] == [line(1)[:-1], WARMUP[:-1], line(2)[:-1]]
    assert deliver(world, shelf).sent == 0


@pytest.mark.req("R310")
def test_what_is_no_conversation_is_kept_and_not_delivered(world: World) -> None:
    shelf = Shelf()
    folder = ONE.removesuffix(".jsonl")
    kept = {
        ONE: line(1),
        AGENT: line(2),
        "history.jsonl": line(3),
        "stats-cache.json": b'{"version":1}',
        "projects/-home-ada-shop/sessions-index.json": b'{"version":1,"entries":[]}',
    }
    extra = {
        f"{folder}/tool-results/toolu_1.txt": b"long\n",
        f"file-history/{Path(folder).name}/abc@v1": b"old\0",
        f"todos/{Path(folder).name}-agent-{Path(folder).name}.json": b"[]",
        "plans/plan.md": b"# Plan\n",
    }
    ignored = {"shell-snapshots/snapshot.sh": b"export A=1\n", ".credentials.json": b"{}", "settings.json": b"{}"}
    for path, data in {**kept, **extra, **ignored}.items():
        world.write(path, data)
    world.poll()
    assert world.kept() == {**kept, **extra}
    deliver(world, shelf)
    assert {r.path for r in shelf.records} == set(kept)


def test_secrets_are_masked_for_a_sink_and_kept_in_the_archive(world: World) -> None:
    shelf = Shelf()
    said = json.dumps({"type": "user", "message": {"role": "user", "content": f"key {SECRET}"}}).encode() + b"\n"
    world.write(ONE, said + said + b'{"broken ' + SECRET.encode() + b"\n")
    world.poll()
    assert world.kept()[ONE].count(SECRET.encode()) == 3
    assert deliver(world, shelf).sent == 3
    first, second, broken = shelf.records
    assert first.raw == second.raw and b"[REDACTED:anthropic-key:" in (first.raw or b"")
    assert (first.masked, broken.withheld) == (1, "it could not be inspected: JSONDecodeError")
    assert not any(SECRET.encode() in (r.raw or b"") for r in shelf.records)


# -- a file of JSON lines


def test_a_file_gets_each_record_once_even_if_a_crash_left_half_a_batch(world: World, tmp_path: Path) -> None:
    world.write(ONE, b"".join(line(n) for n in range(50)))
    world.poll()
    path = tmp_path / "out.jsonl"
    sink = JsonLines(str(path))
    deliver(world, sink)
    sink.close()
    whole = path.read_bytes()
    for cut in (0, 1, len(whole) // 2, len(whole) - 1, len(whole)):
        path.write_bytes(whole[:cut])
        world.connection.execute("DELETE FROM sink")
        sink = JsonLines(str(path))
        deliver(world, sink)
        sink.close()
        assert path.read_bytes() == whole
    assert [json.loads(row)["raw"] for row in whole.splitlines()] == [line(n)[:-1].decode() for n in range(50)]
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mine", [b'{"mine":1}\n{"mi', b"notes", b'{"seq":1,"host":"h"}\nnotes'])
def test_a_file_of_other_things_is_left_alone(world: World, tmp_path: Path, mine: bytes) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_bytes(mine)
    world.write(ONE, line(1))
    world.poll()
    assert "contains lines that are not records" in str(deliver(world, JsonLines(str(path))).error)
    assert path.read_bytes() == mine


def test_a_file_that_cannot_be_written_is_tried_again(world: World, tmp_path: Path) -> None:
    (tmp_path / "folder").write_bytes(b"no folder")
    world.write(ONE, line(1))
    world.poll()
    sink = JsonLines(str(tmp_path / "folder" / "out.jsonl"))
    assert deliver(world, sink).error.retryable
    (tmp_path / "folder").unlink()
    assert deliver(world, sink).sent == 1


# -- HTTP


class Server:
    """A real server that answers as it is told and keeps what it accepted."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, dict[str, str]]] = []
        self.envelopes: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                code, extra = outer.answers.pop(0) if outer.answers else (200, {})
                outer.headers.append(dict(self.headers))
                if code == 200:
                    outer.envelopes.append(json.loads(gzip.decompress(body)))
                self.send_response(code)
                for name, value in {**extra, "Content-Length": "0"}.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}/in"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def test_an_envelope_holds_a_batch_and_its_name(world: World, server: Server) -> None:
    world.write(ONE, line(1) + line(2))
    world.poll()
    assert deliver(world, HttpSink(server.address, "tok")).sent == 2
    [envelope] = server.envelopes
    host = world.archive.host
    assert {k: v for k, v in envelope.items() if k != "records"} == {
        "clew": 1,
        "source": "claude_code",
        "host": host,
        "first": 1,
        "last": 2,
    }
    assert [record["raw"] for record in envelope["records"]] == [line(1)[:-1].decode(), line(2)[:-1].decode()]
    assert server.headers[0]["Authorization"] == "Bearer tok"
    assert server.headers[0]["Idempotency-Key"] == f"{host}-1-2"


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_busy_server_is_asked_again_after_the_time_it_named(world: World, server: Server, code: int) -> None:
    world.write(ONE, line(1))
    world.poll()
    server.answers = [(code, {"Retry-After": "120"})]
    sink = HttpSink(server.address)
    delivery = Delivery(sink, SequenceCursor(world.connection, sink.name), world.connection, Policy(KEY))
    first = delivery.run(0.0)
    assert first and first.error and first.error.retryable
    assert delivery.run(119.0) is None
    again = delivery.run(120.0)
    assert again and again.sent == 1


def test_a_record_that_the_server_cannot_take_is_put_aside(world: World, server: Server) -> None:
    world.write(ONE, line(1) + line(2))
    world.poll()
    server.answers = [(422, {}), (200, {}), (422, {})]
    outcome = deliver(world, HttpSink(server.address))
    assert (outcome.sent, outcome.rejected) == (1, 1)


@pytest.mark.parametrize("code", [301, 401, 403, 404])
def test_a_server_that_wants_nothing_loses_nothing(world: World, server: Server, code: int) -> None:
    world.write(ONE, line(1))
    world.poll()
    server.answers = [(code, {"Location": server.address})]
    outcome = deliver(world, HttpSink(server.address))
    assert (outcome.sent, outcome.rejected, outcome.error.retryable) == (0, 0, False)
    assert deliver(world, HttpSink(server.address)).sent == 1


def test_a_server_that_is_not_there_is_tried_later(world: World, server: Server) -> None:
    world.write(ONE, line(1))
    world.poll()
    server.close()
    outcome = deliver(world, HttpSink(server.address, timeout=2.0))
    assert outcome.error.retryable
    assert "does not answer" in str(outcome.error)


# -- several sinks, filters, rejected records


def test_a_turn_ends_after_a_batch_and_says_that_more_waits(world: World) -> None:
    world.write(ONE, b"".join(line(number) for number in range(20)))
    world.poll()
    shelf = Shelf()
    cursor = SequenceCursor(world.connection, shelf.name, rows=5)
    delivery = Delivery(shelf, cursor, world.connection, Policy(KEY))
    outcome = delivery.run(0.0, lambda: True)
    assert outcome is not None and (outcome.sent, outcome.is_complete) == (5, False)
    outcome = delivery.run(0.0)
    assert outcome is not None and (outcome.sent, outcome.is_complete) == (15, True)


def test_a_delivery_that_is_complete_waits_as_long_as_configured(world: World) -> None:
    shelf = Shelf()
    world.write(ONE, line(1))
    world.poll()
    delivery = Delivery(shelf, SequenceCursor(world.connection, shelf.name), world.connection, Policy(KEY), every=60.0)
    assert delivery.run(100.0) is not None
    assert delivery.run(159.0) is None
    assert delivery.run(160.0) is not None


def test_what_a_sink_is_not_to_have_is_passed_over(world: World) -> None:
    shelf = Shelf()
    world.write(ONE, line(1))
    world.write(TWO, line(2))
    world.poll()
    id = Path(TWO).stem
    assert deliver(world, shelf, wants=lambda record: record.session == id).sent == 1
    assert [record.session for record in shelf.records] == [id]
    assert deliver(world, shelf).sent == 0


def test_rejected_records_are_listed_and_sent_again(world: World) -> None:
    """Of four records two are poison; later one of these is accepted."""
    bad = {2, 3}
    shelf = Shelf(
        lambda records: StoreError("a poison", POISON, False) if bad & {record.line for record in records} else None
    )
    world.write(ONE, b"".join(line(number) for number in range(4)))
    world.poll()
    delivery = Delivery(shelf, SequenceCursor(world.connection, shelf.name), world.connection, Policy(KEY))
    outcome = delivery.run(0.0)
    assert outcome is not None and (outcome.sent, outcome.rejected) == (2, 2)
    assert [(r.sink, r.path, r.line, r.reason) for r in list_rejected(world.connection)] == [
        ("shelf", ONE, 2, "a poison"),
        ("shelf", ONE, 3, "a poison"),
    ]
    bad.remove(3)
    outcome = retry_rejected(delivery).run(0.0)
    assert outcome is not None and (outcome.sent, outcome.rejected) == (1, 1)
    assert [r.line for r in list_rejected(world.connection)] == [2]
    bad.clear()
    assert retry_rejected(delivery).run(0.0) is not None
    assert list_rejected(world.connection) == []
    assert sorted(record.line for record in shelf.records) == [1, 2, 3, 4]


def test_a_retry_that_fails_forgets_nothing(world: World) -> None:
    errors = [StoreError("a poison", POISON, False), StoreError("away", "unavailable", True)]
    shelf = Shelf(lambda records: errors.pop(0) if errors else None)
    world.write(ONE, line(1))
    world.poll()
    delivery = Delivery(shelf, SequenceCursor(world.connection, shelf.name), world.connection, Policy(KEY))
    delivery.run(0.0)
    outcome = retry_rejected(delivery).run(0.0)
    assert outcome is not None and outcome.error is not None
    assert [r.reason for r in list_rejected(world.connection)] == ["a poison"]
