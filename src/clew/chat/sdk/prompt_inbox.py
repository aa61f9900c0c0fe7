"""Prompts of the SDK that wait for their turn. A prompt that has a uuid can be cancelled, and its states are reported."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from clew.chat.tools.tool import Content
from clew.wire.json_codec import Json

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

State = Literal["queued", "started", "completed", "cancelled"]
Report = Callable[[str, State], None]  # takes the uuid of a prompt and its new state


class IncomingPrompt(Struct, frozen=True):
    """A prompt of the SDK. `uuid` is what the SDK calls it, if it does."""

    content: Content
    uuid: str = ""
    is_verbatim: bool = False  # no slash commands, no mentions

    @property
    def is_command(self) -> bool:
        return isinstance(self.content, str) and not self.is_verbatim and self.content.lstrip().startswith("/")


def read_prompt(frame: Json, content: Any) -> IncomingPrompt:
    """Return the prompt of a user frame."""
    stated = frame.get("uuid")
    uuid = stated if isinstance(stated, str) and _UUID.fullmatch(stated) else ""
    return IncomingPrompt(content, uuid, frame.get("client_composed") is True)


class PromptInbox:
    """The prompts that have not started yet, in the order in which they arrived. None in it is the end of the input."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._queue: asyncio.Queue[IncomingPrompt | None] = asyncio.Queue()
        self.used: set[str] = set()  # uuids that prompts had so far

    def receive(self, prompt: IncomingPrompt) -> None:
        """Queue a new prompt. A uuid that was used before is dropped: two lines of a session cannot share one."""
        if prompt.uuid in self.used:
            prompt = IncomingPrompt(prompt.content, is_verbatim=prompt.is_verbatim)
        if prompt.uuid:
            self.used.add(prompt.uuid)
            self._report(prompt.uuid, "queued")
        self._queue.put_nowait(prompt)

    def close(self) -> None:
        self._queue.put_nowait(None)

    def put_back(self, prompts: list[IncomingPrompt | None]) -> None:
        for prompt in prompts:
            self._queue.put_nowait(prompt)

    async def get(self) -> IncomingPrompt | None:
        return await self._queue.get()

    def drain(self) -> list[IncomingPrompt | None]:
        return [self._queue.get_nowait() for _ in range(self._queue.qsize())]

    @property
    def uuids(self) -> list[str]:
        prompts = self.drain()
        self.put_back(prompts)
        return [prompt.uuid for prompt in prompts if prompt is not None and prompt.uuid]

    def cancel(self, uuids: list[str]) -> list[str]:
        """Drop the prompts with these uuids; return those that were there."""
        prompts = self.drain()
        dropped = [prompt.uuid for prompt in prompts if prompt is not None and prompt.uuid in uuids]
        self.put_back([prompt for prompt in prompts if prompt is None or prompt.uuid not in dropped])
        for uuid in dropped:
            self._report(uuid, "cancelled")
        return dropped
