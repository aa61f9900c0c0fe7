"""The mock without a socket: the same answers as over one, faults and all."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from clew.api.client import Broken, Client
from clew.api.endpoint import PROFILES, Endpoint
from clew.api.mock.in_process import InProcessMock
from clew.api.mock.mock_api import Mock
from clew.api.mock.scripts import Fault, MockScript, ScriptStep
from clew.api.request_body import MessagesRequest
from clew.api.retry import Retry
from clew.api.stream_assembly import ApiReply
from clew.errors import ApiError

ENDPOINT = Endpoint("http://127.0.0.1", key="sk-ant-test", profile=PROFILES["anthropic"])
ASKED = MessagesRequest(model="claude-mock", messages=[{"role": "user", "content": "go"}], max_tokens=100)


def ask(*steps: Any, streaming: bool = True, **more: Any) -> ApiReply:
    async def run() -> ApiReply:
        transport = InProcessMock(Mock(MockScript(otherwise=list(steps)), **more))
        async with Client(ENDPOINT, Retry(tries=0), transport=transport) as client:
            return await client.send(ASKED, streaming=streaming)

    return asyncio.run(run())


@pytest.mark.parametrize("streaming", [True, False])
def test_a_reply_as_it_was_recorded(streaming: bool) -> None:
    blocks: list[Any] = [
        {"type": "thinking", "thinking": "Hm.", "signature": "abc"},
        {"type": "text", "text": "Hello."},
    ]
    usage = {"input_tokens": 7, "output_tokens": 0, "odd": None}
    step = ScriptStep(content=blocks, usage=usage, begun=usage, id="msg_1", request_id="req_1", model="claude-other")
    reply = ask(step, streaming=streaming)
    assert (reply.id, reply.request_id, reply.model) == ("msg_1", "req_1", "claude-other")
    assert (reply.content, reply.usage) == (blocks, usage)


def test_a_failing_status_and_a_broken_stream_are_errors() -> None:
    with pytest.raises(ApiError) as refused:
        ask(ScriptStep(fault=Fault(status=401)))
    assert refused.value.status == 401
    with pytest.raises(ApiError) as broken:
        ask(ScriptStep(content="Hello.", fault=Fault(stream="cut", after=-2)))
    assert broken.value.kind == "connection"
    with pytest.raises(ApiError):
        ask(ScriptStep(fault=Fault(stream="close")), streaming=False)


def test_a_request_is_held_against_the_rules_unless_that_is_not_wanted() -> None:
    bad = MessagesRequest(model="claude-mock", messages=[{"role": "assistant", "content": "first"}], max_tokens=0)

    async def run(checks: bool) -> ApiReply:
        transport = InProcessMock(Mock(MockScript(otherwise=["ok"]), checks=checks))
        async with Client(ENDPOINT, Retry(tries=0), transport=transport) as client:
            return await client.send(bad)

    assert asyncio.run(run(False)).text == "ok"
    with pytest.raises(ApiError):
        asyncio.run(run(True))


def test_whoever_falls_silent_has_been_heard_before() -> None:
    heard: list[object] = []

    async def run() -> list[object]:
        silent = asyncio.Event()
        mock = Mock(MockScript(otherwise=[ScriptStep(content=["a", "b"], fault=Fault(stream="hang", after=-2))]))
        async with Client(ENDPOINT, transport=InProcessMock(mock, silent.set)) as client:

            async def listen() -> None:
                async with client.stream(ASKED) as happenings:
                    async for each in happenings:
                        heard.extend([type(each).__name__])

            listening = asyncio.create_task(listen())
            await silent.wait()
            so_far = list(heard)
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
            return so_far

    found = asyncio.run(run())
    assert found.count("BlockComplete") == 2
    assert Broken.__name__ not in found
