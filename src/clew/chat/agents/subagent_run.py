"""A running subagent, which its call waits for or which runs in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, Literal

from clew.chat import events as event
from clew.chat.loop import Loop
from clew.chat.tools.tool import ToolContext, text_of
from clew.wire.json_codec import Json

STOP_SECONDS = 3.0  # seconds that a subagent has to end by itself
NO_TEXT = "The agent ended without any text."
Run = Coroutine[Any, Any, event.TurnFinished]
Status = Literal["completed", "failed", "stopped"]


class SubagentRun:
    """One subagent. It runs from its creation; its own `stopped` ends it, not that of the parent conversation."""

    kind = "local_agent"
    exit_code: int | None = None

    def __init__(
        self, loop: Loop, run: Run, ident: str, title: str, prompt: str, children: Sequence[SubagentRun]
    ) -> None:
        """`children` collects the subagents that it starts itself."""
        self.id = ident
        self.title = title
        self.prompt = prompt
        self.loop = loop
        self.finished: event.TurnFinished | None = None
        self.is_background = False
        self.milliseconds = 0
        self._children = children
        self._is_killed = False
        self._shown_messages = 0
        self._task = asyncio.create_task(self._work(run))

    @property
    def description(self) -> str:
        return self.title

    @property
    def path(self) -> Path:
        return self.loop.conversation.journal.path

    @property
    def status(self) -> str:
        if not self._task.done():
            return "running"
        if self._is_killed or self._task.cancelled():
            return "killed"
        return "failed" if self.finished is None or self.finished.is_error else "completed"

    @property
    def result(self) -> str:
        """Its final text, or why there is none."""
        if not self._task.done() or self._task.cancelled():
            return ""
        if (error := self._task.exception()) is not None:
            return f"The agent failed: {error}"
        finished = self._task.result()
        if finished.is_error and not finished.is_interrupted:
            reasons = " ".join(finished.errors) or finished.ending
            return f"The agent failed: {reasons}" + (f"\n\n{finished.text}" if finished.text else "")
        return finished.text or NO_TEXT

    @property
    def usage(self) -> Json:
        conversation = self.loop.conversation
        counts = {"subagent_tokens": conversation.known_tokens, "tool_uses": conversation.calls_made}
        return counts | {"duration_ms": self.milliseconds}

    def news(self) -> str:
        messages = self.loop.conversation.messages
        new = messages[min(self._shown_messages, len(messages)) :]
        self._shown_messages = len(messages)
        return "\n".join(filter(None, (text_of(m["content"]) for m in new if m["role"] == "assistant")))

    def output(self) -> str:
        return self.result or self.loop.last_text

    async def wait(self) -> None:
        await asyncio.wait({self._task})

    async def stop(self) -> None:
        """Stop it and the subagents that it started. Its calls get results and its file is complete."""
        self._is_killed = True
        self.loop.stopped.set()
        await asyncio.wait({self._task}, timeout=STOP_SECONDS)
        await self.close()

    async def close(self) -> None:
        """Cancel it immediately, with the subagents that it started."""
        self._is_killed = self._is_killed or not self._task.done()
        if not self._task.cancelling():  # cancelling twice would interrupt its clean-up
            self._task.cancel()
        await self.wait()
        for agent in list(self._children):
            await agent.close()

    async def wait_or_detach(self, scene: ToolContext) -> bool:
        """Wait for it; return False if the user sent it to the background. Stopping the conversation stops it."""
        events = [scene.stopped.wait()] + ([scene.aside.wait()] if scene.aside is not None else [])
        stopping, *detaching = waits = [asyncio.ensure_future(coroutine) for coroutine in events]
        try:
            while not self._task.done():
                await asyncio.wait({self._task, *(w for w in waits if not w.done())}, return_when="FIRST_COMPLETED")
                if any(wait.done() for wait in detaching) and not self._task.done():
                    return False
                if stopping.done():
                    self.loop.stopped.set()
                    waits = []
            return True
        except asyncio.CancelledError:
            await self.close()
            raise
        finally:
            for wait in (stopping, *detaching):
                wait.cancel()

    def outcome(self) -> event.TurnFinished:
        """Return how it ended. Raises the exception of an unexpected failure."""
        return self._task.result()

    async def _work(self, run: Run) -> event.TurnFinished:
        status: Status = "failed"
        started = self.loop.deps.stopwatch()
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
            self.milliseconds = round((self.loop.deps.stopwatch() - started) * 1000)
            self._end(status)

    def _end(self, status: Status) -> None:
        loop, conversation = self.loop, self.loop.conversation
        conversation.is_over = True
        for report in conversation.queue.take_task_reports():  # reports that it did not receive go to its parent
            conversation.report_target.queue.add(report)
        loop.deps.emit(
            event.AgentFinished(
                agent=loop.agent,
                agent_id=self.id,
                status=status,
                summary=self.finished.text if self.finished else "",
                usage={
                    "total_tokens": conversation.known_tokens,
                    "tool_uses": conversation.calls_made,
                    "duration_ms": self.milliseconds,
                },
                is_background=self.is_background,
                output_file=str(self.path) if self.is_background else "",
            )
        )
