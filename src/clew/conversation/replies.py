"""Merge the lines of one API response into a reply, and pair each tool use with its result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from msgspec import Struct

from clew.conversation.reply_ids import reply_key
from clew.wire.content_block import Block, Tokens
from clew.wire.entry import Entry
from clew.wire.json_codec import decode_readable


class Reply(Struct, frozen=True):
    """All entries with one `message.id`: the lines are parts of the answer, not versions of it."""

    id: str
    entries: tuple[Entry, ...]

    @property
    def blocks(self) -> list[Block]:
        return _merge_blocks(self.entries)

    @property
    def text(self) -> str:
        return "\n".join(b.text for b in self.blocks if b.type == "text" and b.text)

    @property
    def thinking(self) -> str:
        return "\n".join(b.thinking for b in self.blocks if b.type == "thinking" and b.thinking)

    @property
    def uses(self) -> list[Block]:
        return [b for b in self.blocks if b.type == "tool_use"]

    @property
    def model(self) -> str | None:
        return next((e.message.model for e in self.entries if e.message and e.message.model), None)

    @property
    def stop_reason(self) -> str | None:
        """The last stop reason written; versions 2.1.9 to 2.1.56 wrote none."""
        reasons = [e.message.stop_reason for e in self.entries if e.message and e.message.stop_reason]
        return reasons[-1] if reasons else None

    @property
    def tokens(self) -> Tokens | None:
        """The usage of the line with most output tokens: earlier lines may contain a start-of-stream stub."""
        usages = [e.message.usage for e in self.entries if e.message and e.message.usage]
        return max(usages, key=lambda t: t.output_tokens or 0) if usages else None

    @property
    def time(self) -> datetime | None:
        return self.entries[0].time

    @property
    def is_synthetic(self) -> bool:
        return self.entries[0].is_synthetic

    @property
    def is_error(self) -> bool:
        return any(e.is_api_error for e in self.entries)


def merge_replies(entries: Iterable[Entry]) -> tuple[Reply, ...]:
    """Merge assistant entries by message id, whatever stands between them, in the order of their first lines."""
    groups: dict[str, list[Entry]] = {}
    for index, entry in enumerate(entries):
        if entry.type == "assistant":
            groups.setdefault(reply_key(entry) or f"#{index}", []).append(entry)
    return tuple(Reply(key, tuple(group)) for key, group in groups.items())


def _merge_blocks(entries: Sequence[Entry]) -> list[Block]:
    if len(entries) == 1:
        return entries[0].blocks
    merged: list[Block] = []
    alike: dict[tuple[str | None, ...], list[Block]] = {}  # the merged blocks, by what a repeated one has in common
    for entry in entries:
        blocks = entry.blocks
        # A line either repeats what came before and extends it ([text "Hel"], then [text "Hello", call]), which
        # replaces it, or it has the next block alone ([text "Hello"], then [call]), which is added.
        if merged and len(blocks) >= len(merged) and all(map(_extends, blocks, merged)):
            merged, alike = list(blocks), {}
            for block in blocks:
                alike.setdefault(_likeness(block), []).append(block)
            continue
        for block in blocks:
            others = alike.setdefault(_likeness(block), [])
            if not _is_repeated(block, others):
                others.append(block)
                merged.append(block)
    return merged


def _likeness(block: Block) -> tuple[str | None, ...]:
    if block.type == "tool_use" and block.id:
        return block.type, block.id
    return block.type, block.text, block.thinking, block.tool_use_id


def _extends(block: Block, earlier: Block) -> bool:
    """Return whether a block repeats an earlier one, possibly longer: a few writers stored the answer so far on each
    line.
    """
    if block.type != earlier.type:
        return False
    if block.type == "text" and block.text and earlier.text:
        return block.text.startswith(earlier.text)
    return block == earlier


def _is_repeated(block: Block, blocks: Sequence[Block]) -> bool:
    """Return whether a block is one of those that have the same likeness: a call by its id."""
    return bool(blocks) if block.type == "tool_use" and block.id else block in blocks


class Call(Struct, frozen=True):
    """A tool use with its result; `extras` are further results for the same use."""

    use: Block
    entry: Entry
    result: Block | None = None
    result_entry: Entry | None = None
    extras: tuple[Entry, ...] = ()
    progress: tuple[Entry, ...] = ()

    @property
    def id(self) -> str:
        return self.use.id or ""

    @property
    def name(self) -> str:
        return self.use.name or ""

    @property
    def input(self) -> dict[str, Any]:
        value = self.use.input
        return value if isinstance(value, dict) else {}

    @property
    def output(self) -> str:
        """The result as the model received it."""
        return self.result.result_text if self.result else ""

    @property
    def detail(self) -> Any:
        """The program's own record of the result (`toolUseResult`): never sent to the model."""
        return decode_readable(self.result_entry.tool_use_result) if self.result_entry else None

    @property
    def failed(self) -> bool:
        """Whether the tool reported a failure, by `is_error` or by a string as the program's own record."""
        return bool(self.result and self.result_entry and self.result_entry.failed(self.result, self.name))

    @property
    def is_open(self) -> bool:
        return self.result is None

    @property
    def agent_id(self) -> str | None:
        """The id of the agent that this call started, if the result names it."""
        detail = self.detail if self.name in ("Task", "Agent") else None
        agent_id = (detail.get("agentId") or detail.get("agent_id")) if isinstance(detail, dict) else None
        return agent_id if isinstance(agent_id, str) else None

    @property
    def seconds(self) -> float | None:
        start, stop = self.entry.time, self.result_entry.time if self.result_entry else None
        return (stop - start).total_seconds() if start and stop else None


class Pairing(Struct, frozen=True, dict=True):
    """The calls of some entries, and the results that answer none of them."""

    calls: tuple[Call, ...]
    orphans: tuple[Entry, ...]

    @property
    def open(self) -> tuple[Call, ...]:
        return tuple(call for call in self.calls if call.is_open)

    @cached_property
    def by_id(self) -> dict[str, Call]:
        """The calls by their ids."""
        return {call.id: call for call in self.calls}


def pair_calls(entries: Iterable[Entry]) -> Pairing:
    """Match tool uses and results by id, in any order; the first result counts, later ones are extras."""
    uses: dict[str, tuple[Block, Entry]] = {}
    results: dict[str, list[tuple[Block, Entry]]] = {}
    progress: dict[str, list[Entry]] = {}
    for entry in entries:
        kind = entry.type
        if kind == "assistant" or kind == "user":
            content = entry.message.content if entry.message else None
            for block in content if isinstance(content, list) else ():
                if kind == "user":
                    if block.type == "tool_result":
                        results.setdefault(block.tool_use_id or "", []).append((block, entry))
                elif block.type == "tool_use" and block.id:
                    uses.setdefault(block.id, (block, entry))
        elif kind == "progress" and entry.parent_tool_use:
            progress.setdefault(entry.parent_tool_use, []).append(entry)
    calls = tuple(
        _build_call(use, entry, results.get(key, ()), progress.get(key, ())) for key, (use, entry) in uses.items()
    )
    orphans = tuple(e for key, group in results.items() if key not in uses for _, e in group)
    return Pairing(calls, orphans)


def _build_call(use: Block, entry: Entry, results: Sequence[tuple[Block, Entry]], progress: Sequence[Entry]) -> Call:
    if not results:
        return Call(use, entry, progress=tuple(progress))
    (result, answer), *extras = results
    return Call(use, entry, result, answer, tuple(e for _, e in extras), tuple(progress))
