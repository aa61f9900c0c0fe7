"""Compaction: a long conversation goes on from a summary of itself. What was said stays in the file and is not sent again.

Before that, old results of tools are left out of what is sent, if that frees enough: the file keeps them, and a resume
sends them again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from clew.api.request_body import MessagesRequest, drop_thinking, signatures
from clew.api.retry import TOO_LONG
from clew.api.stream_assembly import ApiReply
from clew.api.token_estimate import estimate_tokens
from clew.chat import events
from clew.chat.deps import Deps
from clew.chat.hooks.hook_events import reminder, tell_hooks
from clew.chat.store.live_conversation import LiveConversation
from clew.chat.turn.repair_messages import mended
from clew.chat.turn.until_stopped import unless
from clew.errors import ApiError
from clew.wire.json_codec import Json

EARLY = 20_000  # tokens before the threshold, from which on results are left out
KEPT = 40_000  # tokens of results that are always sent
WORTH = 20_000  # tokens that leaving results out has to free
LONGEST = 20_000  # tokens of a summary
MOST_FAILURES = 3
LEFT_OUT = "[This old result was left out to save room. Make the call again if it is needed.]"

_NOT_THE_USERS = ("<system-reminder>", "[Request interrupted", "<local-command-", "<command-", "<bash-", "<task-")
OPENING = "The conversation up to here was summed up, and goes on from this summary alone:"
INSTRUCTION = """\
Sum up this conversation so that the work can go on from your summary alone. Write plain text under these headings, and \
leave out a heading that has nothing under it: What the user wants (in the user's own words where they matter), \
Decisions and why, Files (path and what was changed or learnt), Commands that matter and what came of them, Errors and how \
they were solved, What is done, What is open, The next step. Quote names, paths and numbers exactly. Call no tool."""


class Compactor(Struct):
    """Sums one conversation up."""

    dialogue: LiveConversation
    means: Deps
    stopped: asyncio.Event
    agent: str = ""
    failures: int = 0  # in a row
    left_out: frozenset[str] = frozenset()  # calls whose results are not sent any more

    def shown(self, messages: Sequence[Json]) -> list[Json]:
        """What is sent of the messages."""
        return without_results(messages, self.left_out) if self.left_out else list(messages)

    async def make_room(self, more: int = 0) -> None:
        """Leave old results out when the window is nearly full, and compact when that is not enough."""
        limit = threshold(self.means.limits.window or self.dialogue.window)
        if not self.means.limits.compacts or self.dialogue.size + more < limit - EARLY:
            return
        calls, freed = old_results(self.dialogue.messages, self.left_out)
        if freed >= WORTH:
            self.left_out |= calls
            self.dialogue.reported = max(0, self.dialogue.reported - freed)
        if self.dialogue.size + more >= limit:
            await self.compact("auto")

    async def summarise(self, wish: str = "") -> ApiReply:
        """A summary of what would be sent, with nothing changed: what `compact` would go on from. Raises ApiError.

        If that is too long itself, its older half is left out, and again.
        """
        asked = INSTRUCTION + (f"\n\nHeed this wish above all: {wish}" if wish else "")
        instruction = {"role": "user", "content": [{"type": "text", "text": asked}]}
        messages = drop_thinking(self.dialogue.messages, signatures(self.dialogue.messages))
        while True:
            made = mended([*self.shown(messages), instruction])[0]
            request = MessagesRequest(
                model=self.dialogue.model, messages=made, max_tokens=LONGEST, system=self.means.system
            )
            try:
                reply = await unless(self.stopped, self.means.client.send(request, streaming=True))
            except ApiError as error:
                if error.kind != TOO_LONG or len(messages) < 2:
                    raise
                messages = messages[(len(messages) + 1) // 2 :]
                continue
            if reply is None:
                raise ApiError("The user broke off.", "stopped")
            self.means.tally.add(reply.model or request.model, reply.usage)
            return reply

    async def compact(self, trigger: Literal["auto", "manual"], wish: str = "", text: str = "") -> bool:
        """Go on from a summary, a given one if there is one. False if there is none to go on from; it is said why."""
        if self.failures >= MOST_FAILURES and trigger == "auto":
            return False
        payload: Json = {"trigger": trigger, "custom_instructions": wish}
        outcome = await tell_hooks("PreCompact", payload, self.dialogue, self.means, agent=self.agent)
        if outcome.block:
            return self._give_up(outcome.reason)
        before = self.dialogue.size
        usage: Json = {}
        if not text:
            try:
                reply = await self.summarise(wish)
            except ApiError as error:
                return self._give_up(str(error))
            text, usage = reply.text.strip(), reply.usage
        if not text:
            return self._give_up("The summary is empty.")
        self.failures = 0
        summary = f"{OPENING}\n\n{text}{self._unanswered()}"
        uuid = self.dialogue.restart(summary, text, trigger, before, usage)
        self.left_out = frozenset()
        begun = await tell_hooks("SessionStart", {"source": "compact"}, self.dialogue, self.means, agent=self.agent)
        for context in begun.context:
            self.dialogue.note(reminder(f"A hook says: {context}"))
        self.means.tell(
            events.CompactionDone(
                agent=self.agent, uuid=uuid, trigger=trigger, before=before, after=self.dialogue.size, summary=text
            )
        )
        return True

    def _unanswered(self) -> str:
        """The user's last words, if there is no reply to them yet: the summary does not contain them."""
        last = self.dialogue.messages[-1] if self.dialogue.messages else {}
        if last.get("role") != "user":
            return ""
        texts = [str(b["text"]) for b in last["content"] if b.get("type") == "text"]
        said = "\n".join(text for text in texts if not text.startswith(_NOT_THE_USERS))
        return f"\n\nThe user's last message, word for word:\n{said}" if said else ""

    def _give_up(self, why: str) -> bool:
        self.failures += 1
        told = f"The conversation could not be compacted: {why}"
        self.means.tell(events.Noted(agent=self.agent, text=told, level="warning"))
        return False


def threshold(window: int) -> int:
    """Tokens from which on a conversation is compacted: room for a reply and for what an estimate may miss.

    Measured on the original: 167,000 of 200,000.
    """
    return max(window - 33_000, window // 2)


def old_results(messages: Sequence[Json], known: frozenset[str]) -> tuple[frozenset[str], int]:
    """The calls whose results are older than the newest `KEPT` tokens of results, and what leaving them out frees."""
    room, freed, calls = KEPT, 0, set[str]()
    for message in reversed(messages):
        for block in reversed(message["content"]):
            call = str(block.get("tool_use_id"))
            if block.get("type") == "tool_result" and call not in known:
                size = estimate_tokens(block.get("content"))
                room -= size
                if room < 0 and size > estimate_tokens(LEFT_OUT):
                    calls.add(call)
                    freed += size - estimate_tokens(LEFT_OUT)
    return frozenset(calls), freed


def without_results(messages: Sequence[Json], calls: frozenset[str]) -> list[Json]:
    """The messages with a remark in the place of the results of these calls."""
    return [{**m, "content": [_stub(b) if _answers(b, calls) else b for b in m["content"]]} for m in messages]


def _answers(block: Json, calls: frozenset[str]) -> bool:
    return block.get("type") == "tool_result" and str(block.get("tool_use_id")) in calls


def _stub(block: Json) -> Json:
    return {**block, "content": LEFT_OUT}
