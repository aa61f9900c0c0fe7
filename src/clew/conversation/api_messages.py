"""Messages: drafts ordered, merged and mended so that the API accepts them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from clew.conversation.cli_version import Era
from clew.conversation.message_drafts import (
    STRING,
    THOUGHT,
    Json,
    MessageDraft,
    as_reminder,
    error_result,
    has_system_turns,
)
from clew.models import is_same
from clew.wire.entry import Entry
from clew.wire.entry_types import Attachment
from clew.wire.json_codec import as_text, replace_surrogates

NO_CONTENT = "(no content)"
ORPHANED = "[Orphaned tool result removed due to conversation resume]"
INTERRUPTED_USE = "[Tool use interrupted]"
MISSING_RESULT = "[Tool result missing due to internal error]"


def messages(made: list[MessageDraft], era: Era, model: str) -> list[Json]:
    made = [d for d in made if d.kind not in ("mark", "silent", "left out") and not _is_virtual(d, era)]
    made = _contexts_first(_replies_together(made) if era.renders_attachments else made)
    merged = _merge([d for d in made if not _is_api_error(d)], era, model)
    merged = [_adjusted(d, era, model) for d in merged]
    merged = _paired(merged, era)
    found: list[Json] = [{"role": d.role, "content": d.blocks} for d in merged if d.blocks]
    found = [_sendable(message, era) for message in found]
    return [{**m, "content": [_plain(_rounded_block(block)) for block in m["content"]]} for m in found]


def _plain(block: Json) -> Json | str:
    """A block as it is sent: one that stands for a string is that string."""
    return as_text(block["text"]) if block.get("type") == STRING else block


def _rounded_block(block: Json) -> Json:
    try:
        return {key: _rounded(value) for key, value in block.items()}
    except RecursionError:  # nested too deeply to look for numbers in it
        return block


def _rounded(value: Any) -> Any:
    """A value with its large integers as the program holds them: it is written in JavaScript, whose numbers are doubles."""
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    if not isinstance(value, int) or abs(value) <= _EXACT:
        return value
    try:
        double = float(value)
    except OverflowError:
        return None
    return int(Decimal(repr(double))) if abs(double) < _EXPONENTS else double


_EXACT = 2**53
_EXPONENTS = 1e21  # from here on JavaScript writes an exponent


def _is_virtual(draft: MessageDraft, era: Era) -> bool:
    """Lines that the program marks as never to be sent."""
    if draft.entry is None or not era.drops_virtual_lines or b"isVirtual" not in draft.entry.raw:
        return False
    return draft.entry.data.get("isVirtual") is True


def _replies_together(made: Sequence[MessageDraft]) -> list[MessageDraft]:
    """Context that stands between lines of one reply goes behind them."""
    found: list[MessageDraft] = []
    for draft in made:
        at = len(found)
        while at and _is_attached(found[at - 1]):
            at -= 1
        same = at and draft.role == "assistant" and found[at - 1].role == "assistant" and found[at - 1].mid == draft.mid
        found.insert(at if same else len(found), draft)
    return found


def _is_attached(draft: MessageDraft) -> bool:
    return (
        draft.kind in ("context", "queued", "system") and draft.entry is not None and draft.entry.type == "attachment"
    )


def _sendable(message: Json, era: Era) -> Json:
    """The same without halves of surrogate pairs and images in errors, where the version removes them."""
    made = replace_surrogates(message) if era.cleans_texts else message
    if not era.drops_images_in_errors:
        return made
    return {**made, "content": [_without_error_images(block) for block in made["content"]]}


def _without_error_images(block: Json) -> Json:
    """An error holds nothing but text."""
    is_error = block.get("type") == "tool_result" and block.get("is_error") and isinstance(block.get("content"), list)
    return {**block, "content": _texts_alone(block["content"])} if is_error else block


def _texts_alone(content: list[Any]) -> list[Any]:
    if all(isinstance(p, dict) and p.get("type") == "text" for p in content):
        return content
    texts = [as_text(p.get("text", "")) for p in content if isinstance(p, dict) and p.get("type") == "text"]
    return [{"type": "text", "text": "\n\n".join(texts)}] if texts else []


def _is_api_error(draft: MessageDraft) -> bool:
    return (
        draft.role == "assistant" and draft.entry is not None and draft.entry.is_api_error and draft.entry.is_synthetic
    )


def _contexts_first(made: Sequence[MessageDraft]) -> list[MessageDraft]:
    """Context rises above the prompts it was written behind, up to the reply or result before them."""
    found: list[MessageDraft] = []
    contexts: list[MessageDraft] = []
    for draft in reversed(made):
        if draft.kind in ("context", "queued"):
            contexts.append(draft)
            continue
        if draft.role == "assistant" or draft.has_results:
            found.extend(_queued_last(contexts))
            contexts.clear()
        found.append(draft)
    found.extend(_queued_last(contexts))
    found.reverse()
    return found


def _queued_last(contexts: Sequence[MessageDraft]) -> list[MessageDraft]:
    """In reverse: context comes before what was queued."""
    return sorted(contexts, key=lambda draft: draft.kind != "queued")


def _merge(made: Iterable[MessageDraft], era: Era, model: str) -> list[MessageDraft]:
    found: list[MessageDraft] = []
    replied: set[str | None] = set()
    opened: Entry | None = None  # an attachment that began a turn: its texts stay apart
    waiting: list[MessageDraft] = []  # system turns that no user's turn has come before yet
    for draft in made:
        if draft.role == "system" and _open_turn(found) is None:
            waiting.append(draft)
            continue
        if waiting and draft.role == "assistant":
            found.append(as_reminder(_as_one(waiting)))
            waiting.clear()
        if draft.role == "assistant":
            if draft.mid in replied:
                _merge_reply(found, draft, era)
            else:
                replied.add(draft.mid)
                found.append(draft)
        elif draft.role == "system":
            _merge_system(found, draft)
        elif draft.kind == "context" and ((opened and draft.entry is opened) or _open_turn(found) is None):
            opened = draft.entry
            found.append(draft)
        elif (at := _open_turn(found)) is not None:
            found[at] = _joined(found[at], draft, era, model)
        elif draft.blocks or draft.kind != "message":
            found.append(draft)
        if waiting and _open_turn(found) is not None:
            for each in waiting:
                _merge_system(found, each)
            waiting.clear()
    return [*found, as_reminder(_as_one(waiting))] if waiting else found


def _open_turn(found: Sequence[MessageDraft]) -> int | None:
    """Where a further user draft belongs: the user turn at the end, whose system turn may stand behind it."""
    at = len(found) - 1
    while at >= 0 and found[at].role == "system":
        at -= 1
    return at if at >= 0 and found[at].role == "user" else None


def _merge_reply(found: list[MessageDraft], draft: MessageDraft, era: Era) -> None:
    """Blocks of one reply belong together; results may stand between them, a prompt may not."""
    for index in range(len(found) - 1, -1, -1):
        other = found[index]
        if other.role == "assistant" and other.mid == draft.mid and draft.entry and other.entry:
            found[index] = replace(other, blocks=[*other.blocks, *draft.blocks])
            return
        if other.role == "assistant" and not era.merges_over_replies:
            break
        if other.role == "user" and not (other.has_results and era.merges_over_results):
            break
    found.append(draft)


def _merge_system(found: list[MessageDraft], draft: MessageDraft) -> None:
    if found and found[-1].role == "system":
        found[-1] = _as_one([found[-1], draft])
    else:
        found.append(draft)


def _as_one(turns: Sequence[MessageDraft]) -> MessageDraft:
    """System turns that follow each other as one."""
    texts = [as_text(block.get("text", "")) for turn in turns for block in turn.blocks]
    return replace(turns[0], blocks=[{"type": "text", "text": "\n\n".join(texts)}])


def _joined(first: MessageDraft, second: MessageDraft, era: Era, model: str) -> MessageDraft:
    at = len(first.blocks) - first.queued - 1  # context goes before what was queued
    if _folds(second, model, era) and not _stays_apart(second) and at >= 0 and _takes_context(first.blocks[at]):
        folded = _folded(first.blocks[at], second.blocks, era)
        return replace(first, blocks=[*first.blocks[:at], folded, *first.blocks[at + 1 :]])
    results = [b for b in second.blocks if b.get("type") == "tool_result"]
    if results and len(results) == len(second.blocks) and not first.has_results:
        return replace(first, blocks=[*results, *first.blocks])
    if results and first.has_results:
        before = [b for b in first.blocks if b.get("type") == "tool_result"]
        rest = [b for b in first.blocks if b.get("type") != "tool_result"]
        return replace(first, blocks=[*before, *second.blocks, *rest])
    has_seam = era.ends_joined_texts and (second.kind not in ("context", "pictured") or not _folds(second, model, era))
    blocks = join_blocks(first.blocks, second.blocks) if has_seam else [*first.blocks, *second.blocks]
    queued = first.queued + len(second.blocks) if second.kind == "queued" else 0
    return replace(first, blocks=blocks, kind=second.kind, queued=queued)


def join_blocks(first: list[Json], second: list[Json]) -> list[Json]:
    """The blocks of two entries in one message: a text before a text ends with a new line."""
    return [*(_seamed(first) if _is_text(second[:1]) else first), *second]


def _is_text(blocks: Sequence[Json]) -> bool:
    return bool(blocks) and blocks[0].get("type") == "text"


def _seamed(blocks: list[Json]) -> list[Json]:
    """A text that another one follows ends with a new line."""
    if not _is_text(blocks[-1:]):
        return blocks
    return [*blocks[:-1], {**blocks[-1], "text": f"{blocks[-1].get('text', '')}\n"}]


def _takes_context(block: Json) -> bool:
    return block.get("type") == "tool_result" and block.get("content", "") is not None


def _folds(draft: MessageDraft, model: str, era: Era) -> bool:
    """A file that was attached keeps a text of its own where the API has system turns; it reads like a call of its own."""
    entry = draft.entry
    if draft.kind != "context" or entry is None or entry.type != "attachment":
        return draft.kind == "context"
    return not (era.keeps_files_apart and Attachment.of(entry).type in _FILES and has_system_turns(model, era))


_FILES = ("file", "directory", "nested_memory")


def _stays_apart(draft: MessageDraft) -> bool:
    """Whether context never becomes part of a tool result: what is about a task that ended, or about the new turn."""
    return draft.entry is None or draft.entry.type == "user"


def _folded(result: Json, texts: list[Json], era: Era) -> Json:
    """Context behind a tool result becomes part of its text."""
    content = result.get("content")
    if isinstance(content, list):
        return {**result, "content": [*(_seamed(content) if era.ends_joined_texts else content), *texts]}
    parts = [as_text(content or "").strip(), *(as_text(t.get("text", "")).strip() for t in texts)]
    return {**result, "content": "\n\n".join(part for part in parts if part)}


def _adjusted(draft: MessageDraft, era: Era, model: str) -> MessageDraft:
    blocks = draft.blocks
    if draft.role != "assistant":
        return draft
    if era.drops_foreign_thinking and draft.entry and not is_same(draft.model or "", model):
        blocks = [b for b in blocks if b.get("type") not in THOUGHT]
    names = era.tool_names
    blocks = [_renamed(block, names) for block in blocks]
    if era.sorts_calls_last:
        blocks = sorted(blocks, key=lambda b: b.get("type") == "tool_use")
    if era.renders_attachments:
        blocks = [_uncited(b) for b in _answered_servers(blocks) if b.get("type") != "text" or b.get("text")]
        blocks = [b for b in blocks if b.get("type") != "tool_result"]  # which only a user can give
        if not blocks and any(as_text(b.get("type")).endswith(("tool_use", "tool_result")) for b in draft.blocks):
            blocks = [_placeholder(INTERRUPTED_USE)]
    if not blocks and era.marks_empty:
        blocks = [_placeholder(NO_CONTENT)]
    return replace(draft, blocks=blocks)


def _uncited(block: Json) -> Json:
    """A reply's text is sent without its citations, though with the field."""
    is_cited = block.get("type") == "text" and isinstance(block.get("citations"), list)
    return {**block, "citations": []} if is_cited else block


def _answered_servers(blocks: Sequence[Json]) -> list[Json]:
    """Without the uses of a server's tools that the same reply does not answer."""
    answered = {b.get("tool_use_id") for b in blocks if as_text(b.get("type")).endswith("_tool_result")}
    servers = ("server_tool_use", "mcp_tool_use")
    return [b for b in blocks if b.get("type") not in servers or b.get("id") in answered]


def _placeholder(text: str) -> Json:
    return {"type": "text", "text": text, "citations": []}


def _renamed(block: Json, names: Mapping[str, str]) -> Json:
    name = names.get(as_text(block.get("name"))) if block.get("type") == "tool_use" else None
    return {**block, "name": name} if name else block


def _paired(made: Sequence[MessageDraft], era: Era) -> list[MessageDraft]:
    """Each call answered once, directly behind it; a result without its call is no result."""
    if not era.pairs_results:
        return list(made)
    found: list[MessageDraft] = []
    used: set[Any] = set()
    for index, draft in enumerate(made):
        if draft.role == "assistant":
            found.append(_unique_calls(draft, used) if era.first_result_counts else draft)
            if _calls(found[-1]) and not _follows_results(made, index):
                found.append(MessageDraft("user", [error_result(c, MISSING_RESULT) for c in _calls(found[-1])], None))
        elif draft.role == "user":
            found.append(_answering(draft, found[-1] if found else None, era))
        else:
            found.append(draft)
    return found


def _follows_results(made: Sequence[MessageDraft], index: int) -> bool:
    return any(d.role == "user" for d in made[index + 1 : index + 2])


def _calls(draft: MessageDraft | None) -> list[Any]:
    return [b.get("id") for b in draft.blocks if b.get("type") == "tool_use"] if draft else []


def _unique_calls(draft: MessageDraft, used: set[Any]) -> MessageDraft:
    kept = []
    for block in draft.blocks:
        if block.get("type") == "tool_use":
            if block.get("id") in used:
                continue
            used.add(block.get("id"))
        kept.append(block)
    if len(kept) != len(draft.blocks) and not kept:
        kept = [_placeholder(INTERRUPTED_USE)]
    return replace(draft, blocks=kept)


def _answering(draft: MessageDraft, before: MessageDraft | None, era: Era) -> MessageDraft:
    if before is None and not era.first_result_counts:
        return draft
    calls = _calls(before) if before and before.role == "assistant" else []
    blocks: list[Json] = []
    seen: set[Any] = set()
    for block in draft.blocks:
        if block.get("type") == "tool_result":
            call = block.get("tool_use_id")
            if call not in calls or (era.first_result_counts and call in seen):
                continue
            seen.add(call)
        blocks.append(block)
    missing = [error_result(c, MISSING_RESULT) for c in calls if c not in seen]
    blocks = [b for b in (*missing, *blocks) if b.get("type") != "text" or _is_said(b, draft, era)]
    if not blocks and draft.blocks and era.first_result_counts:
        is_first = before is None and draft.has_results
        if era.renders_attachments or not is_first:
            blocks = [{"type": "text", "text": ORPHANED if is_first else NO_CONTENT}]
    return replace(draft, blocks=blocks)


def _is_said(block: Json, draft: MessageDraft, era: Era) -> bool:
    """A text of nothing but white space is not sent, unless it is a plain prompt of its own."""
    content = draft.entry.message.content if draft.entry and draft.entry.message else None
    is_alone = len(draft.blocks) == 1 and isinstance(content, str)
    text = as_text(block.get("text") or "")
    return is_alone or not era.cleans_texts or bool(text.strip())
