"""Define summary tasks and the summariser interface, and summarise by extracts.

A summariser takes tasks and returns a text, or an error, for each. It is passed in: a model (`model_summariser`),
the extracts defined here, or a test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from clew.conversation.replies import merge_replies
from clew.conversation.turns import Turn
from clew.edit.summary.sentence_extract import extract_sentences, shorten_line
from clew.errors import ApiError
from clew.facts.tool_catalog import label, tool_name
from clew.wire.entry import Entry

_MIN_SHARE = 80  # characters for a turn, however many there are
_MAX_PROMPT = 200
_MAX_CALL = 160


class TurnText(Struct, frozen=True):
    """A prompt, the text of its replies, and its calls by name; an earlier summary has only a text."""

    number: int | None
    prompt: str
    text: str
    calls: tuple[str, ...] = ()


class SummaryTask(Struct, frozen=True):
    """Turns to summarise in about `limit` characters. The prompts are part of it, or only an explanation."""

    turn_texts: tuple[TurnText, ...]
    limit: int
    with_prompts: bool = False

    @property
    def name(self) -> str:
        numbers = [turn_text.number for turn_text in self.turn_texts if turn_text.number is not None]
        if not numbers:
            return "what came first"
        return f"turn {numbers[0]}" if len(numbers) == 1 else f"turns {numbers[0]} to {numbers[-1]}"


Summarise = Callable[[Sequence[SummaryTask]], Sequence[str | ApiError]]


def summarise_by_extract(pieces: Sequence[SummaryTask]) -> list[str | ApiError]:
    """Summarise without a model, by sentences of each text."""
    return [
        _outline(piece) if piece.with_prompts else extract_sentences(piece.turn_texts[0].text, piece.limit)
        for piece in pieces
    ]


def describe_turn(turn: Turn, number: int | None, cwd: str | None) -> TurnText:
    """Return the prompt, replies and calls of a turn."""
    calls = tuple(
        shorten_line(f"{label(call, cwd)}{' (failed)' if call.failed else ''}", _MAX_CALL)
        for call in turn.calls
        if call.name
    )
    return TurnText(number, turn.text, reply_text(turn.entries), calls)


def reply_text(entries: Iterable[Entry]) -> str:
    """Return the texts of the replies, without those that Claude Code wrote itself."""
    texts = (reply.text.strip() for reply in merge_replies(entries) if not reply.is_synthetic)
    return "\n\n".join(text for text in texts if text)


def count_names(names: Iterable[str]) -> str:
    """Count tool names: `Bash ×8, Read ×3`."""
    counts = Counter(tool_name(name) for name in names)
    return ", ".join(name if count == 1 else f"{name} ×{count}" for name, count in counts.most_common())


def _outline(piece: SummaryTask) -> str:
    """Return the prompts, each with an extract of its replies."""
    share = max(_MIN_SHARE, piece.limit // max(len(piece.turn_texts), 1))
    return "\n".join(_turn_outline(turn_text, share, piece.limit) for turn_text in piece.turn_texts)


def _turn_outline(turn_text: TurnText, share: int, limit: int) -> str:
    if turn_text.number is None:
        return extract_sentences(turn_text.text, limit // 2)
    prompt = shorten_line(turn_text.prompt, min(_MAX_PROMPT, share))
    reply = extract_sentences(turn_text.text, max(_MIN_SHARE, share - len(prompt)))
    called = "; ".join(turn_text.calls[:3]) if not reply else ""
    return f"{turn_text.number}. {prompt}\n   {' '.join((reply or called or '(no reply)').split())}"
