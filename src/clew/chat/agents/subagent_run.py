"""Agents at work: waited for by the call that sent them, or beside the conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, Literal

from clew.chat import events as event
from clew.chat.loop import Loop
from clew.chat.store.live_conversation import text_of
from clew.chat.tools.tool import ToolContext
from clew.wire.json_codec import Json

GRACE = 3.0  # seconds that an agent has to end by itself
WORDLESS = "The agent ended without a word."
Run = Coroutine[Any, Any, event.TurnFinished]
Status = Literal["completed", "failed", "stopped"]


class SubagentRun:
    """One agent. It works from the moment it is made; its own `stopped` ends it, not that of the conversation."""

    kind = "local_agent"
    exit_code: int | None = None

    def __init__(self, loop: Loop, run: Run, ident: str, title: str, prompt: str, below: Sequence[SubagentRun]) -> None:
        """`below` are the agents that it has sent itself, as they come."""
        self.id = ident
        self.title = title
        self.prompt = prompt
        self.loop = loop
        self.finished: event.TurnFinished | None = None
        self.is_aside = False
        self.milliseconds = 0
        self._below = below
        self._is_killed = False
        self._told = 0
        self._task = asyncio.create_task(self._work(run))

    @property
    def description(self) -> str:
        return self.title

    @property
    def path(self) -> Path:
        return self.loop.dialogue.journal.path

    @property
    def status(self) -> str:
        if not self._task.done():
            return "running"
        if self._is_killed or self._task.cancelled():
            return "killed"
        return "failed" if self.finished is None or self.finished.is_error else "completed"

    @property
    def result(self) -> str:
        """Its last words, or why there are none."""
        if not self._task.done() or self._task.cancelled():
            return ""
        if (error := self._task.exception()) is not None:
            return f"The agent failed: {error}"
        finished = self._task.result()
        if finished.is_error and not finished.is_interrupted:
            reasons = " ".join(finished.errors) or finished.ending
            return f"The agent failed: {reasons}" + (f"\n\n{finished.text}" if finished.text else "")
        return finished.text or WORDLESS

    @property
    def usage(self) -> Json:
        dialogue = self.loop.dialogue
        counts = {"subagent_tokens": dialogue.reported, "tool_uses": dialogue.calls_made}
        return counts | {"duration_ms": self.milliseconds}

    def news(self) -> str:
        messages = self.loop.dialogue.messages
        new = messages[min(self._told, len(messages)) :]
        self._told = len(messages)
        return "\n".join(filter(None, (text_of(m["content"]) for m in new if m["role"] == "assistant")))

    def output(self) -> str:
        return self.result or self.loop.said

    async def wait(self) -> None:
        await asyncio.wait({self._task})

    async def stop(self) -> None:
        """End it and the agents that it sent. Its calls get their results, and its file is whole."""
        self._is_killed = True
        self.loop.stopped.set()
        await asyncio.wait({self._task}, timeout=GRACE)
        await self.close()

    async def close(self) -> None:
        """The same at once."""
        self._is_killed = self._is_killed or not self._task.done()
        if not self._task.cancelling():  # a second time would break off its tidying up
            self._task.cancel()
        await self.wait()
        for agent in list(self._below):
            await agent.close()

    async def attend(self, scene: ToolContext) -> bool:
        """Wait for it; False if the person put it aside. What stops the conversation stops it as well."""
        events = [scene.stopped.wait()] + ([scene.aside.wait()] if scene.aside is not None else [])
        stopping, *putting = waits = [asyncio.ensure_future(each) for each in events]
        try:
            while not self._task.done():
                await asyncio.wait({self._task, *(w for w in waits if not w.done())}, return_when="FIRST_COMPLETED")
                if any(wait.done() for wait in putting) and not self._task.done():
                    return False
                if stopping.done():
                    self.loop.stopped.set()
                    waits = []
            return True
        except asyncio.CancelledError:
            await self.close()
            raise
        finally:
            for wait in (stopping, *putting):
                wait.cancel()

    def outcome(self) -> event.TurnFinished:
        """How it ended. Raises what went wrong beyond all that an agent can tell of."""
        return self._task.result()

    async def _work(self, run: Run) -> event.TurnFinished:
        status: Status = "failed"
        began = self.loop.means.stopwatch()
        try:
            self.finished = await run
            if self.loop.stopped.is_set():
                status = "stopped"
            elif not self.finished.is_error:
                status = "completed"
            return self.finished
        except asyncio.CancelledError:
            status = "stopped"
            raise
        finally:
            self.milliseconds = round((self.loop.means.stopwatch() - began) * 1000)
            self._end(status)

    def _end(self, status: Status) -> None:
        loop, dialogue = self.loop, self.loop.dialogue
        dialogue.is_over = True
        for said in dialogue.endings():  # what it did not hear any more, whoever sent it hears
            dialogue.listener.notify(said)
        loop.means.tell(
            event.AgentEnded(
                agent=loop.agent,
                agent_id=self.id,
                status=status,
                summary=self.finished.text if self.finished else "",
                usage={"total_tokens": dialogue.reported, "tool_uses": dialogue.calls_made},
                is_background=self.is_aside,
                output_file=str(self.path) if self.is_aside else "",
            )
        )
