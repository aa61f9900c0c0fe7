"""The client against the mock, over real sockets: every row of the table of failures, aborting, and accounting."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from clew.api.client import Broken, Client, LeftOut, Resend, Retrying, Switched
from clew.api.endpoint import PROFILES, Endpoint
from clew.api.mock.scripts import Fault, MockScript, ScriptRule, ScriptStep
from clew.api.mock.server import running
from clew.api.request_body import Capability
from clew.api.retry import Retry, classify_response
from clew.api.stream_assembly import BlockComplete, BlockDelta, ReplyFinished, ReplyStarted
from clew.errors import ApiError
from clew.system.extras import install_hint
from tests.api.helper import (
    TOOLS,
    ask,
    assistant,
    call,
    client,
    done,
    failing,
    result,
    steps,
    stream,
    text,
    thinking,
    usages,
    user,
)

TRANSIENT = (408, 409, 429, 500, 502, 503, 504, 529)
RESENDS: tuple[Resend, ...] = ("start", "block", "end")
FINAL = (400, 401, 402, 403, 404, 405, 413, 422)


# -- what is asked again


@pytest.mark.parametrize("status", TRANSIENT)
def test_a_passing_failure_is_asked_again(status: int) -> None:
    with running(failing(status=status, times=2)) as server:
        told = stream(server)
        assert [row["status"] for row in server.rows] == [status, status, 200]
    assert told.error is None
    assert told.of(ReplyFinished)[0].reply.text == "Recovered."
    assert told.slept == [0.5 * 1.125, 1.0 * 1.125]
    assert [(r.number, r.of, r.error.status) for r in told.of(Retrying)] == [(1, 10, status), (2, 10, status)]


@pytest.mark.parametrize("status", FINAL)
def test_a_failure_with_a_cause_is_told_at_once(status: int) -> None:
    with running(failing(status=status, message="Because.")) as server:
        told = stream(server)
        assert len(server.rows) == 1
    assert told.slept == []
    assert told.error is not None and told.error.status == status
    assert str(told.error) == "Because."
    assert told.names == ["Broken"]


def test_after_ten_repetitions_it_is_enough() -> None:
    with running(failing(status=529)) as server:
        told = stream(server)
        assert len(server.rows) == 11
    assert told.error is not None and (told.error.kind, told.error.status) == ("overloaded_error", 529)
    assert told.error.hint
    assert told.slept == [d * 1.125 for d in (0.5, 1, 2, 4, 8, 16, 32, 32, 32, 32)]


@given(st.integers(1, 10), st.floats(0, 1, exclude_max=True))
def test_a_wait_grows_is_capped_and_spread(number: int, chance: float) -> None:
    plain = min(0.5 * 2 ** (number - 1), 32)
    wait = Retry().wait(number, ApiError("x", "api_error", 500), lambda: chance)
    assert wait is not None and plain <= wait <= plain * 1.25
    assert Retry().wait(11, ApiError("x", "api_error", 500), lambda: chance) is None


def test_the_server_may_say_how_long_to_wait() -> None:
    with running(failing(status=429, times=1, retry_after=7)) as server:
        told = stream(server)
    assert told.slept == [7.0]
    assert told.of(Retrying)[0].error.retry_after == 7.0


def test_a_wait_beyond_patience_is_a_failure_that_says_when() -> None:
    with running(failing(status=429, times=1, retry_after=7200)) as server:
        told = stream(server)
    assert told.slept == []
    assert told.error is not None and (told.error.status, told.error.retry_after) == (429, 7200.0)


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:27:00 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_forms_of_retry_after(headers: dict[str, str], wait: float | None) -> None:
    assert classify_response(429, headers, b"").error.retry_after == wait


@pytest.mark.parametrize(
    ("status", "wish", "tries"), [(529, False, 1), (500, False, 1), (400, True, 2), (403, True, 2)]
)
def test_what_the_server_wishes_wins(status: int, wish: bool, tries: int) -> None:
    with running(failing(status=status, times=1, should_retry=wish)) as server:
        told = stream(server)
        assert len(server.rows) == tries
    assert (told.error is None) == wish


def test_a_server_that_is_not_there() -> None:
    with running() as server:
        pass
    told = stream(server, retry=Retry(tries=2))
    assert told.error is not None and told.error.kind == "connection"
    assert server.url in str(told.error)
    assert len(told.slept) == 2


def test_a_connection_closed_without_a_word_is_asked_again() -> None:
    with running(failing(stream="close", after=0, times=1)) as server:
        told = stream(server)
    assert told.error is None
    assert told.names == ["Retrying", "ReplyStarted", "BlockDelta", "BlockComplete", "ReplyFinished"]


# -- what goes wrong inside a stream

AMID = {"cut": "connection", "garbage": "protocol", "error": "overloaded_error"}


@pytest.mark.parametrize(("fault", "kind"), AMID.items())
def test_a_stream_that_breaks_before_a_block_is_asked_again(fault: Any, kind: str) -> None:
    with running(failing(stream=fault, after=4, times=1)) as server:
        told = stream(server)
        assert [row["complete"] for row in server.rows] == [False, True]
    assert told.error is None
    assert told.names[:4] == ["ReplyStarted", "BlockDelta", "Retrying", "ReplyStarted"]
    assert told.of(Retrying)[0].error.kind == kind
    assert told.of(ReplyFinished)[0].reply.text == "Recovered."


@pytest.mark.parametrize(("fault", "kind"), AMID.items())
def test_a_stream_that_breaks_behind_a_block_is_not(fault: Any, kind: str) -> None:
    content: list[Any] = ["First.", {"tool": "Bash", "input": {"command": "ls"}}]
    script = steps(ScriptStep(content=content, fault=Fault(stream=fault, after=9, times=1)))
    with running(script) as server:
        told = stream(server, ask(tools=TOOLS))
        assert len(server.rows) == 1
        assert told.of(Broken)[0].so_far.usage == server.rows[0]["usage"]
    assert told.error is not None and told.error.kind == kind
    assert told.names[-2:] == ["BlockDelta", "Broken"] or told.names[-2:] == ["BlockComplete", "Broken"]
    assert told.of(Broken)[0].so_far.content == [text("First.")]


def test_nothing_is_asked_again_once_content_is_out_unless_the_caller_says_so() -> None:
    for resend, tries in zip(RESENDS, (1, 2, 2), strict=True):
        with running(failing(stream="cut", after=4, times=1)) as server:
            stream(server, resend=resend)
            assert len(server.rows) == tries
    script = steps(ScriptStep(content=["One.", "Two."], fault=Fault(stream="cut", after=9, times=1)))
    for resend, tries in zip(RESENDS, (1, 1, 2), strict=True):
        with running(script) as server:
            stream(server, resend=resend)
            assert len(server.rows) == tries


def test_a_stream_that_breaks_before_any_content_is_asked_again_by_all() -> None:
    for resend in RESENDS:
        with running(failing(stream="cut", after=2, times=1)) as server:
            told = stream(server, resend=resend)
        assert told.error is None


def test_an_early_error_event_is_asked_again_once_without_a_stream() -> None:
    with running(failing(stream="error", after=1, times=3)) as server:
        told = stream(server)
        assert [row["stream"] for row in server.rows] == [True, False]  # what fails inside streams does not fail there
    assert told.of(ReplyFinished)[0].reply.text == "Recovered."


@pytest.mark.parametrize(
    ("kind", "tries"),
    [("overloaded_error", 2), ("api_error", 2), ("rate_limit_error", 2), ("invalid_request_error", 1)],
)
def test_an_error_event_with_a_cause_is_told_at_once(kind: str, tries: int) -> None:
    with running(failing(stream="error", kind=kind, message="So it is.", after=0, times=1)) as server:
        told = stream(server)
        assert len(server.rows) == tries
    assert (told.error is None) == (tries == 2)


def test_silence_ends_by_the_watchdog() -> None:
    with running(failing(stream="hang", after=2, times=1)) as server:
        told = stream(server, retry=Retry(idle=0.05))
    assert told.error is None
    assert told.of(Retrying)[0].error.kind == "idle"


def test_silence_from_the_beginning_ends_by_the_watchdog() -> None:
    with running(steps(ScriptStep(delay=60))) as server:
        told = stream(server, retry=Retry(idle=0.05, tries=1))
    assert told.error is not None and told.error.kind == "idle"


def test_a_slow_stream_that_goes_on_is_waited_for() -> None:
    """A byte at a time: the watchdog counts silence, not slowness."""
    with running(steps(ScriptStep(content="Grüße 🧵", trickle=1))) as server:
        told = stream(server, retry=Retry(idle=20, tries=0))
    assert told.of(ReplyFinished)[0].reply.text == "Grüße 🧵"


def test_a_whole_answer_has_a_limit_that_grows() -> None:
    assert [Retry(timeout=10, growth=2).limit(n) for n in (1, 2, 3)] == [10, 20, 40]
    slept: list[float] = []

    async def run(script: MockScript) -> ApiError | None:
        with running(script) as server:
            async with client(server, Retry(timeout=0.05, growth=1, tries=1), slept) as asking:
                try:
                    await asking.send(ask())
                except ApiError as error:
                    return error
        return None

    error = done(run(steps(ScriptStep(fault=Fault(stream="hang")))))
    assert error is not None and error.kind == "timeout"
    assert len(slept) == 1


# -- refusals that can be helped


def test_what_a_server_does_not_take_is_left_out_from_then_on() -> None:
    extra = Capability("edits", "context-management-2025-06-27", {"context_management": {"edits": []}})
    asked = ask(capabilities=[extra])
    seen: list[tuple[bool, str]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append((b"context_management" in request.content, request.headers.get("anthropic-beta", "")))
        if seen[-1][0]:
            error = {"type": "invalid_request_error", "message": "context_management: Extra inputs are not permitted"}
            return httpx.Response(400, json={"type": "error", "error": error})
        return httpx.Response(200, json={"id": "m", "content": [text("ok")], "stop_reason": "end_turn"})

    async def run() -> list[Any]:
        endpoint = Endpoint(key="k")
        async with Client(endpoint, transport=httpx.MockTransport(answer)) as asking:
            async with asking.stream(asked) as happenings:
                said = [each async for each in happenings]
            await asking.send(asked)
            return said

    said = done(run())
    assert [each.name for each in said if isinstance(each, LeftOut)] == ["edits"]
    assert seen == [(True, "context-management-2025-06-27"), (False, ""), (False, "")]


def test_thinking_with_a_signature_that_is_not_taken_is_left_out() -> None:
    talk = [user("a"), assistant(thinking("Hm.", "foreign"), text("b")), user("c")]
    with running(MockScript(signatures="own")) as server:
        told = stream(server, ask(*talk))
        assert [row["status"] for row in server.rows] == [400, 200]
    assert told.names[0] == "LeftOut" and told.of(LeftOut)[0].name == "thinking blocks"


def test_a_turn_whose_thinking_is_not_taken_continues_without_thinking() -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}
    talk = [user("a"), assistant(thinking("Hm.", "foreign"), call), user([result("toolu_1")])]
    with running(MockScript(signatures="own")) as server:
        stream(server, ask(*talk, tools=TOOLS, thinking={"type": "enabled", "budget_tokens": 1024}))
        assert [row["status"] for row in server.rows] == [400, 200]  # not refused again for the missing thinking


def test_thinking_that_the_server_said_comes_back_unchanged() -> None:
    script = steps([{"thinking": "Hm. 🧵"}, {"tool": "Bash", "input": {}}], "Done.", signatures="own")
    with running(script) as server:
        first = stream(server, ask(tools=TOOLS)).of(ReplyFinished)[0].reply
        calls = [block["id"] for block in first.content if block["type"] == "tool_use"]
        talk = [user(), assistant(*first.content), user([result(calls[0])])]
        second = stream(server, ask(*talk, tools=TOOLS)).of(ReplyFinished)[0].reply
        assert [row["status"] for row in server.rows] == [200, 200]
    assert second.text == "Done."


def test_a_refusal_that_names_nothing_optional_is_told() -> None:
    with running() as server:
        told = stream(server, ask(user([result("toolu_unknown")])))
        assert len(server.rows) == 1
    assert told.error is not None and (told.error.kind, told.error.status) == ("invalid_request_error", 400)
    assert "toolu_unknown" in str(told.error)


def test_a_prompt_that_is_too_long_has_a_kind_of_its_own() -> None:
    with running(MockScript(window=100)) as server:
        told = stream(server, ask(user("word " * 200)))
    assert told.error is not None and told.error.kind == "too_long" and "254 tokens > 100" in str(told.error)


def test_a_body_that_is_too_large_has_it_too() -> None:
    with running(failing(status=413)) as server:
        told = stream(server)
    assert told.error is not None and told.error.kind == "too_long"


def test_a_model_that_stays_overloaded_is_left_for_the_fallback() -> None:
    script = MockScript(
        rules=[
            ScriptRule(model="claude-big", steps=[ScriptStep(fault=Fault(status=529))]),
            ScriptRule(model="claude-small", steps=["Small."]),
        ]
    )
    with running(script) as server:
        small = replace(ask(), model="claude-small", max_tokens=100)
        told = stream(server, replace(ask(), model="claude-big", fallback=small))
        assert [row["model"] for row in server.rows] == ["claude-big"] * 3 + ["claude-small"]
    assert told.of(Switched) == [Switched("claude-small")]
    assert told.of(ReplyFinished)[0].reply.text == "Small."


# -- answers that are not the API's


@pytest.mark.parametrize("kind", ["text/html", "text/plain; charset=utf-8", ""])
def test_a_page_of_something_else_is_told_at_once(kind: str) -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=b"<html>", headers={"content-type": kind})

    async def run() -> ApiError:
        async with Client(Endpoint(key="k"), transport=httpx.MockTransport(answer)) as asking:
            with pytest.raises(ApiError) as failed:
                await asking.send(ask(), streaming=True)
            return failed.value

    assert done(run()).kind == "not_the_api"


CHUNK = b'data: {"object": "chat.completion.chunk", "choices": [{"delta": {"content": "Hi"}}]}\n\ndata: [DONE]\n\n'
OTHERS: dict[str, tuple[int, str, bytes, str]] = {
    "vLLM": (404, "application/json", b'{"detail": "Not Found"}', "answered 404 (Not Found)"),
    "llama.cpp": (
        404,
        "application/json",
        b'{"error": {"code": 404, "message": "File Not Found"}}',
        "(File Not Found)",
    ),
    "a web server": (404, "text/html", b"<html>Not here</html>", "answered 404"),
    "no POST": (405, "text/plain", b"Method Not Allowed", "answered 405"),
    "a page": (200, "text/html", b"<html>Welcome</html>", "answered with text/html"),
    "no type": (200, "", b"Welcome", "answered with no content type"),
    "a chat completion": (200, "application/json", b'{"choices": []}', "a chat completion of the OpenAI API"),
    "other JSON": (200, "application/json", b'{"ok": true}', "answered with JSON that is no message"),
    "no JSON": (200, "application/json", b"<html>", "something else than JSON"),
    "chunks": (200, "text/event-stream", CHUNK, "a stream of the OpenAI API"),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("streaming", [True, False])
def test_what_is_not_the_api_is_named_with_its_address_at_once(name: str, streaming: bool) -> None:
    status, kind, body, said = OTHERS[name]
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(status, content=body, headers={"content-type": kind})

    async def run() -> ApiError:
        local = Endpoint("http://127.0.0.1:8000", profile=PROFILES["generic"])
        async with Client(local, transport=httpx.MockTransport(answer)) as asking:
            with pytest.raises(ApiError) as failed:
                await asking.send(ask(), streaming=streaming)
            return failed.value

    error = done(run())
    assert asked == ["http://127.0.0.1:8000/v1/messages"] and error.kind == "not_the_api"
    assert str(error).startswith("http://127.0.0.1:8000") and "not a Messages API" in str(error)
    assert (said in str(error) or not streaming) and "/v1/chat/completions" in error.hint


def test_an_empty_stream_is_named_with_its_address() -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=b": ping\n\n", headers={"content-type": "text/event-stream"})

    async def run() -> ApiError:
        async with Client(Endpoint(key="k"), Retry(tries=0), transport=httpx.MockTransport(answer)) as asking:
            with pytest.raises(ApiError) as failed:
                await asking.send(ask(), streaming=True)
            return failed.value

    assert str(done(run())) == "https://api.anthropic.com/v1/messages sent an empty stream."


def test_an_unknown_model_of_the_api_is_an_error_of_the_api() -> None:
    with running(MockScript(models=["claude-other"])) as server:
        told = stream(server)
    assert told.error is not None and told.error.kind == "not_found_error" and told.error.status == 404


def test_a_server_that_does_not_stream_is_heard_all_the_same() -> None:
    message = {"id": "m", "type": "message", "content": [text("a"), text("b")], "stop_reason": "end_turn"}

    async def run() -> list[Any]:
        transport = httpx.MockTransport(lambda _: httpx.Response(200, json=message))
        async with (
            Client(Endpoint(key="k"), transport=transport) as asking,
            asking.stream(ask()) as happenings,
        ):
            return [each async for each in happenings]

    said = done(run())
    assert [type(each) for each in said] == [ReplyStarted, BlockComplete, BlockComplete, ReplyFinished]


def test_a_stream_that_ends_behind_its_stop_reason_is_whole() -> None:
    """Some servers leave message_stop out."""
    body = (
        b'data: {"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":3}}}\n\n'
        b'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}\n\n'
    )
    headers = {"content-type": "text/event-stream"}

    async def run() -> Any:
        transport = httpx.MockTransport(lambda _: httpx.Response(200, content=body, headers=headers))
        async with Client(Endpoint(key="k"), transport=transport) as asking:
            return await asking.send(ask(), streaming=True)

    assert done(run()).usage == {"input_tokens": 3, "output_tokens": 2}


# -- aborting


def test_leaving_a_stream_closes_the_connection() -> None:
    left = threading.Event()

    async def run() -> None:
        with running(failing(stream="hang", after=5), note=lambda _: left.set()) as server:
            async with client(server) as asking:
                async with asking.stream(ask()) as happenings:
                    async for each in happenings:
                        if isinstance(each, BlockDelta):
                            break
                assert await asyncio.to_thread(left.wait, 10), "the server still has its client"
            assert server.rows[0]["complete"] is False

    done(run())


def test_cancelling_ends_a_stream_at_once_and_raises_nothing_else() -> None:
    async def run() -> None:
        with running(failing(stream="hang", after=5)) as server:
            async with client(server) as asking:
                heard = asyncio.Event()

                async def listen() -> None:
                    async with asking.stream(ask()) as happenings:
                        async for each in happenings:
                            if isinstance(each, BlockDelta):
                                heard.set()

                task = asyncio.create_task(listen())
                await heard.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task

    done(run())


def test_cancelling_while_it_waits_to_ask_again() -> None:
    async def run() -> None:
        with running(failing(status=529)) as server:
            waiting = asyncio.Event()

            async def sleep(_: float) -> None:
                waiting.set()
                await asyncio.Event().wait()

            async with Client(Endpoint(server.url, key="k"), sleep=sleep) as asking:
                task = asyncio.create_task(asking.send(ask()))
                await waiting.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert len(server.rows) == 1

    done(run())


# -- accounting


@pytest.mark.parametrize(
    "fault",
    [
        None,
        Fault(status=529, times=2),
        Fault(stream="cut", after=3, times=2),
        Fault(stream="garbage", after=4, times=1),
        Fault(stream="error", after=1, times=1),
        Fault(stream="error", after=6, times=1),
        Fault(stream="close", after=0, times=1),
    ],
    ids=lambda f: f"{f.status or f.stream}-{f.after}" if f else "none",
)
@pytest.mark.parametrize("cache", [False, True])
def test_the_ledger_equals_what_the_client_was_told(fault: Fault | None, cache: bool) -> None:
    script = steps(ScriptStep(content=["word " * 50], fault=fault), cache=cache)
    with running(script) as server:
        told = stream(server, ask(user("word " * 3000)))
        ours = [r.so_far.usage for r in told.of(Retrying) if r.so_far.usage] + [told.of(ReplyFinished)[0].reply.usage]
        assert usages(server.rows) == ours
        assert len(ours) >= 1


@pytest.mark.parametrize("fault", ["cut", "garbage", "error", "close"])
def test_wherever_a_stream_breaks_the_reply_comes_out_whole_and_charged_once_a_try(fault: Any) -> None:
    content: list[Any] = [{"thinking": "Hm. 🧵"}, "Grüße", {"tool": "Bash", "input": {"command": "ls"}}]
    places = 22  # the stream has so many events
    rules = [
        ScriptRule(
            prompt=f"at {n:02}", steps=[ScriptStep(content=content, fault=Fault(stream=fault, after=n, times=1))]
        )
        for n in range(places)
    ]
    with running(MockScript(rules=rules)) as server:
        for n in range(places):
            before = len(server.rows)
            told = stream(server, ask(user(f"at {n:02}"), tools=TOOLS), resend="end")
            [whole] = told.of(ReplyFinished)
            assert [block["type"] for block in whole.reply.content] == ["thinking", "text", "tool_use"]
            assert whole.reply.content[2]["input"] == {"command": "ls"}
            ours = [r.so_far.usage for r in told.of(Retrying) if r.so_far.usage] + [whole.reply.usage]
            assert usages(server.rows[before:]) == ours, n
            assert len(told.of(Retrying)) == (n < places - 1), n  # once it is known why it stopped, nothing is missing


def test_a_conversation_is_charged_to_the_token() -> None:
    script = steps([{"tool": "Bash", "input": {"command": "ls"}}], [{"thinking": "So."}, "Done."], cache=True)
    with running(script) as server:
        first = stream(server, ask(user("word " * 3000), tools=TOOLS)).of(ReplyFinished)[0].reply
        talk = [user("word " * 3000), assistant(*first.content), user([result(first.content[0]["id"])])]
        second = stream(server, ask(*talk, tools=TOOLS)).of(ReplyFinished)[0].reply
        assert usages(server.rows) == [first.usage, second.usage]
    assert second.usage["cache_read_input_tokens"] == first.usage["cache_creation_input_tokens"] > 1024


def test_streamed_or_whole_it_is_the_same_reply() -> None:
    content: list[Any] = [{"thinking": "Hm. 🧵"}, "Grüße", {"tool": "Bash", "input": {"command": "ls", "n": 1.5}}]

    async def run() -> tuple[Any, Any]:
        with running(steps(content)) as server:
            async with client(server) as asking:
                asked = ask(tools=TOOLS)
                return await asking.send(asked), await asking.send(asked, streaming=True)

    whole, streamed = done(run())
    assert whole == streamed
    assert [block["type"] for block in whole.content] == ["thinking", "text", "tool_use"]


def test_a_huge_block_arrives_whole() -> None:
    said = "Zeile 🧵\n" * 200_000
    with running(steps(ScriptStep(content=said, chunk=9_000))) as server:
        told = stream(server)
    assert told.of(ReplyFinished)[0].reply.text == said


def test_counting_is_exact_where_the_server_counts() -> None:
    async def run(profile: str, script: MockScript) -> list[tuple[int, bool]]:
        with running(script) as server:
            async with client(server, profile=profile) as asking:
                counted = [await asking.count(ask(user("word " * 100), max_tokens=5)) for _ in range(2)]
            return [(c.tokens, c.is_exact) for c in counted]

    assert done(run("anthropic", MockScript())) == [(129, True)] * 2
    assert done(run("ollama", MockScript())) == [(129, False)] * 2


def test_counting_falls_back_where_the_server_has_no_such_thing() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return httpx.Response(404, json={"detail": "Not Found"})

    async def run() -> None:
        async with Client(Endpoint(key="k"), transport=httpx.MockTransport(answer)) as asking:
            for _ in range(2):
                assert not (await asking.count(ask())).is_exact

    done(run())
    assert asked == ["/v1/messages/count_tokens"]


def test_counting_falls_back_while_the_server_is_busy() -> None:
    statuses = [529, 200]

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(statuses.pop(0), json={"input_tokens": 7})

    async def run() -> list[bool]:
        async with Client(Endpoint(key="k"), transport=httpx.MockTransport(answer)) as asking:
            return [(await asking.count(ask())).is_exact for _ in range(2)]

    assert done(run()) == [False, True]


def test_a_count_that_is_refused_is_an_error() -> None:
    async def run() -> None:
        with running() as server:
            async with client(server) as asking:
                with pytest.raises(ApiError, match="toolu_x"):
                    await asking.count(ask(user([result("toolu_x")])))

    done(run())


# -- who asks


def test_the_client_says_its_own_name_and_the_users_key() -> None:
    seen: list[httpx.Headers] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers)
        return httpx.Response(200, json={"id": "m", "content": [], "stop_reason": "end_turn"})

    async def run(endpoint: Endpoint) -> None:
        async with Client(endpoint, transport=httpx.MockTransport(answer)) as asking:
            await asking.send(ask())

    done(run(Endpoint(key="sk-mine")))
    done(run(Endpoint(token="mine", headers={"X-Team": "blue"})))
    assert seen[0]["x-api-key"] == "sk-mine" and "authorization" not in seen[0]
    assert seen[1]["authorization"] == "Bearer mine" and "x-api-key" not in seen[1]
    assert seen[1]["x-team"] == "blue"
    for headers in seen:
        assert headers["user-agent"].startswith("clew/")
        assert headers["anthropic-version"] == "2023-06-01"
        assert "anthropic-beta" not in headers
        assert not any(name.startswith("x-stainless") or "claude" in value.lower() for name, value in headers.items())


def test_a_server_on_this_machine_is_asked_without_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with running() as server:
        assert stream(server, retry=Retry(tries=0)).error is None


def test_without_httpx_the_error_names_the_extra() -> None:
    script = "import sys\nsys.modules['httpx'] = None\ntry:\n    import clew.api.client\n"
    script += "except Exception as error:\n    print(type(error).__name__, error, error.hint)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == (
        f"ApiError The client of the Messages API requires the package httpx. {install_hint('chat')}\n"
    )


def test_a_call_in_the_script_waits_for_tools_on_offer() -> None:
    with running(steps([call(command="ls")])) as server:
        plain = stream(server).of(ReplyFinished)[0].reply
    assert plain.content == [text("ok")]
