"""Find the sub-agents of a session and the call that started each of them.

Agents have files of their own in one of three layouts or (before 2.0.28) are sidechain entries in the session's
file. The call is known from the agent's meta file, from the result of the call, or from the agent's first prompt.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from clew.wire.entry import Entry
from clew.wire.json_codec import as_text
from clew.wire.layout import AgentFile, SessionFile, session_at

if TYPE_CHECKING:
    from clew.conversation.replies import Call
    from clew.conversation.session import Session
    from clew.wire.side_files import AgentMeta


SUBAGENT_TOOLS = frozenset({"Task", "Agent"})  # start one agent and return its answer; the chat runs these
AGENT_TOOLS = SUBAGENT_TOOLS | {"Workflow"}  # also a program that starts many agents


class Agent(Struct, frozen=True):
    """The conversation of a sub-agent."""

    id: str
    session: Session
    call: Call | None = None
    parent: str | None = None  # the id of the agent whose call it was; None for the session's own
    file: AgentFile | None = None
    meta: AgentMeta | None = None

    @property
    def kind(self) -> str:
        """The requested agent type."""
        named = self.meta.agent_type if self.meta else None
        return named or as_text(self.call.input.get("subagent_type", "") if self.call else "")

    @property
    def description(self) -> str:
        named = self.meta.description if self.meta else None
        return named or as_text(self.call.input.get("description", "") if self.call else "")

    @property
    def name(self) -> str:
        """The description; the beginning of the prompt if there is none, as in workflows; else the id."""
        from clew.conversation.titles import first_prompt

        return self.description or first_prompt(self.session) or self.id

    @property
    def totals(self) -> dict[str, Any]:
        """Run statistics from the result of the call: status, totalDurationMs, totalTokens, totalToolUseCount."""
        detail = self.call.detail if self.call else None
        keys = ("status", "totalDurationMs", "totalTokens", "totalToolUseCount")
        return {k: detail[k] for k in keys if k in detail} if isinstance(detail, dict) else {}

    @property
    def recorded_id(self) -> str | None:
        """The id that the entries carry; a file that was renamed shows here."""
        return next((e.agent_id for e in self.session.entries if e.agent_id), None)

    @property
    def model(self) -> str | None:
        return next((r.model for r in self.session.replies if r.model and not r.is_synthetic), None)


def list_agents(session: Session) -> tuple[Agent, ...]:
    """Return every agent below a session: those the session called, in call order, then those called by agents, then
    those without a known call.
    """
    agents = [_open_agent(session, file) for file in _agent_files(session)]
    agents += _inline_agents(session)
    return tuple(_link_to_calls(session, agents))


def _agent_files(session: Session) -> list[AgentFile]:
    file = session.file
    if file is None and session.path is not None and session.path.exists():
        file = session_at(session.path)
    if not isinstance(file, SessionFile):
        return []
    return [agent for agent in file.agents() if not agent.is_warmup]


def _open_agent(session: Session, file: AgentFile) -> Agent:
    opened = session.opened_agents.get(file) or type(session)(file.path, file=file)
    return Agent(file.id, opened, file=file, meta=file.meta())


def _inline_agents(session: Session) -> list[Agent]:
    """Return the agents whose sidechain entries are in the session's own file, one for each root."""
    if session.is_agent:
        return []
    groups: dict[str, list[Entry]] = {}
    roots: dict[str, str] = {}
    for entry in session.entries:
        if entry.is_sidechain and entry.uuid:
            root = roots.get(entry.parent or "", entry.uuid)
            roots[entry.uuid] = root
            groups.setdefault(root, []).append(entry)
    return [
        Agent(group[0].agent_id or root, type(session)(b"".join(_line_bytes(e) for e in group), folder=session.folder))
        for root, group in groups.items()
    ]


def _line_bytes(entry: Entry) -> bytes:
    return entry.raw if entry.raw.endswith(b"\n") else entry.raw + b"\n"


def _link_to_calls(session: Session, agents: list[Agent]) -> list[Agent]:
    """Attach the call of each agent, made by the session or by another agent, and sort the agents by their calls."""
    if not agents:
        return []
    callers: list[tuple[str | None, Session]] = [(None, session), *((a.id, a.session) for a in agents)]
    known = _KnownCalls([(owner, call) for owner, s in callers for call in s.calls if call.name in AGENT_TOOLS])
    linked = [known.link(agent) for agent in agents]
    positions = {call.id: index for index, (_, call) in reversed(list(enumerate(known.calls)))}
    return sorted(linked, key=lambda a: (positions[a.call.id] if a.call else len(known.calls), a.id))


def group_by_call(agents: Sequence[Agent]) -> dict[str, list[Agent]]:
    """Return the agents that have a call, by its id."""
    groups: dict[str, list[Agent]] = {}
    for agent in agents:
        if agent.call is not None:
            groups.setdefault(agent.call.id, []).append(agent)
    return groups


class _KnownCalls:
    """The calls that can have started an agent, with the agents that made them, by what leads to a call."""

    def __init__(self, calls: Sequence[tuple[str | None, Call]]) -> None:
        self.calls = calls
        self._by_id: dict[str, list[int]] = {}
        self._by_agent: dict[str, list[int]] = {}  # named by the result of the call
        self._by_prompt: dict[str, deque[int]] = {}  # of calls whose result names no agent
        self._workflows: list[int] = []
        self._matched: set[str] = set()
        for index, (_, call) in enumerate(calls):
            self._by_id.setdefault(call.id, []).append(index)
            prompt = call.input.get("prompt")
            if named := call.agent_id:
                self._by_agent.setdefault(named, []).append(index)
            elif isinstance(prompt, str) and prompt.strip():
                self._by_prompt.setdefault(prompt.strip(), deque()).append(index)
            if call.name == "Workflow":
                self._workflows.append(index)

    def link(self, agent: Agent) -> Agent:
        """Attach the call of an agent, if there is one: no agent is started by a call of its own."""
        use = agent.meta.tool_use_id if agent.meta else None
        named = sorted([*(self._by_id.get(use, ()) if use else ()), *self._by_agent.get(agent.id, ())])
        match = next((i for i in (*named, *self._runs(agent)) if self.calls[i][0] != agent.id), None)
        match = self._call_with_prompt(agent) if match is None else match
        if match is None:
            return agent
        owner, call = self.calls[match]
        self._matched.add(call.id)
        return replace(agent, parent=owner, call=call)

    def _runs(self, agent: Agent) -> Iterator[int]:
        """Yield the calls that report the workflow run of an agent."""
        run = agent.file.run if agent.file else None
        return (index for index in self._workflows if run and run in self.calls[index][1].output)

    def _call_with_prompt(self, agent: Agent) -> int | None:
        """Return the first free call whose prompt is the agent's first entry: the last resort when nothing names it."""
        first = next((e for e in agent.session.entries if e.type == "user"), None)
        alike = self._by_prompt.get(first.text.strip(), deque()) if first else deque[int]()
        while alike and self.calls[alike[0]][1].id in self._matched:
            alike.popleft()
        free = (index for index in alike if self.calls[index][1].id not in self._matched)
        return next((index for index in free if self.calls[index][0] != agent.id), None)
