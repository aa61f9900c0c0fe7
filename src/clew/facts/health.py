"""Health: what is damaged in a session, what is odd, and how much of it each version of Claude Code would bring back.

A prompt is lost when a resume should bring it back and cannot. Prompts on a branch that was left, and prompts that a
compaction summed up, are not lost: they are counted apart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from clew.conversation.active_path import after_compaction, find_leaf
from clew.conversation.agent_sessions import Agent
from clew.conversation.cli_version import NEWEST, Era, version_key
from clew.conversation.entry_graph import Cycle, Dangling, Duplicate
from clew.conversation.load import request
from clew.conversation.parent_links import SPOKEN, Chain
from clew.conversation.session import Session
from clew.facts.blank_text import blank_entries
from clew.facts.required_fields import lacking
from clew.wire.entry import Blank, Damaged, Entry
from clew.wire.line import MAX_LINE

VERSIONS = ("2.0.50", "2.1.29", "2.1.45", NEWEST)
SOUND, DAMAGED, LOSES, BROKEN = VERDICTS = ("sound", "damaged", "loses", "broken")  # damaged, but resumed whole

GRAPH = ("dangling", "cycle", "duplicate", "gap")
BAD_TEXT, BLANK = "invalid UTF-8", "a text is nothing but white space, which the API refuses"
_OWN_ERRANDS = ("acompact", "aprompt_suggestion", "aside_question")  # agents that the program itself begins
_USER = re.compile(rb'"type"\s*:\s*"user"')
_NO_PROMPT = re.compile(rb'"tool_result"|"is(?:Meta|CompactSummary|Sidechain)"\s*:\s*true')


@dataclass(frozen=True, slots=True)
class Damage:
    """A line that is not one JSON object; `agent` is the agent in whose file it stands."""

    line: int
    offset: int
    kind: str
    reason: str
    saved: int
    agent: str = ""
    prompt: bool = False  # nothing was saved, and what is left of the line looks like a prompt


@dataclass(frozen=True, slots=True)
class Flaw:
    """A defect: dangling, cycle, duplicate, gap, lenient, call, result, extra, agent, name, blank, field."""

    kind: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Prompts:
    """Where the prompts of a file are. `context` are those that a resume should send."""

    total: int
    reachable: int
    context: int
    left: int
    compacted: int
    lost: tuple[int, ...]  # the lines of those that the version judged by cannot bring back

    @property
    def reachable_share(self) -> float:
        return _share(self.reachable, self.total)

    @property
    def context_share(self) -> float:
        return _share(self.context, self.total)


@dataclass(frozen=True, slots=True)
class ResumeVerdict:
    """What one version would make of the session: the prompts on its path, and the lines of those it should have had."""

    version: str
    refusal: str
    messages: int
    kept: int
    due: int
    lost: tuple[int, ...]
    left_out: int = 0  # attachments that the version sends in words of its own, which are not known here

    @property
    def is_resumable(self) -> bool:
        return not self.refusal

    @property
    def share(self) -> float:
        """How much it brings back of what it should."""
        return _share(self.due - len(self.lost), self.due)


@dataclass(frozen=True, slots=True)
class Inventory:
    """What the file holds, counted. Blocks are those of message lists; a plain text is none."""

    size: int
    lines: int
    blank: int
    types: Mapping[str, int]
    versions: Mapping[str, int]
    calls: int
    human_turns: int
    stop_reasons: Mapping[str, int]  # of each assistant entry; `null` where there is none
    blocks: Mapping[str, int]
    result_entries: int

    @property
    def result_share(self) -> float:
        """The part of the user entries that are results of tools."""
        return self.result_entries / (self.types.get("user", 0) or 1)


@dataclass(frozen=True, slots=True)
class Health:
    """The state of a session. `judged` is the version that the verdict speaks of: the newest of those asked for."""

    id: str
    verdict: str
    judged: str
    is_agent: bool
    damage: tuple[Damage, ...]
    flaws: tuple[Flaw, ...]
    prompts: Prompts
    resumes: tuple[ResumeVerdict, ...]
    backward: int  # entries with an earlier time than the one before them: ordinary in itself
    agents: int
    inventory: Inventory

    @property
    def refusal(self) -> str:
        """Why the version judged by would not resume it."""
        return self.resumes[-1].refusal if self.resumes else ""

    @property
    def is_conversation(self) -> bool:
        """Whether anybody says anything in it; some files hold only state."""
        return any(kind in self.inventory.types for kind in SPOKEN)

    def of(self, *kinds: str) -> tuple[Flaw, ...]:
        return tuple(flaw for flaw in self.flaws if flaw.kind in kinds)


def health(session: Session, versions: Iterable[str] = VERSIONS) -> Health:
    """All that can be said about the state of a session, its agents included."""
    asked = sorted(dict.fromkeys(versions), key=version_key) or [NEWEST]
    damage = (*_damage(session), *(d for a in session.agents if a.file for d in _damage(a.session, a.id)))
    blank = (Flaw("blank", e.line.number, BLANK) for e in blank_entries(session, asked[-1]))
    fields = (Flaw("field", each.line, str(each)) for each in lacking(session))
    flaws = (*_graph(session), *_lenient(session), *_pairs(session), *_agents(session), *blank, *fields)
    fate = _fate(session)
    resumes = () if session.is_agent else tuple(_resume(session, version, fate) for version in asked)
    lost = resumes[-1].lost if resumes else _lines(fate.cut)
    gone = (d.line for d in damage if d.prompt and not d.agent and d.line > fate.since)
    found = Health(
        id=session.id,
        verdict=SOUND,
        judged=asked[-1],
        is_agent=session.is_agent,
        damage=damage,
        flaws=tuple(sorted(flaws, key=lambda flaw: flaw.line)),
        prompts=Prompts(
            total=len(fate.prompts),
            reachable=fate.reachable,
            context=len(fate.context),
            left=fate.left,
            compacted=fate.compacted,
            lost=tuple(sorted((*lost, *gone))),
        ),
        resumes=resumes,
        backward=_backward(session.entries),
        agents=len(session.agents),
        inventory=inventory(session),
    )
    return replace(found, verdict=_verdict(found))


def _verdict(found: Health) -> str:
    if not found.is_conversation:
        return BROKEN if found.damage else SOUND
    if found.refusal:
        return BROKEN
    if found.prompts.lost:
        return LOSES
    bad_text = any(flaw.text == BAD_TEXT for flaw in found.of("lenient"))
    # the parents of an agent's first entries may be in the file of its session
    bridged = [flaw for flaw in found.of(*GRAPH) if not (found.is_agent and flaw.kind == "dangling")]
    return DAMAGED if found.damage or bad_text or bridged or found.of("blank") else SOUND


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


# -- what became of each prompt


@dataclass(frozen=True, slots=True)
class _Fate:
    """The prompts of a file, and what became of them as far as the file itself tells."""

    prompts: tuple[Entry, ...]
    context: tuple[Entry, ...]  # on the active path behind the last compaction
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
    prompts = _prompts(session)
    on_path, in_context = {e.offset for e in active}, {e.offset for e in sent}
    aside = [e for e in prompts if e.offset not in on_path]
    severed = _severed(aside, links, active)
    lost = [*severed, *(e for e in prompts if e.offset in on_path and e.offset not in in_context)]
    context = tuple(e for e in prompts if e.offset in in_context)
    cut = tuple(e for e in lost if e.line.number > since)
    reachable = len(prompts) - len(aside)
    return _Fate(prompts, context, cut, reachable, len(aside) - len(severed), len(lost) - len(cut), since)


def _prompts(session: Session) -> tuple[Entry, ...]:
    """Every prompt once; of two with one uuid the later stands for both."""
    return tuple({e.uuid or e.offset: e for e in session.prompts}.values())


def _severed(aside: Sequence[Entry], links: Chain, active: Sequence[Entry]) -> list[Entry]:
    """Those beside the active path that no choice of anybody's put there.

    A branch joins the path, or begins at a root of its own. What ends in a missing parent or in a cycle was torn off,
    and so was everything else if the path itself ends that way. Entries without a uuid hide each other.
    """
    torn = bool(active) and _is_torn(active[0], links)
    known = {e.uuid: False for e in active}
    for entry in aside:
        walked: list[str | None] = []
        seen: set[str | None] = set()
        here: Entry | None = entry
        last = entry
        while here is not None and here.uuid not in known and here.uuid not in seen:
            walked.append(here.uuid)
            seen.add(here.uuid)
            last, here = here, links.parent(here, history=True, visited=seen)
        joined = here is not None and here.uuid in known
        fate = known[here.uuid] if here is not None and joined else torn or _is_torn(last, links)
        known.update(dict.fromkeys(walked, fate))
    return [entry for entry in aside if entry.uuid is None or known[entry.uuid]]


def _is_torn(entry: Entry, links: Chain) -> bool:
    """Whether something should stand above the first entry of a path."""
    return links.above.get(entry.uuid) is not None


def _resume(session: Session, version: str, fate: _Fate) -> ResumeVerdict:
    made = request(session, version)
    path = {entry.offset for entry in made.path}
    due = (*fate.context, *fate.cut)
    kept = sum(entry.offset in path for entry in fate.prompts)
    lost = _lines(entry for entry in due if entry.offset not in path)
    return ResumeVerdict(version, made.refusal, len(made.messages), kept, len(due), lost, made.left_out)


def _lines(entries: Iterable[Entry]) -> tuple[int, ...]:
    return tuple(sorted(entry.line.number for entry in entries))


# -- what is wrong with the lines


def _damage(session: Session, agent: str = "") -> Iterator[Damage]:
    for item in session.damage:
        line = item.line
        yield Damage(line.number, line.offset, item.kind, item.reason, len(item.salvaged), agent, _was_prompt(item))


def _was_prompt(item: Damaged) -> bool:
    if item.salvaged or item.line.size > MAX_LINE:
        return False
    raw = item.raw
    return bool(_USER.search(raw)) and not _NO_PROMPT.search(raw)


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
                    "dangling", entry.line.number, f"the parent {parent[:8]} is not in the file{_instead(entry, links)}"
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
                "gap", entry.line.number, f"the parent {name[:8]} is no part of a conversation{_instead(entry, links)}"
            )


def _instead(entry: Entry, links: Chain) -> str:
    """What takes the place of a missing parent in the newest version."""
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
        yield Flaw("result", entry.line.number, "the result answers no call")


def _agents(session: Session) -> Iterator[Flaw]:
    for agent in session.agents:
        if agent.call is None and not _is_own_errand(agent):
            yield Flaw("agent", 0, f"no call answers to the agent {agent.id}")
        if agent.file is None:
            continue
        other = next((e.agent_id for e in agent.session.entries if e.agent_id not in (None, agent.file.id)), None)
        if other is not None:
            yield Flaw("name", 0, f"the entries of {agent.file.path.name} say that the agent is {other}")


def _is_own_errand(agent: Agent) -> bool:
    return agent.id.startswith(_OWN_ERRANDS) or bool(agent.file and agent.file.run)


def _backward(entries: Iterable[Entry]) -> int:
    times = [t for e in entries if e.uuid and (t := e.time)]
    return sum(later < earlier for earlier, later in pairwise(times))


# -- what there is


def inventory(session: Session) -> Inventory:
    """The counts of a session's own file."""
    types: Counter[str] = Counter()
    stops: Counter[str] = Counter()
    blocks: Counter[str] = Counter()
    results = 0
    for entry in session.entries:
        types[entry.type] += 1
        content = entry.message.content if entry.message else None
        if isinstance(content, list):
            blocks.update(block.type for block in content)
        if entry.type == "assistant" and entry.message:
            stop = entry.message.stop_reason
            stops["null" if stop is None else stop] += 1
        elif entry.type == "user" and entry.results:
            results += 1
    return Inventory(
        size=session.items[-1].line.end if session.items else 0,
        lines=sum(item.line.count for item in session.items),
        blank=sum(item.line.count for item in session.items if isinstance(item, Blank)),
        types=dict(types.most_common()),
        versions=session.versions,
        calls=len(session.calls),
        human_turns=len(_prompts(session)),
        stop_reasons=dict(stops.most_common()),
        blocks=dict(blocks.most_common()),
        result_entries=results,
    )
