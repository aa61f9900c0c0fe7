"""Codex CLI: rollouts, `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`.

Three forms, all of them seen: bare items behind a header without a type (0.25), items in envelopes with `payload` (0.50,
0.90), and the same with ordinals, records of usage and a world state (0.166).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, TypeGuard

from clew.foreign.conversation_steps import Conversation, OtherRecord, Scribe, Step, with_usage
from clew.foreign.json_values import number, object_of, objects, records, text, time_of, usage
from clew.foreign.responses_items import ADDED, Items, plain
from clew.wire.json_codec import Json

TOOL = "codex"
_NAME = re.compile(r"rollout-.*?([0-9a-f]{8}-[0-9a-f-]{27})")
_CWD = re.compile(r"<cwd>(.+?)</cwd>")
_REPEATED = {  # events that say again what an item says
    *("user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content"),
    *("agent_reasoning_section_break", "token_count"),
}


def find(folder: Path) -> Iterator[Path]:
    yield from folder.rglob("rollout-*.jsonl")
    yield from folder.rglob("rollout-*.jsonl.zst")


def fits(path: Path, head: Json) -> bool:
    """Whether a file is a rollout, told by its name or its first object."""
    is_new = isinstance(head.get("payload"), dict) and isinstance(head.get("type"), str)
    is_old = {"id", "timestamp"} <= head.keys() and "instructions" in head and "type" not in head
    return bool(_NAME.match(path.name)) or is_new or is_old


def read(path: Path) -> Iterator[Conversation]:
    rollout = _Rollout(path)
    if path.suffix == ".zst":
        rollout.scribe.damaged(path.name, f"it is compressed; unpack it with: zstd -d {path.name}")
    else:
        for line, record in records(path, rollout.scribe):
            rollout.take(line, record)
    yield rollout.conversation()


class _Rollout:
    """One file as it is read, record by record."""

    def __init__(self, path: Path) -> None:
        named = _NAME.match(path.name)
        self.path = path
        self.id = named[1] if named else ""
        self.meta: Json = {}
        self.cwd = ""
        self.scribe = Scribe()
        self.items = Items(self.scribe)
        self.usages: list[tuple[int, Json]] = []
        self.total: Any = None
        self.has_records = False

    def conversation(self) -> Conversation:
        self.scribe.close()
        return Conversation(
            tool=TOOL,
            id=self.id or str(self.path),
            path=str(self.path),
            steps=with_usage(self.scribe.steps, self.usages),
            version=text(self.meta, "cli_version"),
            cwd=text(self.meta, "cwd") or self.cwd or self._told_cwd(),
            branch=text(object_of(self.meta, "git"), "branch"),
            problems=tuple(self.scribe.problems),
        )

    def _told_cwd(self) -> str:
        """The folder as the model was told of it, which is all that the first form says."""
        told = (_CWD.search(plain(step.original)) for step in self.scribe.steps if _is_message(step))
        return next((found[1] for found in told if found), "")

    def take(self, line: int, record: Json) -> None:
        payload = record.get("payload")
        kind, time = text(record, "type"), time_of(record.get("timestamp"))
        if not isinstance(payload, dict):
            self._bare(line, record, time)
            return
        match kind:
            case "session_meta":
                self._meta(payload, time)
            case "response_item":
                around = {key: value for key, value in record.items() if key not in ("timestamp", "type", "payload")}
                self.items.take({**payload, "record": around} if around else payload, time)
            case "compacted":
                self._compacted(payload, time)
            case "turn_context":
                self.scribe.model = text(payload, "model") or self.scribe.model
                self.cwd = self.cwd or text(payload, "cwd")
                self.scribe.keep(kind, payload, time)
            case "token_usage_record":
                self.has_records = True
                self._used(object_of(payload, "usage"))
                self.scribe.close()
                self.scribe.keep(kind, payload, time)
            case "event_msg":
                self._event(payload, time)
            case _:
                self.scribe.keep(kind or "record", record, time)

    def _meta(self, payload: Json, time: datetime | None) -> None:
        if not self.meta:  # a fork holds that of its source as well
            self.meta, self.id = payload, text(payload, "id", "session_id") or self.id
        self.scribe.keep("session_meta", payload, time)

    def _bare(self, line: int, record: Json, time: datetime | None) -> None:
        """The first form: a header, then items; marks of state hold nothing else."""
        if text(record, "type"):
            self.items.take(record, time)
        elif "record_type" not in record:
            if line == 1:
                self._meta(record, time)
            else:
                self.scribe.keep("record", record, time)

    def _event(self, payload: Json, time: datetime | None) -> None:
        kind = text(payload, "type")
        item = text(object_of(payload, "item"), "type")
        if kind == "token_count" and not self.has_records:
            info = object_of(payload, "info")
            total = info.get("total_token_usage")
            if total and total != self.total:
                self.total = total
                self._used(object_of(info, "last_token_usage"))
        elif kind == "turn_aborted":
            self.items.aborted(time)
            self.scribe.keep(kind, payload, time)
        elif kind not in _REPEATED and item not in ("UserMessage", "AgentMessage", "Reasoning"):
            self.scribe.keep(kind or "event", payload, time)

    def _used(self, told: Json) -> None:
        read, written = number(told, "cached_input_tokens"), number(told, "cache_write_input_tokens")
        fresh = max(0, number(told, "input_tokens") - read - written)
        before = self.scribe.replies + self.scribe.is_open
        if found := usage(fresh, number(told, "output_tokens"), read, written):
            self.usages.append((before, found))

    def _compacted(self, payload: Json, time: datetime | None) -> None:
        said = [plain(item) for item in objects(payload.get("replacement_history")) if item.get("type") == "message"]
        words = [part for part in said if part.strip() and not part.startswith(ADDED)]
        message = text(payload, "message")
        if message and message not in words:
            words.append(message)
        self.scribe.summary("\n\n".join(words), time)
        self.scribe.keep("compacted", payload, time)


def _is_message(step: Step) -> TypeGuard[OtherRecord]:
    return isinstance(step, OtherRecord) and step.kind == "user message"
