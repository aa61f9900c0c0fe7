"""Trimming tools: take calls out together with their results, or make both short."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from clew.conversation.load import request
from clew.conversation.replies import reply_key
from clew.conversation.session import Session
from clew.edit.media_placeholders import is_picture, note
from clew.edit.removals import Removals, blocks_of, done
from clew.wire.content_block import Block
from clew.wire.entry import Entry, Item
from clew.wire.json_codec import decode, encode
from clew.wire.json_splice import splice

REMOVE, TRUNCATE = "remove", "truncate"
LINES, LETTERS = 2, 120  # that a text is left with
_DEEP = 50
OLD = ("2.0.50", "2.1.29")  # send results that answer no call: all of them, and those before the first reply


@dataclass(frozen=True, slots=True)
class Tools:
    """Which calls, and what becomes of them.

    `keep` spares the last turns that have such calls, `calls` the last such calls, `percent` all turns but the oldest; what
    one of them spares is spared. `names` are patterns, none for every tool.
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
    """The cut that removes or truncates calls. A call that waits for the model or for its result is left alone."""
    chosen = calls_of(session, tools)
    cut = Removals()
    if not chosen:
        return cut
    short = _shorter if tools.how == TRUNCATE else _nothing
    for entry in session.entries:
        if found := _places(entry, chosen):
            parts = blocks_of(entry) if tools.how == TRUNCATE else []
            changes = {i: short(entry.blocks[i], parts[i] if parts else b"") for i in found}
            if changes := {i: made for i, made in changes.items() if made is None or made != parts[i]}:
                cut.blocks[entry.offset] = changes
        elif tools.how == REMOVE and _belongs(entry, chosen):
            cut.gone.add(entry.offset)
    if tools.how == REMOVE:
        cut.gone.update(_agents(session, chosen))
        for entry in () if tools.names else session.pairing.orphans:
            cut.blocks.setdefault(entry.offset, {}).update(dict.fromkeys(_orphaned(entry, session), None))
    return cut


def drop_strays(session: Session) -> tuple[Item, ...]:
    """The items without results that answer no call, if an old version would send one of them: the API refuses it."""
    if not session.pairing.orphans or session.is_agent or not any(_sends_strays(session, v) for v in OLD):
        return session.items
    return done(
        session, Removals(blocks={e.offset: dict.fromkeys(_orphaned(e, session)) for e in session.pairing.orphans})
    )


def _sends_strays(session: Session, version: str) -> bool:
    sent = (block for message in request(session, version).messages for block in message["content"])
    blocks = [block for block in sent if isinstance(block, dict)]
    known = {block.get("id") for block in blocks if block.get("type") == "tool_use"}
    return any(block.get("type") == "tool_result" and block.get("tool_use_id") not in known for block in blocks)


def _orphaned(entry: Entry, session: Session) -> list[int]:
    """The results of an entry that answer no call: old versions send them once no call is left, and the API refuses them."""
    known = {call.id for call in session.calls}
    return [i for i, b in enumerate(entry.blocks) if b.type == "tool_result" and b.tool_use_id not in known]


# -- which calls


def calls_of(session: Session, tools: Tools) -> set[str]:
    """The ids of the calls that are meant."""
    named = {call.id: call for call in session.calls if _is_named(call.name, tools.names)}
    stretches = [session.preamble, *(turn.entries for turn in session.turns)]
    uses = [{use.id for entry in stretch for use in entry.uses if use.id in named} for stretch in stretches]
    kept = _spared(uses, tools)
    spared = {use for i in kept for use in uses[i]} | set(list(named)[-tools.calls :] if tools.calls else ())
    if kept:
        on_path = set().union(*uses)
        since = 0 if 0 in kept else min(stretches[i][0].offset for i in kept)
        spared |= {key for key, call in named.items() if key not in on_path and call.entry.offset >= since}
    return set(named) - spared - {use for entry in waiting(session) for use in _uses(entry)}


def _spared(uses: Sequence[Collection[str | None]], tools: Tools) -> set[int]:
    """The stretches that keep their calls; the first of them is what comes before any turn."""
    kept: set[int] = set()
    if tools.keep:
        kept.update([i for i, found in enumerate(uses) if found][-tools.keep :])
    if tools.percent is not None:
        turns = len(uses) - 1
        oldest = -int(-turns * tools.percent // 100)
        kept.update(i for i in range(len(uses)) if i > oldest or not oldest)
    return kept


def waiting(session: Session) -> tuple[Entry, ...]:
    """The last reply, if it is not done with: a call in it has no result, or the model has not gone on from the results."""
    spoken = [entry for entry in session.active if entry.type in ("user", "assistant")]
    if not spoken or not (spoken[-1].uses or spoken[-1].results):
        return ()
    key = next((reply_key(entry) for entry in reversed(spoken) if entry.type == "assistant"), None)
    return tuple(entry for entry in spoken if entry.type == "assistant" and reply_key(entry) == key)


def _is_named(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def _uses(entry: Entry) -> Iterable[str]:
    return (use.id for use in entry.uses if use.id)


# -- what belongs to them


def _places(entry: Entry, chosen: Collection[str]) -> list[int]:
    """The blocks that make one of the calls, or answer one."""
    content = entry.message.content if entry.message else None
    if not isinstance(content, list):
        return []
    if entry.type == "assistant":
        return [i for i, block in enumerate(content) if block.type == "tool_use" and block.id in chosen]
    return [i for i, block in enumerate(content) if block.type == "tool_result" and block.tool_use_id in chosen]


def _belongs(entry: Entry, chosen: Collection[str]) -> bool:
    """Signs of life of a call, and what hooks said of it."""
    if entry.type == "progress":
        return entry.parent_tool_use in chosen or entry.tool_use_id in chosen
    if entry.type != "attachment" or b"toolUseID" not in bytes(entry.attachment):
        return False
    inside = decode(entry.attachment)
    return isinstance(inside, dict) and inside.get("toolUseID") in chosen


def _agents(session: Session, chosen: Collection[str]) -> set[int]:
    """The entries of agents that stand in the file itself, begun by these calls or by such agents."""
    if session.is_agent or not any(entry.is_sidechain for entry in session.entries):
        return set()
    agents = {agent.id: agent for agent in session.agents}
    gone: set[str | None] = set()
    for agent in agents.values():
        above, steps = agent, 0
        while above.call and above.call.id not in chosen and above.parent in agents and steps < len(agents):
            above, steps = agents[above.parent], steps + 1
        if agent.file is None and above.call and above.call.id in chosen:
            gone |= {entry.uuid for entry in agent.session.entries}
    return {entry.offset for entry in session.entries if entry.is_sidechain and entry.uuid in gone}


# -- shorter


def _nothing(block: Block, json: bytes) -> None:
    return None


def _shorter(block: Block, json: bytes) -> bytes:
    """A block with its texts truncated; the same bytes if none of them is long."""
    if block.type == "tool_use":
        made = _each(block.input)
        return json if made == block.input else splice(json, {"input": encode(made)})
    made = _answer(block.content)
    return json if made == block.content else splice(json, {"content": encode(made)})


def _answer(content: Any) -> Any:
    """The content of a result: its texts as one, pictures as notes, and what else there is behind them."""
    if not isinstance(content, list):
        return shorter(content) if isinstance(content, str) else content
    texts = [_said(part) for part in content]
    whole = "\n".join(text for text in texts if text is not None)
    if shorter(whole) == whole and not any(is_picture(part) for part in content):
        return content
    others = [part for part, text in zip(content, texts, strict=True) if text is None]
    return [{"type": "text", "text": shorter(whole)}, *others]


def _said(part: Any) -> str | None:
    if is_picture(part):
        return note(part)
    text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
    return text if isinstance(text, str) else None


def _each(value: Any, depth: int = 0) -> Any:
    """A value with every text in it truncated, down to a depth that no tool asks for."""
    if isinstance(value, str):
        return shorter(value)
    if depth > _DEEP:
        return value
    if isinstance(value, dict):
        return {key: _each(inner, depth + 1) for key, inner in value.items()}
    return [_each(inner, depth + 1) for inner in value] if isinstance(value, list) else value


def shorter(text: str) -> str:
    """The beginning of a text, and how long it was; the text itself if that would be no shorter."""
    lines = text.split("\n", LINES)
    if len(lines) <= LINES and len(text) <= LETTERS:
        return text
    mark = f" … ({len(text):,} characters)"
    made = "\n".join(lines[:LINES])[: LETTERS - len(mark)].rstrip() + mark
    return made if len(made) < len(text) else text
