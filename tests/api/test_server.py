"""The mock over real sockets, asked by plain HTTP."""

from __future__ import annotations

import http.client
import json
import socket
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest

from clew.api.mock.responses import sign
from clew.api.mock.scripts import Fault, MockScript, ScriptRule, ScriptStep
from clew.api.mock.server import MockServer, running
from tests.api.helper import TOOLS, assistant, call, failing, result, steps, text, thinking, user

Json = dict[str, Any]
HEADERS = {"x-api-key": "k", "anthropic-version": "2023-06-01", "content-type": "application/json"}


def send(
    server: MockServer, method: str = "POST", path: str = "/v1/messages", body: Any = None, headers: Json | None = None
) -> tuple[int, dict[str, str], bytes]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
    with closing(http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=20)) as connection:
        connection.request(method, path, data, HEADERS if headers is None else headers)
        with connection.getresponse() as answer:
            said = answer.read()
    return answer.status, {k.lower(): v for k, v in answer.getheaders()}, said


def ask(server: MockServer, *messages: Json, **more: Any) -> tuple[int, Json]:
    body = {"model": "claude-mock", "max_tokens": 99, "messages": list(messages or (user(),)), **more}
    status, _, said = send(server, body=body)
    return status, json.loads(said)


def raw(server: MockServer, request: bytes) -> bytes:
    """Everything that comes back on a connection of its own."""
    host, port = urlsplit(server.url).hostname, urlsplit(server.url).port
    with socket.create_connection((host, port), timeout=20) as made:
        made.sendall(request)
        made.shutdown(socket.SHUT_WR)
        found = b""
        while piece := made.recv(65536):
            found += piece
    return found


def test_the_same_request_gives_the_same_bytes() -> None:
    body = {"model": "m", "max_tokens": 9, "messages": [user("Grüße")], "tools": TOOLS}
    script = steps([{"thinking": "Hm."}, {"tool": "Bash", "input": {"command": "ls"}}])
    said = []
    for _ in range(2):
        with running(script) as server:
            said += [send(server, body={**body, "stream": s})[2] for s in (True, False, True)]
    assert said[0] == said[2] == said[3] == said[5] and said[1] == said[4]


def test_ids_differ_by_what_was_said() -> None:
    with running() as server:
        made = [ask(server, user(t))[1]["id"] for t in "aab"]
    assert made[0] == made[1] != made[2]


def test_a_step_may_say_everything() -> None:
    step = ScriptStep(
        content=[
            "Text.",
            {"redacted": "zzz"},
            {"type": "of_the_future", "x": 1},
            {"thinking": "So.", "signature": "mine"},
        ],
        stop_reason="refusal",
        stop_sequence="END",
        usage={"input_tokens": 190_000},
    )
    with running(steps(step)) as server:
        status, made = ask(server)
    assert status == 200
    assert made["content"] == [
        text("Text."),
        {"type": "redacted_thinking", "data": "zzz"},
        {"type": "of_the_future", "x": 1},
        thinking("So.", "mine"),
    ]
    assert (made["stop_reason"], made["stop_sequence"], made["usage"]["input_tokens"]) == ("refusal", "END", 190_000)


def test_a_call_takes_the_name_that_is_on_offer() -> None:
    with running(steps([{"tool": "Agent|Task", "input": {}}])) as server:
        tools = [{"name": "Task", "input_schema": {"type": "object"}}]
        assert ask(server, tools=tools)[1]["content"][0]["name"] == "Task"
        assert ask(server, tools=TOOLS)[1]["content"][0]["name"] == "Agent"
        assert ask(server)[1]["content"] == [text("ok")]


def test_an_empty_reply() -> None:
    with running(steps([])) as server:
        assert ask(server)[1]["content"] == []


def test_other_doors() -> None:
    with running(MockScript(models=["claude-a"])) as server:
        assert send(server, "HEAD", "/")[0] == 200
        assert send(server, "HEAD", "/anything")[2] == b""
        assert json.loads(send(server, "GET", "/health")[2])["status"] == "ok"
        assert [m["id"] for m in json.loads(send(server, "GET", "/v1/models")[2])["data"]] == ["claude-a"]
        status, _, said = send(server, "GET", "/v2/nothing")
        assert status == 404 and json.loads(said)["error"]["type"] == "not_found_error"
        assert ask(server)[0] == 404


@pytest.mark.parametrize(
    ("headers", "status", "kind"),
    [
        ({}, 401, "authentication_error"),
        ({"x-api-key": "k"}, 400, "invalid_request_error"),
        ({"anthropic-version": "2023-06-01"}, 401, "authentication_error"),
        ({"authorization": "Bearer t", "anthropic-version": "2023-06-01"}, 200, None),
    ],
)
def test_who_asks_must_say_so(headers: Json, status: int, kind: str | None) -> None:
    body = {"model": "m", "max_tokens": 1, "messages": [user()]}
    with running() as server:
        got, _, said = send(server, body=body, headers=headers)
    assert got == status
    assert json.loads(said).get("error", {}).get("type") == kind


def test_only_keys_that_are_named_get_in() -> None:
    with running(MockScript(keys=["right"])) as server:
        body = {"model": "m", "max_tokens": 1, "messages": [user()]}
        for key, status in (("right", 200), ("wrong", 401)):
            assert send(server, body=body, headers={**HEADERS, "x-api-key": key})[0] == status


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b"\xff\xfe"])
def test_a_body_that_is_no_request(body: bytes) -> None:
    with running() as server:
        status, _, said = send(server, body=body)
    assert status == 400 and json.loads(said)["error"]["type"] == "invalid_request_error"


def test_a_body_that_is_too_long_is_not_read() -> None:
    with running() as server:
        head = b"POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999\r\n\r\n"
        assert raw(server, head).startswith(b"HTTP/1.1 413 ")


def test_what_the_api_refuses_is_refused() -> None:
    with running() as server:
        status, said = ask(server, user(), assistant(call()), user("next"))
        assert status == 400 and said["error"]["message"].startswith("messages.1: `tool_use` ids were found without")
        assert server.rows[0]["violations"][0]["rule"] == "unanswered"
        assert ask(server, user(), user())[0] == 200
        assert server.rows[1]["violations"][0]["rule"] == "turns"


def test_advice_is_refused_where_the_script_says_so() -> None:
    with running(MockScript(strict="advice")) as server:
        assert ask(server, user(), user())[0] == 400
    with running(MockScript(strict=False)) as server:
        assert ask(server, user([result()]))[0] == 200


def test_thinking_is_known_by_its_signature() -> None:
    own, foreign = assistant(thinking("Hm.", sign("Hm.")), text("x")), assistant(thinking("Hm.", "abc"), text("x"))
    for signatures, expected in (("any", [200, 200]), ("own", [200, 400])):
        with running(MockScript(signatures=signatures)) as server:  # type: ignore[arg-type]
            assert [ask(server, user(), each, user())[0] for each in (own, foreign)] == expected


def test_a_window_has_an_end() -> None:
    with running(MockScript(window=50)) as server:
        assert ask(server)[0] == 200
        status, said = ask(server, user("word " * 100))
        assert (status, said["error"]["message"]) == (400, "prompt is too long: 129 tokens > 50 maximum")


def test_tokens_are_counted_as_they_are_charged() -> None:
    with running() as server:
        body = {"model": "m", "messages": [user("word " * 100)], "system": "Be kind.", "tools": TOOLS}
        counted = json.loads(send(server, path="/v1/messages/count_tokens?beta=true", body=body)[2])["input_tokens"]
        charged = ask(server, user("word " * 100), system="Be kind.", tools=TOOLS)[1]["usage"]["input_tokens"]
    assert counted == charged > 129


def test_a_fault_passes_for_the_messages_it_was_counted_for() -> None:
    with running(failing(status=529, times=1)) as server:
        statuses = [ask(server, user(t))[0] for t in ("a", "b", "a", "b", "a")]
    assert statuses == [529, 529, 200, 200, 200]


def test_headers_of_a_fault() -> None:
    with running(failing(status=429, retry_after=2.5, should_retry=True, kind="my_error", message="Slow.")) as server:
        status, headers, said = send(server, body={"model": "m", "max_tokens": 1, "messages": [user()]})
    assert (status, headers["retry-after"], headers["x-should-retry"]) == (429, "2.5", "true")
    assert json.loads(said)["error"] == {"type": "my_error", "message": "Slow."}
    assert json.loads(said)["request_id"] == headers["request-id"]


@pytest.mark.parametrize("fault", ["cut", "close", "error", "garbage"])
def test_a_stream_that_breaks_is_charged_for_what_was_told(fault: Any) -> None:
    body = {"model": "m", "max_tokens": 1, "stream": True, "messages": [user()]}
    with running(steps(ScriptStep(content="word " * 9, fault=Fault(stream=fault, after=3)))) as server:
        try:
            send(server, body=body)
        except (http.client.HTTPException, ConnectionError):
            assert fault in ("cut", "close")
        [row] = server.rows
    assert row["complete"] is False and row["usage"]["output_tokens"] == 1


def test_the_ledger_is_kept_told_and_emptied() -> None:
    told: list[Json] = []
    with running(steps("Hello."), note=told.append) as server:
        ask(server)
        ask(server, user([result()]))
        _, headers, said = send(server, "GET", "/ledger")
        rows = [json.loads(line) for line in said.splitlines()]
        assert headers["content-type"] == "application/jsonl"
        assert rows == server.rows
        assert [(r["n"], r["status"], r["complete"]) for r in rows] == [(1, 200, True), (2, 400, True)]
        assert rows[0]["usage"]["output_tokens"] > 0 and rows[1]["usage"] is None
        assert "body" not in rows[0] and "k" not in json.dumps(rows[0]["rule"])
        send(server, "DELETE", "/ledger")
        assert send(server, "GET", "/ledger")[2] == b""
    assert told == rows


def test_bodies_are_kept_only_if_asked_for() -> None:
    with running(keeps_bodies=True) as server:
        ask(server, user("Grüße"))
        send(server, body=b"nonsense")
        assert server.rows[0]["body"]["messages"] == [user("Grüße")]
        assert server.rows[1]["body"] == "nonsense"
        assert "x-api-key" not in json.dumps(server.rows)


def test_the_cache_is_played() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    hour = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    long, short = text("word " * 1000), text("more")
    with running(MockScript(cache=True)) as server:

        def charged(*messages: Json) -> tuple[int, int, int]:
            usage = ask(server, *messages)[1]["usage"]
            kinds = usage["cache_creation"]
            assert sum(kinds.values()) == usage["cache_creation_input_tokens"]
            return usage["input_tokens"], usage["cache_creation_input_tokens"], usage["cache_read_input_tokens"]

        plain, written, read = charged(user([long | mark, short]))
        assert plain > 0 and written > 1000 and read == 0
        assert charged(user([long | mark, short])) == (plain, 0, written)
        grown = charged(user([long, short]), assistant(text("x")), user([text("y") | mark]))
        assert grown[2] == written and grown[1] > 0 and grown[0] == 0
        assert charged(user([text("Word " * 1000) | mark]))[2] == 0
        assert charged(user([short | mark]))[1] == 0
        ask(server, user([text("hour " * 1000) | hour]))
        assert server.rows[-1]["usage"]["cache_creation"]["ephemeral_1h_input_tokens"] > 1000


def test_one_connection_serves_many_requests() -> None:
    body = json.dumps({"model": "m", "max_tokens": 1, "messages": [user()], "stream": True}).encode()
    with running() as server:
        connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=20)
        for _ in range(3):
            connection.request("POST", "/v1/messages", body, HEADERS)
            answer = connection.getresponse()
            assert answer.read().endswith(b'{"type":"message_stop"}\n\n')
        connection.close()


def test_bodies_may_come_in_chunks() -> None:
    body = json.dumps({"model": "m", "max_tokens": 1, "messages": [user("Grüße")]}).encode()
    with running() as server:
        connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=20)
        pieces = [body[i : i + 7] for i in range(0, len(body), 7)]
        connection.request("POST", "/v1/messages", iter(pieces), HEADERS, encode_chunked=True)
        assert json.loads(connection.getresponse().read())["content"] == [text("Grüße")]
        connection.close()


def test_a_client_may_ask_whether_to_go_on() -> None:
    body = json.dumps({"model": "m", "max_tokens": 1, "messages": [user()]}).encode()
    head = b"POST /v1/messages HTTP/1.1\r\nexpect: 100-continue\r\nx-api-key: k\r\nanthropic-version: 1\r\n"
    with running() as server:
        said = raw(server, head + b"content-length: %d\r\n\r\n" % len(body) + body)
    assert said.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"nonsense\r\n\r\n",
        b"GET /\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: ten\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: 10\r\n\r\nabc",
        b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"POST / HTTP/1.1\r\n" + b"x: y\r\n" * 20_000 + b"\r\n",
        b"half a requ",
    ],
)
def test_what_is_no_request_is_refused(request_bytes: bytes) -> None:
    with running() as server:
        assert raw(server, request_bytes).startswith(b"HTTP/1.1 400 ")
        assert raw(server, b"") == b""
        assert ask(server)[0] == 200


def test_a_port_in_use_is_an_error_of_the_system() -> None:
    with running() as server:
        port = urlsplit(server.url).port
        with pytest.raises(OSError), running(port=port):
            pass


def test_rules_by_model_answer_side_requests_apart() -> None:
    script = MockScript(rules=[ScriptRule(tools=False, steps=["A title"]), ScriptRule(steps=["Main."])])
    with running(script) as server:
        assert ask(server)[1]["content"] == [text("A title")]
        assert ask(server, tools=TOOLS)[1]["content"] == [text("Main.")]
