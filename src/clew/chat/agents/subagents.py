"""Errands: agents that a call sends off with a task of their own, and whose last words are its result.

An agent has a conversation, a file and a memory of its own. It lies below its session in `subagents/`, flat, however deep
the call that sent it off. It is waited for, or goes on beside the conversation: then the call is answered at once, and
its last words come as a notification.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace

from msgspec import Struct, field

from clew.chat import events
from clew.chat.agents.background_tasks import watch
from clew.chat.agents.subagent_run import SubagentRun
from clew.chat.config.agent_kind import GENERAL, Kind
from clew.chat.config.model_alias import choose, in_mode
from clew.chat.deps import Deps
from clew.chat.hooks.hook_events import reminder, tell_hooks
from clew.chat.loop import Loop
from clew.chat.store.live_conversation import LiveConversation, UserPrompt
from clew.chat.tools.tool import CallResult, Tool, ToolContext, ToolFailed
from clew.chat.turn.compaction import Compactor
from clew.chat.turn.stream_reply import Asking
from clew.conversation.agent_sessions import SUBAGENT_TOOLS
from clew.errors import Refused
from clew.wire.json_codec import Json, encode
from clew.wire.session_writer import create_exactly

DEEPEST = 4  # agents of agents


class Subagents(Struct, frozen=True):
    """Sends agents off from one conversation."""

    dialogue: LiveConversation
    means: Deps
    kinds: Mapping[str, Kind]
    depth: int = 0
    agent: str = ""
    sent: list[SubagentRun] = field(default_factory=list)
    watchers: set[asyncio.Task[None]] = field(default_factory=set)  # of those that are not waited for

    async def send(self, input: Json, scene: ToolContext) -> CallResult:
        """The result of an agent: its last words, and what it took. Cancelling ends it, with its calls answered."""
        kind = self._kind(str(input.get("subagent_type") or GENERAL))
        is_background = bool(input.get("run_in_background")) or kind.is_background
        sent = self._sent(kind, input, scene, is_background)
        data = {"type": "agent_progress", "agentId": sent.id, "prompt": sent.prompt, "description": sent.title}
        await scene.progress(data)
        self.sent.append(sent)
        try:
            is_over = not is_background and await sent.attend(scene)
        finally:
            if sent.status != "running":
                self.sent.remove(sent)  # nobody has to remember what it said
        return _result(sent) if is_over else self._leave(sent, scene)

    async def linger(self, stopped: asyncio.Event) -> bool:
        """Wait until an agent that goes on beside this one has ended, or somebody breaks off; False if there is none."""
        if not self.watchers:
            return False
        stopping = asyncio.ensure_future(stopped.wait())
        try:
            await asyncio.wait({*self.watchers, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
        return True

    def _sent(self, kind: Kind, input: Json, scene: ToolContext, is_background: bool) -> SubagentRun:
        prompt, about = str(input["prompt"]), str(input.get("description") or "")
        agent_id = "a" + self.dialogue.journal.new_id().replace("-", "")[:16]
        loop, below = self._loop(kind, agent_id, input, scene)
        loop.dialogue.description = about
        self._describe(agent_id, kind, about, scene)
        self.means.tell(
            events.AgentBegun(
                agent=scene.call_id,
                agent_id=agent_id,
                kind=kind.name,
                description=about,
                prompt=prompt,
                is_background=is_background,
            )
        )
        return SubagentRun(loop, _run(loop, kind, agent_id, prompt), agent_id, about, prompt, below)

    def _leave(self, sent: SubagentRun, scene: ToolContext) -> CallResult:
        """Let an agent go on by itself: what the call is answered at once."""
        sent.is_aside = True
        watcher = watch(sent, scene.call_id, self.dialogue, self.means, self.agent)
        self.watchers.add(watcher)
        watcher.add_done_callback(self.watchers.discard)
        said = (
            f"The agent works in the background.\nagentId: {sent.id}\noutput_file: {sent.path}\n"
            "Its last words come by themselves when it has ended: do not wait for them, and do not guess what they are. "
            "Go on with other work that does not touch the same files, or tell the user that it is under way."
        )
        detail = {
            "isAsync": True,
            "status": "async_launched",
            "agentId": sent.id,
            "description": sent.title,
            "resolvedModel": sent.loop.dialogue.model,
            "prompt": sent.prompt,
            "outputFile": str(sent.path),
        }
        return CallResult([{"type": "text", "text": said}], detail)

    def _kind(self, name: str) -> Kind:
        if name not in self.kinds:
            raise ToolFailed(f"There is no agent of the type {name!r}. There are: {', '.join(self.kinds)}.")
        if self.depth >= DEEPEST:
            raise ToolFailed(f"Agents may be sent off {DEEPEST} deep and no deeper. Do it here.")
        return self.kinds[name]

    def _loop(self, kind: Kind, agent_id: str, input: Json, scene: ToolContext) -> tuple[Loop, Sequence[SubagentRun]]:
        """The loop of an agent, and the agents that it will send itself."""
        parent = self.dialogue
        path = parent.folder / "subagents" / f"agent-{agent_id}.jsonl"
        shared = parent.state
        state = replace(shared, seen={}, todos=[], plan=None)
        model = in_mode(choose(str(input.get("model") or "") or kind.model), parent.mode) or parent.model
        mode = parent.mode if parent.mode in ("bypassPermissions", "acceptEdits") else kind.mode or parent.mode
        child = LiveConversation(
            parent.journal.child(path, agent_id), state, model, mode, parent=parent, kind=kind.name
        )
        limits = replace(self.means.limits, turns=kind.turns)
        told = kind.told
        system = [{"type": "text", "text": told}] if told else self.means.system
        means = replace(self.means, tools=self._tools(kind), limits=limits, system=system)
        kinds = {name: each for name, each in self.kinds.items() if kind.sends is None or name in kind.sends}
        errands = Subagents(child, means, kinds, self.depth + 1, scene.call_id)
        stopped = asyncio.Event()
        compactor = Compactor(child, means, stopped, scene.call_id)
        asking = Asking(child, means, scene.call_id, compactor.shown)
        loop = Loop(child, means, stopped, compactor, asking, errands.send, scene.call_id, linger=errands.linger)
        return loop, errands.sent

    def _tools(self, kind: Kind) -> dict[str, Tool]:
        is_last = self.depth + 1 >= DEEPEST
        return {
            name: tool
            for name, tool in self.means.tools.items()
            if kind.may_use(name) and not (is_last and name in SUBAGENT_TOOLS)
        }

    def _describe(self, agent_id: str, kind: Kind, about: str, scene: ToolContext) -> None:
        """The side file that says whose agent it is."""
        if not self.dialogue.journal.is_kept:
            return
        meta: Json = {
            "agentType": kind.name,
            "description": about,
            "toolUseId": scene.call_id,
            "spawnDepth": self.depth + 1,
        }
        if self.dialogue.journal.is_agent:
            meta["parentAgentId"] = self.dialogue.journal.envelope.agent_id
        create_exactly(self.dialogue.folder / "subagents" / f"agent-{agent_id}.meta.json", (encode(meta),))


async def _run(loop: Loop, kind: Kind, agent_id: str, prompt: str) -> events.TurnFinished:
    payload: Json = {"agent_id": agent_id, "agent_type": kind.name}
    outcome = await tell_hooks("SubagentStart", payload, loop.dialogue, loop.means, agent=loop.agent)
    hooked = [reminder(f"A hook says: {text}") for text in outcome.context]
    return await loop.run(UserPrompt(prompt, (*hooked, *[note async for note in _skills(loop, kind)])))


async def _skills(loop: Loop, kind: Kind) -> AsyncIterator[str]:
    """The skills that an agent has read when it begins. One that cannot be had is told to the person."""
    for name in kind.skills:
        try:
            found = await loop.means.skills.body(name, "") if loop.means.skills else None
            why = f"there is no skill {name!r}"
        except Refused as refused:
            found, why = None, str(refused)
        if found is not None:
            yield reminder(f"The skill {name}, in {found.folder}:\n\n{found.text}")
        else:
            text = f"The agent {kind.name} goes without a skill: {why}"
            loop.means.tell(events.Noted(agent=loop.agent, text=text, level="warning"))


def _result(sent: SubagentRun) -> CallResult:
    """What an agent that was waited for gives to its call."""
    finished, child = sent.outcome(), sent.loop.dialogue
    if finished.is_error:
        return CallResult(sent.result, f"Error: {sent.result}", is_error=True)
    content = [{"type": "text", "text": sent.result}]
    detail = {
        "status": "completed",
        "prompt": sent.prompt,
        "agentId": sent.id,
        "content": content,
        "totalDurationMs": sent.milliseconds,
        "totalTokens": child.reported,  # of the last reply, as in the original
        "totalToolUseCount": child.calls_made,
        "usage": child.last_usage,
    }
    return CallResult([*content, {"type": "text", "text": f"agentId: {sent.id}"}], detail)
