"""The lines of a conversation, as an immutable value that grows at its end."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self

from msgspec import Struct, field
from msgspec.structs import replace

from clew.demo import identifiers
from clew.demo.entry_gaps import Wait, gap
from clew.demo.tool_inputs import ToolInput
from clew.demo.tool_results import Content
from clew.demo.version_layout import ABSENT, Data, Setup, arrange, envelope, has_trailing_envelope
from clew.wire.entry import Entry, entries, read
from clew.wire.json_codec import decode, encode
from clew.wire.project_slug import slug
from clew.wire.session_writer import create
from clew.wire.timestamps import format_timestamp

Raw = bytes  # the method of that name hides the type inside the class
LineContent = Data | bytes  # an object, or raw bytes
# a call: itself, its number in the last reply, its id, or None for the next one without a result
Which = ToolInput | int | str | None
SYSTEM_PROMPT = 14_200  # tokens before every conversation: a plausible number, not a measured one


class NewestLines(Struct, frozen=True, eq=False):
    """The newest line and the ones before it."""

    earlier: NewestLines | None
    said: LineContent

    __repr__ = object.__repr__  # each contains all before it


class PendingUse(Struct, frozen=True):
    """A call of the last reply: its id, its line, and whether it has a result."""

    call: ToolInput
    id: str
    line: str
    answered: bool = False


class AgentScript(Struct, frozen=True):
    """A sub-agent's conversation in its own file; `run` is the workflow run that it belongs to."""

    id: str
    lines: tuple[LineContent, ...]
    meta: Mapping[str, Any]
    run: str = ""


class SideFile(Struct, frozen=True):
    """A file that belongs to the session: its path in the tree, with {project} and {session} as placeholders."""

    path: str
    content: bytes


class LineScript(Struct, frozen=True, eq=False):
    """The lines written so far, and the state for the next one."""

    setup: Setup
    home: str
    now: datetime
    newest: NewestLines | None = None
    paused: bool = False  # the next line follows immediately
    leaf: str | None = None
    made: int = 0
    turn: int = 0
    prompt: str = ""
    prompt_text: str = ""
    prompt_time: datetime | None = None
    uses: tuple[PendingUse, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    todos: tuple[Data, ...] = ()
    tokens: int = SYSTEM_PROMPT
    cached: int = 0
    agents: tuple[AgentScript, ...] = ()
    beside: tuple[SideFile, ...] = ()

    __repr__ = object.__repr__

    # -- reading it out

    @property
    def session_id(self) -> str:
        return self.setup.session_id

    @property
    def entries(self) -> list[Entry]:
        """The entries as clew reads them."""
        return list(entries(read(self.bytes())))

    def data(self) -> list[Data]:
        """Return the JSON objects as private copies. Raw bytes are left out."""
        return [decode(encode(line)) for line in self._lines() if isinstance(line, dict)]

    def bytes(self) -> Raw:
        """Return the file."""
        return b"".join(map(encode_line, self._lines()))

    def lines(self) -> list[Raw]:
        """Return the lines of the file, newlines included."""
        return _split_lines(self.bytes())

    def write(self, root: str | os.PathLike[str]) -> Path:
        """Write the session, its agents and side files below `root`; an existing file is an error."""
        paths = [write_new_file(Path(root) / path, content) for path, content in self.contents()]
        return paths[0]

    def contents(self) -> Iterator[tuple[str, Raw]]:
        """Yield every file of the session by its path in the tree, the session itself first."""
        project = f"projects/{slug(self.home)}"
        yield f"{project}/{self.session_id}.jsonl", self.bytes()
        for agent in self.agents:
            folder = f"{project}/{self.session_id}/subagents" if self.setup.since("2.1.2") else project
            stem = f"{folder}/{f'workflows/{agent.run}/' if agent.run else ''}agent-{agent.id}"
            yield f"{stem}.jsonl", b"".join(map(encode_line, agent.lines))
            if agent.meta and self.setup.since("2.1.80"):
                yield f"{stem}.meta.json", encode(agent.meta)
        for beside in self.beside:
            path = beside.path.replace("{project}", project).replace("{session}", self.session_id)
            yield path, beside.content

    def _lines(self) -> list[LineContent]:
        return list(self._backwards())[::-1]

    def _backwards(self) -> Iterator[LineContent]:
        link = self.newest
        while link:
            yield link.said
            link = link.earlier

    def _chain(self) -> list[Data]:
        """Return the objects that have a uuid, in file order."""
        return [line for line in self._lines() if isinstance(line, dict) and "uuid" in line]

    def _path(self) -> list[Data]:
        """Return the entries from the first to the newest one, across compactions."""
        known = {str(entry["uuid"]): entry for entry in self._chain()}
        entries: list[Data] = []
        uuid = self.leaf
        while uuid in known:
            entry = known.pop(uuid)
            entries.append(entry)
            uuid = entry.get("parentUuid") or entry.get("logicalParentUuid")
        return entries[::-1]

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
        """Append an entry with its position in the graph; `over` overrides every field."""
        timed = self._wait(wait) if wait else self
        identity = {
            "type": kind,
            "uuid": self._next_uuid(),
            "timestamp": format_timestamp(timed.now),
            "parentUuid": parent,
        }
        if kind == "user" and self.prompt and has_trailing_envelope(self.setup):
            identity["promptId"] = self.prompt
        entry = arrange(self.setup, {**envelope(self.setup), **identity, **body, **over})
        return replace(
            timed,
            newest=NewestLines(self.newest, entry),
            made=self.made + 1,
            leaf=entry.get("uuid", self.leaf) if moves else self.leaf,
        )

    def _user(self, content: Content, over: Mapping[str, Any], wait: Wait | None = "note") -> Self:
        body = {"message": {"role": "user", "content": content}}
        return self._add("user", body, over, parent=self.leaf, wait=wait)._add_tokens(content)

    def _note(self, kind: str, wait: Wait | None = "note", **fields: Any) -> Self:
        """Append a line without a position in the graph."""
        present = {k: v for k, v in {"type": kind, **fields}.items() if v is not ABSENT}
        timed = self._wait(wait) if wait else self
        return replace(timed, newest=NewestLines(self.newest, present))

    def _next_uuid(self) -> str:
        return identifiers.uuid(self.setup.seed, "entry", self.made)

    def _put(self, line: LineContent) -> Self:
        return replace(self, newest=NewestLines(self.newest, line))

    def _add_tokens(self, value: Any) -> Self:
        """Count the tokens that the model has to read as context."""
        return replace(self, tokens=self.tokens + estimate_tokens(value))

    def _wait(self, wait: Wait) -> Self:
        """Advance the time before a line; the first line is written immediately."""
        if self.newest is None or (self.paused and not self.setup.step):
            return replace(self, paused=False)
        passed = self.setup.step or gap(wait, self.setup.seed, self.made)
        return replace(self, now=self.now + passed, paused=False)

    def _follow(self) -> Self:
        """Make the next line follow within milliseconds."""
        return self if self.setup.step else self._later(timedelta(milliseconds=4))

    def _later(self, time: timedelta) -> Self:
        if time < timedelta(0):
            raise ValueError("time does not run backwards")
        return replace(self, now=self.now + time, paused=True)

    def _use(self, which: Which) -> PendingUse:
        """Find a call: by default the first without a result."""
        if isinstance(which, str):
            return next((u for u in self.uses if u.id == which), None) or self._old_use(which)
        if isinstance(which, int):
            return self.uses[which]
        for use in self.uses:
            if not use.answered and (which is None or which.input == use.call.input):
                return use
        raise ValueError("no call is waiting for an answer")

    def _old_use(self, ident: str) -> PendingUse:
        for line in self._backwards():
            message = line.get("message") if isinstance(line, dict) else None
            content = message.get("content") if isinstance(message, dict) else None
            for block in content if isinstance(content, list) else ():
                if block.get("type") == "tool_use" and block.get("id") == ident:
                    call = ToolInput(block["name"], block["input"], ident)
                    return PendingUse(call, ident, str(line.get("uuid")) if isinstance(line, dict) else "")
        raise ValueError(f"no call has the id {ident}")


def encode_line(line: LineContent) -> bytes:
    """Return a line as bytes: an object with its newline, raw bytes unchanged."""
    return line if isinstance(line, bytes) else encode(line) + b"\n"


def estimate_tokens(value: Any) -> int:
    """Estimate the number of tokens of a value."""
    text = value if isinstance(value, str) else encode(value).decode()
    wide = 0 if text.isascii() else sum(c > "\u2e7f" for c in text)
    return wide + (len(text) - wide) // 4 + 1


def _split_lines(data: bytes) -> list[bytes]:
    parts = data.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def write_new_file(path: Path, content: bytes) -> Path:
    """Create a file. A torn last line is appended separately, because the session writer only writes complete lines."""
    if path.suffix != ".jsonl":
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(path, "xb") as file:
            file.write(content)
        return path
    lines = _split_lines(content)
    tail = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
    create(path, lines, sync=False)
    if tail:
        with open(path, "ab") as file:
            file.write(tail)
    return path
