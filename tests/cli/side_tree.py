"""A hand-written home with side files, as Claude Code 2.1.29 leaves it: nothing of it comes from our own builder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SESSION = "5e551011-aaaa-4bbb-8ccc-000000000001"
OTHER = "5e551011-aaaa-4bbb-8ccc-000000000002"
SLUG = "gentle-roaming-hopper"
PROJECT = "-home-mira-observatory"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
STAMP = "2026-02-03T10:00:{:02d}.000Z"


def entry(kind: str, uuid: str, parent: str | None, second: int, **fields: Any) -> dict[str, Any]:
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/mira/observatory",
        "sessionId": SESSION,
        "version": "2.1.29",
        "gitBranch": "main",
        "slug": SLUG,
        "type": kind,
        "uuid": uuid,
        "timestamp": STAMP.format(second),
        **fields,
    }


def uuid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def prompt(number: int, parent: int | None, text: str, **fields: Any) -> dict[str, Any]:
    message = {"role": "user", "content": text}
    return entry("user", uuid(number), uuid(parent) if parent else None, number, message=message, **fields)


def reply(number: int, parent: int, *blocks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    message = {
        "model": "claude-opus-4-5-20251101",
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "content": list(blocks),
        "stop_reason": "tool_use" if any(b["type"] == "tool_use" for b in blocks) else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }
    about = {"requestId": f"req_{number}", **fields}
    return entry("assistant", uuid(number), uuid(parent), number, message=message, **about)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(id: str, command: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}


def result(number: int, parent: int, id: str, content: str, detail: Any = None, **fields: Any) -> dict[str, Any]:
    message = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": content}]}
    more = {"toolUseResult": detail} if detail is not None else {}
    return entry("user", uuid(number), uuid(parent), number, message=message, **more, **fields)


def write_lines(path: Path, *lines: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def put(path: Path, data: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def long_text(lines: int = 3000) -> str:
    """An output that is too long for a transcript: the word echidna in its middle, a token, a last line."""
    body = [f"plate {number:05d} exposed for {number % 97} s" for number in range(lines)]
    body[lines // 2] = "plate of the echidna nebula"
    body[lines // 3] = f"uploaded with {TOKEN}"
    return "\n".join([*body, "the very last plate"]) + "\n"


def write_home(root: Path, output: str | bytes | None = None) -> Path:
    """One session whose second call overflowed; the folder of its side files."""
    folder = root / "projects" / PROJECT / SESSION
    placeholder = (
        "<persisted-output>\nOutput too large (110KB). Full output saved to: "
        f"/home/mira/.claude/projects/{PROJECT}/{SESSION}/tool-results/toolu_01Plates.txt\n\n"
        "Preview (first 2KB):\nplate 00000 exposed for 0 s\n...\n</persisted-output>"
    )
    write_lines(
        folder.with_suffix(".jsonl"),
        prompt(1, None, "List all plates"),
        reply(2, 1, text("Here they come."), call("toolu_00Short", "ls plates")),
        result(3, 2, "toolu_00Short", "a.fits b.fits", {"stdout": "a.fits b.fits", "stderr": ""}),
        reply(4, 3, call("toolu_01Plates", "cat plates.log")),
        result(5, 4, "toolu_01Plates", placeholder, {"stdout": "plate 00000", "stderr": ""}),
        reply(6, 5, text("There are many plates.")),
    )
    put(folder / "tool-results" / "toolu_01Plates.txt", long_text() if output is None else output)
    return folder
