"""Merge the replies of a turn into one text, without thinking, and drop or shorten its calls."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct

from clew.conversation.turns import Turn
from clew.edit.summary.age_levels import LEVELS, VERBATIM, Level
from clew.edit.summary.compact_boundary import MARK
from clew.edit.summary.sentence_extract import shorten_line
from clew.edit.summary.summariser import count_names, reply_text
from clew.wire.content_block import THINKING_TYPES, result_text
from clew.wire.entry import Entry
from clew.wire.entry_edit import block_bytes, revise
from clew.wire.json_codec import as_text, decode, encode, map_texts
from clew.wire.json_splice import join_array, splice

Tools = Literal["drop", "keep"]

MAX_INPUT = 160  # characters of each text in the input of a call that is kept
MAX_OUTPUT = 120  # characters of a result that is short enough to stay
_NOTE = re.compile(r"\s*\[Calls left out: [^\]]*\]\s*\Z")
_SERVER = re.compile(r"(?:server|mcp)_tool_use|\w+_tool_result")


class CompressTurn(Struct, frozen=True):
    """A turn to shorten. `text` is the text of its replies, to be summarised if it is longer than the level."""

    turn: Turn
    level: Level
    tools: Tools
    replies: tuple[Entry, ...]
    text: str
    note: str  # of the calls that were left out before

    @property
    def calls(self) -> frozenset[str]:
        return frozenset(use.id for entry in self.replies for use in entry.uses if use.id)

    @property
    def is_long(self) -> bool:
        return len(self.text) > self.level.limit and _rank(self.replies) < self.level.rank

    @property
    def carrier(self) -> Entry:
        """The reply that gets the text: the last one that has a text."""
        speaking = [entry for entry in self.replies if entry.text.strip()]
        return (speaking or self.replies)[-1]


def compress_task(turn: Turn, level: Level, tools: Tools) -> CompressTurn | None:
    """Return what to do for a turn; None if it is short already, or stays unchanged."""
    if level is VERBATIM:
        return None
    replies = tuple(e for e in turn.entries if e.type == "assistant" and not e.is_synthetic and not e.is_api_error)
    if not replies:
        return None
    text = reply_text(replies)
    note = _NOTE.search(text) if _rank(replies) else None
    match = CompressTurn(
        turn, level, tools, replies, text[: note.start()] if note else text, note[0].strip() if note else ""
    )
    return match if _has_work(match) else None


def replace_replies(work: CompressTurn, text: str, dropped: Collection[str]) -> dict[int, Entry | None]:
    """Return the replies of a turn with the one text, by offset; None for removed replies."""
    carried = _carrier_text(work, text, dropped)
    carrier = work.carrier
    replaced: dict[int, Entry | None] = {}
    for entry in work.replies:
        blocks = _blocks(entry, work.tools, dropped, carried if entry is carrier else "")
        changes: dict[str, Any] = {"message": {"content": join_array(blocks)}}
        if entry is carrier:
            changes[MARK] = encode(work.level.name)
        replaced[entry.offset] = revise(entry, changes) if blocks else None
    return replaced


def shorten_results(entry: Entry, calls: Collection[str], tools: Tools) -> Entry | None:
    """Return an entry with the results of some calls removed or shortened; None if nothing is left."""
    blocks: list[bytes] = []
    failed = {result.tool_use_id for result in entry.results if entry.failed(result)}
    for raw in block_bytes(entry):
        block = decode(raw)
        if isinstance(block, dict) and block.get("type") == "tool_result" and block.get("tool_use_id") in calls:
            if tools == "drop":
                continue
            raw = splice(raw, {"content": encode(_shorten_result(block, block.get("tool_use_id") in failed))})
        blocks.append(raw)
    detail = None if tools == "drop" else _shorten_record(decode(entry.tool_use_result))
    record = {"toolUseResult": None if detail is None else encode(detail)} if bytes(entry.tool_use_result) else {}
    return revise(entry, {"message": {"content": join_array(blocks)}, **record}) if blocks else None


def _has_work(work: CompressTurn) -> bool:
    """Return whether the turn would change."""
    if _rank(work.replies) >= work.level.rank:
        return bool(work.calls) if work.tools == "drop" else False
    texts = sum(bool(entry.text.strip()) for entry in work.replies)
    thinks = any(block.type in THINKING_TYPES for entry in work.replies for block in entry.blocks)
    return work.is_long or texts > 1 or thinks or bool(work.calls)


def _rank(replies: Iterable[Entry]) -> int:
    """Return the level to which a turn was shortened before."""
    marks = (entry.data.get(MARK) for entry in replies if MARK.encode() in entry.raw)
    return max((LEVELS[mark].rank for mark in marks if isinstance(mark, str) and mark in LEVELS), default=0)


def _carrier_text(work: CompressTurn, text: str, dropped: Collection[str]) -> str:
    names = [use.name or "?" for entry in work.replies for use in entry.uses if use.id in dropped]
    notes = [work.note, f"[Calls left out: {count_names(names)}]" if work.tools == "drop" and names else ""]
    return "\n\n".join(part for part in (text.strip(), *notes) if part)


def _blocks(entry: Entry, tools: Tools, dropped: Collection[str], text: str) -> list[bytes]:
    """Return the blocks of a reply that are kept: one text, the calls, and unknown blocks."""
    blocks = [encode({"type": "text", "text": text})] if text else []
    for raw in block_bytes(entry) if entry.message and isinstance(entry.message.content, list) else ():
        block = decode(raw)
        kind = as_text(block.get("type")) if isinstance(block, dict) else ""
        if kind == "text" or kind in THINKING_TYPES or (tools == "drop" and _SERVER.fullmatch(kind)):
            continue
        if kind == "tool_use" and as_text(block.get("id")) in dropped:
            if tools == "drop":
                continue
            raw = splice(raw, {"input": encode(_shorten_input(block.get("input")))})
        blocks.append(raw)
    return blocks


def _shorten_input(value: Any) -> Any:
    """Shorten the long texts in the input of a call."""
    return map_texts(value, lambda text: text if len(text) <= MAX_INPUT else shorten_line(text, MAX_INPUT))


def _shorten_result(block: Mapping[str, Any], is_failure: bool) -> Any:
    """Return a short result unchanged, else its length, and of an error how it starts."""
    content = block.get("content")
    if isinstance(content, str) and len(content) <= MAX_OUTPUT:
        return content
    text = result_text(content)
    beginning = shorten_line(text, MAX_OUTPUT // 2) + " " if is_failure else ""
    return f"{beginning}[{len(text)} characters left out]"


def _shorten_record(detail: Any) -> Any:
    """Remove long values from Claude Code's record of a result."""
    if isinstance(detail, dict):
        fields = {key: value for key, value in detail.items() if _is_small(value)}
        return fields or None
    if isinstance(detail, str):  # the message of a failure: that it is a string says that the tool failed
        return shorten_line(detail, MAX_OUTPUT)
    return detail if _is_small(detail) else None


def _is_small(value: Any) -> bool:
    return isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= MAX_OUTPUT)
