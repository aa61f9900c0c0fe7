"""Learning: what the entries of a file say of its session, carried on as the file grows."""

from __future__ import annotations

from dataclasses import dataclass, field
from zlib import crc32

from msgspec import field as renamed

from clew.conversation.rounds import Divider, Features, features_of, marks_of
from clew.conversation.speaker import input_kind, prompt_text, speaker, starts_turn
from clew.index.base64_filter import strip_base64
from clew.index.query_syntax import COMPLEXITIES, INPUTS, ROUND_KINDS
from clew.wire.entry import BaseEntry
from clew.wire.timestamps import instant

LONGEST = 200  # characters of a first prompt
OPEN = 64  # calls that wait for their result, the newest


class Indexed(BaseEntry, frozen=True, gc=False, eq=False):
    """What an index wants of an entry beyond its words."""

    cwd: str | None = None
    branch: str | None = renamed(default=None, name="gitBranch")
    session_id: str | None = renamed(default=None, name="sessionId")
    custom: str | None = renamed(default=None, name="customTitle")
    made: str | None = renamed(default=None, name="aiTitle")
    last: str | None = renamed(default=None, name="lastPrompt")
    summary: str | None = None
    leaf: str | None = renamed(default=None, name="leafUuid")
    parent: str | None = renamed(default=None, name="parentUuid")
    permission_mode: str | None = renamed(default=None, name="permissionMode")


@dataclass
class SessionFacts:
    """The columns of a file's row that come from its entries, in the order of `COLUMNS`."""

    session: str
    custom: str | None = None
    made: str | None = None
    last: str | None = None
    summary: str | None = None
    first: str | None = None
    command: str | None = None
    cwd: str | None = None
    branches: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    started: int | None = None
    ended: int | None = None
    messages: int = 0
    open: dict[str, tuple[str, int]] = field(default_factory=dict)
    root: int = 0
    round: int = 0
    round_class: int = 0
    spoken: str = ""  # the time of the last message

    @property
    def titles(self) -> str:
        """What a search for a title looks at: those that were given. A prompt in their stead is found as a prompt."""
        return "\n".join(title for title in dict.fromkeys((self.custom, self.made, self.summary)) if title)

    def row(self) -> tuple[str | int | None, ...]:
        return (
            *(self.session, self.custom, self.made, self.last, self.summary, self.first, self.command, self.cwd),
            *("\n".join(self.branches), "\n".join(self.models), self.started, self.ended, self.messages),
            "\n".join(f"{call}\t{tool}\t{at}" for call, (tool, at) in self.open.items()),
            *(self.root, self.round, self.round_class, self.spoken),
        )


COLUMNS = (
    *("session", "custom", "made", "last", "summary", "first", "command", "cwd"),
    *("branches", "models", "started", "ended", "messages", "open", "root", "round", "class", "spoken"),
)


def facts_of(row: tuple[object, ...]) -> SessionFacts:
    """The facts in a row."""
    facts = SessionFacts(*row)  # type: ignore[arg-type]
    branches, models, waiting = (str(value) for value in (facts.branches, facts.models, facts.open))
    facts.branches = branches.split("\n") if branches else []
    facts.models = models.split("\n") if models else []
    calls = [line.split("\t") for line in waiting.split("\n")] if waiting else []
    facts.open = {call: (tool, int(at)) for call, tool, at in calls}
    return facts


def learn(entry: Indexed, facts: SessionFacts, when: int | None, is_agent: bool) -> None:
    """Add what one entry says. Summaries are not learned here: most in a file speak of another one."""
    kind = entry.type
    if kind == "assistant":
        facts.messages += 1
        model = entry.message.model if entry.message else None
        if model and model not in facts.models and model != "<synthetic>":
            facts.models.append(_clean(model))
    elif kind == "user":
        facts.messages += 1
        if facts.first is None and starts_turn(entry, is_agent):
            _begin(entry, facts)
    elif entry.custom or entry.made or entry.last:
        facts.custom = _line(entry.custom) or facts.custom
        facts.made = _line(entry.made) or facts.made
        facts.last = _line(entry.last) or facts.last
    if when is not None:
        facts.started = when if facts.started is None else min(facts.started, when)
        facts.ended = when if facts.ended is None else max(facts.ended, when)
    if entry.branch and entry.branch not in facts.branches:
        facts.branches.append(_clean(entry.branch))
    if facts.cwd is None and entry.cwd:
        facts.cwd = entry.cwd.encode("utf-8", "replace").decode().replace("\0", "")  # whole: `cd` is printed with it
    if not facts.session and entry.session_id:
        facts.session = _clean(entry.session_id)


def note_round(entry: Indexed, facts: SessionFacts, is_agent: bool) -> None:
    """Note which round an entry stands in, as `session.rounds` counts them."""
    if entry.type not in ("user", "assistant", "attachment") or (entry.is_sidechain and not is_agent):
        return
    marks = marks_of(entry, entry.parent, entry.permission_mode, is_agent)
    divider = Divider(facts.round)
    if marks is not None and divider.add(marks, None):
        facts.round = divider.number
        features = features_of(entry, marks, facts.round)
        facts.round_class = _class_of(features, features.kind(marks.pause(instant(facts.spoken or None))))
    if isinstance(entry.timestamp, str) and (marks is not None or entry.type != "attachment"):
        facts.spoken = _clean(entry.timestamp) if instant(entry.timestamp) else facts.spoken


def _class_of(features: Features, kind: str) -> int:
    """The kind and the complexity of a round as one number, each counted from 1; 0 for none."""
    complexity = COMPLEXITIES.index(features.complexity) + 1 if features.complexity else 0
    return 4 * (ROUND_KINDS.index(kind) + 1) + complexity


def input_number(entry: Indexed) -> int:
    """The kind of input of a user message, counted from 1; 0 for everything else."""
    is_input = entry.type == "user" or speaker(entry) == "prompt"
    return INPUTS.index(input_kind(entry)) + 1 if is_input else 0


def _begin(entry: Indexed, facts: SessionFacts) -> None:
    """The first thing a person said; a command only if there is nothing else."""
    text = _line(strip_base64(prompt_text(entry)))
    if not text:
        return
    if len(text) > LONGEST:
        text = text[:LONGEST].rstrip() + "…"
    if speaker(entry) == "prompt":
        facts.first = text
    elif facts.command is None:
        facts.command = text


def tools_of(entry: Indexed, facts: SessionFacts, at: int) -> list[tuple[str, int]]:
    """The tools whose results an entry holds, in the order of their pieces, each with the offset of its call.

    Calls wait here for their results; `at` is the offset of the entry.
    """
    content = entry.message.content if entry.message else None
    if not isinstance(content, list):
        return []
    found = []
    for block in content:
        kind = block.type
        if kind == "tool_use" and block.id and block.name:
            facts.open[_clean(block.id)] = (_clean(block.name), at)
            while len(facts.open) > OPEN:
                del facts.open[next(iter(facts.open))]
        elif kind == "tool_result" and (block.content if isinstance(block.content, str) else block.result_text):
            found.append(facts.open.pop(_clean(block.tool_use_id or ""), ("", -1)))
    return found


def _line(text: str | None) -> str:
    return _clean(" ".join(text.split())) if text else ""


def _clean(text: str) -> str:
    """Text that a row can hold: no lone surrogates, and no character that rows are cut at."""
    if text.isascii() and text.isprintable():
        return text
    text = text.encode("utf-8", "replace").decode()
    return text.replace("\n", " ").replace("\t", " ").replace("\0", "")


def seconds(timestamp: str | int | float | None) -> int | None:
    moment = instant(timestamp)
    return int(moment.timestamp()) if moment else None


def node_of(uuid: str | None) -> int:
    """A small stand-in for a uuid: forks repeat entries, and repetitions are to be known again."""
    if not uuid:
        return 0
    try:
        return int(uuid[-12:], 16)
    except ValueError:
        return crc32(uuid.encode("utf-8", "replace"))
