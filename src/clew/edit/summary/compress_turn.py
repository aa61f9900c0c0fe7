"""Slim turns: the replies of a turn as one text, without thinking, and its calls left out or kept without their results."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from clew.conversation.turns import Turn
from clew.edit.summary.age_levels import LEVELS, VERBATIM, Level
from clew.edit.summary.compact_boundary import MARK
from clew.edit.summary.sentence_extract import shortened
from clew.edit.summary.summariser import spoken_text, tally
from clew.wire.content_block import result_text
from clew.wire.entry import Entry
from clew.wire.entry_edit import block_bytes, revise
from clew.wire.json_codec import as_text, decode, encode, map_texts
from clew.wire.json_splice import join_array, splice

Tools = Literal["drop", "keep"]

THOUGHT = ("thinking", "redacted_thinking")
INPUT = 160  # characters of each text in the input of a call that is kept
OUTPUT = 120  # characters of a result that is short enough to stay
_NOTE = re.compile(r"\s*\[Calls left out: [^\]]*\]\s*\Z")
_SERVER = re.compile(r"(?:server|mcp)_tool_use|\w+_tool_result")


@dataclass(frozen=True, slots=True)
class CompressTurn:
    """A turn that is to become slim. `text` is what its replies say, to be summarised if it is longer than the level."""

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
        """The reply that carries the text: the last that has one."""
        speaking = [entry for entry in self.replies if entry.text.strip()]
        return (speaking or self.replies)[-1]


def job(turn: Turn, level: Level, tools: Tools) -> CompressTurn | None:
    """What there is to do for a turn; nothing if it is slim already, or is to stay as it is."""
    if level is VERBATIM:
        return None
    replies = tuple(e for e in turn.entries if e.type == "assistant" and not e.is_synthetic and not e.is_api_error)
    if not replies:
        return None
    whole = spoken_text(replies)
    note = _NOTE.search(whole) if _rank(replies) else None
    found = CompressTurn(
        turn, level, tools, replies, whole[: note.start()] if note else whole, note[0].strip() if note else ""
    )
    return found if _has_work(found) else None


def reworded(work: CompressTurn, text: str, dropped: Collection[str]) -> dict[int, Entry | None]:
    """The replies of a turn with their one text, by offset; None for those that go."""
    carried = _text(work, text, dropped)
    carrier = work.carrier
    found: dict[int, Entry | None] = {}
    for entry in work.replies:
        blocks = _blocks(entry, work.tools, dropped, carried if entry is carrier else "")
        changes: dict[str, Any] = {"message": {"content": join_array(blocks)}}
        if entry is carrier:
            changes[MARK] = encode(work.level.name)
        found[entry.offset] = revise(entry, changes) if blocks else None
    return found


def answered(entry: Entry, calls: Collection[str], tools: Tools) -> Entry | None:
    """An entry of results with those of some calls left out, or cut to a word of what they were; None if nothing is left."""
    blocks: list[bytes] = []
    failed = {result.tool_use_id for result in entry.results if entry.failed(result)}
    for raw in block_bytes(entry):
        block = decode(raw)
        if isinstance(block, dict) and block.get("type") == "tool_result" and block.get("tool_use_id") in calls:
            if tools == "drop":
                continue
            raw = splice(raw, {"content": encode(_stub(block, block.get("tool_use_id") in failed))})
        blocks.append(raw)
    detail = None if tools == "drop" else _small(decode(entry.tool_use_result))
    record = {"toolUseResult": None if detail is None else encode(detail)} if bytes(entry.tool_use_result) else {}
    return revise(entry, {"message": {"content": join_array(blocks)}, **record}) if blocks else None


def _has_work(work: CompressTurn) -> bool:
    """Whether the turn would change."""
    if _rank(work.replies) >= work.level.rank:
        return bool(work.calls) if work.tools == "drop" else False
    texts = sum(bool(entry.text.strip()) for entry in work.replies)
    thinks = any(block.type in THOUGHT for entry in work.replies for block in entry.blocks)
    return work.is_long or texts > 1 or thinks or bool(work.calls)


def _rank(replies: Iterable[Entry]) -> int:
    """How closely a turn was kept before."""
    marks = (entry.data.get(MARK) for entry in replies if MARK.encode() in entry.raw)
    return max((LEVELS[mark].rank for mark in marks if isinstance(mark, str) and mark in LEVELS), default=0)


def _text(work: CompressTurn, text: str, dropped: Collection[str]) -> str:
    names = [use.name or "?" for entry in work.replies for use in entry.uses if use.id in dropped]
    notes = [work.note, f"[Calls left out: {tally(names)}]" if work.tools == "drop" and names else ""]
    return "\n\n".join(part for part in (text.strip(), *notes) if part)


def _blocks(entry: Entry, tools: Tools, dropped: Collection[str], text: str) -> list[bytes]:
    """The blocks of a reply that stay: one text, the calls, and whatever is unknown."""
    found = [encode({"type": "text", "text": text})] if text else []
    for raw in block_bytes(entry) if entry.message and isinstance(entry.message.content, list) else ():
        block = decode(raw)
        kind = as_text(block.get("type")) if isinstance(block, dict) else ""
        if kind == "text" or kind in THOUGHT or (tools == "drop" and _SERVER.fullmatch(kind)):
            continue
        if kind == "tool_use" and as_text(block.get("id")) in dropped:
            if tools == "drop":
                continue
            raw = splice(raw, {"input": encode(_cut(block.get("input")))})
        found.append(raw)
    return found


def _cut(value: Any) -> Any:
    """The input of a call with its long texts cut."""
    return map_texts(value, lambda text: text if len(text) <= INPUT else shortened(text, INPUT))


def _stub(block: Mapping[str, Any], is_failure: bool) -> Any:
    """What is left of a result: all of a short one, else how long it was, and of an error how it began."""
    content = block.get("content")
    if isinstance(content, str) and len(content) <= OUTPUT:
        return content
    text = result_text(content)
    began = shortened(text, OUTPUT // 2) + " " if is_failure else ""
    return f"{began}[{len(text)} characters left out]"


def _small(detail: Any) -> Any:
    """The program's own record of a result without what is long in it."""
    if isinstance(detail, dict):
        kept = {key: value for key, value in detail.items() if _is_small(value)}
        return kept or None
    if isinstance(detail, str):  # the message of a failure: that it is a string says that the tool failed
        return shortened(detail, OUTPUT)
    return detail if _is_small(detail) else None


def _is_small(value: Any) -> bool:
    return isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= OUTPUT)
