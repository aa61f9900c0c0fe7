"""Convert the entries of a path to drafts: blocks with a role, without what must not be sent.

The first of two stages between a path and a request; `api_messages` is the second.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, takewhile
from typing import Any

from msgspec import Raw, Struct
from msgspec.structs import replace

from clew.conversation.attachment_text import attached_images, render_attachment
from clew.conversation.cli_version import Era
from clew.conversation.reply_blocks import restore_call
from clew.conversation.reply_ids import reply_id
from clew.conversation.tool_references import drop_lost_references, refers_to_tools
from clew.models import model_of, table
from clew.wire.content_block import THINKING_TYPES
from clew.wire.entry import Entry
from clew.wire.entry_types import Attachment
from clew.wire.json_codec import Json, as_text, decode, encode

INTERRUPTED_CALL = (
    "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown. "
    "Check whether it took effect before relying on it or running it again.]"
)
TOOL_LOADED = "Tool loaded."
REFERENCES_REMOVED = "[Tool references removed - tool search not enabled]"
STRING = "(string)"  # the type of a block that stands for a plain string among the blocks


class MessageDraft(Struct, frozen=True):
    """A part of the conversation on its way to a message."""

    role: str
    blocks: list[Json]
    entry: Entry | None
    kind: str = (
        "message"  # else context, pictured, queued, notification, system, command; not sent: mark, silent, left out
    )
    mid: str | None = None
    model: str | None = None
    queued: int = 0  # how many of the last blocks were queued during the turn

    @property
    def has_results(self) -> bool:
        return any(b.get("type") == "tool_result" for b in self.blocks)


def build_drafts(path: Sequence[Entry], era: Era, model: str) -> list[MessageDraft]:
    """Convert the entries of a path to drafts, in order."""
    result = [draft for entry in path for draft in _entry_drafts(entry, era, model)]
    result = _answer_calls(_move_results_after_calls(result) if era.renders_attachments else result, era)
    if era.drops_lone_thinking:
        result = _drop_lone_thinking(result, era)
    return [d for d in result if not (_is_blank_reply(d) if era.marks_empty else _is_empty_reply(d))]


def _entry_drafts(entry: Entry, era: Era, model: str) -> Iterable[MessageDraft]:
    if entry.type in ("user", "assistant"):
        yield from _message_drafts(entry, era, model)
    elif entry.type == "attachment":
        yield from _attachment_drafts(entry, era, model)
    elif entry.type == "system" and entry.subtype == "local_command" and era.sends_local_commands:
        content = decode(entry.content)
        yield MessageDraft("user", _blocks(content), entry, kind="command")
    else:
        yield MessageDraft("user", [], entry, kind="silent")


def _message_drafts(entry: Entry, era: Era, model: str) -> Iterable[MessageDraft]:
    content = entry.message_content
    blocks = _blocks(content, keeps_strings=era.sends_strings)
    if era.has_system_turns and isinstance(content, list):
        blocks = [b for b in blocks if _is_well_formed(b)]
    if entry.type == "assistant" and content and not blocks and era.renders_attachments:
        return  # as if the line were not there
    if entry.type == "assistant":
        mid = reply_id(entry, separates_without_id=era.separates_replies_without_id)
        reply_model = entry.message.model if entry.message else None
        blocks = [restore_call(b, era) if b.get("type") == "tool_use" else b for b in blocks]
        yield MessageDraft("assistant", blocks, entry, mid=mid, model=reply_model)
    elif era.reminds_of_tasks and _is_notification(entry):
        words = "\n".join(as_text(b.get("text", "")) for b in blocks)
        yield MessageDraft("user", [_text_block(_wrap_reminder(words))], entry, kind="notification")
    else:
        if content == "":
            blocks = [_text_block("")]
        if era.reports_lost_tools:
            blocks = [drop_lost_references(b, era, model) for b in blocks]
        if era.removes_tool_references:
            blocks = [_remove_references(b) for b in blocks]
        if era.drops_prompt_images:
            blocks = [{"type": "text", "text": "[image]"} if b.get("type") == "image" else b for b in blocks]
        if era.puts_results_first:
            blocks = sorted(blocks, key=lambda b: b.get("type") != "tool_result")
        if era.renders_attachments and any(refers_to_tools(b) for b in blocks):
            blocks = [drop_lost_references(b, era, model) for b in blocks]
            blocks = [*blocks, _text_block(TOOL_LOADED)] if any(refers_to_tools(b) for b in blocks) else blocks
        yield MessageDraft("user", blocks, entry)


def _remove_references(block: Json) -> Json:
    if not refers_to_tools(block):
        return block
    parts = [p for p in block["content"] if not (isinstance(p, dict) and p.get("type") == "tool_reference")]
    return {**block, "content": parts or [_text_block(REFERENCES_REMOVED)]}


def _is_well_formed(block: Json) -> bool:
    """Return whether a block has a type and, if it is a text, a string."""
    return isinstance(block.get("type"), str) and (block["type"] != "text" or isinstance(block.get("text"), str))


def _is_notification(entry: Entry) -> bool:
    return _origin_kind(entry.origin) == "task-notification"


def _origin_kind(origin: Raw) -> str:
    value = decode(origin)
    return as_text(value.get("kind", "")) if isinstance(value, dict) else ""


_OPEN, _CLOSE = "<system-reminder>", "</system-reminder>"


def unwrap_reminder(text: str) -> str:
    return text.removeprefix(_OPEN).removesuffix(_CLOSE).strip("\n") if text.startswith(_OPEN) else text


def _system_turn_text(text: str, model: str) -> str:
    """Return context as a system turn contains it: without reminder tags, except for the models that get them
    anyway.
    """
    return _wrap_reminder(text) if model_of(model).name in table()["marked_turns"] else unwrap_reminder(text)


def has_system_turns(model: str, era: Era) -> bool:
    """Return whether a version sends messages with the role `system`, and the model accepts them."""
    return era.has_system_turns and model_of(model).system_turns


def _attachment_drafts(entry: Entry, era: Era, model: str) -> Iterable[MessageDraft]:
    """Yield the drafts of an attachment: its stored text, else text rendered from its data."""
    yield MessageDraft("user", [], entry, kind="mark")
    data = entry.data
    attachment = data.get("attachment")
    if not isinstance(attachment, dict):
        return
    stored = _stored_parts(data) if era.renders_attachments else None
    if stored is None:
        yield from _render_again(entry, attachment, era, model)
        return
    if _is_user_turn(entry) and has_system_turns(model, era):
        yield from (
            MessageDraft("user", [_text_block(_system_turn_text(text, model)) for text in texts], entry, kind="queued")
            for texts in stored
        )
    elif data.get("renderedRole") == "system" and has_system_turns(model, era):
        yield from _context_drafts([text for texts in stored for text in texts], entry, model, era)
    else:
        yield from (
            MessageDraft("user", [_text_block(text) for text in texts], entry, kind="context") for texts in stored
        )


def _render_again(entry: Entry, attachment: Json, era: Era, model: str) -> Iterable[MessageDraft]:
    """Yield the drafts of an attachment that was stored without its text."""
    parts = render_attachment(attachment, has_system_turns(model, era), era)
    pictures = attached_images(attachment)
    if parts is None:
        yield MessageDraft("user", [], entry, kind="left out")
    elif era.renders_attachments and _is_user_turn(entry) and has_system_turns(model, era):
        yield MessageDraft("user", [*map(_text_block, parts), *pictures], entry, kind="queued")
    elif pictures:
        yield MessageDraft(
            "user", [*(_text_block(_wrap_reminder(part)) for part in parts), *pictures], entry, kind="pictured"
        )
    else:
        yield from _context_drafts(parts, entry, model, era)


def _is_user_turn(entry: Entry) -> bool:
    """Return whether an attachment is a turn of the user, and is sent as one where the API has system turns."""
    kind = Attachment.of(entry)
    return kind.type == "queued_command" and kind.human_turn and _origin_kind(kind.origin) == "human"


def _context_drafts(parts: Sequence[str], entry: Entry, model: str, era: Era) -> Iterable[MessageDraft]:
    """Yield context for the model: one system turn where the API has them, else a reminder for each part."""
    if not parts:
        return
    if has_system_turns(model, era):
        yield MessageDraft(
            "system", [_text_block("\n".join(_system_turn_text(part, model) for part in parts))], entry, kind="system"
        )
    else:
        yield from (MessageDraft("user", [_text_block(_wrap_reminder(part))], entry, kind="context") for part in parts)


def as_reminder(draft: MessageDraft) -> MessageDraft:
    """Convert a system turn to a user message: the API requires a user turn before a system turn."""
    texts = "\n".join(as_text(block.get("text", "")) for block in draft.blocks)
    return replace(draft, role="user", blocks=[_text_block(_wrap_reminder(texts))], kind="context")


def _wrap_reminder(text: str) -> str:
    return text if text.startswith(_OPEN) else f"{_OPEN}\n{text}\n{_CLOSE}"


def _text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def _stored_parts(data: Json) -> list[list[str]] | None:
    """Return the stored texts of each part; None if nothing was stored, or anything but text."""
    rendered = data.get("rendered")
    if not isinstance(rendered, list):
        return None
    parts = [_texts(part) for part in rendered]
    return [texts for texts in parts if texts] if all(texts is not None for texts in parts) else None


def _texts(part: Any) -> list[str] | None:
    content = part.get("content") if isinstance(part, dict) else None
    if isinstance(content, str):
        return [content]
    blocks = content if isinstance(content, list) else [None]
    texts = [b.get("text") for b in blocks if isinstance(b, dict) and b.get("type") == "text"]
    return [t for t in texts if isinstance(t, str)] if len(texts) == len(blocks) else None


def _blocks(content: Any, keeps_strings: bool = False) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    if not isinstance(content, list):
        return []
    if keeps_strings:
        content = [{"type": STRING, "text": block} if isinstance(block, str) else block for block in content]
    return [_named(block) for block in content if isinstance(block, dict)]


def _named(block: Json) -> Json:
    """Return a copy of a block whose names can be looked up: a list or an object in the place of one becomes its JSON
    text.
    """
    odd = {key: encode(block[key]).decode() for key in _NAMES if isinstance(block.get(key), list | dict)}
    return {**block, **odd}


_NAMES = ("type", "id", "tool_use_id", "name")


def _answer_calls(drafts: list[MessageDraft], era: Era) -> list[MessageDraft]:
    """Drop calls without a result, together with their line; in the last reply answer them with an error."""
    # Calls x and y of a reply, only y has a result, and a prompt follows:
    #
    #   before 2.1.45    the call x is removed from its line
    #   since 2.1.45     a line is dropped if none of its calls has a result: [x] is dropped, [x, y] is kept, and
    #                    api_messages adds the missing result
    #   since 2.1.290    in the last reply, if no prompt follows, x is kept and answered by INTERRUPTED_CALL
    answered = {b.get("tool_use_id") for d in drafts for b in d.blocks if b.get("type") == "tool_result"}
    if not era.fills_missing_results:
        answered_drafts = [_drop_unanswered_calls(d, answered) for d in drafts]
        if era.pairs_results:
            return answered_drafts
        called = {b.get("id") for d in drafts for b in d.blocks if b.get("type") == "tool_use"}
        first = next((i for i, d in enumerate(answered_drafts) if d.role == "assistant"), len(answered_drafts))
        later = (
            [_drop_stray_results(d, called) for d in answered_drafts[first:]]
            if era.drops_stray_results
            else answered_drafts[first:]
        )
        return [*answered_drafts[:first], *later]  # strays before the first reply are sent
    last = max((i for i, d in enumerate(drafts) if d.role == "assistant"), default=-1)
    open_end = era.answers_interrupted_calls and not any(
        d.role == "user" and d.kind == "message" and not d.has_results for d in drafts[last + 1 :]
    )
    ending = drafts[last].mid if open_end and last >= 0 else None
    stopped = _stopped_turn(drafts, answered, era)
    result: list[MessageDraft] = []
    pending: list[Json] = []
    for index, draft in enumerate(drafts):
        calls = [b.get("id") for b in draft.blocks if b.get("type") == "tool_use"]
        missing = [c for c in calls if c not in answered]
        if open_end and draft.role == "assistant" and (draft is drafts[last] or draft.mid == ending):
            pending.extend(error_result(c, INTERRUPTED_CALL) for c in missing)
        elif calls and len(missing) == len(calls) and index < stopped:
            continue
        result.append(draft)
    return [*result, *(MessageDraft("user", [p], None) for p in pending)]


def _stopped_turn(drafts: Sequence[MessageDraft], answered: set[Any], era: Era) -> int:
    """Return the index at which a turn begins that ends with a result because Claude Code was stopped: its calls are
    kept unanswered. Replies at the end that have no content, or only calls without a result, do not count.
    """
    spoken = [i for i, d in enumerate(drafts) if d.entry is not None and d.entry.type in ("user", "assistant")]
    while spoken and _is_cut_reply(drafts[spoken[-1]], answered, era):
        spoken.pop()
    last = drafts[spoken[-1]] if spoken else None
    if not era.answers_interrupted_calls or last is None or not last.has_results or is_complete(drafts, last.entry):
        return len(drafts)
    return max((i for i in spoken if drafts[i].role != "assistant" and not drafts[i].has_results), default=0)


def _is_cut_reply(draft: MessageDraft, answered: set[Any], era: Era) -> bool:
    calls = [b.get("id") for b in draft.blocks if b.get("type") == "tool_use"]
    is_unanswered = bool(calls) and answered.isdisjoint(calls)
    return draft.role == "assistant" and (is_unanswered or not any(_is_content(b, era) for b in draft.blocks))


def is_complete(drafts: Sequence[MessageDraft], last: Entry | None) -> bool:
    """Return whether a result ends a turn, because of the tool or of the turn limit.

    The attachment that Claude Code writes after the result shows it.
    """
    if last is None:
        return False
    after = [
        d.entry for d in drafts[next(i for i, d in enumerate(drafts) if d.entry is last) + 1 :] if d.kind == "mark"
    ]
    if any(entry and Attachment.of(entry).type == "max_turns_reached" for entry in after):
        return True
    return bool(after) and last.data.get("toolEndsTurn") is True


def _move_results_after_calls(drafts: list[MessageDraft]) -> list[MessageDraft]:
    """Move a result that precedes its call in the same turn after it, with the context that belongs to it."""
    # result x, context, call x  →  call x, result x, context
    called: dict[Any, int] = {}
    for index, draft in enumerate(drafts):
        for block in draft.blocks:
            if block.get("type") == "tool_use":
                called.setdefault(block.get("id"), index)
    turns = list(accumulate(d.role == "user" and d.kind == "message" and not d.has_results for d in drafts))
    late: dict[int, list[MessageDraft]] = {}
    for index, draft in enumerate(drafts):
        if draft.role == "user" and draft.has_results:
            at = next(called.get(b.get("tool_use_id"), -1) for b in draft.blocks if b.get("type") == "tool_result")
            if at > index and turns[at] == turns[index]:
                context = takewhile(lambda d: d.kind in ("context", "mark"), drafts[index + 1 :])
                late.setdefault(at, []).extend([draft, *(d for d in context if d.kind == "context")])
    moved = {id(draft) for group in late.values() for draft in group}
    return [d for i, draft in enumerate(drafts) if id(draft) not in moved for d in (draft, *late.get(i, ()))]


def error_result(call: Any, text: str) -> Json:
    return {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": True}


def _drop_unanswered_calls(draft: MessageDraft, answered: set[Any]) -> MessageDraft:
    blocks = [b for b in draft.blocks if b.get("type") != "tool_use" or b.get("id") in answered]
    return draft if len(blocks) == len(draft.blocks) else replace(draft, blocks=blocks)


def _drop_stray_results(draft: MessageDraft, called: set[Any]) -> MessageDraft:
    blocks = [b for b in draft.blocks if b.get("type") != "tool_result" or b.get("tool_use_id") in called]
    return draft if len(blocks) == len(draft.blocks) else replace(draft, blocks=blocks)


def _drop_lone_thinking(drafts: list[MessageDraft], era: Era) -> list[MessageDraft]:
    """Drop replies that consist of thinking alone."""
    with_content = {d.mid for d in drafts if d.role == "assistant" and any(_is_content(b, era) for b in d.blocks)}
    return [d for d in drafts if d.role != "assistant" or not d.blocks or d.mid in with_content]


def _is_content(block: Json, era: Era) -> bool:
    is_blank = era.drops_foreign_thinking and block.get("type") == "text" and not as_text(block.get("text", "")).strip()
    return block.get("type") not in THINKING_TYPES and not is_blank


def _is_empty_reply(draft: MessageDraft) -> bool:
    return draft.role == "assistant" and not draft.blocks


def _is_blank_reply(draft: MessageDraft) -> bool:
    return (
        draft.role == "assistant"
        and bool(draft.blocks)
        and all(b.get("type") == "text" and not as_text(b.get("text", "")).strip() for b in draft.blocks)
    )
