"""Errands: agents that a call sends off with a task of their own, and whose last words are its result.

An agent has a conversation, a file and a memory of its own. It lies below its session in `subagents/`, flat, however deep
the call that sent it off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from msgspec import Struct

from clew.chat import event
from clew.chat.ask import Asking
from clew.chat.call import AGENT_TOOLS
from clew.chat.compaction import Compactor
from clew.chat.dialogue import Dialogue, Prompt
from clew.chat.hooking import reminder, tell_hooks
from clew.chat.loop import Loop
from clew.chat.means import Means, window_of
from clew.chat.model import named
from clew.chat.permission.decision import Mode
from clew.chat.tool import Failed, Json, Result, Scene, State, Tool
from clew.wire.encode import encode
from clew.wire.write import place

DEEPEST = 4  # agents of agents
GENERAL = "general-purpose"
Status = Literal["completed", "failed", "stopped"]


class Kind(Struct, frozen=True):
    """A kind of agent: what it is for, what it is told, and what it may use."""

    name: str
    description: str
    prompt: str
    tools: Sequence[str] | None = None  # None for all
    without: Sequence[str] = ()
    model: str = ""  # empty for that of whoever sends it
    mode: Mode | None = None
    turns: int | None = None

    def may_use(self, tool: str) -> bool:
        return (self.tools is None or tool in self.tools) and tool not in self.without


class Errands(Struct, frozen=True):
    """Sends agents off from one conversation."""

    dialogue: Dialogue
    means: Means
    kinds: Mapping[str, Kind]
    depth: int = 0
    agent: str = ""

    async def send(self, input: Json, scene: Scene) -> Result:
        """The result of an agent: its last words, and what it took. Cancelling ends it, with its calls answered."""
        kind = self._kind(str(input.get("subagent_type") or GENERAL))
        prompt, about = str(input["prompt"]), str(input.get("description") or "")
        agent_id = "a" + self.dialogue.journal.new_id().replace("-", "")[:16]
        loop = self._loop(kind, agent_id, input, scene)
        self._describe(agent_id, kind, about, scene)
        self.means.tell(
            event.AgentBegun(
                agent=scene.call_id,
                agent_id=agent_id,
                kind=kind.name,
                description=about,
                prompt=prompt,
                is_background=False,
            )
        )
        await scene.progress({"type": "agent_progress", "agentId": agent_id, "prompt": prompt, "description": about})
        payload: Json = {"agent_id": agent_id, "agent_type": kind.name}
        outcome = await tell_hooks("SubagentStart", payload, loop.dialogue, loop.means, agent=scene.call_id)
        notes = tuple(reminder(f"A hook says: {text}") for text in outcome.context)
        began = self.means.stopwatch()
        try:
            finished = await loop.run(Prompt(prompt, notes))
        except asyncio.CancelledError:
            self._ended(scene, agent_id, "stopped", "", loop.dialogue)
            raise
        self._ended(scene, agent_id, "failed" if finished.is_error else "completed", finished.text, loop.dialogue)
        return self._result(finished, agent_id, prompt, loop.dialogue, round((self.means.stopwatch() - began) * 1000))

    def _kind(self, name: str) -> Kind:
        if name not in self.kinds:
            raise Failed(f"There is no agent of the type {name!r}. There are: {', '.join(self.kinds)}.")
        if self.depth >= DEEPEST:
            raise Failed(f"Agents may be sent off {DEEPEST} deep and no deeper. Do it here.")
        return self.kinds[name]

    def _loop(self, kind: Kind, agent_id: str, input: Json, scene: Scene) -> Loop:
        parent = self.dialogue
        path = parent.folder / "subagents" / f"agent-{agent_id}.jsonl"
        state = State(parent.state.cwd, parent.state.project, parent.state.roots, background=parent.state.background)
        model = named(str(input.get("model") or "") or kind.model) or parent.model
        mode = parent.mode if parent.mode in ("bypassPermissions", "acceptEdits") else kind.mode or parent.mode
        child = Dialogue(parent.journal.child(path, agent_id), state, model, mode, parent=parent, kind=kind.name)
        limits = replace(self.means.limits, turns=kind.turns, window=window_of(model))
        system = [{"type": "text", "text": kind.prompt}] if kind.prompt else self.means.system
        means = replace(self.means, tools=self._tools(kind), limits=limits, system=system)
        errands = Errands(child, means, self.kinds, self.depth + 1, scene.call_id)
        compactor = Compactor(child, means, scene.stopped, scene.call_id)
        asking = Asking(child, means, scene.call_id, compactor.shown)
        return Loop(child, means, scene.stopped, compactor, asking, errands.send, scene.call_id)

    def _tools(self, kind: Kind) -> dict[str, Tool]:
        is_last = self.depth + 1 >= DEEPEST
        return {
            name: tool
            for name, tool in self.means.tools.items()
            if kind.may_use(name) and not (is_last and name in AGENT_TOOLS)
        }

    def _describe(self, agent_id: str, kind: Kind, about: str, scene: Scene) -> None:
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
        place(self.dialogue.folder / "subagents" / f"agent-{agent_id}.meta.json", (encode(meta),))

    def _ended(self, scene: Scene, agent_id: str, status: Status, summary: str, child: Dialogue) -> None:
        ended = event.AgentEnded(
            agent=scene.call_id,
            agent_id=agent_id,
            status=status,
            summary=summary,
            usage={"total_tokens": child.reported, "tool_uses": child.calls_made},
        )
        self.means.tell(ended)

    def _result(
        self, finished: event.Finished, agent_id: str, prompt: str, child: Dialogue, milliseconds: int
    ) -> Result:
        said = finished.text or "The agent ended without a word."
        if finished.is_error and not finished.is_interrupted:
            reasons = " ".join(finished.errors) or finished.ending
            said = f"The agent failed: {reasons}" + (f"\n\n{finished.text}" if finished.text else "")
        content = [{"type": "text", "text": said}]
        told = [*content, {"type": "text", "text": f"agentId: {agent_id}"}]
        detail = {
            "status": "completed",
            "prompt": prompt,
            "agentId": agent_id,
            "content": content,
            "totalDurationMs": milliseconds,
            "totalTokens": child.reported,  # of the last reply, as in the original
            "totalToolUseCount": child.calls_made,
            "usage": child.last_usage,
        }
        if finished.is_error:
            return Result(said, f"Error: {said}", is_error=True)
        return Result(told, detail)
