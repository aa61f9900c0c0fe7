"""Session files written by hand, line by line: they share nothing with the builder of the demo."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]

ONE = "945090a1-2de6-48c4-8d29-840ab1014598"
TWO = "5f1e2a34-9020-4f9a-9a4d-2ed6838acec1"


def uuid(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-{number:012x}"


def user(number: int, content: Any, **more: Any) -> Json:
    return _line("user", number, {"role": "user", "content": content}, **more)


def reply(number: int, *blocks: Json, id: str = "", stop: str | None = "end_turn", **more: Any) -> Json:
    usage = {"input_tokens": 2, "output_tokens": 649, "cache_read_input_tokens": 12392}
    message = {
        "model": more.pop("model", "claude-sonnet-4-5-20250929"),
        "id": id or f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "content": list(blocks),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": more.pop("usage", usage),
    }
    return _line("assistant", number, message, requestId=f"req_{id or number}", **more)


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def thinking(words: str) -> Json:
    return {"type": "thinking", "thinking": words, "signature": "c2lnbmF0dXJl"}


def use(id: str, name: str, **given: Any) -> Json:
    return {"type": "tool_use", "id": id, "name": name, "input": given}


def result(number: int, id: str, content: Any, record: Any = None, **block: Any) -> Json:
    more = {} if record is None else {"toolUseResult": record}
    return user(number, [{"tool_use_id": id, "type": "tool_result", "content": content, **block}], **more)


def _line(type: str, number: int, message: Json, **more: Any) -> Json:
    return {
        "parentUuid": uuid(number - 1) if number > 1 else None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/flight/develop/tinyledger",
        "version": "2.0.50",
        "gitBranch": "main",
        "type": type,
        "message": message,
        "uuid": uuid(number),
        "timestamp": f"2025-12-02T10:{number // 60:02}:{number % 60:02}.000Z",
        **more,
    }


def write(claude: Path, session: str, *lines: Json, project: str = "-home-flight-develop-tinyledger") -> Path:
    """Write the lines to the file of a session; those of a message get its id."""
    path = claude / "projects" / project / f"{session}.jsonl"
    return put(path, *({**line, "sessionId": session} if "message" in line else line for line in lines))


def put(path: Path, *lines: Json) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return path
