"""Read Codex CLI rollouts: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`.

There are four forms: one JSON document with `session` and `items` (`.json`, the first program, which was written in
TypeScript), bare items after a header without a type (0.25), items in envelopes with `payload` (0.50, 0.90), and the
same with ordinals, usage records and a world state (0.166).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, TypeGuard

from clew.foreign.codex_rollout import MARK
from clew.foreign.conversation_steps import Conversation, OtherRecord, Step, StepRecorder, assign_usage
from clew.foreign.json_values import (
    build_usage,
    get_count,
    get_object,
    get_objects,
    get_text,
    parse_time,
    read_document_or_part,
    read_records,
)
from clew.foreign.responses_items import INJECTED_PREFIXES, ItemReader, item_text
from clew.wire.json_codec import Json

TOOL = "codex"
_NAME = re.compile(r"rollout-.*?([0-9a-f]{8}-[0-9a-f-]{27})")
_CWD = re.compile(r"<cwd>(.+?)</cwd>")
_DUPLICATE_EVENTS = {  # events that repeat an item
    *("user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content"),
    *("agent_reasoning_section_break", "token_count"),
}


def find(folder: Path) -> Iterator[Path]:
    yield from folder.rglob("rollout-*.jsonl")
    yield from folder.rglob("rollout-*.jsonl.zst")
    yield from folder.rglob("rollout-*.json")


def fits(path: Path, head: Json) -> bool:
    """Return whether a file is a rollout, by its name or its first object."""
    is_new = isinstance(head.get("payload"), dict) and isinstance(head.get("type"), str)
    is_old = {"id", "timestamp"} <= head.keys() and "instructions" in head and "type" not in head
    is_document = isinstance(head.get("session"), dict) and isinstance(head.get("items"), list)
    return bool(_NAME.match(path.name)) or is_new or is_old or is_document


def read(path: Path) -> Iterator[Conversation]:
    rollout = _Rollout(path)
    if path.suffix == ".zst":
        rollout.scribe.damaged(path.name, f"it is compressed; decompress it with: zstd -d {path.name}")
    elif path.suffix == ".json":
        rollout.take_document(read_document_or_part(path, rollout.scribe.problems))
    else:
        for line, record in read_records(path, rollout.scribe):
            rollout.take(line, record)
    yield rollout.conversation()


class _Rollout:
    """Reads one file record by record."""

    def __init__(self, path: Path) -> None:
        named = _NAME.match(path.name)
        self.path = path
        self.id = named[1] if named else ""
        self.meta: Json = {}
        self.cwd = ""
        self.scribe = StepRecorder()
        self.items = ItemReader(self.scribe)
        self.usages: list[tuple[int, Json]] = []
        self.total: Any = None
        self.has_records = False

    def conversation(self) -> Conversation:
        self.scribe.close()
        return Conversation(
            tool=TOOL,
            id=self.id or str(self.path),
            path=str(self.path),
            steps=assign_usage(self.scribe.steps, self.usages),
            version=get_text(self.meta, "cli_version"),
            cwd=get_text(self.meta, "cwd") or self.cwd or self._cwd_from_context(),
            branch=get_text(get_object(self.meta, "git"), "branch"),
            problems=tuple(self.scribe.problems),
        )

    def _cwd_from_context(self) -> str:
        """Return the folder from the environment message, the only source in the first form."""
        matches = (_CWD.search(item_text(step.original)) for step in self.scribe.steps if _is_message(step))
        return next((match[1] for match in matches if match), "")

    def take_document(self, document: Any) -> None:
        """Take the document of the first program. Its items have no times, only the session has one."""
        header = get_object(document, "session")
        time = parse_time(header.get("timestamp"))
        self._meta(header, time)
        for item in get_objects(document.get("items") if isinstance(document, dict) else None):
            self.items.take(item, time)

    def take(self, line: int, record: Json) -> None:
        payload = record.get("payload")
        kind, time = get_text(record, "type"), parse_time(record.get("timestamp"))
        if not isinstance(payload, dict):
            self._take_bare(line, record, time)
            return
        match kind:
            case "session_meta":
                self._meta(payload, time)
            case "response_item" if isinstance(mark := record.get(MARK), dict):
                self.items.take_literally(payload, mark, time)
            case "response_item":
                around = {key: value for key, value in record.items() if key not in ("timestamp", "type", "payload")}
                self.items.take({**payload, "record": around} if around else payload, time)
            case "compacted":
                self._compacted(payload, time)
            case "turn_context":
                self.scribe.model = get_text(payload, "model") or self.scribe.model
                self.cwd = self.cwd or get_text(payload, "cwd")
                self.scribe.keep(kind, payload, time)
            case "token_usage_record":
                self.has_records = True
                self._add_usage_record(get_object(payload, "usage"))
                self.scribe.close()
                self.scribe.keep(kind, payload, time)
            case "event_msg":
                self._event(payload, time)
            case _:
                self.scribe.keep(kind or "record", record, time)

    def _meta(self, payload: Json, time: datetime | None) -> None:
        if not self.meta:  # a fork also contains the header of its source
            self.meta, self.id = payload, get_text(payload, "id", "session_id") or self.id
        self.scribe.keep("session_meta", payload, time)

    def _take_bare(self, line: int, record: Json, time: datetime | None) -> None:
        """Take a record of the first form: a header, then items. State records are dropped."""
        if get_text(record, "type"):
            self.items.take(record, time)
        elif "record_type" not in record:
            if line == 1:
                self._meta(record, time)
            else:
                self.scribe.keep("record", record, time)

    def _event(self, payload: Json, time: datetime | None) -> None:
        kind = get_text(payload, "type")
        item = get_text(get_object(payload, "item"), "type")
        if kind == "token_count" and not self.has_records:
            info = get_object(payload, "info")
            total = info.get("total_token_usage")
            if total and total != self.total:
                self.total = total
                self._add_usage_record(get_object(info, "last_token_usage"))
        elif kind == "turn_aborted":
            self.items.add_interruption(time)
            self.scribe.keep(kind, payload, time)
        elif kind not in _DUPLICATE_EVENTS and item not in ("UserMessage", "AgentMessage", "Reasoning"):
            self.scribe.keep(kind or "event", payload, time)

    def _add_usage_record(self, counts: Json) -> None:
        read, written = get_count(counts, "cached_input_tokens"), get_count(counts, "cache_write_input_tokens")
        fresh = max(0, get_count(counts, "input_tokens") - read - written)
        before = self.scribe.replies + self.scribe.is_open
        if converted := build_usage(fresh, get_count(counts, "output_tokens"), read, written):
            self.usages.append((before, converted))

    def _compacted(self, payload: Json, time: datetime | None) -> None:
        texts = [
            item_text(item) for item in get_objects(payload.get("replacement_history")) if item.get("type") == "message"
        ]
        kept_texts = [part for part in texts if part.strip() and not part.startswith(INJECTED_PREFIXES)]
        message = get_text(payload, "message")
        if message and message not in kept_texts:
            kept_texts.append(message)
        self.scribe.summary("\n\n".join(kept_texts), time)
        self.scribe.keep("compacted", payload, time)


def _is_message(step: Step) -> TypeGuard[OtherRecord]:
    return isinstance(step, OtherRecord) and step.kind == "user message"
