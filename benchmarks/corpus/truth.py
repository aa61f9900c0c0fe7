"""What a corpus really holds: the manifest, and the ledger that is kept while the files are written.

Nothing is read back. A writer tells the ledger what became of each line, and the ledger adds it up:

- `every`: what whole lines hold. Copies in forks are counted in it, but for usage, which is counted once per
  reply.
- `copied`: the part of `every` that is copies of another session's lines (same uuid, same message id).
- `salvage`: what comes on top when the whole objects on damaged lines are read too.

So once = every - copied, and a reader that salvages finds every + salvage.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens. Cache writes without a breakdown by lifetime are counted as five-minute ones."""

    input: int = 0
    output: int = 0
    cache_creation_5m: int = 0
    cache_creation_1h: int = 0
    cache_read: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_creation_5m + other.cache_creation_5m,
            self.cache_creation_1h + other.cache_creation_1h,
            self.cache_read + other.cache_read,
        )


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of one kind of reading."""

    entries: int = 0
    types: dict[str, int] = field(default_factory=dict)  # entries by `type`
    prompts: int = 0  # user entries that a person typed, slash commands not among them
    commands: int = 0  # user entries that are slash commands
    queued: int = 0  # prompts typed while the model worked: attachments
    calls: dict[str, int] = field(default_factory=dict)  # tool_use blocks by tool
    results: dict[str, int] = field(default_factory=dict)  # tool_result blocks by tool
    replies: dict[str, int] = field(default_factory=dict)  # message ids by model
    usage: dict[str, Usage] = field(default_factory=dict)  # once per message id, by model


@dataclass(frozen=True, slots=True)
class Needle:
    """A text that is on one line of the tree and no other (perhaps twice on it), and where."""

    kind: str  # word, phrase, symbol, cjk, quoted
    field: str  # prompt, reply, thinking, tool_input, tool_result
    text: str
    file: str  # below the root, with forward slashes
    offset: int  # of the line's first byte


@dataclass(frozen=True, slots=True)
class Fork:
    """A session that begins with copies of another's lines."""

    source: str
    file: str
    entries: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """The truth about one generated tree. Paths are below its root, with forward slashes."""

    seed: int
    asked: int  # bytes asked for, `big` not among them
    epoch: str  # the corpus' now: every time in it is earlier
    bytes: int  # of all files
    files: int  # all of them
    transcript_bytes: int  # of the .jsonl files below projects/
    projects: int
    sessions: int  # main session files that are not empty
    agents: int  # agent files, warm-ups among them
    warmups: int
    empty: int  # session files of no bytes
    history: int  # lines of history.jsonl
    lines: int  # in transcripts: entries + damaged + torn
    damaged: dict[str, int]  # lines by kind: joined, truncated, nul
    salvageable: int  # whole objects on those
    torn: int  # files whose last line is cut short
    unterminated: int  # files whose last line is whole but has no newline
    compactions: int
    rewinds: int
    unanswered: int  # calls that have no result anywhere
    every: Tally
    copied: Tally
    salvage: Tally
    forks: list[Fork]
    needles: list[Needle]
    big: str | None = None  # the one big session

    def write(self, path: Path) -> None:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n")

    @classmethod
    def read(cls, path: Path) -> Manifest:
        return msgspec.json.decode(path.read_bytes(), type=cls)


class ReplyLine(NamedTuple):
    """What an assistant line says of its reply."""

    id: str
    model: str
    usage: Usage


class Facts(NamedTuple):
    """What one line adds to the truth."""

    type: str
    kind: str = ""  # prompt, command, queued, call, result
    tool: str = ""
    reply: ReplyLine | None = None


class _Count:
    """A tally that is still open."""

    def __init__(self) -> None:
        self.types: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self.results: Counter[str] = Counter()
        self.replies: Counter[str] = Counter()
        self.usage: dict[str, Usage] = {}

    def add(self, facts: Facts) -> None:
        self.types[facts.type] += 1
        if facts.kind:
            self.kinds[facts.kind] += 1
        if facts.kind == "call":
            self.calls[facts.tool] += 1
        elif facts.kind == "result":
            self.results[facts.tool] += 1

    def spend(self, model: str, usage: Usage) -> None:
        self.usage[model] = self.usage.get(model, Usage()) + usage

    def close(self) -> Tally:
        return Tally(
            entries=self.types.total(),
            types=dict(sorted(self.types.items())),
            prompts=self.kinds["prompt"],
            commands=self.kinds["command"],
            queued=self.kinds["queued"],
            calls=dict(sorted(self.calls.items())),
            results=dict(sorted(self.results.items())),
            replies=dict(sorted(self.replies.items())),
            usage=dict(sorted(self.usage.items())),
        )


class Ledger:
    """Adds up what is written. Usage is settled per session, so that memory stays small."""

    def __init__(self) -> None:
        self.every = _Count()
        self.copied = _Count()
        self.salvage = _Count()
        self.events: Counter[str] = Counter()  # the plain numbers of the manifest
        self.damaged: Counter[str] = Counter()
        self.needles: list[Needle] = []
        self.forks: list[Fork] = []
        self._clear: dict[str, ReplyLine] = {}  # best line of each open reply, from whole lines
        self._saved: dict[str, ReplyLine] = {}  # the same, from damaged ones

    def whole(self, facts: Facts, copied: bool) -> None:
        """One entry on a line of its own."""
        self.every.add(facts)
        if copied:
            self.copied.add(facts)
        elif facts.reply is not None:
            _keep_best(self._clear, facts.reply)

    def saved(self, facts: Facts) -> None:
        """One whole object on a damaged line."""
        self.salvage.add(facts)
        if facts.reply is not None:
            _keep_best(self._saved, facts.reply)

    def settle(self) -> None:
        """Count the replies of the session that has ended, once each."""
        for reply in self._clear.values():
            self.every.replies[reply.model] += 1
            self.every.spend(reply.model, reply.usage)
        for id_, reply in self._saved.items():
            clear = self._clear.get(id_)
            if clear is None:
                self.salvage.replies[reply.model] += 1
                self.salvage.spend(reply.model, reply.usage)
            elif reply.usage.output > clear.usage.output:
                self.salvage.spend(reply.model, Usage(output=reply.usage.output - clear.usage.output))
        self._clear.clear()
        self._saved.clear()

    def file(self, size: int, *, transcript: bool) -> None:
        self.events["files"] += 1
        self.events["bytes"] += size
        if transcript:
            self.events["transcript_bytes"] += size

    def manifest(self, *, seed: int, asked: int, epoch: str, projects: int, big: str | None) -> Manifest:
        events = self.events
        every, copied = self.every, self.copied
        open_calls = (every.calls - copied.calls).total() - (every.results - copied.results).total()
        return Manifest(
            seed=seed,
            asked=asked,
            epoch=epoch,
            bytes=events["bytes"],
            files=events["files"],
            transcript_bytes=events["transcript_bytes"],
            projects=projects,
            sessions=events["sessions"],
            agents=events["agents"],
            warmups=events["warmups"],
            empty=events["empty"],
            history=events["history"],
            lines=every.types.total() + self.damaged.total() + events["torn"],
            damaged=dict(sorted(self.damaged.items())),
            salvageable=self.salvage.types.total(),
            torn=events["torn"],
            unterminated=events["unterminated"],
            compactions=events["compactions"],
            rewinds=events["rewinds"],
            unanswered=open_calls - self.salvage.results.total(),
            every=every.close(),
            copied=copied.close(),
            salvage=self.salvage.close(),
            forks=self.forks,
            needles=self.needles,
            big=big,
        )


def _keep_best(replies: dict[str, ReplyLine], line: ReplyLine) -> None:
    """The line with most output tokens speaks for its reply."""
    known = replies.get(line.id)
    if known is None or line.usage.output > known.usage.output:
        replies[line.id] = line
