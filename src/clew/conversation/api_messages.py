"""Order, merge and repair message drafts so that the API accepts them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import chain, groupby
from typing import Any

from msgspec.structs import replace

from clew.conversation.cli_version import Era
from clew.conversation.message_drafts import STRING, MessageDraft, as_reminder, error_result, has_system_turns
from clew.conversation.reply_blocks import INTERRUPTED_USE, NO_CONTENT, adjust_reply_blocks, placeholder
from clew.models import is_same
from clew.wire.content_block import THINKING_TYPES
from clew.wire.entry import Entry
from clew.wire.entry_types import Attachment
from clew.wire.json_codec import Json, as_text, replace_surrogates

ORPHANED = "[Orphaned tool result removed due to conversation resume]"
MISSING_RESULT = "[Tool result missing due to internal error]"


def build_messages(drafts: list[MessageDraft], era: Era, model: str) -> list[Json]:
    """Convert drafts to the messages of a request."""
    drafts = [d for d in drafts if d.kind not in ("mark", "silent", "left out") and not _is_virtual(d, era)]
    drafts = _move_contexts_up(_move_context_after_replies(drafts) if era.renders_attachments else drafts)
    merged = _merge_drafts(_join_results(d for d in drafts if not _is_api_error(d)), era, model)
    merged = [_adjust_reply(d, era, model) for d in merged]
    merged = _pair_results(merged, era)
    sent: list[Json] = [{"role": d.role, "content": d.blocks} for d in merged if d.blocks]
    sent = [_clean_message(message, era) for message in sent]
    return [{**m, "content": [_unwrap_string(_round_integers(block)) for block in m["content"]]} for m in sent]


def _unwrap_string(block: Json) -> Json | str:
    """Return the block as it is sent: a block that stands for a plain string becomes that string."""
    return as_text(block["text"]) if block.get("type") == STRING else block


def _round_integers(block: Json) -> Json:
    try:
        return {key: value if isinstance(value, str) else _round_value(value) for key, value in block.items()}
    except RecursionError:  # nested too deeply to look for numbers in it
        return block


def _round_value(value: Any) -> Any:
    """Round large integers the way JavaScript, in which Claude Code is written, stores them: as doubles."""
    if isinstance(value, dict):
        return {key: item if isinstance(item, str) else _round_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [item if isinstance(item, str) else _round_value(item) for item in value]
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
    """Return whether Claude Code marked the line as never to be sent."""
    if draft.entry is None or not era.drops_virtual_lines or not draft.entry.line.contains(b"isVirtual"):
        return False
    return draft.entry.data.get("isVirtual") is True


def _move_context_after_replies(drafts: Sequence[MessageDraft]) -> list[MessageDraft]:
    """Move context that stands between the lines of one reply after them."""
    moved: list[MessageDraft] = []
    for draft in drafts:
        at = len(moved)
        while draft.role == "assistant" and at and _is_attached(moved[at - 1]):
            at -= 1
        same = draft.role == "assistant" and at and moved[at - 1].role == "assistant" and moved[at - 1].mid == draft.mid
        moved.insert(at if same else len(moved), draft)
    return moved


def _is_attached(draft: MessageDraft) -> bool:
    return (
        draft.kind in ("context", "queued", "system") and draft.entry is not None and draft.entry.type == "attachment"
    )


def _clean_message(message: Json, era: Era) -> Json:
    """Remove lone surrogates, and images in errors, where the version does."""
    cleaned = replace_surrogates(message) if era.cleans_texts else message
    if not era.drops_images_in_errors:
        return cleaned
    return {**cleaned, "content": [_strip_error_images(block) for block in cleaned["content"]]}


def _strip_error_images(block: Json) -> Json:
    """Keep only the text of a result that is an error."""
    is_error = block.get("type") == "tool_result" and block.get("is_error") and isinstance(block.get("content"), list)
    return {**block, "content": _keep_texts(block["content"])} if is_error else block


def _keep_texts(content: list[Any]) -> list[Any]:
    if all(isinstance(p, dict) and p.get("type") == "text" for p in content):
        return content
    texts = [as_text(p.get("text", "")) for p in content if isinstance(p, dict) and p.get("type") == "text"]
    return [{"type": "text", "text": "\n\n".join(texts)}] if texts else []


def _is_api_error(draft: MessageDraft) -> bool:
    return (
        draft.role == "assistant" and draft.entry is not None and draft.entry.is_api_error and draft.entry.is_synthetic
    )


def _move_contexts_up(drafts: Sequence[MessageDraft]) -> list[MessageDraft]:
    """Move context above the prompts that it was written after, up to the preceding reply or result."""
    moved: list[MessageDraft] = []
    contexts: list[MessageDraft] = []
    for draft in reversed(drafts):
        if draft.kind in ("context", "queued"):
            contexts.append(draft)
            continue
        if draft.role == "assistant" or draft.has_results:
            moved.extend(_sort_queued_first(contexts))
            contexts.clear()
        moved.append(draft)
    moved.extend(_sort_queued_first(contexts))
    moved.reverse()
    return moved


def _sort_queued_first(contexts: Sequence[MessageDraft]) -> list[MessageDraft]:
    """Sort drafts that are in reverse order: context is sent before queued prompts."""
    return sorted(contexts, key=lambda draft: draft.kind != "queued")


def _join_results(drafts: Iterable[MessageDraft]) -> Iterator[MessageDraft]:
    """Join drafts that are results alone and follow one another: each would be put before all other texts of its turn."""
    for are_results, group in groupby(drafts, _has_only_results):
        if are_results:
            first = next(group)
            yield replace(first, blocks=[*chain(first.blocks, *(draft.blocks for draft in group))])
        else:
            yield from group


def _has_only_results(draft: MessageDraft) -> bool:
    is_message = draft.role == "user" and draft.kind == "message" and bool(draft.blocks)
    return is_message and all(block.get("type") == "tool_result" for block in draft.blocks)


def _merge_drafts(drafts: Iterable[MessageDraft], era: Era, model: str) -> list[MessageDraft]:
    merged: list[MessageDraft] = []
    replied: set[str | None] = set()
    opened: Entry | None = None  # an attachment that began a turn: its texts stay apart
    waiting: list[MessageDraft] = []  # system turns that no user's turn has come before yet
    for draft in drafts:
        if draft.role == "system" and _open_user_turn(merged) is None:
            waiting.append(draft)
            continue
        if waiting and draft.role == "assistant":
            merged.append(as_reminder(_join_system_turns(waiting)))
            waiting.clear()
        if draft.role == "assistant":
            if draft.mid in replied:
                _merge_reply(merged, draft, era)
            else:
                replied.add(draft.mid)
                merged.append(draft)
        elif draft.role == "system":
            _merge_system(merged, draft)
        elif draft.kind == "context" and ((opened and draft.entry is opened) or _open_user_turn(merged) is None):
            opened = draft.entry
            merged.append(draft)
        elif (at := _open_user_turn(merged)) is not None:
            merged[at] = _join_user_drafts(merged[at], draft, era, model)
        elif draft.blocks or draft.kind != "message":
            merged.append(draft)
        if waiting and _open_user_turn(merged) is not None:
            for system_turn in waiting:
                _merge_system(merged, system_turn)
            waiting.clear()
    return [*merged, as_reminder(_join_system_turns(waiting))] if waiting else merged


def _open_user_turn(merged: Sequence[MessageDraft]) -> int | None:
    """Return the index of the user turn at the end, which only system turns may follow, or None: further user drafts
    join it.
    """
    at = len(merged) - 1
    while at >= 0 and merged[at].role == "system":
        at -= 1
    return at if at >= 0 and merged[at].role == "user" else None


def _merge_reply(merged: list[MessageDraft], draft: MessageDraft, era: Era) -> None:
    """Append a draft to the earlier part of its reply. Results may stand between the parts, a prompt may not."""
    for index in range(len(merged) - 1, -1, -1):
        other = merged[index]
        if other.role == "assistant" and other.mid == draft.mid and draft.entry and other.entry:
            merged[index] = replace(other, blocks=[*other.blocks, *draft.blocks])
            return
        if other.role == "assistant" and not era.merges_over_replies:
            break
        if other.role == "user" and not (other.has_results and era.merges_over_results):
            break
    merged.append(draft)


def _merge_system(merged: list[MessageDraft], draft: MessageDraft) -> None:
    if merged and merged[-1].role == "system":
        merged[-1] = _join_system_turns([merged[-1], draft])
    else:
        merged.append(draft)


def _join_system_turns(turns: Sequence[MessageDraft]) -> MessageDraft:
    """Join consecutive system turns."""
    texts = [as_text(block.get("text", "")) for turn in turns for block in turn.blocks]
    return replace(turns[0], blocks=[{"type": "text", "text": "\n\n".join(texts)}])


def _join_user_drafts(first: MessageDraft, second: MessageDraft, era: Era, model: str) -> MessageDraft:
    at = len(first.blocks) - first.queued - 1  # context goes before what was queued
    if _can_fold(second, model, era) and not _stays_apart(second) and at >= 0 and _takes_context(first.blocks[at]):
        folded = _fold_context(first.blocks[at], second.blocks, era)
        return replace(first, blocks=[*first.blocks[:at], folded, *first.blocks[at + 1 :]])
    results = [b for b in second.blocks if b.get("type") == "tool_result"]
    if results and len(results) == len(second.blocks) and not first.has_results:
        return replace(first, blocks=[*results, *first.blocks])
    if results and first.has_results:
        before = [b for b in first.blocks if b.get("type") == "tool_result"]
        others = [b for b in first.blocks if b.get("type") != "tool_result"]
        return replace(first, blocks=[*before, *second.blocks, *others])
    has_seam = era.ends_joined_texts and (
        second.kind not in ("context", "pictured") or not _can_fold(second, model, era)
    )
    blocks = join_blocks(first.blocks, second.blocks) if has_seam else [*first.blocks, *second.blocks]
    queued = first.queued + len(second.blocks) if second.kind == "queued" else 0
    return replace(first, blocks=blocks, kind=second.kind, queued=queued)


def join_blocks(first: list[Json], second: list[Json]) -> list[Json]:
    """Join the blocks of two entries in one message; a text before another text ends with a newline."""
    return [*(_end_with_newline(first) if _is_text(second[:1]) else first), *second]


def _is_text(blocks: Sequence[Json]) -> bool:
    return bool(blocks) and blocks[0].get("type") == "text"


def _end_with_newline(blocks: list[Json]) -> list[Json]:
    """End the last text with a newline, because another text follows."""
    if not _is_text(blocks[-1:]):
        return blocks
    return [*blocks[:-1], {**blocks[-1], "text": f"{blocks[-1].get('text', '')}\n"}]


def _takes_context(block: Json) -> bool:
    return block.get("type") == "tool_result" and block.get("content", "") is not None


def _can_fold(draft: MessageDraft, model: str, era: Era) -> bool:
    """Return whether a draft is context that can become part of a tool result. An attached file cannot where the API
    has system turns.
    """
    entry = draft.entry
    if draft.kind != "context" or entry is None or entry.type != "attachment":
        return draft.kind == "context"
    return not (era.keeps_files_apart and Attachment.of(entry).type in _FILES and has_system_turns(model, era))


_FILES = ("file", "directory", "nested_memory")


def _stays_apart(draft: MessageDraft) -> bool:
    """Return whether context never becomes part of a tool result, because it belongs to the new turn."""
    return draft.entry is None


def _fold_context(result: Json, texts: list[Json], era: Era) -> Json:
    """Append context to the text of the tool result before it."""
    content = result.get("content")
    if isinstance(content, list):
        return {**result, "content": [*(_end_with_newline(content) if era.ends_joined_texts else content), *texts]}
    parts = [as_text(content or "").strip(), *(as_text(t.get("text", "")).strip() for t in texts)]
    return {**result, "content": "\n\n".join(part for part in parts if part)}


def _adjust_reply(draft: MessageDraft, era: Era, model: str) -> MessageDraft:
    if draft.role != "assistant":
        return draft
    drops_thinking = era.drops_foreign_thinking and draft.entry and not is_same(draft.model or "", model)
    blocks = [b for b in draft.blocks if not (drops_thinking and b.get("type") in THINKING_TYPES)]
    return replace(draft, blocks=adjust_reply_blocks(blocks, era))


def _pair_results(drafts: Sequence[MessageDraft], era: Era) -> list[MessageDraft]:
    """Put exactly one result after each call, and drop results without a call."""
    if not era.pairs_results:
        return list(drafts)
    paired: list[MessageDraft] = []
    known_ids: set[Any] = set()
    for index, draft in enumerate(drafts):
        if draft.role == "assistant":
            paired.append(_drop_repeated_calls(draft, known_ids) if era.first_result_counts else draft)
            if _call_ids(paired[-1]) and not _is_followed_by_user(drafts, index):
                paired.append(
                    MessageDraft("user", [error_result(c, MISSING_RESULT) for c in _call_ids(paired[-1])], None)
                )
        elif draft.role == "user":
            paired.append(_match_results(draft, paired[-1] if paired else None, era))
        else:
            paired.append(draft)
    return paired


def _is_followed_by_user(drafts: Sequence[MessageDraft], index: int) -> bool:
    return any(d.role == "user" for d in drafts[index + 1 : index + 2])


def _call_ids(draft: MessageDraft | None) -> list[Any]:
    return [b.get("id") for b in draft.blocks if b.get("type") == "tool_use"] if draft else []


def _drop_repeated_calls(draft: MessageDraft, known_ids: set[Any]) -> MessageDraft:
    blocks = []
    for block in draft.blocks:
        if block.get("type") == "tool_use":
            if block.get("id") in known_ids:
                continue
            known_ids.add(block.get("id"))
        blocks.append(block)
    if len(blocks) != len(draft.blocks) and not blocks:
        blocks = [placeholder(INTERRUPTED_USE)]
    return replace(draft, blocks=blocks)


def _match_results(draft: MessageDraft, before: MessageDraft | None, era: Era) -> MessageDraft:
    if before is None and not era.first_result_counts:
        return draft
    calls = dict.fromkeys(_call_ids(before) if before and before.role == "assistant" else ())
    blocks: list[Json] = []
    answered: set[Any] = set()
    for block in draft.blocks:
        if block.get("type") == "tool_result":
            call = block.get("tool_use_id")
            if call not in calls or (era.first_result_counts and call in answered):
                continue
            answered.add(call)
        blocks.append(block)
    # Example: calls 1 and 2, followed by results 2 and 3. Result 3 has no call and was skipped; call 1 gets an error as
    # its result, before result 2.
    missing = [error_result(c, MISSING_RESULT) for c in calls if c not in answered]
    blocks = [b for b in (*missing, *blocks) if b.get("type") != "text" or _is_sent(b, draft, era)]
    if not blocks and draft.blocks and era.first_result_counts:
        is_first = before is None and draft.has_results
        if era.renders_attachments or not is_first:
            blocks = [{"type": "text", "text": ORPHANED if is_first else NO_CONTENT}]
    return replace(draft, blocks=blocks)


def _is_sent(block: Json, draft: MessageDraft, era: Era) -> bool:
    """Return whether a text is sent: one of white space only is not, unless it is the whole prompt."""
    content = draft.entry.message.content if draft.entry and draft.entry.message else None
    is_alone = len(draft.blocks) == 1 and isinstance(content, str)
    text = as_text(block.get("text") or "")
    return is_alone or not era.cleans_texts or bool(text.strip())
