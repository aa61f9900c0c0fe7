"""Build the messages that a resume would send to the Messages API.

The real program can verify this, so it follows observed behaviour, version by version: choose and repair entries,
convert them to drafts, and make the drafts acceptable to the API.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import is_
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from clew.conversation.active_path import (
    after_compaction,
    complete_path,
    find_leaf,
    path_to_message,
)
from clew.conversation.api_messages import build_messages
from clew.conversation.cli_version import NEWEST, Era
from clew.conversation.message_drafts import MessageDraft, build_drafts, is_complete
from clew.conversation.parent_links import SPOKEN, Chain, has_content, link_entries
from clew.conversation.preserved_lines import relink_preserved
from clew.models import default_model, known_name, model_of, without_suffix
from clew.wire.entry import Damaged, Entry, Item
from clew.wire.entry_types import Attachment, WorktreeState
from clew.wire.json_codec import as_text, decode_slowly

NO_RESPONSE = "No response requested."
CONTINUE_PROMPT = "Continue from where you left off."


class Request(Struct, frozen=True):
    """What a resume would send, or why it would be refused."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    model: str | None = None
    leaf: Entry | None = None
    path: tuple[Entry, ...] = ()
    refusal: str = ""
    left_out: int = 0  # attachments whose text is not known and not in `messages`

    @property
    def is_resumable(self) -> bool:
        return not self.refusal


def link_for_resume(entries: Sequence[Entry], era: Era) -> Chain:
    """Link entries as a version does when it resumes a file."""
    return relink_preserved(link_entries(entries, era))


def build_request(
    items: Iterable[Item],
    version: str = NEWEST,
    prompt: str | None = None,
    context: Sequence[Entry] = (),
    link: Callable[[Sequence[Entry], Era], Chain] = link_for_resume,
) -> Request:
    """Return the request that one version would build from the items of a file.

    `prompt` is the next prompt of the user, `context` the attachments that Claude Code adds to it, and `link` links the
    entries that the version reads.
    """
    chosen = choose_path(items, version, link)
    return chosen if chosen.refusal else _build(chosen, Era(version), prompt, context)


def choose_path(
    items: Iterable[Item], version: str = NEWEST, link: Callable[[Sequence[Entry], Era], Chain] = link_for_resume
) -> Request:
    """Return the leaf and the path of the request that one version would build, without its messages."""
    era = Era(version)
    try:
        entries = list(readable_entries(items, era))
        _refuse_bad_file(entries, era)
        _refuse_broken_worktree(entries, era)
        return _choose_path(entries, link(entries, era), era)
    except Unreadable as reason:
        return Request(refusal=str(reason))


class VersionPaths:
    """The paths on which versions would resume one session. Each is chosen once, and versions that link alike share it."""

    def __init__(self, items: Sequence[Item], entries: Sequence[Entry], newest: Chain | None) -> None:
        """`newest` are the links of the newest version, if the session is not an agent's."""
        self._items, self._entries, self._newest = items, entries, newest
        self._linked: dict[tuple[object, ...], Chain] = {}
        self._chosen: dict[str, Request] = {}
        self._has_worktree = any(entry.type == "worktree-state" for entry in entries)  # whether it exists can change

    def choose(self, version: str) -> Request:
        """Return the leaf and the path on which a version would resume the session."""
        chosen = self._chosen.get(version)
        if chosen is None:
            chosen = choose_path(self._items, version, self.link)
            if not self._has_worktree:
                self._chosen[version] = chosen
        return chosen

    def build_newest(self) -> Request:
        """Return the request that the newest version would build."""
        chosen = self.choose(NEWEST)
        return chosen if chosen.refusal else _build(chosen, Era.newest(), None, ())

    def link(self, entries: Sequence[Entry], era: Era) -> Chain:
        """Link the entries that a version reads."""
        if len(entries) != len(self._entries) or not all(map(is_, entries, self._entries)):
            return link_for_resume(entries, era)
        if era == Era.newest() and self._newest is not None:
            return self._newest
        alike = (era.chain_types, era.bridges_gaps, era.survives_bad_entries)
        if alike not in self._linked:
            self._linked[alike] = link_entries(entries, era)
        return relink_preserved(replace(self._linked[alike], era=era))


_SHORT = 4096  # bytes: a longer line is not read to see whether it is null


class Unreadable(ValueError):
    """The version cannot resume this file."""


def readable_entries(items: Iterable[Item], era: Era) -> Iterable[Entry]:
    """Yield the entries that a version reads: older versions lose lines that newer ones can read."""
    for item in items:
        if isinstance(item, Entry):
            if not item.line.has_bom or (era.reads_bom and not (era.renders_attachments and item.offset)):
                yield item
            continue
        if item.line.size < _SHORT and item.raw.strip() == b"null":
            if era.dies_of_null_lines:
                raise Unreadable(f"line {item.line.number} is null, which crashes version {era.version}")
            if era.stops_at_null_lines:
                return
        if isinstance(item, Damaged) and item.salvaged and era.saves_joined_lines:
            first = item.salvaged[0]
            if first.offset == item.line.offset and _is_strict(first):
                yield first


def _is_strict(entry: Entry) -> bool:
    """Return whether the object is strict JSON, as Claude Code requires here."""
    try:
        decode_slowly(entry.line.json)
    except ValueError:
        return False
    return True


def _choose_path(entries: Sequence[Entry], links: Chain, era: Era) -> Request:
    end = find_leaf(links, [e for e in entries if e.type == "last-prompt"], era)
    if end is None:
        raise Unreadable("no conversation in this file")
    path = path_to_message(links, end, era)
    if not era.survives_cycles and path[0].parent in {e.uuid for e in path}:
        raise Unreadable(f"its entries are their own ancestors, which hangs version {era.version}")
    if era.requires_time:
        _refuse_bad_end(path, era)
    path = after_compaction(path)
    _refuse_bad_entries(path, era)
    path = complete_path(path, links, era)
    if era.reads_snapshots:
        _refuse_empty_snapshots(entries, path, era)
    return Request(leaf=end, path=tuple(path))


def _build(chosen: Request, era: Era, prompt: str | None, context: Sequence[Entry]) -> Request:
    path = chosen.path
    model = _resume_model(path)
    path_drafts = build_drafts(path, era, model)
    reply_model = _resume_model([d.entry for d in path_drafts if d.entry and d.role == "assistant"])
    if reply_model != model:
        model, path_drafts = reply_model, build_drafts(path, era, reply_model)
    left_out = sum(draft.kind == "left out" for draft in path_drafts)
    prompt_drafts = [MessageDraft("user", [_text_block(prompt)], None)] if prompt is not None else []
    sent = [
        *_close_turn(path_drafts, era),
        *prompt_drafts,
        *map(_detach_session_change, build_drafts(context, era, model)),
    ]
    return replace(chosen, messages=build_messages(sent, era, model), model=model, left_out=left_out)


def _detach_session_change(draft: MessageDraft) -> MessageDraft:
    """Keep a note about a changed remote session separate from a tool result when it is context of a new prompt."""
    is_apart = draft.entry is not None and Attachment.of(draft.entry).type == "remote_session_change"
    return replace(draft, entry=None) if is_apart else draft


def _refuse_bad_end(path: Sequence[Entry], era: Era) -> None:
    last = next((e for e in reversed(path) if e.type in SPOKEN), None)
    if last is None:
        return
    if last.is_sidechain and era.leaf_by_order:
        raise Unreadable("the last message is an agent's")
    when = last.timestamp
    is_year = isinstance(when, int | float) and 0 <= when <= _LAST_YEAR  # how the program reads a number there
    if last.time is None or (isinstance(when, int | float) and not is_year):
        raise Unreadable("the last message has no time")


_LAST_YEAR = 275_760


def _refuse_bad_file(entries: Sequence[Entry], era: Era) -> None:
    if era.heeds_endings and any(e.type == "ended-by-model" for e in entries):
        raise Unreadable("the model ended this conversation")
    if era.reads_every_message:
        for entry in entries:
            if entry.type == "assistant" and entry.message is None:
                raise Unreadable(f"line {entry.line.number} has no message, which crashes version {era.version}")


def _refuse_bad_entries(path: Sequence[Entry], era: Era) -> None:
    for entry in () if era.survives_bad_entries else path:
        fault = ""
        if entry.type in SPOKEN and not has_content(entry):
            fault = "has no content" if entry.message else "has no message"
        elif entry.type == "assistant" and entry.message and isinstance(entry.message.content, str):
            fault = "is a plain string"
        elif entry.type in SPOKEN and None in _content(entry):
            fault = "contains null among its blocks"
        elif era.dies_of_strings_in_replies and entry.type == "assistant" and _has_strings(entry):
            fault = "contains a plain string among its blocks"
        elif era.reads_text_marks and entry.type == "user" and _has_odd_text(entry):
            fault = "has a text block without text"
        elif entry.type == "attachment" and bytes(entry.attachment) in (b"", b"null"):
            fault = "" if era.survives_bad_attachments else "has no attachment"
        if fault:
            raise Unreadable(f"line {entry.line.number} {fault}, which crashes version {era.version}")


def _refuse_empty_snapshots(entries: Sequence[Entry], path: Sequence[Entry], era: Era) -> None:
    """Refuse if the last file snapshot of a message on the path is empty."""
    snapshots = {as_text(e.data.get("messageId")): e for e in entries if e.type == "file-history-snapshot"}
    for entry in path:
        snapshot = snapshots.get(entry.uuid or "")
        if snapshot is not None and snapshot.data.get("snapshot") is None:
            raise Unreadable(f"line {snapshot.line.number} has no snapshot, which crashes version {era.version}")


def _has_odd_text(entry: Entry) -> bool:
    blocks = [b for b in _content(entry) if isinstance(b, dict)]
    return any(b.get("type") == "text" and not isinstance(b.get("text"), str) for b in blocks)


def _has_strings(entry: Entry) -> bool:
    return any(isinstance(block, str) for block in _content(entry))


def _content(entry: Entry) -> list[Any]:
    message = entry.data.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, list) else []


def _refuse_broken_worktree(entries: Sequence[Entry], era: Era) -> None:
    """Refuse a worktree that exists without its repository. A missing worktree does not matter."""
    last = next((e for e in reversed(entries) if e.type == "worktree-state"), None)
    path = WorktreeState.of(last).worktree_path if last and era.verifies_worktree else ""
    if not path:
        return
    try:
        link = Path(path, ".git").read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):  # no worktree, or a complete repository
        return
    if link.startswith("gitdir:") and not Path(path, link.removeprefix("gitdir:").strip()).exists():
        raise Unreadable(f"the worktree {path} does not belong to a repository")


def _resume_model(path: Sequence[Entry]) -> str:
    """Return the model of the last reply if Claude Code still uses it, else the default model."""
    for entry in reversed(path):
        if entry.type == "assistant" and entry.message and entry.message.model and not entry.is_synthetic:
            name = entry.message.model
            return without_suffix(name)[0] if known_name(name) and model_of(name).resumes else default_model()
    return default_model()


def _ends_with_command(messages: Sequence[MessageDraft]) -> bool:
    """Return whether the conversation ends with a local command: its caveat, its name and its outputs, in this order.

    The caveat has to be a meta line. It may be missing if every other line is one: with `m` for a meta line,
    `caveat-m name output`, `caveat-m output output` and `name-m output-m` are commands; `name-m output` is a prompt.
    Text that the user typed or another program sent (`promptSource`, `origin`) is a prompt, whatever it contains.
    """
    last = messages[-1].entry if messages else None
    if last is not None and (last.data.get("promptSource") or last.data.get("origin") == {"kind": "human"}):
        return False
    start = len(messages)
    while start and _opening_text(messages[start - 1]).startswith(_COMMAND_OUTPUT):
        start -= 1
    if start and _opening_text(messages[start - 1]).startswith("<command-name>"):
        start -= 1
    caveat = messages[start - 1] if start else None
    if caveat and _opening_text(caveat).startswith("<local-command-caveat>") and _is_meta(caveat):
        return True
    return start < len(messages) and all(map(_is_meta, messages[start:]))


_COMMAND_OUTPUT = ("<local-command-stdout>", "<local-command-stderr>")


def _is_meta(draft: MessageDraft) -> bool:
    return draft.entry is not None and draft.entry.is_meta


def _opening_text(draft: MessageDraft) -> str:
    return as_text(draft.blocks[0].get("text", "")) if draft.role == "user" and draft.blocks else ""


def _close_turn(drafts: list[MessageDraft], era: Era) -> list[MessageDraft]:
    """Close an unfinished turn as Claude Code does before it continues."""
    spoken = [d for d in drafts if d.entry is None or d.entry.type in SPOKEN]
    last = spoken[-1] if spoken else None
    ending = next((d.entry for d in reversed(drafts) if not _is_system(d)), None)  # a system line does not count
    attached = ending is not None and ending.type == "attachment"
    closing = [MessageDraft("assistant", [_text_block(NO_RESPONSE)], None)]
    continuing = [MessageDraft("user", [_text_block(CONTINUE_PROMPT)], None), *closing]
    if last is None and attached and (era.renders_attachments or era.asks_to_continue):
        return [*drafts, *(continuing if era.asks_to_continue else closing)]
    if last is None or (era.knows_ended_turns and is_complete(drafts, last.entry)):
        return drafts
    if era.renders_attachments and _ends_with_command(spoken):
        return drafts
    attached = attached and not (era.ends_with_replies and last.role == "assistant")
    if era.asks_to_continue and (attached or (last.role == "user" and last.has_results) or last.kind == "notification"):
        return [*drafts, *continuing]
    if last.role == "assistant" or (not era.closes_over_context and drafts[-1] is not last):
        return drafts
    end = max(i for i, d in enumerate(drafts) if d is last or not _is_system(d)) + 1
    return [*drafts[:end], *closing, *drafts[end:]]


def _is_system(draft: MessageDraft) -> bool:
    """Return whether a draft comes from a system line; the output of a command follows the closing reply."""
    return draft.entry is not None and draft.entry.type == "system"


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
