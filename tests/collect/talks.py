"""Sessions that grow turn by turn, as text of any length without the cost of building them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

START = datetime(2026, 5, 1, 9, tzinfo=UTC)


def identifier(kind: str, name: str, number: int) -> str:
    """An id that looks random, as real ones do."""
    digits = sha256(f"{kind} {name} {number}".encode()).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:32]}"


def growing_turn(number: int, *, name: str = "", above: int | None = None, minutes: int = 3) -> bytes:
    """A prompt, a reply that calls a tool, its result: three lines. It follows the turn before, or the one `above`."""
    start = START + timedelta(minutes=minutes * number)
    before = number - 1 if above is None else above
    ids = [identifier(kind, name, number) for kind in ("prompt", "reply", "result")]
    parents = [identifier("result", name, before) if number else None, ids[0], ids[1]]
    session = identifier("session", name, 0)
    message = {
        "id": f"msg_{identifier('message', name, number)[:24]}",
        "role": "assistant",
        "model": "claude-opus-5",
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 30 + number, "output_tokens": 50, "cache_read_input_tokens": 1000},
    }
    call = f"toolu_{identifier('call', name, number)[:24]}"
    texts = [
        {"role": "user", "content": f"Question {number} of {name}? {sha256(bytes(number)).hexdigest()}"},
        {
            **message,
            "content": [
                {"type": "text", "text": f"Answer {number}."},
                {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": f"make test{number % 7}"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": f"passed {number}"}]},
    ]
    lines: list[dict[str, Any]] = []
    for step, kind in enumerate(("user", "assistant", "user")):
        time = (start + timedelta(seconds=10 * step)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        about = {"sessionId": session, "version": "2.1.200", "cwd": "/home/ada/shop", "gitBranch": "main"}
        lines.append(
            {
                "type": kind,
                "uuid": ids[step],
                "parentUuid": parents[step],
                "timestamp": time,
                **about,
                "message": texts[step],
            }
        )
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)
