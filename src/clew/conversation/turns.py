"""Divide a path into turns: a prompt of the user and everything that follows from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from clew.conversation.replies import Call, Reply, merge_replies, pair_calls
from clew.conversation.speaker import InputKind, input_kind, is_caveat, is_prompt, prompt_text, speaker
from clew.wire.content_block import Block
from clew.wire.entry import Entry
from clew.wire.entry_types import TurnDuration
from clew.wire.json_codec import decode_readable

if TYPE_CHECKING:
    from clew.conversation.rounds import Round

_UNANSWERED = ("summary", "caveat")  # user lines that Claude Code writes and that need no reply


class Turn(Struct, frozen=True, eq=False):
    """A prompt with everything up to the next one. `number` counts from 1 along the path.

    `round` is the round that the prompt starts; None if the turn was created without its session. It is looked up when
    it is used: a session is divided into rounds only then.
    """

    number: int
    entries: tuple[Entry, ...]
    find_round: Callable[[Entry], Round | None] = lambda _: None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Turn) and (self.number, self.entries) == (other.number, other.entries)

    def __hash__(self) -> int:
        return hash((self.number, self.entries))

    def __repr__(self) -> str:
        return f"Turn(number={self.number}, entries={self.entries})"

    @property
    def round(self) -> Round | None:
        return self.find_round(self.prompt)

    @property
    def prompt(self) -> Entry:
        return self.entries[0]

    @property
    def text(self) -> str:
        """The prompt, without context that the editor added."""
        return prompt_text(self.prompt)

    @property
    def kind(self) -> str:
        return speaker(self.prompt)

    @property
    def input(self) -> InputKind:
        """The kind of input: `ide_selection`, `ide_opened_file` or `text`."""
        return input_kind(self.prompt)

    @property
    def is_queued(self) -> bool:
        """Whether the prompt was typed while the model was working on the previous one."""
        return self.prompt.type == "attachment"

    @property
    def images(self) -> list[Block]:
        return [b for b in self.prompt.blocks if b.type in ("image", "document")]

    @property
    def replies(self) -> tuple[Reply, ...]:
        return merge_replies(self.entries)

    @property
    def calls(self) -> tuple[Call, ...]:
        return pair_calls(self.entries).calls

    @property
    def answer(self) -> str:
        """The text of the last reply that has any. Of replies that Claude Code wrote itself only errors count."""
        return next((r.text for r in reversed(self.replies) if r.text and (r.is_error or not r.is_synthetic)), "")

    @property
    def time(self) -> datetime | None:
        return self.prompt.time

    @property
    def seconds(self) -> float | None:
        """The duration: as Claude Code measured it, else from the first entry to the last."""
        measured = [e for e in self.entries if e.type == "system" and e.subtype == "turn_duration"]
        if measured:
            return sum(float(TurnDuration.of(e).duration_ms) for e in measured) / 1000
        times = [t for e in self.entries if (t := e.time)]
        return (max(times) - min(times)).total_seconds() if times else None

    @property
    def todos(self) -> list[dict[str, Any]]:
        """The todo list that Claude Code stored with the prompt: content, status, activeForm."""
        todos = decode_readable(self.prompt.todos)
        return [item for item in todos if isinstance(item, dict)] if isinstance(todos, list) else []

    @property
    def state(self) -> str:
        """`waiting` for the model, waiting for a `tool`, `interrupted`, or `complete`.

        A compaction after the last reply does not open the turn again, and the output of a local command completes it.
        """
        spoken = spoken_entries(self.entries)
        if not spoken:  # a queued prompt with nothing after it
            return "waiting"
        if speaker(spoken[-1]) == "interrupt":
            return "interrupted"
        if any(call.is_open for call in self.calls):
            return "tool"
        is_done = spoken[-1].type == "assistant" or speaker(spoken[-1]) == "output"
        return "complete" if is_done else "waiting"


def spoken_entries(entries: Iterable[Entry]) -> list[Entry]:
    """Return the lines that a reply can answer, and the replies."""
    return [e for e in entries if e.type in ("user", "assistant") and speaker(e) not in _UNANSWERED]


def split_turns(
    path: Iterable[Entry],
    starts: Callable[[Entry], bool] = is_prompt,
    find_round: Callable[[Entry], Round | None] = lambda _: None,
) -> tuple[tuple[Entry, ...], tuple[Turn, ...]]:
    """Split a path at its prompts; return the entries before the first prompt, and the turns."""
    before: list[Entry] = []
    groups: list[list[Entry]] = []
    for entry in path:
        if starts(entry):
            groups.append([entry])
        else:
            (groups[-1] if groups else before).append(entry)
    return tuple(before), number_turns(tuple(map(tuple, groups)), find_round)


def join_turns(
    path: tuple[Entry, ...], groups: tuple[tuple[Entry, ...], ...], find_round: Callable[[Entry], Round | None]
) -> tuple[tuple[Entry, ...], tuple[Turn, ...]]:
    """Return the entries before the first prompt of a path, and its turns, whose entries are known."""
    return path[: len(path) - sum(map(len, groups))], number_turns(groups, find_round)


def number_turns(
    groups: tuple[tuple[Entry, ...], ...], find_round: Callable[[Entry], Round | None], after: int = 0
) -> tuple[Turn, ...]:
    """Return the turns of groups of entries, without some at the beginning."""
    return tuple(Turn(number, group, find_round) for number, group in enumerate(groups[after:], after + 1))


def strip_caveats(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """Remove the caveats at the end of a turn, which belong to the command after them."""
    end = len(entries)
    while end > 1 and is_caveat(entries[end - 1]):
        end -= 1
    return entries[:end]


def strip_compaction(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """Return the entries of a turn up to the first compaction after its last reply or result."""
    for index in range(len(entries) - 1, 0, -1):
        entry = entries[index]
        if entry.is_boundary:
            return strip_compaction(entries[:index])
        if entry.type in ("user", "assistant") and not entry.is_compact_summary:
            break
    return entries


def total_duration(entries: Sequence[Entry]) -> float:
    """Return the sum of the recorded turn durations in seconds."""
    measured = (e for e in entries if e.type == "system" and e.subtype == "turn_duration")
    return sum(float(TurnDuration.of(e).duration_ms) for e in measured) / 1000
