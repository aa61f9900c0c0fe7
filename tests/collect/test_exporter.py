"""Spans: received by a server that decodes the protobuf, whole, nested, and the same however often they are sent."""

from __future__ import annotations

import gzip
import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from shutil import rmtree
from typing import Any
from uuid import UUID

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from clew.cli import main
from clew.collect.masking import Policy
from clew.collect.sinks.otlp.exporter import OtlpSink
from clew.collect.sinks.otlp.span_cursor import QUIET_NS, SpanCursor
from clew.collect.sinks.outbox import Delivery, DeliveryOutcome
from clew.conversation.session import Session
from clew.demo.demo_tree import write_demo
from clew.demo.talk import Talk, talk
from clew.demo.tool_inputs import bash, task
from clew.errors import StoreError
from clew.facts.prices import load
from clew.facts.token_usage import usage
from tests.collect.collect_fixture import KEY, PROJECT, World

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
ID = "3f2a0c5e-0000-4000-8000-000000000001"
SECRET = "sk-ant-api03-" + "Zx9" * 31 + "AA"
LATER = 4 * 10**18  # nanoseconds since 1970: long after every file


class Receiver:
    """Takes OTLP over HTTP as a collector does, and keeps the spans in the order in which they came."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.resources: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.answers: list[tuple[int, bytes]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                packed = self.rfile.read(int(self.headers["Content-Length"]))
                code, body = outer.answers.pop(0) if outer.answers else (200, b"")
                outer.headers.append({**dict(self.headers), "path": self.path})
                if code == 200:
                    outer.take(ExportTraceServiceRequest.FromString(gzip.decompress(packed)))
                self.send_response(code)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"otlp+http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def take(self, request: ExportTraceServiceRequest) -> None:
        for resource in request.resource_spans:
            self.resources.append({pair.key: plain(pair.value) for pair in resource.resource.attributes})
            for scope in resource.scope_spans:
                self.spans.extend(scope.spans)

    @property
    def unique(self) -> dict[tuple[bytes, bytes], bytes]:
        """The bytes of each span by its ids; equal ids with other bytes fail."""
        found: dict[tuple[bytes, bytes], bytes] = {}
        for span in self.spans:
            data = span.SerializeToString(deterministic=True)
            assert found.setdefault((span.trace_id, span.span_id), data) == data, span.name
        return found

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def plain(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    return [plain(each) for each in value.array_value.values] if kind == "array_value" else getattr(value, str(kind))


def attributes(span: Span) -> dict[str, Any]:
    return {pair.key: plain(pair.value) for pair in span.attributes}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


def send(
    world: World, receiver: Receiver, address: str = "", clock: int = LATER, policy: Policy | None = None
) -> DeliveryOutcome:
    sink = OtlpSink(address or receiver.address)
    cursor = SpanCursor(world.connection, sink.name, load(), sink.content, clock=lambda: clock)
    outcome = Delivery(sink, cursor, world.connection, policy or Policy(KEY)).run(0.0)
    sink.close()
    assert outcome is not None
    return outcome


def write(world: World, said: Talk) -> Path:
    said.write(world.root)
    world.poll()
    return next(world.root.rglob(f"{said.session_id}.jsonl"))


def write_tree(world: World) -> None:
    rmtree(world.root)
    write_demo(world.root, NOW)
    world.poll()


def story() -> Talk:
    child = talk(seed=2).user("look").reply("I look.", call=bash("ls")).result("a.py").reply("There is a.py.")
    asked = talk(ID).user("What is here?").reply("I ask.", call=task("Find files", "look", "Explore"))
    done = asked.agent(None, child, agent_id="a1b2c3d4e5f6a7b89", agent_type="Explore")
    return done.reply("Now run.", call=bash("make")).result("no rule", error=True).reply("It fails.").user("Thanks")


def test_a_session_is_a_trace_with_agents_below_their_calls(world: World, receiver: Receiver) -> None:
    write(world, story())
    assert send(world, receiver).error is None
    named = defaultdict(list)
    for span in receiver.spans:
        named[span.name.split()[0], span.name.split()[1]].append(span)
        assert span.trace_id == UUID(ID).bytes
        assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano
    first, last = named["invoke_agent", "claude-code"]
    [agent] = named["invoke_agent", "Explore"]
    [call] = named["execute_tool", "Agent"]
    assert (first.parent_span_id, last.parent_span_id, agent.parent_span_id) == (b"", b"", call.span_id)
    by_id = {span.span_id: span for span in receiver.spans}
    assert by_id[call.parent_span_id].name.startswith("chat ")
    assert by_id[by_id[call.parent_span_id].parent_span_id] is first
    inner, outer = named["execute_tool", "Bash"], {}
    for tool in inner:
        chat = by_id[tool.parent_span_id]
        outer[by_id[chat.parent_span_id].name] = tool
    assert set(outer) == {"invoke_agent claude-code", "invoke_agent Explore"}
    failed = outer["invoke_agent claude-code"]
    assert (failed.status.code, attributes(failed)["error.type"]) == (Status.STATUS_CODE_ERROR, "tool_error")
    assert outer["invoke_agent Explore"].status.code == Status.STATUS_CODE_UNSET
    assert attributes(agent)["gen_ai.agent.id"] == "a1b2c3d4e5f6a7b89"
    assert receiver.resources[0]["service.name"] == "claude-code"
    assert {span.kind for span in receiver.spans if span.name.startswith("chat")} == {Span.SPAN_KIND_CLIENT}


def test_usage_and_cost_are_those_of_the_report(world: World, receiver: Receiver) -> None:
    path = write(world, story())
    send(world, receiver)
    chats = [attributes(span) for span in receiver.spans if span.name.startswith("chat ")]
    files = [path, *path.parent.rglob("agent-*.jsonl")]
    spent = {key: spend for file in files for key, spend in usage(Session(file).entries).own.items()}
    assert len(chats) == len(spent) == 5
    assert sum(chat["gen_ai.usage.output_tokens"] for chat in chats) == sum(s.count.output for s in spent.values())
    assert sum(chat["gen_ai.usage.input_tokens"] for chat in chats) == sum(s.count.prompt for s in spent.values())
    assert all(chat["clew.cost.usd"] > 0 and chat["gen_ai.provider.name"] == "anthropic" for chat in chats)
    assert {tuple(chat["gen_ai.response.finish_reasons"]) for chat in chats} == {("tool_use",), ("end_turn",)}


def test_what_is_sent_again_is_the_same(world: World, receiver: Receiver) -> None:
    write_tree(world)
    sent = send(world, receiver).sent
    assert sent == len(receiver.unique) == len(receiver.spans) > 500
    world.connection.execute("DELETE FROM sink")
    world.connection.execute("DELETE FROM told")
    assert send(world, receiver).sent == sent
    assert len(receiver.unique) == sent
    parents = {span.parent_span_id for span in receiver.spans} - {b""}
    assert parents <= {span.span_id for span in receiver.spans}


@pytest.mark.parametrize("seed", range(4))
def test_the_order_in_which_lines_are_seen_does_not_matter(receiver: Receiver, seed: int) -> None:
    """Files that grow side by side, a few lines or half a line at a time, give the spans that the whole gives."""
    chance, whole, grown = Random(seed), World(), World()
    try:
        write(whole, story())
        files = {p.relative_to(whole.root): p.read_bytes() for p in whole.root.rglob("*") if p.is_file()}
        send(whole, receiver)
        expected, receiver.spans = receiver.unique, []
        written = dict.fromkeys(files, 0)
        while any(written[name] < len(data) for name, data in files.items()):
            name = chance.choice([n for n, data in files.items() if written[n] < len(data)])
            end = len(files[name]) if name.suffix == ".json" else written[name] + chance.randrange(1, 4000)
            grown.append(str(name), files[name][written[name] : end])
            written[name] = min(end, len(files[name]))
            grown.poll()
            send(grown, receiver, clock=0)
        send(grown, receiver)
        assert receiver.unique == expected
        assert len(receiver.spans) == len(expected), "each span is sent once, when it is final"
    finally:
        whole.close()
        grown.close()


def test_an_open_turn_is_sent_when_it_is_closed_or_left_alone(world: World, receiver: Receiver) -> None:
    said = talk(ID).user("Go").reply("I go.", call=bash("sleep 9"))
    path = write(world, said)
    send(world, receiver, clock=path.stat().st_mtime_ns)
    assert send(world, receiver, clock=path.stat().st_mtime_ns + QUIET_NS).sent == 0
    assert receiver.spans == []
    assert send(world, receiver, clock=path.stat().st_mtime_ns + QUIET_NS + 1).sent == 3
    assert [attributes(span).get("error.type") for span in receiver.spans] == [None, None, "no_result"]
    assert send(world, receiver).sent == 0
    longer = said.result("ok").reply("Done.").user("More").bytes()
    world.append(str(path.relative_to(world.root)), longer[path.stat().st_size :])
    world.poll()
    receiver.spans = []
    assert send(world, receiver, clock=0).sent == 4
    assert [span.name.split()[0] for span in receiver.spans] == ["invoke_agent", "chat", "chat", "execute_tool"]


def test_nothing_is_lost_or_repeated_when_the_receiver_fails(world: World, receiver: Receiver) -> None:
    write_tree(world)
    receiver.answers = [(200, b""), (503, b"")]
    outcome = send(world, receiver)
    assert outcome.error and outcome.error.retryable
    assert send(world, receiver).error is None
    assert len(receiver.spans) == len(receiver.unique)


def test_a_span_that_is_not_taken_is_put_aside(world: World, receiver: Receiver) -> None:
    write(world, talk(ID).user("Hi").reply("Hello"))
    partial = ExportTraceServiceResponse(
        partial_success=ExportTracePartialSuccess(rejected_spans=1, error_message="too old")
    ).SerializeToString()
    receiver.answers = [(200, partial), (200, b""), (200, partial)]
    outcome = send(world, receiver)
    assert (outcome.sent, outcome.rejected) == (1, 1)
    assert "too old" in str(world.connection.execute("SELECT reason FROM rejected").get)


def test_words_are_told_only_if_asked_for_and_without_secrets(world: World, receiver: Receiver) -> None:
    said = talk(ID).user(f"Use {SECRET}").reply("I do.", call=bash(f"curl -H {SECRET}")).result(SECRET).reply("Done.")
    write(world, said)
    send(world, receiver)
    assert b"Use" not in b"".join(receiver.unique.values())
    receiver.spans = []
    world.connection.execute("DELETE FROM sink")
    send(world, receiver, f"{receiver.address}/otel/v1/traces?content=yes")
    sent = b"".join(receiver.unique.values())
    assert SECRET.encode() not in sent and b"[REDACTED:anthropic-key:" in sent
    turn = attributes(receiver.spans[0])
    assert turn["gen_ai.input.messages"].startswith('[{"role":"user","parts":[{"type":"text","content":"Use [RED')
    assert "Done." in turn["gen_ai.output.messages"]
    assert [header["path"] for header in receiver.headers] == ["/v1/traces", "/otel/v1/traces"]


def test_headers_come_from_the_environment_of_opentelemetry(world: World, receiver: Receiver) -> None:
    write(world, talk(ID).user("Hi").reply("Hello"))
    sink = OtlpSink(receiver.address, headers="Authorization=Basic%20abc,X-Scope=7")
    cursor = SpanCursor(world.connection, sink.name, load(), clock=lambda: LATER)
    Delivery(sink, cursor, world.connection, Policy(KEY)).run(0.0)
    sink.close()
    [headers] = receiver.headers
    assert (headers["Authorization"], headers["X-Scope"]) == ("Basic abc", "7")
    assert headers["Content-Type"] == "application/x-protobuf"
    with pytest.raises(StoreError, match="unencrypted"):
        OtlpSink("otlp+http://collector.example.org", headers="Authorization=Basic%20abc")


def test_a_call_whose_result_alone_names_its_agent(world: World, receiver: Receiver) -> None:
    """Before 2.1.80 there is no meta file: the agent's run waits until the call is known, in whichever order they come."""
    child = talk(seed=2, version="2.1.20").user("look").reply("There is a.py.")
    said = talk(ID, version="2.1.20").user("Look").reply("I ask.", call=task("Find files", "look", "Explore"))
    write(world, said.agent(None, child, agent_id="a1b2c3d").reply("Done."))
    send(world, receiver)
    by_id = {span.span_id: span for span in receiver.spans}
    [run] = [span for span in receiver.spans if attributes(span).get("gen_ai.agent.id")]
    assert by_id[run.parent_span_id].name == "execute_tool Task"


def test_tokens_of_a_copied_reply_are_told_where_it_was_made(world: World, receiver: Receiver) -> None:
    line = talk(ID).user("Hi").reply("Hello").bytes()
    copied = line.replace(
        b'"isSidechain":false', b'"forkedFrom":{"sessionId":"x","messageUuid":"y"},"isSidechain":false'
    )
    world.write(f"{PROJECT}/{ID}.jsonl", copied)
    world.poll()
    send(world, receiver)
    [chat] = [attributes(span) for span in receiver.spans if span.name.startswith("chat ")]
    assert "gen_ai.usage.output_tokens" not in chat and "gen_ai.response.id" in chat


def test_spans_go_where_the_command_line_says(
    world: World,
    receiver: Receiver,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(world, story())
    for path in world.root.rglob("*.jsonl"):
        os.utime(path, (0, 0))
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "X-Key=7")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert main(["collect", "--to", receiver.address, "--claude-dir", str(world.root)]) == 0
    assert f"{len(receiver.unique)} records went to {receiver.address}/v1/traces" in capsys.readouterr().out
    assert len(receiver.spans) > 10 and receiver.headers[0]["X-Key"] == "7"
    assert main(["collect", "--to", receiver.address, "--claude-dir", str(world.root)]) == 0
    assert len(receiver.spans) == len(receiver.unique)
