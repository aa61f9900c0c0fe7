"""What the tests of api/ share: requests, a client that never sleeps, and what it says."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from clew.api.client import Client, ClientEvent, Resend
from clew.api.endpoint import PROFILES, Endpoint
from clew.api.mock.scripts import AnyStep, Fault, MockScript, ScriptRule, ScriptStep
from clew.api.mock.server import MockServer
from clew.api.request_body import MessagesRequest
from clew.api.retry import Retry
from clew.errors import ApiError

Json = dict[str, Any]
T = TypeVar("T")

TOOLS: list[Json] = [{"name": "Bash", "description": "Run.", "input_schema": {"type": "object"}}]


def user(content: Any = "hi") -> Json:
    return {"role": "user", "content": content}


def assistant(*content: Any) -> Json:
    return {"role": "assistant", "content": list(content)}


def text(said: str) -> Json:
    return {"type": "text", "text": said}


def call(name: str = "toolu_1", tool: str = "Bash", **given: Any) -> Json:
    return {"type": "tool_use", "id": name, "name": tool, "input": given}


def result(name: str = "toolu_1", content: Any = "done", **more: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": name, "content": content, **more}


def thinking(thought: str = "Hm.", signature: str = "c2lnbmVk") -> Json:
    return {"type": "thinking", "thinking": thought, "signature": signature}


def ask(*messages: Json, **more: Any) -> MessagesRequest:
    return MessagesRequest(model="claude-mock", messages=messages or (user(),), **more)


def steps(*said: AnyStep, **more: Any) -> MockScript:
    """A script with one rule, which fits every prompt."""
    return MockScript(rules=[ScriptRule(steps=list(said))], **more)


def failing(*, then: AnyStep = "Recovered.", **fault: Any) -> MockScript:
    """A script whose first reply goes wrong; `times` says how often, always unless told."""
    content = then if not isinstance(then, ScriptStep) else then.content
    return steps(ScriptStep(content=content, fault=Fault(**fault)))


@dataclass
class Told:
    """How a stream went: what was said, how long the client would have slept, and the error that ended it."""

    said: list[ClientEvent] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)
    error: ApiError | None = None

    def of(self, *kinds: type) -> list[Any]:
        return [each for each in self.said if isinstance(each, kinds)]

    @property
    def names(self) -> list[str]:
        """The kinds of what was said, in order, without repetitions."""
        found = [type(each).__name__ for each in self.said]
        return [name for i, name in enumerate(found) if i == 0 or found[i - 1] != name]


def client(
    server: MockServer, retry: Retry | None = None, slept: list[float] | None = None, profile: str = ""
) -> Client:
    """A client whose waits cost no time; chance is always in the middle."""

    async def sleep(seconds: float) -> None:
        if slept is not None:
            slept.append(seconds)

    endpoint = Endpoint(server.url, key="sk-ant-test", profile=PROFILES[profile or "anthropic"])
    return Client(endpoint, retry, sleep=sleep, chance=lambda: 0.5)


def stream(
    server: MockServer,
    request: MessagesRequest | None = None,
    resend: Resend = "block",
    retry: Retry | None = None,
    profile: str = "",
) -> Told:
    """Everything that one stream says."""
    told = Told()

    async def run() -> None:
        async with (
            client(server, retry, told.slept, profile) as asking,
            asking.stream(request or ask(), resend) as happenings,
        ):
            async for each in happenings:
                told.said.append(each)

    try:
        asyncio.run(run())
    except ApiError as error:
        told.error = error
    return told


def done(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(coroutine)


def usages(rows: Sequence[Json]) -> list[Json]:
    return [row["usage"] for row in rows if row["usage"] is not None]
