"""Report damage and oddities of a session, and how much of it each Claude Code version would restore.

A prompt is lost if a resume should restore it and cannot. Prompts on an abandoned branch, and prompts summarised by
a compaction, are not lost: they are counted separately.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from clew.conversation.active_path import after_compaction, find_leaf
from clew.conversation.agent_sessions import Agent
from clew.conversation.cli_version import NEWEST, Era, version_key
from clew.conversation.entry_graph import Cycle, Dangling, Duplicate
from clew.conversation.load import request
from clew.conversation.parent_links import SPOKEN, Chain
from clew.conversation.session import Session
from clew.facts.blank_text import blank_entries
from clew.facts.inventory import Inventory, inventory, unique_prompts
from clew.facts.required_fields import find_incomplete_lines
from clew.wire.entry import Damaged, Entry
from clew.wire.line import MAX_LINE

VERSIONS = ("2.0.50", "2.1.29", "2.1.45", NEWEST)
SOUND, DAMAGED, LOSES, BROKEN = VERDICTS = (
    "sound",
    "damaged",
    "loses",
    "broken",
)  # "damaged" sessions are still resumed completely

GRAPH = ("dangling", "cycle", "duplicate", "gap")
BAD_TEXT, BLANK = "invalid UTF-8", "a text is only white space, which the API rejects"
_INTERNAL_AGENTS = ("acompact", "aprompt_suggestion", "aside_question")  # agents that Claude Code starts for itself
_USER = re.compile(rb'"type"\s*:\s*"user"')
_NOT_PROMPT = re.compile(rb'"tool_result"|"is(?:Meta|CompactSummary|Sidechain)"\s*:\s*true')


class Damage(Struct, frozen=True):
    """A line that is not one JSON object; `agent` is the agent whose file contains it."""

    line: int
    offset: int
    kind: str
    reason: str
    saved: int
    agent: str = ""
    prompt: bool = False  # nothing was saved, and the remainder of the line looks like a prompt


class Flaw(Struct, frozen=True):
    """A defect: dangling, cycle, duplicate, gap, lenient, call, result, extra, agent, name, blank, field."""

    kind: str
    line: int
    text: str


class Prompts(Struct, frozen=True):
    """Where the prompts of a file are. `context` counts those that a resume should send."""

    total: int
    reachable: int
    context: int
    left: int
    compacted: int
    lost: tuple[int, ...]  # lines of the prompts that the judged version cannot restore

    @property
    def reachable_share(self) -> float:
        return _share(self.reachable, self.total)

    @property
    def context_share(self) -> float:
        return _share(self.context, self.total)


class ResumeVerdict(Struct, frozen=True):
    """How one version would resume the session: the prompts on its path, and the lines of those that are missing."""

    version: str
    refusal: str
    messages: int
    kept: int
    due: int
    lost: tuple[int, ...]
    left_out: int = 0  # attachments that the version renders in a way that is not known here

    @property
    def is_resumable(self) -> bool:
        return not self.refusal

    @property
    def share(self) -> float:
        """The share of prompts it restores of those it should."""
        return _share(self.due - len(self.lost), self.due)


class Health(Struct, frozen=True):
    """The state of a session. `judged` is the version that the verdict is about: the newest of those requested."""

    id: str
    verdict: str
    judged: str
    is_agent: bool
    damage: tuple[Damage, ...]
    flaws: tuple[Flaw, ...]
    prompts: Prompts
    resumes: tuple[ResumeVerdict, ...]
    backward: int  # entries with an earlier time than the previous one; harmless
    agents: int
    inventory: Inventory

    @property
    def refusal(self) -> str:
        """Why the judged version would not resume the session."""
        return self.resumes[-1].refusal if self.resumes else ""

    @property
    def is_conversation(self) -> bool:
        """True if the file contains messages; some files contain only state."""
        return any(kind in self.inventory.types for kind in SPOKEN)

    def of(self, *kinds: str) -> tuple[Flaw, ...]:
        return tuple(flaw for flaw in self.flaws if flaw.kind in kinds)


def health(session: Session, versions: Iterable[str] = VERSIONS) -> Health:
    """Examine a session and its agents."""
    requested = sorted(dict.fromkeys(versions), key=version_key) or [NEWEST]
    damage = (*_damage(session), *(d for a in session.agents if a.file for d in _damage(a.session, a.id)))
    blank = (Flaw("blank", e.line.number, BLANK) for e in blank_entries(session, requested[-1]))
    fields = (Flaw("field", problem.line, str(problem)) for problem in find_incomplete_lines(session))
    flaws = (*_graph(session), *_lenient(session), *_pairs(session), *_agents(session), *blank, *fields)
    fate = _fate(session)
    resumes = () if session.is_agent else tuple(_resume(session, version, fate) for version in requested)
    lost = resumes[-1].lost if resumes else _lines(fate.cut)
    destroyed = (d.line for d in damage if d.prompt and not d.agent and d.line > fate.since)
    report = Health(
        id=session.id,
        verdict=SOUND,
        judged=requested[-1],
        is_agent=session.is_agent,
        damage=damage,
        flaws=tuple(sorted(flaws, key=lambda flaw: flaw.line)),
        prompts=Prompts(
            total=len(fate.prompts),
            reachable=fate.reachable,
            context=len(fate.context),
            left=fate.left,
            compacted=fate.compacted,
            lost=tuple(sorted((*lost, *destroyed))),
        ),
        resumes=resumes,
        backward=_count_backward_steps(session.entries),
        agents=len(session.agents),
        inventory=inventory(session),
    )
    return replace(report, verdict=_verdict(report))


def _verdict(report: Health) -> str:
    if not report.is_conversation:
        return BROKEN if report.damage else SOUND
    if report.refusal:
        return BROKEN
    if report.prompts.lost:
        return LOSES
    bad_text = any(flaw.text == BAD_TEXT for flaw in report.of("lenient"))
    # the parents of an agent's first entries may be in the file of its session
    bridged = [flaw for flaw in report.of(*GRAPH) if not (report.is_agent and flaw.kind == "dangling")]
    return DAMAGED if report.damage or bad_text or bridged or report.of("blank") else SOUND


def _share(part: int, total: int) -> float:
    return part / total if total else 1.0


# -- the fate of each prompt


class _Fate(Struct, frozen=True):
    """The prompts of a file and their fate, as far as the file itself shows."""

    prompts: tuple[Entry, ...]
    context: tuple[Entry, ...]  # on the active path after the last compaction
    cut: tuple[Entry, ...]  # severed from the active path by a broken link
    reachable: int
    left: int
    compacted: int
    since: int  # the line of the last compaction on the active path


def _fate(session: Session) -> _Fate:
    links, era = session.links, Era.newest()
    pins = [e for e in session.entries if e.type == "last-prompt"]
    end = session.leaf or find_leaf(links, pins, era, history=True)  # for both what is sent and its history
    active = links.path_to(end, history=True) if end else []
    sent = after_compaction(session.resume_links.path_to(session.leaf)) if session.leaf else []
    since = max((e.line.number for e in active if e.is_boundary), default=0)
    prompts = unique_prompts(session)
    on_path, in_context = {e.offset for e in active}, {e.offset for e in sent}
    aside = [e for e in prompts if e.offset not in on_path]
    severed = _severed(aside, links, active)
    lost = [*severed, *(e for e in prompts if e.offset in on_path and e.offset not in in_context)]
    context = tuple(e for e in prompts if e.offset in in_context)
    cut = tuple(e for e in lost if e.line.number > since)
    reachable = len(prompts) - len(aside) - sum(e.offset in on_path for e in cut)
    return _Fate(prompts, context, cut, reachable, len(aside) - len(severed), len(lost) - len(cut), since)


def _severed(aside: Sequence[Entry], links: Chain, active: Sequence[Entry]) -> list[Entry]:
    """Return the prompts off the active path that no deliberate branch explains.

    A branch joins the path, or begins at its own root. A chain that ends in a missing parent or in a cycle was torn
    off, and so was every other one if the path itself ends that way. Example: A ← B ← C is active. D ← B is a
    branch; E ← X with X missing is severed. Entries without a uuid hide each other.
    """
    torn = bool(active) and _is_torn(active[0], links)
    known = {e.uuid: False for e in active}
    for entry in aside:
        walked: list[str | None] = []
        visited: set[str | None] = set()
        current: Entry | None = entry
        last = entry
        while current is not None and current.uuid not in known and current.uuid not in visited:
            walked.append(current.uuid)
            visited.add(current.uuid)
            last, current = current, links.parent(current, history=True, visited=visited)
        joined = current is not None and current.uuid in known
        fate = known[current.uuid] if current is not None and joined else torn or _is_torn(last, links)
        known.update(dict.fromkeys(walked, fate))
    return [entry for entry in aside if entry.uuid is None or known[entry.uuid]]


def _is_torn(entry: Entry, links: Chain) -> bool:
    """Return True if the first entry of a path should have a parent."""
    return links.above.get(entry.uuid) is not None


def _resume(session: Session, version: str, fate: _Fate) -> ResumeVerdict:
    resume_request = request(session, version)
    path = {entry.offset for entry in resume_request.path}
    due = (*fate.context, *fate.cut)
    restored = sum(entry.offset in path for entry in fate.prompts)
    lost = _lines(entry for entry in due if entry.offset not in path)
    return ResumeVerdict(
        version, resume_request.refusal, len(resume_request.messages), restored, len(due), lost, resume_request.left_out
    )


def _lines(entries: Iterable[Entry]) -> tuple[int, ...]:
    return tuple(sorted(entry.line.number for entry in entries))


# -- defects of lines


def _damage(session: Session, agent: str = "") -> Iterator[Damage]:
    for item in session.damage:
        line = item.line
        yield Damage(line.number, line.offset, item.kind, item.reason, len(item.salvaged), agent, _was_prompt(item))


def _was_prompt(item: Damaged) -> bool:
    if item.salvaged or item.line.size > MAX_LINE:
        return False
    raw = item.raw
    return bool(_USER.search(raw)) and not _NOT_PROMPT.search(raw)


def _lenient(session: Session) -> Iterator[Flaw]:
    for entry in session.entries:
        if entry.leniency and not entry.is_salvaged:
            yield Flaw("lenient", entry.line.number, entry.leniency)


def _graph(session: Session) -> Iterator[Flaw]:
    graph, links = session.graph, session.links
    for problem in graph.problems:
        match problem:
            case Dangling(entry, parent):
                yield Flaw(
                    "dangling",
                    entry.line.number,
                    f"the parent {parent[:8]} is not in the file{_replacement_note(entry, links)}",
                )
            case Cycle(uuids):
                lines = _lines(graph.nodes[uuid] for uuid in uuids)
                yield Flaw("cycle", lines[0], f"its own ancestor, in a ring of {len(lines)}")
            case Duplicate(uuid, entries):
                number = entries[-1].line.number
                yield Flaw("duplicate", number, f"the uuid {uuid[:8]} is there {len(entries)} times, the last counts")
    for entry in links.nodes.values():
        name = links.above[entry.uuid]
        if name in graph.nodes and name not in links.nodes:
            yield Flaw(
                "gap",
                entry.line.number,
                f"the parent {name[:8]} is not part of a conversation{_replacement_note(entry, links)}",
            )


def _replacement_note(entry: Entry, links: Chain) -> str:
    """Describe what replaces a missing parent in the newest version."""
    if entry.uuid not in links.nodes or (entry.is_sidechain and not links.agent):
        return ""
    above = links.parent(entry)
    if above is not None:
        return f"; line {above.line.number} takes its place"
    cut_off = "; no line within 5 seconds takes its place, so everything before is cut off"
    return cut_off if links.before.get(entry.uuid) else ""


def _pairs(session: Session) -> Iterator[Flaw]:
    for call in session.calls:
        if call.is_open:
            yield Flaw("call", call.entry.line.number, f"the call of {call.name or 'a tool'} has no result")
        for extra in call.extras:
            number = call.entry.line.number
            yield Flaw("extra", extra.line.number, f"one more result for the call in line {number}, the first counts")
    for entry in session.pairing.orphans:
        yield Flaw("result", entry.line.number, "the result belongs to no call")


def _agents(session: Session) -> Iterator[Flaw]:
    for agent in session.agents:
        if agent.call is None and not _is_internal(agent):
            yield Flaw("agent", 0, f"no call belongs to the agent {agent.id}")
        if agent.file is None:
            continue
        other = next((e.agent_id for e in agent.session.entries if e.agent_id not in (None, agent.file.id)), None)
        if other is not None:
            yield Flaw("name", 0, f"the entries of {agent.file.path.name} say that the agent is {other}")


def _is_internal(agent: Agent) -> bool:
    return agent.id.startswith(_INTERNAL_AGENTS) or bool(agent.file and agent.file.run)


def _count_backward_steps(entries: Iterable[Entry]) -> int:
    times = [t for e in entries if e.uuid and (t := e.time)]
    return sum(later < earlier for earlier, later in pairwise(times))
