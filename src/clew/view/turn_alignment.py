"""Align the turns of two conversations: which are the same, which changed, and which only one of them has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Literal, NamedTuple

from clew.conversation.turns import Turn

PairKind = Literal["same", "changed", "different", "left", "right"]
_SIMILAR = 0.5  # ratio of words from which two prompts are versions of each other
_REACH = 500  # prompts that are compared with each prompt to find a version of it
_MAX_WORDS = 400  # words of a prompt that are compared


class TurnPair(NamedTuple):
    """Two turns beside each other: the same, versions of each other, or different ones at the same place. One is None
    in a pair of the kind "left" or "right".
    """

    kind: PairKind
    left: Turn | None
    right: Turn | None

    @property
    def differences(self) -> list[str]:
        """What differs in a changed pair: "prompt", "reply" and "calls"."""
        if self.left is None or self.right is None:
            return []
        names = zip(("prompt", "calls", "reply"), _content(self.left), _content(self.right), strict=True)
        return [name for name, one, other in names if one != other]


def align_turns(left: Sequence[Turn], right: Sequence[Turn]) -> list[TurnPair]:
    """Return the turns of both in order. Equal prompts are beside each other, and so are similar ones between them."""
    pairs: list[TurnPair] = []
    matcher = SequenceMatcher(None, [turn.text for turn in left], [turn.text for turn in right], autojunk=False)
    for step, a, b, c, d in matcher.get_opcodes():
        if step == "equal":
            pairs += [_pair(one, other) for one, other in zip(left[a:b], right[c:d], strict=True)]
        else:
            pairs += _align_similar(left[a:b], right[c:d])
    return pairs


def _pair(left: Turn, right: Turn) -> TurnPair:
    return TurnPair("same" if _content(left) == _content(right) else "changed", left, right)


def _content(turn: Turn) -> tuple[str, list[tuple[str, object]], list[str]]:
    calls: list[tuple[str, object]] = [(call.name, call.use.input) for call in turn.calls]
    return turn.text, calls, [reply.text for reply in turn.replies if reply.text]


def _align_similar(left: Sequence[Turn], right: Sequence[Turn]) -> Iterator[TurnPair]:
    start = waiting = 0  # the first turns of both sides that are not in a pair yet
    others = [_PromptWords.of(turn) for turn in right]
    for number, turn in enumerate(left):
        words = _PromptWords.of(turn)
        near = range(start, min(start + _REACH, len(right)))
        found = next((i for i in near if words.is_similar(others[i])), None)
        if found is not None:
            yield from _place_together(left[waiting:number], right[start:found])
            yield _pair(turn, right[found])
            start, waiting = found + 1, number + 1
    yield from _place_together(left[waiting:], right[start:])


def _place_together(left: Sequence[Turn], right: Sequence[Turn]) -> Iterator[TurnPair]:
    for one, other in zip_longest(left, right):
        yield TurnPair("different" if one and other else "left" if one else "right", one, other)


class _PromptWords(NamedTuple):
    """The words of a prompt, in their order and by their number."""

    words: list[str]
    counts: Counter[str]

    @classmethod
    def of(cls, turn: Turn) -> _PromptWords:
        words = turn.text.lower().split()[:_MAX_WORDS]
        return cls(words, Counter(words))

    def is_similar(self, other: _PromptWords) -> bool:
        """Return whether enough words are the same, in the same order. Most pairs have too few in any order."""
        least = (len(self.words) + len(other.words)) * _SIMILAR / 2
        if min(len(self.words), len(other.words)) < least:
            return False
        if sum(min(self.counts[word], other.counts[word]) for word in self.counts.keys() & other.counts.keys()) < least:
            return False
        return SequenceMatcher(None, self.words, other.words, autojunk=False).ratio() >= _SIMILAR
