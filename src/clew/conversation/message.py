"""From entries to API messages: what is left out, what is merged, and how broken pairs are mended.

Two stages, as in the real program. `drafts` turns the entries of a path into pieces with a role and drops what must not be
sent; `messages` orders, merges and mends them so that the API accepts them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from msgspec import Raw

from clew.conversation.era import Era
from clew.wire.detail import Attachment
from clew.wire.encode import decode
from clew.wire.entry import Entry

Json = dict[str, Any]

NO_CONTENT = "(no content)"
INTERRUPTED_USE = "[Tool use interrupted]"
MISSING_RESULT = "[Tool result missing due to internal error]"
INTERRUPTED_CALL = (
    "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown."
)
_THOUGHT = ("thinking", "redacted_thinking")


@dataclass(frozen=True, slots=True)
class Draft:
    """A piece of the conversation on its way to a message."""

    role: str
    blocks: list[Json]
    entry: Entry | None
    kind: str = "message"  # else context, queued, system, command, or (sent as nothing) mark and silent
    mid: str | None = None
    model: str | None = None

    @property
    def has_results(self) -> bool:
        return any(b.get("type") == "tool_result" for b in self.blocks)


# -- stage one: which entries speak, and with which blocks


def drafts(path: Sequence[Entry], era: Era, model: str) -> list[Draft]:
    made = [draft for entry in path for draft in _draft(entry, era, model)]
    made = _answer_calls(made, era)
    if era.drops_lone_thinking:
        made = _without_lone_thinking(made)
    return [d for d in made if not (_is_blank_reply(d) if era.marks_empty else _is_empty_reply(d))]


def _draft(entry: Entry, era: Era, model: str) -> Iterable[Draft]:
    if entry.type in ("user", "assistant"):
        yield from _spoken(entry, era, model)
    elif entry.type == "attachment":
        yield from _rendered(entry, era, model)
    elif entry.type == "system" and entry.subtype == "local_command" and era.sends_local_commands:
        content = decode(entry.content)
        yield Draft("user", _blocks(content), entry, kind="command")
    else:
        yield Draft("user", [], entry, kind="silent")


def _spoken(entry: Entry, era: Era, model: str) -> Iterable[Draft]:
    message = entry.data.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = _blocks(content)
    if entry.type == "assistant":
        mid = entry.message.id if entry.message else None
        made_by = entry.message.model if entry.message else None
        if era.strips_call_fields:
            blocks = [_stripped(b) for b in blocks]
        yield Draft("assistant", blocks, entry, mid=mid, model=made_by)
    elif era.renders_attachments and _is_notification(entry):
        text = "\n".join(str(b.get("text", "")) for b in blocks)
        yield _system_turn(text, entry, model)
    else:
        if era.drops_prompt_images:
            blocks = [{"type": "text", "text": "[image]"} if b.get("type") == "image" else b for b in blocks]
        if era.puts_results_first:
            blocks = sorted(blocks, key=lambda b: b.get("type") != "tool_result")
        yield Draft("user", blocks, entry)


def _stripped(block: Json) -> Json:
    if block.get("type") != "tool_use":
        return block
    return {key: block[key] for key in ("type", "id", "name", "input") if key in block}


def _is_notification(entry: Entry) -> bool:
    return _kind(entry.origin) == "task-notification"


def _kind(origin: Raw) -> str:
    value = decode(origin)
    return str(value.get("kind", "")) if isinstance(value, dict) else ""


def _system_turn(text: str, entry: Entry, model: str) -> Draft:
    """Context for the model: a turn of its own where the API has one, else a reminder in the user's turn."""
    if has_system_turns(model):
        return Draft("system", [{"type": "text", "text": unwrapped(text)}], entry, kind="system")
    wrapped = text if text.startswith(_OPEN) else f"{_OPEN}\n{text}\n{_CLOSE}"
    return Draft("user", [{"type": "text", "text": wrapped}], entry, kind="context")


_OPEN, _CLOSE = "<system-reminder>", "</system-reminder>"


def unwrapped(text: str) -> str:
    return text.removeprefix(_OPEN).removesuffix(_CLOSE).strip("\n") if text.startswith(_OPEN) else text


def has_system_turns(model: str) -> bool:
    """Models of the fifth generation take `system` turns among the messages."""
    return any(part.isdigit() and int(part) == 5 for part in model.split("-")[2:3])


def _rendered(entry: Entry, era: Era, model: str) -> Iterable[Draft]:
    """An attachment as the model got it. Those from before they were stored rendered were always reminders."""
    yield Draft("user", [], entry, kind="mark")
    if not era.renders_attachments:
        return
    data = entry.data
    texts = [t for part in data.get("rendered") or () for t in _texts(part)]
    role = data.get("renderedRole")
    kind = Attachment.of(entry)
    spoken = kind.type == "queued_command" and kind.human_turn and _kind(kind.origin) == "human"
    for text in texts:
        if spoken and has_system_turns(model):
            yield Draft("user", [{"type": "text", "text": unwrapped(text)}], entry, kind="queued")
        elif role == "system" and has_system_turns(model):
            yield Draft("system", [{"type": "text", "text": unwrapped(text)}], entry, kind="system")
        else:
            yield Draft("user", [{"type": "text", "text": text}], entry, kind="context")


def _texts(part: Any) -> list[str]:
    content = part.get("content") if isinstance(part, dict) else None
    if isinstance(content, str):
        return [content]
    return [str(b.get("text", "")) for b in content or () if isinstance(b, dict)]


def _blocks(content: Any) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [dict(b) for b in content or () if isinstance(b, dict)] if isinstance(content, list) else []


def _answer_calls(made: list[Draft], era: Era) -> list[Draft]:
    """Calls that no result answers: dropped with their line, or, in the last reply, answered by an error."""
    answered = {b.get("tool_use_id") for d in made for b in d.blocks if b.get("type") == "tool_result"}
    if not era.fills_missing_results:
        return [_without_unanswered(d, answered) for d in made]
    last = max((i for i, d in enumerate(made) if d.role == "assistant"), default=-1)
    open_end = era.answers_interrupted_calls and not any(
        d.role == "user" and d.kind == "message" and not d.has_results for d in made[last + 1 :]
    )
    ending = made[last].mid if open_end and last >= 0 else None
    found: list[Draft] = []
    pending: list[Json] = []
    for draft in made:
        calls = [b.get("id") for b in draft.blocks if b.get("type") == "tool_use"]
        missing = [c for c in calls if c not in answered]
        if open_end and draft.role == "assistant" and (draft is made[last] or draft.mid == ending):
            pending.extend(_error(c, INTERRUPTED_CALL) for c in missing)
        elif calls and len(missing) == len(calls):
            continue
        found.append(draft)
    return [*found, *(Draft("user", [p], None) for p in pending)]


def _error(call: Any, text: str) -> Json:
    return {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": True}


def _without_unanswered(draft: Draft, answered: set[Any]) -> Draft:
    kept = [b for b in draft.blocks if b.get("type") != "tool_use" or b.get("id") in answered]
    return draft if len(kept) == len(draft.blocks) else replace(draft, blocks=kept)


def _without_lone_thinking(made: list[Draft]) -> list[Draft]:
    """A reply of nothing but thinking is not sent."""
    speaks = {d.mid for d in made if d.role == "assistant" and any(b.get("type") not in _THOUGHT for b in d.blocks)}
    return [d for d in made if d.role != "assistant" or not d.blocks or d.mid in speaks]


def _is_empty_reply(draft: Draft) -> bool:
    return draft.role == "assistant" and not draft.blocks


def _is_blank_reply(draft: Draft) -> bool:
    return (
        draft.role == "assistant"
        and bool(draft.blocks)
        and all(b.get("type") == "text" and not str(b.get("text", "")).strip() for b in draft.blocks)
    )


# -- stage two: messages that the API accepts


def messages(made: list[Draft], era: Era, model: str, prompt: str | None) -> list[Json]:
    if prompt is not None:
        made = [*made, Draft("user", [{"type": "text", "text": prompt}], None)]
    made = [d for d in made if d.kind not in ("mark", "silent") and not _is_api_error(d)]
    merged = _merge(_contexts_first(made), era)
    merged = [_adjusted(d, era, model) for d in merged]
    merged = _paired(merged, era)
    return [{"role": d.role, "content": d.blocks} for d in merged if d.blocks]


def _is_api_error(draft: Draft) -> bool:
    return (
        draft.role == "assistant" and draft.entry is not None and draft.entry.is_api_error and draft.entry.is_synthetic
    )


def _contexts_first(made: Sequence[Draft]) -> list[Draft]:
    """Context rises above the prompts it was written behind, up to the reply or result before them."""
    found: list[Draft] = []
    contexts: list[Draft] = []
    for draft in reversed(made):
        if draft.kind in ("context", "queued"):
            contexts.append(draft)
            continue
        if draft.role == "assistant" or draft.has_results:
            found.extend(contexts)
            contexts.clear()
        found.append(draft)
    found.extend(contexts)
    found.reverse()
    return found


def _merge(made: Iterable[Draft], era: Era) -> list[Draft]:
    found: list[Draft] = []
    opened: Entry | None = None  # an attachment that began a turn: its texts stay apart
    for draft in made:
        if draft.role == "assistant":
            _merge_reply(found, draft, era)
        elif draft.role == "system":
            _merge_system(found, draft)
        elif draft.kind == "context" and (draft.entry is opened or _open_turn(found) is None):
            opened = draft.entry
            found.append(draft)
        elif (at := _open_turn(found)) is not None:
            found[at] = _joined(found[at], draft)
        elif draft.blocks or draft.kind != "message":
            found.append(draft)
    return found


def _open_turn(found: Sequence[Draft]) -> int | None:
    """Where a further user draft belongs: the user turn at the end, whose system turn may stand behind it."""
    at = len(found) - 1
    while at >= 0 and found[at].role == "system":
        at -= 1
    return at if at >= 0 and found[at].role == "user" else None


def _merge_reply(found: list[Draft], draft: Draft, era: Era) -> None:
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


def _merge_system(found: list[Draft], draft: Draft) -> None:
    if found and found[-1].role == "system":
        found[-1] = replace(found[-1], blocks=[*found[-1].blocks, *draft.blocks])
    else:
        found.append(draft)


def _joined(first: Draft, second: Draft) -> Draft:
    if _folds(second) and first.blocks and first.blocks[-1].get("type") == "tool_result":
        folded = _folded(first.blocks[-1], second.blocks)
        return replace(first, blocks=[*first.blocks[:-1], folded])
    results = [b for b in second.blocks if b.get("type") == "tool_result"]
    if results and len(results) == len(second.blocks) and not first.has_results:
        return replace(first, blocks=[*results, *first.blocks])
    if results and first.has_results:
        before = [b for b in first.blocks if b.get("type") == "tool_result"]
        rest = [b for b in first.blocks if b.get("type") != "tool_result"]
        return replace(first, blocks=[*before, *second.blocks, *rest])
    return replace(first, blocks=[*first.blocks, *second.blocks], kind=second.kind)


def _folds(draft: Draft) -> bool:
    """A file that was attached keeps a text of its own; it reads like a call of its own."""
    entry = draft.entry
    is_file = entry is not None and entry.type == "attachment" and Attachment.of(entry).type in _FILES
    return draft.kind == "context" and not is_file


_FILES = ("file", "directory")


def _folded(result: Json, texts: list[Json]) -> Json:
    """Context behind a tool result becomes part of its text."""
    content = result.get("content")
    if isinstance(content, list):
        return {**result, "content": [*content, *texts]}
    joined = "\n\n".join([str(content or "").rstrip(), *(str(t.get("text", "")) for t in texts)])
    return {**result, "content": joined}


def _adjusted(draft: Draft, era: Era, model: str) -> Draft:
    blocks = draft.blocks
    if draft.role != "assistant":
        return draft
    if era.drops_foreign_thinking and draft.entry and draft.model != model:
        blocks = [b for b in blocks if b.get("type") not in _THOUGHT]
    if era.renames_task:
        blocks = [{**b, "name": "Agent"} if _is_task(b) else b for b in blocks]
        blocks = sorted(blocks, key=lambda b: b.get("type") == "tool_use")
    if not blocks and era.marks_empty:
        blocks = [_placeholder(NO_CONTENT)]
    return replace(draft, blocks=blocks)


def _placeholder(text: str) -> Json:
    return {"type": "text", "text": text, "citations": []}


def _is_task(block: Json) -> bool:
    return block.get("type") == "tool_use" and block.get("name") == "Task"


def _paired(made: Sequence[Draft], era: Era) -> list[Draft]:
    """Each call answered once, directly behind it; a result without its call is no result."""
    if not era.fills_missing_results:
        return list(made)
    found: list[Draft] = []
    used: set[Any] = set()
    for index, draft in enumerate(made):
        if draft.role == "assistant":
            found.append(_unique_calls(draft, used) if era.first_result_counts else draft)
            if _calls(found[-1]) and not _follows_results(made, index):
                found.append(Draft("user", [_error(c, MISSING_RESULT) for c in _calls(found[-1])], None))
        elif draft.role == "user":
            found.append(_answering(draft, found[-1] if found else None, era))
        else:
            found.append(draft)
    return found


def _follows_results(made: Sequence[Draft], index: int) -> bool:
    return any(d.role == "user" for d in made[index + 1 : index + 2])


def _calls(draft: Draft | None) -> list[Any]:
    return [b.get("id") for b in draft.blocks if b.get("type") == "tool_use"] if draft else []


def _unique_calls(draft: Draft, used: set[Any]) -> Draft:
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


def _answering(draft: Draft, before: Draft | None, era: Era) -> Draft:
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
    missing = [_error(c, MISSING_RESULT) for c in calls if c not in seen]
    blocks = [b for b in (*missing, *blocks) if b.get("type") != "text" or b.get("text")]
    if not blocks and draft.blocks and era.first_result_counts:
        blocks = [{"type": "text", "text": NO_CONTENT}]
    return replace(draft, blocks=blocks)
