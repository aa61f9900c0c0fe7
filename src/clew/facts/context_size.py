"""The context: how much of the model's window a session takes, and what takes it.

Nobody wrote down how many tokens a block is. Each is weighed by its letters, and the weights are held against the sizes
that the API reported with the replies: two of them give the tokens of a letter, and what stands before every message (the
system prompt, the tools). Without a report the weights alone are told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clew.api.token_estimate import IMAGE, tokens
from clew.conversation.cli_version import Era
from clew.conversation.message_drafts import build_drafts
from clew.conversation.reply_ids import reply_id
from clew.conversation.session import Session
from clew.conversation.speaker import is_prompt
from clew.models import default_model, is_same
from clew.wire.content_block import THINKING_TYPES, Block, Tokens
from clew.wire.entry import Entry
from clew.wire.json_codec import decode_readable

CATEGORIES = ("prompts", "replies", "thinking", "tool input", "tool result", "images", "added")
UNSENT = "not sent"
_PICTURES = ("image", "document")
_FAR = 2000  # tokens between two replies that are enough to tell a scale from
_SCALES = (0.4, 2.5)  # tokens for one that was estimated; beyond them the reports are about something else


@dataclass(frozen=True, slots=True)
class ContextShare:
    """What one category takes: its tokens, and its letters in bytes."""

    tokens: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Scale:
    """From weights to tokens: what stands before every message, and the tokens for one that was estimated."""

    base: int = 0
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class ContextSize:
    """What a resume sends, by category. `shares` also tells how many bytes of the file are not sent."""

    shares: Mapping[str, ContextShare]
    scale: Scale
    is_measured: bool  # whether a reply told the size of what it was given

    @property
    def tokens(self) -> int:
        """All of it, with what stands before the messages."""
        return self.scale.base + sum(share.tokens for share in self.shares.values())

    @property
    def bytes(self) -> int:
        return sum(share.bytes for share in self.shares.values())


def context(session: Session, scale: Scale | None = None) -> ContextSize:
    """The context of a session; by the scale of another one if its own reports tell of something else."""
    return Weighed(session).context(scale)


class Weighed:
    """What a resume sends, each entry with its weight in estimated tokens."""

    def __init__(self, session: Session) -> None:
        self.path = session.resume_path
        model = _model(self.path)
        self.weights = [weigh(entry, model) for entry in self.path]
        self._size = sum(item.line.stop - item.line.start for item in session.items)

    def context(self, scale: Scale | None = None) -> ContextSize:
        found = self.scale if scale is None else scale
        used = found or Scale()
        weight, letters = dict.fromkeys(CATEGORIES, 0), dict.fromkeys(CATEGORIES, 0)
        for shares in self.weights:
            for name, share in shares:
                weight[name] += share.tokens
                letters[name] += share.bytes
        taken = {name: ContextShare(round(used.factor * weight[name]), letters[name]) for name in CATEGORIES}
        taken[UNSENT] = ContextShare(0, max(0, self._size - sum(letters.values())))
        return ContextSize(taken, used, found is not None)

    def before(self, reply: str | None) -> int:
        """The weight of what a reply was given: all that is sent before its first line."""
        total = 0
        for entry, shares in zip(self.path, self.weights, strict=True):
            if entry.type == "assistant" and reply_id(entry) == reply:
                break
            total += sum(share.tokens for _, share in shares)
        return total

    @property
    def last_report(self) -> Entry | None:
        """The last entry that tells how many tokens its reply was given."""
        return next((entry for entry in reversed(self.path) if _report(entry)), None)

    @property
    def scale(self) -> Scale | None:
        """The scale by which the first and the last report are right; None if no reply told anything."""
        reports = list(self._reports())
        if not reports:
            return None
        (first, told_first), (last, told_last) = reports[0], reports[-1]
        factor = (told_last - told_first) / (last - first) if last - first >= _FAR else 1.0
        if not _SCALES[0] <= factor <= _SCALES[1]:
            factor = 1.0
        factor = min(factor, told_last / last) if last else factor
        return Scale(round(told_last - factor * last), factor)

    def _reports(self) -> Iterator[tuple[int, int]]:
        """The weight before each reply, and the tokens that it told. What a compaction kept tells of before it."""
        start = self.path[0].offset if self.path and self.path[0].is_boundary else -1
        total, before, reply = 0, 0, None
        for entry, shares in zip(self.path, self.weights, strict=True):
            if entry.type == "assistant" and (reply is None or reply_id(entry) != reply):
                reply, before = reply_id(entry), total
            if entry.offset > start and (told := _report(entry)):
                yield before, told
            total += sum(share.tokens for _, share in shares)


def given(usage: Tokens) -> int:
    """The tokens that went into a reply, whatever of them was cached."""
    counts = (usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens)
    return sum(count or 0 for count in counts)


def _report(entry: Entry) -> int:
    usage = entry.message.usage if entry.type == "assistant" and entry.message else None
    return given(usage) if usage and not entry.is_synthetic else 0


# -- the weights


def _model(path: Sequence[Entry]) -> str | None:
    """The model that a resume goes on with."""
    for entry in reversed(path):
        if entry.type == "assistant" and entry.message and entry.message.model and not entry.is_synthetic:
            return entry.message.model
    return None


def weigh(entry: Entry, model: str | None) -> list[tuple[str, ContextShare]]:
    """What an entry adds to a context, by category; a model gets no other's thinking."""
    if entry.type == "assistant":
        if entry.is_synthetic and entry.is_api_error:
            return []
        is_foreign = entry.message is not None and not is_same(entry.message.model or "", model or "")
        return [w for b in entry.blocks for w in _said(b) if not (is_foreign and w[0] == "thinking")]
    if entry.type == "user":
        kind = "prompts" if is_prompt(entry) else "added"
        return [weight for block in entry.blocks for weight in _told(block, kind)]
    if entry.type == "attachment":
        kind = "prompts" if is_prompt(entry) else "added"
        return [(kind, _share(text)) for text in _rendered(entry, model)]
    if entry.type == "system" and entry.subtype == "local_command":
        return [("added", _share(decode_readable(entry.content)))]
    return []


def _said(block: Block) -> Iterator[tuple[str, ContextShare]]:
    if block.type == "text":
        yield "replies", _share(block.text)
    elif block.type in THINKING_TYPES:
        yield "thinking", _share(block.thinking or block.signature)
    elif block.type.endswith("_tool_result"):
        yield from _result(block.content)
    else:
        yield "tool input", _share(block.input if block.name is None else [block.name, block.input])


def _told(block: Block, kind: str) -> Iterator[tuple[str, ContextShare]]:
    if block.type == "tool_result":
        yield from _result(block.content)
    elif block.type in _PICTURES:
        yield "images", ContextShare(IMAGE, len(bytes(block.source)))
    else:
        yield kind, _share(block.text)


def _result(content: Any) -> Iterator[tuple[str, ContextShare]]:
    if not isinstance(content, list):
        yield "tool result", _share(content)
        return
    for part in content:
        if isinstance(part, dict) and part.get("type") in _PICTURES:
            source = part.get("source")
            data = source.get("data") if isinstance(source, dict) else ""
            yield "images", ContextShare(IMAGE, len(data) if isinstance(data, str) else 0)
        else:
            yield "tool result", _share(part.get("text", part) if isinstance(part, dict) else part)


def _rendered(entry: Entry, model: str | None) -> list[str]:
    """What the model gets of an attachment: the words that were stored, else those made of it again."""
    made = build_drafts([entry], Era.newest(), model or default_model())
    return [str(block["text"]) for draft in made for block in draft.blocks if block.get("type") == "text"]


def _share(value: Any) -> ContextShare:
    if isinstance(value, str):
        return ContextShare(
            tokens(value), len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
        )
    counted = tokens(value)
    return ContextShare(counted, counted * 4)
