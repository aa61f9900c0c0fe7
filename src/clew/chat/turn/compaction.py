"""Compact a long conversation: replace it by a summary, or first leave old tool results out of requests.

The session file keeps everything. Left-out results are sent again after a resume; messages before a summary are not.
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
from clew.chat.config.system_prompt import system_reminder
from clew.chat.deps import Deps
from clew.chat.store.live_conversation import LiveConversation
from clew.chat.turn.hook_events import run_hooks
from clew.chat.turn.repair_messages import repair_messages
from clew.chat.turn.until_stopped import until_stopped
from clew.errors import ApiError
from clew.wire.json_codec import Json

EARLY_MARGIN = 20_000  # tokens below the threshold at which old results are left out
KEPT_RESULTS = 40_000  # tokens of the newest results, which are always sent
MIN_FREED = 20_000  # least tokens that leaving results out must free
MAX_SUMMARY = 20_000  # most tokens of a summary
MAX_FAILURES = 3
LEFT_OUT = "[This old result was left out to save room. Make the call again if it is needed.]"

_GENERATED_PREFIXES = ("<system-reminder>", "[Request interrupted", "<local-command-", "<command-", "<bash-", "<task-")
OPENING = "The conversation up to here was summed up, and goes on from this summary alone:"
INSTRUCTION = """\
Sum up this conversation so that the work can go on from your summary alone. Write plain text under these headings, and \
leave out a heading that has nothing under it: What the user wants (in the user's own words where they matter), \
Decisions and why, Files (path and what was changed or learnt), Commands that matter and their results, Errors and how \
they were solved, What is done, What is open, The next step. Quote names, paths and numbers exactly. Call no tool."""


class Compactor(Struct):
    """Compacts one conversation."""

    conversation: LiveConversation
    deps: Deps
    stopped: asyncio.Event
    agent: str = ""
    failures: int = 0  # consecutive
    left_out: frozenset[str] = frozenset()  # calls whose results are no longer sent

    def shown(self, messages: Sequence[Json]) -> list[Json]:
        """Return what is sent of the messages."""
        return without_results(messages, self.left_out) if self.left_out else list(messages)

    async def make_room(self, added_tokens: int = 0) -> None:
        """Leave old results out when the context window is nearly full, and compact when that is not enough."""
        limit = threshold(self.deps.limits.window or self.conversation.window)
        if not self.deps.limits.auto_compact or self.conversation.size + added_tokens < limit - EARLY_MARGIN:
            return
        calls, freed = old_results(self.conversation.messages, self.left_out)
        if freed >= MIN_FREED:
            self.left_out |= calls
            self.conversation.known_tokens = max(0, self.conversation.known_tokens - freed)
        if self.conversation.size + added_tokens >= limit:
            await self.compact("auto")

    async def summarise(self, instructions: str = "") -> ApiReply:
        """Request a summary of the conversation without changing it. Raises ApiError.

        If the request itself is too long, its older half is left out, repeatedly.
        """
        request_text = INSTRUCTION + (f"\n\nHeed this wish above all: {instructions}" if instructions else "")
        instruction = {"role": "user", "content": [{"type": "text", "text": request_text}]}
        messages = drop_thinking(self.conversation.messages, signatures(self.conversation.messages))
        while True:
            repaired = repair_messages([*self.shown(messages), instruction])[0]
            request = MessagesRequest(
                model=self.conversation.model, messages=repaired, max_tokens=MAX_SUMMARY, system=self.deps.system
            )
            try:
                reply = await until_stopped(self.stopped, self.deps.client.send(request, streaming=True))
            except ApiError as error:
                if error.kind != TOO_LONG or len(messages) < 2:
                    raise
                messages = messages[(len(messages) + 1) // 2 :]
                continue
            if reply is None:
                raise ApiError("The user interrupted.", "stopped")
            self.deps.cost.add(reply.model or request.model, reply.usage)
            return reply

    async def compact(self, trigger: Literal["auto", "manual"], instructions: str = "", text: str = "") -> bool:
        """Replace the conversation by a summary, `text` if given. Return False if there is none; the reason is
        reported.
        """
        if self.failures >= MAX_FAILURES and trigger == "auto":
            return False
        payload: Json = {"trigger": trigger, "custom_instructions": instructions}
        outcome = await run_hooks("PreCompact", payload, self.conversation, self.deps, agent=self.agent)
        if outcome.block:
            return self._give_up(outcome.reason)
        before = self.conversation.size
        usage: Json = {}
        self.deps.emit(events.CompactionStarted(agent=self.agent))
        if not text:
            try:
                reply = await self.summarise(instructions)
            except ApiError as error:
                return self._fail(str(error))
            text, usage = reply.text.strip(), reply.usage
        if not text:
            return self._fail("The summary is empty.")
        self.failures = 0
        summary = f"{OPENING}\n\n{text}{self._unanswered()}"
        uuid = self.conversation.restart(summary, text, trigger, before, usage)
        self.left_out = frozenset()
        self.deps.emit(events.CompactionEnded(agent=self.agent, is_success=True))
        after: Json = {"trigger": trigger, "compact_summary": text}
        await run_hooks("PostCompact", after, self.conversation, self.deps, agent=self.agent)
        outcome_of_start = await run_hooks(
            "SessionStart", {"source": "compact"}, self.conversation, self.deps, agent=self.agent
        )
        for context in outcome_of_start.context:
            self.conversation.note(system_reminder(f"A hook says: {context}"))
        self.deps.emit(
            events.ConversationCompacted(
                agent=self.agent, uuid=uuid, trigger=trigger, before=before, after=self.conversation.size, summary=text
            )
        )
        return True

    def _fail(self, reason: str) -> bool:
        self.deps.emit(events.CompactionEnded(agent=self.agent, is_success=False))
        return self._give_up(reason)

    def _unanswered(self) -> str:
        """Return the user's last message if it has no reply yet: the summary does not contain it."""
        last = self.conversation.messages[-1] if self.conversation.messages else {}
        if last.get("role") != "user":
            return ""
        texts = [str(b["text"]) for b in last["content"] if b.get("type") == "text"]
        prompt_text = "\n".join(text for text in texts if not text.startswith(_GENERATED_PREFIXES))
        return f"\n\nThe user's last message, word for word:\n{prompt_text}" if prompt_text else ""

    def _give_up(self, reason: str) -> bool:
        self.failures += 1
        message = f"The conversation could not be compacted: {reason}"
        self.deps.emit(events.Notice(agent=self.agent, text=message, level="warning"))
        return False


def threshold(window: int) -> int:
    """Return the size in tokens from which a conversation is compacted: leaves room for a reply and estimation errors.

    Measured on Claude Code: 167,000 of 200,000.
    """
    return max(window - 33_000, window // 2)


def old_results(messages: Sequence[Json], left_out: frozenset[str]) -> tuple[frozenset[str], int]:
    """Return the calls whose results are older than the newest `KEPT_RESULTS` tokens of results, and the tokens that
    leaving them out frees.
    """
    # Walk from the newest result to the oldest. With results of 30,000, 8,000, 5,000 and 20 tokens (newest first),
    # the first two fit into 40,000; the third is left out; the last stays, because a note would not be shorter.
    room, freed, calls = KEPT_RESULTS, 0, set[str]()
    for message in reversed(messages):
        for block in reversed(message["content"]):
            call = str(block.get("tool_use_id"))
            if block.get("type") == "tool_result" and call not in left_out:
                size = estimate_tokens(block.get("content"))
                room -= size
                if room < 0 and size > estimate_tokens(LEFT_OUT):
                    calls.add(call)
                    freed += size - estimate_tokens(LEFT_OUT)
    return frozenset(calls), freed


def without_results(messages: Sequence[Json], calls: frozenset[str]) -> list[Json]:
    """Return the messages with a note in place of the results of these calls."""
    return [{**m, "content": [_stub(b) if _is_result_of(b, calls) else b for b in m["content"]]} for m in messages]


def _is_result_of(block: Json, calls: frozenset[str]) -> bool:
    return block.get("type") == "tool_result" and str(block.get("tool_use_id")) in calls


def _stub(block: Json) -> Json:
    return {**block, "content": LEFT_OUT}
