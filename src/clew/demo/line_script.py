"""The lines of a conversation, written down one by one: an immutable value that grows at its end."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self

from clew.demo import identifiers
from clew.demo.entry_gaps import Wait, gap
from clew.demo.tool_inputs import ToolInput
from clew.demo.tool_results import Content
from clew.demo.version_layout import ABSENT, Data, Setup, arrange, envelope, is_new
from clew.wire.entry import Entry, entries, read
from clew.wire.json_codec import decode, encode
from clew.wire.project_slug import slug
from clew.wire.session_writer import create
from clew.wire.timestamps import format_timestamp

Raw = bytes  # the method of that name hides the type inside the class
Said = Data | bytes  # an object, or bytes to be written as they are
# a call: itself, its number in the last reply, its id, or (None) the next without an answer
Which = ToolInput | int | str | None
SYSTEM_PROMPT = 14_200  # tokens that stand before every conversation: a plausible number, not a measured one


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NewestLines:
    """The newest line and the ones before it."""

    earlier: NewestLines | None
    said: Said


@dataclass(frozen=True, slots=True)
class Use:
    """A call of the last reply: its id, the line that it stands on, and whether it was answered."""

    call: ToolInput
    id: str
    line: str
    answered: bool = False


@dataclass(frozen=True, slots=True)
class AgentScript:
    """A sub-agent's conversation, in a file of its own; `run` is the workflow run that it belongs to."""

    id: str
    lines: tuple[Said, ...]
    meta: Mapping[str, Any]
    run: str = ""


@dataclass(frozen=True, slots=True)
class Beside:
    """A file that belongs to the session: its path below the tree, with {project} and {session} in it."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LineScript:
    """What was written so far, and where the next line goes."""

    setup: Setup
    home: str
    now: datetime
    newest: NewestLines | None = None
    paused: bool = False  # the next line follows at once
    leaf: str | None = None
    made: int = 0
    turn: int = 0
    prompt: str = ""
    prompt_text: str = ""
    prompt_time: datetime | None = None
    uses: tuple[Use, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    todos: tuple[Data, ...] = ()
    tokens: int = SYSTEM_PROMPT
    cached: int = 0
    agents: tuple[AgentScript, ...] = ()
    beside: tuple[Beside, ...] = ()

    # -- reading it out

    @property
    def session_id(self) -> str:
        return self.setup.session_id

    @property
    def entries(self) -> list[Entry]:
        """The entries as clew reads them."""
        return list(entries(read(self.bytes())))

    def data(self) -> list[Data]:
        """The JSON objects, decoded anew: private copies. Raw bytes are left out."""
        return [decode(encode(said)) for said in self._said() if isinstance(said, dict)]

    def bytes(self) -> Raw:
        """The file."""
        return b"".join(map(written, self._said()))

    def lines(self) -> list[Raw]:
        """The lines of the file, newlines included."""
        return _cut(self.bytes())

    def write(self, root: str | os.PathLike[str]) -> Path:
        """Write the session, its agents and what lies beside it below `root`; an existing file is refused."""
        paths = [lay(Path(root) / path, content) for path, content in self.contents()]
        return paths[0]

    def contents(self) -> Iterator[tuple[str, Raw]]:
        """Every file of the session, by its path below the tree: the session itself first."""
        project = f"projects/{slug(self.home)}"
        yield f"{project}/{self.session_id}.jsonl", self.bytes()
        for agent in self.agents:
            folder = f"{project}/{self.session_id}/subagents" if self.setup.since("2.1.2") else project
            stem = f"{folder}/{f'workflows/{agent.run}/' if agent.run else ''}agent-{agent.id}"
            yield f"{stem}.jsonl", b"".join(map(written, agent.lines))
            if agent.meta and self.setup.since("2.1.80"):
                yield f"{stem}.meta.json", encode(agent.meta)
        for beside in self.beside:
            path = beside.path.replace("{project}", project).replace("{session}", self.session_id)
            yield path, beside.content

    def _said(self) -> list[Said]:
        return list(self._backwards())[::-1]

    def _backwards(self) -> Iterator[Said]:
        link = self.newest
        while link:
            yield link.said
            link = link.earlier

    def _chain(self) -> list[Data]:
        """The objects that have a uuid, in file order."""
        return [said for said in self._said() if isinstance(said, dict) and "uuid" in said]

    def _path(self) -> list[Data]:
        """The entries from the first to the newest one, over compactions too."""
        known = {str(entry["uuid"]): entry for entry in self._chain()}
        found: list[Data] = []
        here = self.leaf
        while here in known:
            entry = known.pop(here)
            found.append(entry)
            here = entry.get("parentUuid") or entry.get("logicalParentUuid")
        return found[::-1]

    # -- writing it down

    def _add(
        self,
        kind: str,
        body: Data,
        over: Mapping[str, Any],
        *,
        parent: str | None,
        wait: Wait | None = "note",
        moves: bool = True,
    ) -> Self:
        """One entry with its place in the graph; `over` has the last word on every field."""
        timed = self._wait(wait) if wait else self
        own = {"type": kind, "uuid": self._next_uuid(), "timestamp": format_timestamp(timed.now), "parentUuid": parent}
        if kind == "user" and self.prompt and is_new(self.setup):
            own["promptId"] = self.prompt
        entry = arrange(self.setup, {**envelope(self.setup), **own, **body, **over})
        return replace(
            timed,
            newest=NewestLines(self.newest, entry),
            made=self.made + 1,
            leaf=entry.get("uuid", self.leaf) if moves else self.leaf,
        )

    def _user(self, content: Content, over: Mapping[str, Any], wait: Wait | None = "note") -> Self:
        body = {"message": {"role": "user", "content": content}}
        return self._add("user", body, over, parent=self.leaf, wait=wait)._weighed(content)

    def _note(self, kind: str, wait: Wait | None = "note", **fields: Any) -> Self:
        """One line without a place in the graph."""
        found = {k: v for k, v in {"type": kind, **fields}.items() if v is not ABSENT}
        timed = self._wait(wait) if wait else self
        return replace(timed, newest=NewestLines(self.newest, found))

    def _next_uuid(self) -> str:
        return identifiers.uuid(self.setup.seed, "entry", self.made)

    def _put(self, said: Said) -> Self:
        return replace(self, newest=NewestLines(self.newest, said))

    def _weighed(self, value: Any) -> Self:
        """Count what the model has to read as context."""
        return replace(self, tokens=self.tokens + weight(value))

    def _wait(self, wait: Wait) -> Self:
        """Let the time pass that comes before a line; the first line is written at once."""
        if self.newest is None or (self.paused and not self.setup.step):
            return replace(self, paused=False)
        passed = self.setup.step or gap(wait, self.setup.seed, self.made)
        return replace(self, now=self.now + passed, paused=False)

    def _follow(self) -> Self:
        """The next line comes within milliseconds, whatever it is."""
        return self if self.setup.step else self._later(timedelta(milliseconds=4))

    def _later(self, time: timedelta) -> Self:
        if time < timedelta(0):
            raise ValueError("time does not run backwards")
        return replace(self, now=self.now + time, paused=True)

    def _use(self, which: Which) -> Use:
        """The call that is meant: by default the first without an answer."""
        if isinstance(which, str):
            return next((u for u in self.uses if u.id == which), None) or self._old_use(which)
        if isinstance(which, int):
            return self.uses[which]
        for use in self.uses:
            if not use.answered and (which is None or which.input == use.call.input):
                return use
        raise ValueError("no call is waiting for an answer")

    def _old_use(self, ident: str) -> Use:
        for said in self._backwards():
            message = said.get("message") if isinstance(said, dict) else None
            content = message.get("content") if isinstance(message, dict) else None
            for block in content if isinstance(content, list) else ():
                if block.get("type") == "tool_use" and block.get("id") == ident:
                    call = ToolInput(block["name"], block["input"], ident)
                    return Use(call, ident, str(said.get("uuid")) if isinstance(said, dict) else "")
        raise ValueError(f"no call has the id {ident}")


def written(said: Said) -> bytes:
    """A line as bytes: an object gets its newline, raw bytes stay as they are."""
    return said if isinstance(said, bytes) else encode(said) + b"\n"


def weight(value: Any) -> int:
    """About how many tokens a value is for the model."""
    text = value if isinstance(value, str) else encode(value).decode()
    wide = 0 if text.isascii() else sum(c > "\u2e7f" for c in text)
    return wide + (len(text) - wide) // 4 + 1


def _cut(data: bytes) -> list[bytes]:
    parts = data.split(b"\n")
    found = [part + b"\n" for part in parts[:-1]]
    return [*found, parts[-1]] if parts[-1] else found


def lay(path: Path, content: bytes) -> Path:
    """Make a new file. A torn tail goes behind the whole lines, since the writer of sessions writes none."""
    if path.suffix != ".jsonl":
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(path, "xb") as file:
            file.write(content)
        return path
    lines = _cut(content)
    tail = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
    create(path, lines, sync=False)
    if tail:
        with open(path, "ab") as file:
            file.write(tail)
    return path
