"""Estimate how much of the context window a session uses, and by what.

Transcripts do not record the tokens of each block. Each block gets a weight (a token estimate from its characters).
The weights are calibrated with the prompt sizes that the API reported: two reports give the tokens per unit of
weight, and the size of what precedes every message (system prompt, tools). Example: reports of 20,000 tokens at
weight 1,000 and of 30,000 at weight 9,000 give a factor of 1.25 and a base of 18,750. Without a report the weights
are used unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct

from clew.api.token_estimate import IMAGE_TOKENS, estimate_tokens
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
_MEDIA = ("image", "document")
_MIN_DISTANCE = 2000  # weight between two reports that is enough to derive a factor
_FACTOR_RANGE = (0.4, 2.5)  # tokens per estimated token; outside it the reports concern other content


class ContextShare(Struct, frozen=True):
    """The tokens and bytes of one category."""

    tokens: int = 0
    bytes: int = 0


class Scale(Struct, frozen=True):
    """Converts weights to tokens: `base` precedes every message, `factor` is the tokens per estimated token."""

    base: int = 0
    factor: float = 1.0


class ContextSize(Struct, frozen=True):
    """The content that a resume sends, by category. `shares` also contains the bytes of the file that are not sent."""

    shares: Mapping[str, ContextShare]
    scale: Scale
    is_measured: bool  # whether a reply reported the size of its prompt

    @property
    def tokens(self) -> int:
        """All tokens, including those before the messages."""
        return self.scale.base + sum(share.tokens for share in self.shares.values())

    @property
    def bytes(self) -> int:
        return sum(share.bytes for share in self.shares.values())


def measure_context(session: Session, scale: Scale | None = None) -> ContextSize:
    """Return the context size of a session; `scale` replaces the session's own calibration."""
    return WeighedPath(session).context(scale)


class WeighedPath:
    """The entries that a resume sends, each with its weight in estimated tokens.

    `like` is the weighed path of a session that this one was edited from: lines that both have are weighed once.
    """

    def __init__(self, session: Session, like: WeighedPath | None = None) -> None:
        self.path = session.resume_path
        self._model = _model(self.path)
        known = like._by_place if like is not None and like._model == self._model else {}
        self.weights = [known.get(_place(entry)) or weigh(entry, self._model) for entry in self.path]
        self._size = sum(item.line.stop - item.line.start for item in session.items)

    @cached_property
    def _by_place(self) -> dict[tuple[int, int], list[tuple[str, ContextShare]]]:
        return dict(zip(map(_place, self.path), self.weights, strict=True))

    def context(self, scale: Scale | None = None) -> ContextSize:
        measured_scale = self.scale if scale is None else scale
        used_scale = measured_scale or Scale()
        weight, letters = dict.fromkeys(CATEGORIES, 0), dict.fromkeys(CATEGORIES, 0)
        for shares in self.weights:
            for name, share in shares:
                weight[name] += share.tokens
                letters[name] += share.bytes
        context_shares = {
            name: ContextShare(round(used_scale.factor * weight[name]), letters[name]) for name in CATEGORIES
        }
        context_shares[UNSENT] = ContextShare(0, max(0, self._size - sum(letters.values())))
        return ContextSize(context_shares, used_scale, measured_scale is not None)

    def before(self, reply: str | None) -> int:
        """Return the weight of everything sent before the first line of a reply."""
        total = 0
        for entry, shares in zip(self.path, self.weights, strict=True):
            if entry.type == "assistant" and reply_id(entry) == reply:
                break
            total += sum(share.tokens for _, share in shares)
        return total

    @property
    def last_report(self) -> Entry | None:
        """The last entry that reports the prompt size of its reply."""
        return next((entry for entry in reversed(self.path) if _report(entry)), None)

    @property
    def scale(self) -> Scale | None:
        """The scale that fits the first and the last report; None if there is no report."""
        reports = list(self._reports())
        if not reports:
            return None
        (first_weight, first_tokens), (last_weight, last_tokens) = reports[0], reports[-1]
        factor = (
            (last_tokens - first_tokens) / (last_weight - first_weight)
            if last_weight - first_weight >= _MIN_DISTANCE
            else 1.0
        )
        if not _FACTOR_RANGE[0] <= factor <= _FACTOR_RANGE[1]:
            factor = 1.0
        factor = min(factor, last_tokens / last_weight) if last_weight else factor
        return Scale(round(last_tokens - factor * last_weight), factor)

    def _reports(self) -> Iterator[tuple[int, int]]:
        """Yield the weight before each reply and its reported tokens. Reports from before a compaction are skipped."""
        start = self.path[0].offset if self.path and self.path[0].is_boundary else -1
        total, before, reply = 0, 0, None
        for entry, shares in zip(self.path, self.weights, strict=True):
            if entry.type == "assistant" and (reply is None or reply_id(entry) != reply):
                reply, before = reply_id(entry), total
            if entry.offset > start and (reported := _report(entry)):
                yield before, reported
            total += sum(share.tokens for _, share in shares)


def _place(entry: Entry) -> tuple[int, int]:
    """Return where the bytes of an entry are in memory; an entry that was edited has other bytes."""
    return id(entry.line.buffer), entry.line.start


def prompt_tokens(usage: Tokens) -> int:
    """Return the tokens of a reply's prompt, cached or not."""
    counts = (usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens)
    return sum(count or 0 for count in counts)


def _report(entry: Entry) -> int:
    usage = entry.message.usage if entry.type == "assistant" and entry.message else None
    return prompt_tokens(usage) if usage and not entry.is_synthetic else 0


# -- the weights


def _model(path: Sequence[Entry]) -> str | None:
    """Return the model that a resume continues with."""
    for entry in reversed(path):
        if entry.type == "assistant" and entry.message and entry.message.model and not entry.is_synthetic:
            return entry.message.model
    return None


def weigh(entry: Entry, model: str | None) -> list[tuple[str, ContextShare]]:
    """Return what an entry adds to the context, by category; a model does not get another model's thinking."""
    if entry.type == "assistant":
        if entry.is_synthetic and entry.is_api_error:
            return []
        is_foreign = entry.message is not None and not is_same(entry.message.model or "", model or "")
        return [w for b in entry.blocks for w in _weigh_reply_block(b) if not (is_foreign and w[0] == "thinking")]
    if entry.type == "user":
        kind = "prompts" if is_prompt(entry) else "added"
        return [weight for block in entry.blocks for weight in _weigh_user_block(block, kind)]
    if entry.type == "attachment":
        kind = "prompts" if is_prompt(entry) else "added"
        return [(kind, _share(text)) for text in _rendered(entry, model)]
    if entry.type == "system" and entry.subtype == "local_command":
        return [("added", _share(decode_readable(entry.content)))]
    return []


def _weigh_reply_block(block: Block) -> Iterator[tuple[str, ContextShare]]:
    if block.type == "text":
        yield "replies", _share(block.text)
    elif block.type in THINKING_TYPES:
        yield "thinking", _share(block.thinking or block.signature)
    elif block.type.endswith("_tool_result"):
        yield from _weigh_result(block.content)
    else:
        yield "tool input", _share(block.input if block.name is None else [block.name, block.input])


def _weigh_user_block(block: Block, kind: str) -> Iterator[tuple[str, ContextShare]]:
    if block.type == "tool_result":
        yield from _weigh_result(block.content)
    elif block.type in _MEDIA:
        yield "images", ContextShare(IMAGE_TOKENS, len(bytes(block.source)))
    else:
        yield kind, _share(block.text)


def _weigh_result(content: Any) -> Iterator[tuple[str, ContextShare]]:
    if not isinstance(content, list):
        yield "tool result", _share(content)
        return
    for part in content:
        if isinstance(part, dict) and part.get("type") in _MEDIA:
            source = part.get("source")
            data = source.get("data") if isinstance(source, dict) else ""
            yield "images", ContextShare(IMAGE_TOKENS, len(data) if isinstance(data, str) else 0)
        else:
            yield "tool result", _share(part.get("text", part) if isinstance(part, dict) else part)


def _rendered(entry: Entry, model: str | None) -> list[str]:
    """Return the text that the model gets for an attachment: as stored, else rendered again."""
    message_drafts = build_drafts([entry], Era.newest(), model or default_model())
    return [str(block["text"]) for draft in message_drafts for block in draft.blocks if block.get("type") == "text"]


def _share(value: Any) -> ContextShare:
    if isinstance(value, str):
        return ContextShare(
            estimate_tokens(value), len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
        )
    counted = estimate_tokens(value)
    return ContextShare(counted, counted * 4)
