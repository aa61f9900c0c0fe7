"""Transcripts of nothing but usage, for tests that count."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

from clew.report.usage_bucket import ReplyContext, UsageBucket
from clew.wire.json_codec import encode

TREE = "claude"
NOON = "2026-01-05T12:00:00.000Z"
NOON_SECONDS = 1767614400


def session(number: int) -> str:
    return str(UUID(int=number, version=4))


def line(
    reply: str,
    *,
    output: int = 0,
    model: str = "claude-opus-5",
    time: str = NOON,
    request: str | None = None,
    usage: dict[str, Any] | None = None,
    **fields: Any,
) -> bytes:
    tokens = {"input_tokens": 0, "output_tokens": output, **(usage or {})}
    message = {
        "id": reply,
        "model": model,
        "role": "assistant",
        "content": [],
        "stop_reason": "end_turn",
        "usage": tokens,
    }
    entry = {"type": "assistant", "uuid": f"u-{reply}", "timestamp": time, "message": message, **fields}
    return encode(entry | ({"requestId": request} if request else {})) + b"\n"


def write(root: Path, name: str, *lines: bytes, project: str = "-p") -> Path:
    path = root / TREE / "projects" / project / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    return path


def totals(buckets: Iterable[UsageBucket]) -> tuple[int, int]:
    """Replies and output tokens."""
    found = list(buckets)
    return sum(bucket.replies for bucket in found), sum(bucket.output for bucket in found)


def bucket(
    when: int = NOON_SECONDS,
    model: str = "claude-opus-5",
    *,
    output: int = 0,
    given: int = 0,
    read: int = 0,
    write_5m: int = 0,
    mode: str = "",
    missing: int = 0,
    context: ReplyContext | None = None,
) -> UsageBucket:
    return UsageBucket(when, model, mode, 0, not missing, 1, given, output, write_5m, 0, read, 0, 0, missing, context)
