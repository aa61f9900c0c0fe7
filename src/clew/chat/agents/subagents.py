"""Start subagents for the Task tool; the final text of a subagent is the result of its call.

A subagent has a separate conversation, session file and memory. Its file is in `subagents/` of the session, flat at
any depth. Its call waits for it, or returns immediately while it runs in the background; then its final text arrives
as a notification.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence

from msgspec import Struct, field, structs
from msgspec.structs import replace

from clew.chat import events
from clew.chat.agents.agent_kind import DEFAULT_KIND, AgentKind
from clew.chat.agents.agent_worktree import AgentWorktree, add_worktree
from clew.chat.agents.subagent_run import SubagentRun
from clew.chat.config.model_alias import model_in_mode, resolve_choice
from clew.chat.config.system_prompt import system_reminder
from clew.chat.deps import Deps
from clew.chat.loop import Loop
from clew.chat.store.live_conversation import LiveConversation
from clew.chat.store.pending_prompts import UserPrompt
from clew.chat.tools.builtin.structured_output import STRUCTURED_OUTPUT
from clew.chat.tools.tool import CallResult, Tool, ToolContext, ToolFailed
from clew.chat.turn.background_tasks import watch_task
from clew.chat.turn.compaction import Compactor
from clew.chat.turn.hook_events import run_hooks
from clew.chat.turn.stream_reply import ReplyStreamer
from clew.conversation.agent_sessions import SUBAGENT_TOOLS
from clew.errors import Refused
from clew.wire.json_codec import Json, encode
from clew.wire.session_writer import create_exactly

MAX_DEPTH = 4  # nesting levels of subagents


class Subagents(Struct, frozen=True):
    """Starts subagents from one conversation."""

    conversation: LiveConversation
    deps: Deps
    kinds: Mapping[str, AgentKind]
    depth: int = 0
    agent: str = ""
    sent: list[SubagentRun] = field(default_factory=list)
    watchers: set[asyncio.Task[None]] = field(default_factory=set)  # of subagents in the background

    async def send(self, input: Json, scene: ToolContext) -> CallResult:
        """Run a subagent and return its final text and usage. Cancellation ends it; its calls get results."""
        kind = self._kind(str(input.get("subagent_type") or DEFAULT_KIND))
        is_background = bool(input.get("run_in_background")) or kind.is_background
        sent = await self._start(kind, input, scene, is_background)
        data = {"type": "agent_progress", "agentId": sent.id, "prompt": sent.prompt, "description": sent.title}
        await scene.progress(data)
        self.sent.append(sent)
        try:
            is_over = not is_background and await sent.wait_or_detach(scene)
        finally:
            if sent.status != "running":
                self.sent.remove(sent)  # an ended subagent needs no clean-up
        return _result(sent) if is_over else self._detach(sent, scene)

    async def wait_for_subagents(self, stopped: asyncio.Event) -> bool:
        """Wait until a background subagent of this conversation has ended or `stopped` is set; return False if there
        is none.
        """
        if not self.watchers:
            return False
        stopping = asyncio.ensure_future(stopped.wait())
        try:
            await asyncio.wait({*self.watchers, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
        return True

    async def _start(self, kind: AgentKind, input: Json, scene: ToolContext, is_background: bool) -> SubagentRun:
        prompt, description = str(input["prompt"]), str(input.get("description") or "")
        agent_id = "a" + self.conversation.journal.new_id().replace("-", "")[:16]
        is_isolated = kind.is_isolated or input.get("isolation") == "worktree"
        worktree = await add_worktree(self.conversation.state, agent_id) if is_isolated else None
        loop, children = self._build_loop(kind, agent_id, description, input, scene, worktree)
        self._write_meta(agent_id, kind, description, scene, worktree)
        self.deps.emit(
            events.AgentStarted(
                agent=scene.call_id,
                agent_id=agent_id,
                kind=kind.name,
                description=description,
                prompt=prompt,
                is_background=is_background,
            )
        )
        run = _run(loop, kind, agent_id, prompt, worktree)
        return SubagentRun(loop, run, agent_id, description, prompt, children)

    def _detach(self, sent: SubagentRun, scene: ToolContext) -> CallResult:
        """Let a subagent continue in the background, and return the immediate result of its call."""
        sent.is_background = True
        watcher = watch_task(sent, scene.call_id, self.conversation, self.deps, self.agent)
        self.watchers.add(watcher)
        watcher.add_done_callback(self.watchers.discard)
        text = (
            f"The agent works in the background.\nagentId: {sent.id}\noutput_file: {sent.path}\n"
            "Its last words come by themselves when it has ended: do not wait for them, and do not guess what they are. "
            "Continue with other work that does not touch the same files, or tell the user that it is under way."
        )
        detail = {
            "isAsync": True,
            "status": "async_launched",
            "agentId": sent.id,
            "description": sent.title,
            "resolvedModel": sent.loop.conversation.model,
            "prompt": sent.prompt,
            "outputFile": str(sent.path),
        }
        return CallResult([{"type": "text", "text": text}], detail)

    def _kind(self, name: str) -> AgentKind:
        if name not in self.kinds:
            raise ToolFailed(f"There is no agent of the type {name!r}. There are: {', '.join(self.kinds)}.")
        if self.depth >= MAX_DEPTH:
            raise ToolFailed(f"Agents may be sent off {MAX_DEPTH} deep and no deeper. Do it here.")
        return self.kinds[name]

    def _build_loop(
        self,
        kind: AgentKind,
        agent_id: str,
        description: str,
        input: Json,
        scene: ToolContext,
        worktree: AgentWorktree | None,
    ) -> tuple[Loop, Sequence[SubagentRun]]:
        """Return the loop of a subagent, and the list of subagents that it will start."""
        parent = self.conversation
        path = parent.folder / "subagents" / f"agent-{agent_id}.jsonl"
        shared = parent.state
        state = replace(shared, seen={}, todos=[], plan=None)
        if worktree:
            state = replace(state, cwd=worktree.cwd, project=worktree.cwd, roots=(worktree.path,))
        # The model of the call comes first, then that of the subagent's type, then that of the parent.
        model = model_in_mode(resolve_choice(str(input.get("model") or "") or kind.model), parent.mode) or parent.model
        # The type sets the mode, unless the user chose to accept edits or to bypass permissions.
        mode = parent.mode if parent.mode in ("bypassPermissions", "acceptEdits") else kind.mode or parent.mode
        child = LiveConversation(
            parent.journal.child(path, agent_id),
            state,
            model,
            mode,
            parent.reasoning.with_effort(kind.effort or parent.reasoning.effort),
            parent=parent,
            kind=kind.name,
            description=description,
            records=parent.records,
        )
        child.update_cwd()
        limits = replace(self.deps.limits, turns=kind.turns)
        prompt = kind.system_prompt
        system = [{"type": "text", "text": prompt}] if prompt else self.deps.system
        deps = replace(self.deps, tools=self._tools(kind), limits=limits, system=system, output=None)
        kinds = {
            name: subagent_kind
            for name, subagent_kind in self.kinds.items()
            if kind.subagent_kinds is None or name in kind.subagent_kinds
        }
        subagents = Subagents(child, deps, kinds, self.depth + 1, scene.call_id)
        stopped = asyncio.Event()
        compactor = Compactor(child, deps, stopped, scene.call_id)
        streamer = ReplyStreamer(child, deps, scene.call_id, compactor.shown)
        loop = Loop(
            child,
            deps,
            stopped,
            compactor,
            streamer,
            subagents.send,
            scene.call_id,
            wait_for_subagents=subagents.wait_for_subagents,
        )
        return loop, subagents.sent

    def _tools(self, kind: AgentKind) -> dict[str, Tool]:
        is_last = self.depth + 1 >= MAX_DEPTH
        return {
            name: tool
            for name, tool in self.deps.tools.items()
            if kind.may_use(name) and not (is_last and name in SUBAGENT_TOOLS) and name != STRUCTURED_OUTPUT
        }

    def _write_meta(
        self, agent_id: str, kind: AgentKind, description: str, scene: ToolContext, worktree: AgentWorktree | None
    ) -> None:
        """Write the side file that links a subagent to its call."""
        if not self.conversation.journal.is_kept:
            return
        meta: Json = {
            "agentType": kind.name,
            "description": description,
            "toolUseId": scene.call_id,
            "spawnDepth": self.depth + 1,
        }
        if worktree:
            meta["worktreePath"] = str(worktree.path)
        if self.conversation.journal.is_agent:
            meta["parentAgentId"] = self.conversation.journal.envelope.agent_id
        create_exactly(self.conversation.folder / "subagents" / f"agent-{agent_id}.meta.json", (encode(meta),))


async def _run(
    loop: Loop, kind: AgentKind, agent_id: str, prompt: str, worktree: AgentWorktree | None
) -> events.TurnFinished:
    if worktree is None:
        return await _run_loop(loop, kind, agent_id, prompt)
    try:
        finished = await _run_loop(loop, kind, agent_id, prompt, system_reminder(worktree.about))
    finally:
        is_kept = await worktree.close()
    return structs.replace(finished, text=f"{finished.text}\n\n{worktree.note}".strip()) if is_kept else finished


async def _run_loop(loop: Loop, kind: AgentKind, agent_id: str, prompt: str, *notes: str) -> events.TurnFinished:
    payload: Json = {"agent_id": agent_id, "agent_type": kind.name}
    outcome = await run_hooks("SubagentStart", payload, loop.conversation, loop.deps, agent=loop.agent)
    hooked = [system_reminder(f"A hook says: {text}") for text in outcome.context]
    return await loop.run(UserPrompt(prompt, (*notes, *hooked, *[note async for note in _skills(loop, kind)])))


async def _skills(loop: Loop, kind: AgentKind) -> AsyncIterator[str]:
    """Yield the skills that a subagent preloads. A missing one is reported to the user."""
    for name in kind.skills:
        try:
            skill = await loop.deps.skills.body(name, "") if loop.deps.skills else None
            problem = f"there is no skill {name!r}"
        except Refused as refused:
            skill, problem = None, str(refused)
        if skill is not None:
            yield system_reminder(f"The skill {name}, in {skill.folder}:\n\n{skill.text}")
        else:
            text = f"The agent {kind.name} runs without a skill: {problem}"
            loop.deps.emit(events.Notice(agent=loop.agent, text=text, level="warning"))


def _result(sent: SubagentRun) -> CallResult:
    """Return the result of a call that waited for its subagent."""
    finished, child = sent.outcome(), sent.loop.conversation
    if finished.is_error:
        return CallResult(sent.result, f"Error: {sent.result}", is_error=True)
    content = [{"type": "text", "text": sent.result}]
    detail = {
        "status": "completed",
        "prompt": sent.prompt,
        "agentId": sent.id,
        "content": content,
        "totalDurationMs": sent.milliseconds,
        "totalTokens": child.known_tokens,  # of the last reply, as in Claude Code
        "totalToolUseCount": child.calls_made,
        "usage": child.last_usage,
    }
    return CallResult([*content, {"type": "text", "text": f"agentId: {sent.id}"}], detail)
