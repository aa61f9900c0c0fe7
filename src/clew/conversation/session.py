"""A session: one file, its agents and side files, as a lazy snapshot.

Nothing is read before it is used, and what has been read does not change: a file that grows is a new session.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from clew.conversation import (
    active_path,
    agent_sessions,
    branches,
    cli_version,
    entry_graph,
    parent_links,
    preserved_lines,
    prompt_queue,
    replies,
    resume_request,
    rounds,
    speaker,
    surroundings,
    titles,
    turns,
)
from clew.wire import entry_types, overflow_files, side_files
from clew.wire.entry import Damaged, Entry, Item, entries, read
from clew.wire.layout import AgentFile, SessionFile
from clew.wire.line import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from clew.conversation.agent_sessions import Agent
    from clew.conversation.branches import Branch
    from clew.conversation.entry_graph import Graph
    from clew.conversation.parent_links import Chain
    from clew.conversation.prompt_queue import Timeline
    from clew.conversation.replies import Call, Pairing, Reply
    from clew.conversation.resume_request import Request, VersionPaths
    from clew.conversation.rounds import Round
    from clew.conversation.session_growth import Settled
    from clew.conversation.surroundings import IsShown, Surroundings
    from clew.conversation.turns import Turn
    from clew.wire.entry_types import Compaction
    from clew.wire.overflow_files import Overflow

_WRITER = re.compile(rb'"writer":\s*"clew/([^"\\]+)"')


class CompactionPoint(Struct, frozen=True):
    """A compaction: its boundary, its metadata, and the summary with which the model continued."""

    boundary: Entry
    detail: Compaction
    summary: Entry | None


class Session:
    """A conversation. `source` is a path, the bytes of a file, or items that are not in a file yet.

    `folder` is the folder of long call outputs, if it does not follow from the file.
    """

    def __init__(
        self,
        source: Source | tuple[Item, ...],
        *,
        file: SessionFile | AgentFile | None = None,
        folder: Path | None = None,
    ) -> None:
        self._source = source
        self.file = file
        self.own_folder = folder
        self._edited: Session | None = None
        self.settled: Settled | None = None  # what is taken over when the file grows: see `session_growth`
        self.unchanged_turns = self.unchanged_entries = 0  # at the beginning: as in the session that was extended
        self.groups: tuple[tuple[Entry, ...], ...] = ()  # the entries of the turns, if the session was extended
        self.opened_agents: Mapping[AgentFile, Session] = {}  # agents that were read before the file grew
        self.path: Path | None = file.path if file else Path(source) if isinstance(source, str | Path) else None

    def __repr__(self) -> str:
        return f"<Session {self.id}>"

    def with_items(self, items: tuple[Item, ...]) -> Session:
        """Return a session of other items in the place of this file. The last one is kept: an edit asks for it again."""
        if items is self.items:
            return self
        if self._edited is None or self._edited.items is not items:
            self._edited = Session(items, file=self.file)
        return self._edited

    @cached_property
    def id(self) -> str:
        """The name of the file; ids inside it may differ."""
        if self.path is not None:
            return self.path.stem
        return next((e.session_id for e in self.entries if e.session_id), "")

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """Every line: entries, damage, blanks. Their bytes joined are the file."""
        return self._source if isinstance(self._source, tuple) else tuple(read(self._source))

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """All entries in file order, those saved from damaged lines included."""
        return tuple(entries(self.items))

    @property
    def damage(self) -> tuple[Damaged, ...]:
        return tuple(item for item in self.items if isinstance(item, Damaged))

    @cached_property
    def graph(self) -> Graph:
        return entry_graph.Graph(self.entries)

    @cached_property
    def is_agent(self) -> bool:
        """Whether this is an agent's own file, where every entry is a sidechain."""
        spoken = [e for e in self.entries if e.type in ("user", "assistant")]
        return bool(spoken) and all(e.is_sidechain for e in spoken)

    @cached_property
    def links(self) -> Chain:
        return parent_links.link_entries(self.entries, cli_version.Era.newest(), agent=self.is_agent)

    @cached_property
    def resume_links(self) -> Chain:
        """The links as a resume sees them: lines that the last compaction preserved are below its summary."""
        return preserved_lines.relink_preserved(self.links)

    @cached_property
    def version_paths(self) -> VersionPaths:
        """The paths on which the versions of Claude Code would resume this session."""
        return resume_request.VersionPaths(self.items, self.entries, None if self.is_agent else self.resume_links)

    @cached_property
    def leaf(self) -> Entry | None:
        """The entry from which the newest version would continue."""
        pins = [e for e in self.entries if e.type == "last-prompt"]
        return active_path.find_leaf(self.resume_links, pins, cli_version.Era.newest())

    @cached_property
    def resume_path(self) -> tuple[Entry, ...]:
        """The entries that a resume sends: the path from the last compaction on, with what it preserved."""
        if self.leaf is None:
            return ()
        era = cli_version.Era.newest()
        path = active_path.after_compaction(active_path.path_to_message(self.resume_links, self.leaf, era))
        return tuple(active_path.complete_path(path, self.resume_links, era))

    @cached_property
    def resume_request(self) -> Request:
        """What the newest version would send to resume this session."""
        return self.version_paths.build_newest()

    @cached_property
    def active(self) -> tuple[Entry, ...]:
        """The active path through the whole history: neither compactions nor missing parents cut it."""
        return self.path_to(self.leaf) if self.leaf else ()

    @cached_property
    def cut(self) -> Entry | None:
        """The entry of the active path before which a resume loses everything, because its parent is missing."""
        links = self.resume_links
        first = links.path_to(self.leaf)[0] if self.leaf and not self.is_agent else None
        return first if first is not None and links.is_cut(first) and first is not self.active[0] else None

    def path_to(self, entry: Entry) -> tuple[Entry, ...]:
        """Return the path from the beginning to an entry, with results that parallel calls left off the path."""
        return tuple(active_path.insert_siblings(self.links.path_to(entry, history=True), self.links))

    @cached_property
    def divided(self) -> tuple[tuple[Entry, ...], tuple[Turn, ...]]:
        """The preamble and the turns of the active path."""
        return turns.join_turns(self.active, self.groups, self.find_round) if self.groups else self._divide(self.active)

    def _divide(self, path: tuple[Entry, ...]) -> tuple[tuple[Entry, ...], tuple[Turn, ...]]:
        return turns.split_turns(path, self._starts_turn, self.find_round)

    def find_round(self, prompt: Entry) -> Round | None:
        """Return the round that a prompt starts."""
        return self._rounds_by_offset.get(prompt.offset)

    @cached_property
    def _rounds_by_offset(self) -> dict[int, Round]:
        return {round_.entry.offset: round_ for round_ in self.rounds}

    @cached_property
    def _starts_turn(self) -> Callable[[Entry], bool]:
        return partial(speaker.starts_turn, agent=self.is_agent)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns of the active path."""
        return self.divided[1]

    @cached_property
    def rounds(self) -> tuple[Round, ...]:
        """All rounds in file order, including those on abandoned branches; the gap is five minutes."""
        return rounds.rounds_of(self)

    @property
    def preamble(self) -> tuple[Entry, ...]:
        """The entries before the first prompt, which belong to no turn."""
        return self.divided[0]

    @cached_property
    def branches(self) -> tuple[Branch, ...]:
        return branches.list_branches(self.links, self.active)

    def turns_of(self, branch: Branch) -> tuple[Turn, ...]:
        """Return the turns of another branch, up to the newest entry below its last prompt."""
        if branch.is_active:
            return self.turns
        return self.turns_to(self._newest_below(branch.last))

    def turns_to(self, entry: Entry) -> tuple[Turn, ...]:
        """Return the turns on the path to an entry; the last one ends with it."""
        return self._divide(self.path_to(entry))[1]

    def _newest_below(self, entry: Entry) -> Entry:
        """Return the last line of the file among a prompt and everything that followed from it."""
        reached, pending = {entry.uuid: entry}, [entry.uuid]
        while pending:
            for below in self._followers.get(pending.pop(), ()):
                if below.uuid not in reached:
                    reached[below.uuid] = below
                    pending.append(below.uuid)
        return max(reached.values(), key=lambda e: e.offset)

    @cached_property
    def _followers(self) -> dict[str | None, list[Entry]]:
        """The entries directly below each entry, except prompts, which start turns of their own."""
        followers: dict[str | None, list[Entry]] = {}
        for entry in self.links.nodes.values():
            above = self.links.parent(entry, history=True)
            if above is not None and (self.is_agent or not entry.is_sidechain) and not self._starts_turn(entry):
                followers.setdefault(above.uuid, []).append(entry)
        return followers

    def around(self, position: str | int, count: int = 5, is_shown: IsShown | None = None) -> Surroundings:
        """Return the message at a line number or uuid, with up to `count` messages on either side. Raises NotFound.

        Messages for which `is_shown` is false are left out and not counted; it gets the session that contains the
        message.
        """
        return surroundings.messages_around(self, position, count, is_shown)

    @cached_property
    def replies(self) -> tuple[Reply, ...]:
        """Every reply of the file, on the active path or not."""
        return replies.merge_replies(self.entries)

    @cached_property
    def pairing(self) -> Pairing:
        """Every call of the file with its result, and the results that answer none."""
        return replies.pair_calls(self.entries)

    @property
    def calls(self) -> tuple[Call, ...]:
        return self.pairing.calls

    @cached_property
    def agent_calls(self) -> tuple[Call, ...]:
        """The calls of all agents of this session, agents of agents included; `calls` has only those of the session."""
        return tuple(call for agent in self.agents for call in agent.session.calls)

    @cached_property
    def compactions(self) -> tuple[CompactionPoint, ...]:
        below = {e.parent: e for e in self.entries if e.is_compact_summary}
        points: list[CompactionPoint] = []
        for entry in self.entries:
            if entry.is_boundary:
                points.append(CompactionPoint(entry, entry_types.Compaction.of(entry), below.get(entry.uuid)))
            elif entry.is_compact_summary and points and points[-1].summary is None:
                points[-1] = replace(points[-1], summary=entry)
        return tuple(points)

    @cached_property
    def queue(self) -> Timeline:
        """The messages that were queued while the model was busy, and the outcome of each."""
        return prompt_queue.queue_timeline(self.entries)

    @property
    def working_seconds(self) -> float:
        """The sum of the turn durations that the file records."""
        return turns.total_duration(self.entries)

    @cached_property
    def agents(self) -> tuple[Agent, ...]:
        """The agents that calls of this session started, and theirs, including those inside the file itself."""
        return agent_sessions.list_agents(self)

    def agents_for(self, call: Call) -> list[Agent]:
        """Return the agents that a call started, also a call of an agent below this session."""
        return self._agents_by_call.get(call.id, []) if call.name in agent_sessions.AGENT_TOOLS else []

    @cached_property
    def _agents_by_call(self) -> dict[str, list[Agent]]:
        return agent_sessions.group_by_call(self.agents)

    @cached_property
    def folder(self) -> Path | None:
        """The folder of the session's side files, whether or not it exists; an agent shares that of its session."""
        if self.own_folder is not None or self.path is None:
            return self.own_folder
        if isinstance(self.file, AgentFile):
            owner = self.file.session_id or ""
            return self.file.project_folder / owner if side_files.is_bare_name(owner) else None
        return self.path.with_suffix("")

    @cached_property
    def _overflows(self) -> overflow_files.OverflowFolder:
        return overflow_files.OverflowFolder(self.folder)

    def overflow(self, call: Call, detail: Any = None) -> Overflow | None:
        """Return the file with the whole output of a call, if the output was too long for the transcript.

        `detail` is the record of the call, if it has been decoded already.
        """
        if not self._overflows.names:
            return None
        return self._overflows.find(call.id, call.output, call.detail if detail is None else detail)

    @cached_property
    def title(self) -> str:
        return titles.title_of_whole(self)

    @cached_property
    def tag(self) -> str:
        """The tag that the user gave; empty if there is none."""
        return titles.session_tag(self)

    @cached_property
    def cwd(self) -> str | None:
        """The working directory at the start of the session; it may have changed since."""
        return next((e.cwd for e in self.entries if e.cwd), None)

    @cached_property
    def branch_name(self) -> str | None:
        """The git branch at the last entry that names one."""
        return next((e.git_branch for e in reversed(self.entries) if e.git_branch), None)

    @cached_property
    def slug(self) -> str | None:
        """The short label that Claude Code gave to the session, such as `deep-dazzling-harbor`; the newest one."""
        return next((e.slug for e in reversed(self.entries) if e.slug), None)

    @property
    def programs(self) -> list[str]:
        """The programs that wrote to this file, such as "Claude Code 2.1.232, 2.1.325" and "clew 0.5"."""
        # Lines of clew state the version whose format they have, and themselves in `writer`.
        found: dict[str, dict[str, None]] = {}
        for entry in self.entries:
            if entry.version:
                writer = _WRITER.search(entry.raw) if entry.line.contains(b'"writer":') else None
                name, version = ("clew", writer[1].decode()) if writer else ("Claude Code", entry.version)
                found.setdefault(name, {})[version] = None
        return [f"{name} {', '.join(versions)}" for name, versions in found.items()]

    @property
    def versions(self) -> dict[str, int]:
        """Number of entries for each version of Claude Code that wrote to this file."""
        return dict(Counter(entry.version for entry in self.entries if entry.version))

    @property
    def models(self) -> dict[str, int]:
        """Number of replies for each model."""
        return dict(Counter(reply.model for reply in self.replies if reply.model and not reply.is_synthetic))

    @cached_property
    def _times(self) -> list[datetime]:
        return [t for e in self.entries if e.uuid and (t := e.time)]

    @property
    def started(self) -> datetime | None:
        return min(self._times, default=None)

    @property
    def ended(self) -> datetime | None:
        return max(self._times, default=None)

    @cached_property
    def prompts(self) -> tuple[Entry, ...]:
        """Every prompt of the file, including those on abandoned branches."""
        return tuple(e for e in self.entries if self._starts_turn(e))
