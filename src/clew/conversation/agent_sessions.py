"""Find the sub-agents of a session and the call that started each of them.

Agents have files of their own in one of three layouts or (before 2.0.28) are sidechain entries in the session's
file. The call is known from the agent's meta file, from the result of the call, or from the agent's first prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    calls = [(owner, call, call.agent_id) for owner, s in callers for call in s.calls if call.name in AGENT_TOOLS]
    matched: set[str] = set()
    linked = [_match_call(agent, calls, matched) for agent in agents]
    positions = {call.id: index for index, (_, call, _) in reversed(list(enumerate(calls)))}
    return sorted(linked, key=lambda a: (positions[a.call.id] if a.call else len(calls), a.id))


def _match_call(agent: Agent, calls: Sequence[tuple[str | None, Call, str | None]], matched: set[str]) -> Agent:
    use = agent.meta.tool_use_id if agent.meta else None
    others = [(o, c, named) for o, c, named in calls if o != agent.id]
    run = agent.file.run if agent.file else None
    match = next(((o, c) for o, c, named in others if (use and c.id == use) or named == agent.id), None)
    match = match or next(((o, c) for o, c, _ in others if run and c.name == "Workflow" and run in c.output), None)
    free = ((o, c) for o, c, named in others if not named and c.id not in matched)
    match = match or next(((o, c) for o, c in free if _has_prompt_of(c, agent)), None)
    if match is None:
        return agent
    matched.add(match[1].id)
    return replace(agent, parent=match[0], call=match[1])


def _has_prompt_of(call: Call, agent: Agent) -> bool:
    """Return whether the agent's first entry is the prompt of this call: the last resort when nothing names the
    call.
    """
    first = next((e for e in agent.session.entries if e.type == "user"), None)
    prompt = call.input.get("prompt")
    return bool(first and isinstance(prompt, str) and prompt.strip() and first.text.strip() == prompt.strip())
