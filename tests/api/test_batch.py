"""Many requests at once, and the doors for code that is not asynchronous."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from clew.api.batch import complete, complete_all, gather
from clew.api.client import Client
from clew.api.endpoint import Endpoint
from clew.api.mock.scripts import Fault, MockScript, ScriptRule, ScriptStep
from clew.api.mock.server import running
from clew.api.retry import Retry
from clew.api.stream_assembly import ApiReply
from clew.errors import ApiError
from tests.api.helper import ask, client, done, user

SCRIPT = MockScript(
    rules=[
        ScriptRule(prompt="bad", steps=[ScriptStep(fault=Fault(status=400, message="No."))]),
        ScriptRule(prompt="shaky", steps=[ScriptStep(content="{{prompt}}!", fault=Fault(status=529, times=1))]),
    ],
    otherwise=["{{prompt}}!"],
)
QUICK = Retry(tries=2, base=0.0, timeout=20)


def test_each_ends_by_itself_and_in_its_place() -> None:
    prompts = [f"{'bad' if n % 7 == 3 else 'shaky' if n % 5 == 1 else 'good'} {n}" for n in range(40)]
    told: list[int] = []
    with running(SCRIPT) as server:
        results = complete_all(
            [ask(user(prompt)) for prompt in prompts],
            Endpoint(server.url, key="k"),
            concurrency=6,
            retry=QUICK,
            done=lambda index, _: told.append(index),
        )
    assert [r.text if isinstance(r, ApiReply) else str(r) for r in results] == [
        "No." if prompt.startswith("bad") else f"{prompt}!" for prompt in prompts
    ]
    assert sorted(told) == [*range(40)]


class Counting(httpx.AsyncBaseTransport):
    """Answers when all others have had their turn; remembers how many were under way at most."""

    def __init__(self) -> None:
        self.now = self.most = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.now += 1
        self.most = max(self.most, self.now)
        for _ in range(50):
            await asyncio.sleep(0)
        self.now -= 1
        return httpx.Response(200, json={"id": "m", "content": [], "stop_reason": "end_turn"})


def test_no_more_are_asked_at_once_than_allowed() -> None:
    transport = Counting()

    async def run() -> None:
        async with Client(Endpoint(key="k"), transport=transport) as asking:
            await gather(asking, [ask(user(str(n))) for n in range(12)], concurrency=3)

    done(run())
    assert transport.most == 3


def test_cancelling_ends_them_all() -> None:
    async def run() -> None:
        with running(MockScript(otherwise=[ScriptStep(fault=Fault(stream="hang"))])) as server:
            async with client(server) as asking:
                task = asyncio.create_task(gather(asking, [ask(user(str(n))) for n in range(5)]))
                while len(server.rows) < 5:
                    await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task

    done(run())


def test_one_request_gives_a_reply_or_raises() -> None:
    with running(SCRIPT) as server:
        endpoint = Endpoint(server.url, key="k")
        assert complete(ask(user("Grüße 🧵")), endpoint).text == "Grüße 🧵!"
        with pytest.raises(ApiError, match=r"No\."):
            complete(ask(user("bad")), endpoint)


def test_nothing_to_ask_is_no_work() -> None:
    assert complete_all([], Endpoint("http://127.0.0.1:9", key="k")) == []
