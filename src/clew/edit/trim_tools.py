"""Remove tool calls together with their results, or truncate both."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct

from clew.conversation.load import request
from clew.conversation.reply_ids import reply_key
from clew.conversation.session import Session
from clew.edit.media_placeholders import is_picture, placeholder
from clew.edit.removals import Removals, apply_removals, raw_blocks
from clew.wire.content_block import Block
from clew.wire.entry import Entry, Item
from clew.wire.json_codec import decode, encode
from clew.wire.json_splice import splice

REMOVE, TRUNCATE = "remove", "truncate"
LINES, CHARACTERS = 2, 120  # of a text that are kept
_MAX_DEPTH = 50
OLD_VERSIONS = ("2.0.50", "2.1.29")  # these send results without a call: all of them, and those before the first reply


class Tools(Struct, frozen=True):
    """Which calls to change, and how.

    `keep` spares the last turns that have such calls, `calls` the last such calls, `percent` all turns but the
    oldest. A call that one of them spares is spared. `names` are patterns; without any, every tool matches.
    """

    how: str = REMOVE
    keep: int | None = None
    calls: int | None = None
    percent: float | None = None
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        which = f"calls of {', '.join(self.names)}" if self.names else "tool calls"
        age = f" in the oldest {self.percent:g} % of the turns" if self.percent is not None else ""
        last = [f"the last {self.calls}"] if self.calls else []
        if self.keep:
            last.append(f"those of the last {f'{self.keep} turns that have' if self.keep > 1 else 'turn that has'} any")
        return f"{self.how} {which}{age}{', but for ' if last else ''}{' and '.join(last)}"


def cut_tools(session: Session, tools: Tools) -> Removals:
    """Return the removals for the chosen calls. A call that waits for its result or for the model is not changed."""
    chosen = chosen_calls(session, tools)
    cut = Removals()
    if not chosen:
        return cut
    shorten = _truncate_block if tools.how == TRUNCATE else _remove_block
    for entry in session.entries:
        if indexes := _call_blocks(entry, chosen):
            parts = raw_blocks(entry) if tools.how == TRUNCATE else []
            changes = {i: shorten(entry.blocks[i], parts[i] if parts else b"") for i in indexes}
            if changes := {i: changed for i, changed in changes.items() if changed is None or changed != parts[i]}:
                cut.blocks[entry.offset] = changes
        elif tools.how == REMOVE and _is_about(entry, chosen):
            cut.gone.add(entry.offset)
    if tools.how == REMOVE:
        cut.gone.update(_inline_agent_entries(session, chosen))
        for entry in () if tools.names else session.pairing.orphans:
            cut.blocks.setdefault(entry.offset, {}).update(dict.fromkeys(_orphan_blocks(entry, session), None))
    return cut


def drop_orphans(session: Session) -> tuple[Item, ...]:
    """Remove results without a call, if an old version would send one of them: the API refuses it."""
    if not session.pairing.orphans or session.is_agent or not any(_sends_orphans(session, v) for v in OLD_VERSIONS):
        return session.items
    return apply_removals(
        session, Removals(blocks={e.offset: dict.fromkeys(_orphan_blocks(e, session)) for e in session.pairing.orphans})
    )


def _sends_orphans(session: Session, version: str) -> bool:
    sent = (block for message in request(session, version).messages for block in message["content"])
    blocks = [block for block in sent if isinstance(block, dict)]
    known = {block.get("id") for block in blocks if block.get("type") == "tool_use"}
    return any(block.get("type") == "tool_result" and block.get("tool_use_id") not in known for block in blocks)


def _orphan_blocks(entry: Entry, session: Session) -> list[int]:
    """Return the indexes of results without a call."""
    known = {call.id for call in session.calls}
    return [i for i, b in enumerate(entry.blocks) if b.type == "tool_result" and b.tool_use_id not in known]


# -- which calls


def chosen_calls(session: Session, tools: Tools) -> set[str]:
    """Return the ids of the calls to change."""
    named = {call.id: call for call in session.calls if _is_named(call.name, tools.names)}
    stretches = [session.preamble, *(turn.entries for turn in session.turns)]
    uses = [{use.id for entry in stretch for use in entry.uses if use.id in named} for stretch in stretches]
    # Example: of five turns the last two are kept. The calls of turns 4 and 5 are spared, and so are calls on other
    # branches that are later in the file than the beginning of turn 4.
    spared_stretches = _spared_stretches(uses, tools)
    spared = {use for i in spared_stretches for use in uses[i]} | set(
        list(named)[-tools.calls :] if tools.calls else ()
    )
    if spared_stretches:
        on_path = set().union(*uses)
        since = 0 if 0 in spared_stretches else min(stretches[i][0].offset for i in spared_stretches)
        spared |= {key for key, call in named.items() if key not in on_path and call.entry.offset >= since}
    return set(named) - spared - {use for entry in pending_reply(session) for use in _uses(entry)}


def _spared_stretches(uses: Sequence[Collection[str | None]], tools: Tools) -> set[int]:
    """Return the stretches that keep their calls; the first stretch is the preamble."""
    spared: set[int] = set()
    if tools.keep:
        spared.update([i for i, ids in enumerate(uses) if ids][-tools.keep :])
    if tools.percent is not None:
        turns = len(uses) - 1
        oldest = -int(-turns * tools.percent // 100)
        spared.update(i for i in range(len(uses)) if i > oldest or not oldest)
    return spared


def pending_reply(session: Session) -> tuple[Entry, ...]:
    """Return the entries of the last reply if a call in it has no result, or the model has not continued after the
    results.
    """
    spoken = [entry for entry in session.active if entry.type in ("user", "assistant")]
    if not spoken or not (spoken[-1].uses or spoken[-1].results):
        return ()
    key = next((reply_key(entry) for entry in reversed(spoken) if entry.type == "assistant"), None)
    return tuple(entry for entry in spoken if entry.type == "assistant" and reply_key(entry) == key)


def _is_named(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def _uses(entry: Entry) -> Iterable[str]:
    return (use.id for use in entry.uses if use.id)


# -- entries about the calls


def _call_blocks(entry: Entry, chosen: Collection[str]) -> list[int]:
    """Return the indexes of the blocks that make or answer one of the calls."""
    content = entry.message.content if entry.message else None
    if not isinstance(content, list):
        return []
    if entry.type == "assistant":
        return [i for i, block in enumerate(content) if block.type == "tool_use" and block.id in chosen]
    return [i for i, block in enumerate(content) if block.type == "tool_result" and block.tool_use_id in chosen]


def _is_about(entry: Entry, chosen: Collection[str]) -> bool:
    """Return whether an entry is progress of one of the calls, or a hook's note about it."""
    if entry.type == "progress":
        return entry.parent_tool_use in chosen or entry.tool_use_id in chosen
    if entry.type != "attachment" or b"toolUseID" not in bytes(entry.attachment):
        return False
    inside = decode(entry.attachment)
    return isinstance(inside, dict) and inside.get("toolUseID") in chosen


def _inline_agent_entries(session: Session, chosen: Collection[str]) -> set[int]:
    """Return the offsets of agents inside the file that these calls, or such agents, started."""
    if session.is_agent or not any(entry.is_sidechain for entry in session.entries):
        return set()
    agents = {agent.id: agent for agent in session.agents}
    removed: set[str | None] = set()
    for agent in agents.values():
        above, steps = agent, 0
        while above.call and above.call.id not in chosen and above.parent in agents and steps < len(agents):
            above, steps = agents[above.parent], steps + 1
        if agent.file is None and above.call and above.call.id in chosen:
            removed |= {entry.uuid for entry in agent.session.entries}
    return {entry.offset for entry in session.entries if entry.is_sidechain and entry.uuid in removed}


# -- truncation


def _remove_block(block: Block, json: bytes) -> None:
    return None


def _truncate_block(block: Block, json: bytes) -> bytes:
    """Truncate the texts of a block; return the same bytes if none of them is long."""
    if block.type == "tool_use":
        truncated = _truncate_values(block.input)
        return json if truncated == block.input else splice(json, {"input": encode(truncated)})
    truncated = _truncate_result(block.content)
    return json if truncated == block.content else splice(json, {"content": encode(truncated)})


def _truncate_result(content: Any) -> Any:
    """Join and truncate the texts of a result, with placeholders for images; other parts follow."""
    if not isinstance(content, list):
        return truncate(content) if isinstance(content, str) else content
    texts = [_part_text(part) for part in content]
    joined = "\n".join(text for text in texts if text is not None)
    if truncate(joined) == joined and not any(is_picture(part) for part in content):
        return content
    others = [part for part, text in zip(content, texts, strict=True) if text is None]
    return [{"type": "text", "text": truncate(joined)}, *others]


def _part_text(part: Any) -> str | None:
    if is_picture(part):
        return placeholder(part)
    text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
    return text if isinstance(text, str) else None


def _truncate_values(value: Any, depth: int = 0) -> Any:
    """Truncate every text inside a value, down to a depth that no tool uses."""
    if isinstance(value, str):
        return truncate(value)
    if depth > _MAX_DEPTH:
        return value
    if isinstance(value, dict):
        return {key: _truncate_values(inner, depth + 1) for key, inner in value.items()}
    return [_truncate_values(inner, depth + 1) for inner in value] if isinstance(value, list) else value


def truncate(text: str) -> str:
    """Return the beginning of a text and its length; the text itself if that would not be shorter."""
    lines = text.split("\n", LINES)
    if len(lines) <= LINES and len(text) <= CHARACTERS:
        return text
    mark = f" … ({len(text):,} characters)"
    truncated = "\n".join(lines[:LINES])[: CHARACTERS - len(mark)].rstrip() + mark
    return truncated if len(truncated) < len(text) else text
