"""Pieces: what is to be said in fewer words, and by whom.

A summariser takes pieces and gives for each of them a text, or the error that kept it from one. It is handed in from
outside: a model (`ask`), the extracts here, or a test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from clew.conversation.replies import merge_replies
from clew.conversation.turns import Turn
from clew.edit.summary.sentence_extract import extract, shortened
from clew.errors import ApiError
from clew.facts.tool_catalog import label, tool_name
from clew.wire.entry import Entry

_LEAST = 80  # characters for a turn, however many there are
_PROMPT = 200
_CALL = 160


@dataclass(frozen=True, slots=True)
class TurnText:
    """A prompt, the replies to it, and the calls by name; an earlier summary has replies alone."""

    number: int | None
    prompt: str
    text: str
    calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SummaryTask:
    """Turns to be summarised in about `limit` characters. The prompts are part of it, or only there to explain it."""

    said: tuple[TurnText, ...]
    limit: int
    with_prompts: bool = False

    @property
    def name(self) -> str:
        numbers = [each.number for each in self.said if each.number is not None]
        if not numbers:
            return "what came first"
        return f"turn {numbers[0]}" if len(numbers) == 1 else f"turns {numbers[0]} to {numbers[-1]}"


Summarise = Callable[[Sequence[SummaryTask]], Sequence[str | ApiError]]


def extractive(pieces: Sequence[SummaryTask]) -> list[str | ApiError]:
    """Summaries without a model: sentences out of each piece."""
    return [_outline(piece) if piece.with_prompts else extract(piece.said[0].text, piece.limit) for piece in pieces]


def said(turn: Turn, number: int | None, cwd: str | None) -> TurnText:
    """What was said in a turn."""
    calls = tuple(
        shortened(f"{label(call, cwd)}{' (failed)' if call.failed else ''}", _CALL) for call in turn.calls if call.name
    )
    return TurnText(number, turn.text, spoken_text(turn.entries), calls)


def spoken_text(entries: Iterable[Entry]) -> str:
    """The texts of the replies; what the program wrote in the model's name is none."""
    found = (reply.text.strip() for reply in merge_replies(entries) if not reply.is_synthetic)
    return "\n\n".join(text for text in found if text)


def tally(names: Iterable[str]) -> str:
    """Names of tools with how often each was called: `Bash ×8, Read ×3`."""
    counts = Counter(tool_name(name) for name in names)
    return ", ".join(name if count == 1 else f"{name} ×{count}" for name, count in counts.most_common())


def _outline(piece: SummaryTask) -> str:
    """The prompts, each with an extract of what came of it."""
    share = max(_LEAST, piece.limit // max(len(piece.said), 1))
    return "\n".join(_turn_outline(each, share, piece.limit) for each in piece.said)


def _turn_outline(each: TurnText, share: int, limit: int) -> str:
    if each.number is None:
        return extract(each.text, limit // 2)
    asked = shortened(each.prompt, min(_PROMPT, share))
    answered = extract(each.text, max(_LEAST, share - len(asked)))
    called = "; ".join(each.calls[:3]) if not answered else ""
    return f"{each.number}. {asked}\n   {' '.join((answered or called or '(no reply)').split())}"
