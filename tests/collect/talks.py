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


def outcome_session(name: str = "outcomes", day: str = "2026-05-20") -> bytes:
    """A session with what a lead asks for: a slash command, a skill, an agent, a refusal, a failure, commits, a pull
    request; in the lines that Claude Code writes for them.
    """
    script: list[tuple[str, dict[str, Any]]] = []

    def add(kind: str, content: Any, **fields: Any) -> None:
        script.append((kind, {"message": {"role": kind, "content": content}, **fields}))

    def call(number: int, tool: str, asked: dict[str, Any], result: str, **fields: Any) -> None:
        use = {"type": "tool_use", "id": f"toolu_{name}_{number}", "name": tool, "input": asked}
        usage = {"input_tokens": 10, "output_tokens": 20 + number, "cache_read_input_tokens": 100}
        about = {"id": f"msg_{name}_{number}", "role": "assistant", "model": "claude-opus-5", "stop_reason": "tool_use"}
        noted = {key: fields.pop(key) for key in ("attributionSkill",) if key in fields}
        script.append(("assistant", {"message": {**about, "usage": usage, "content": [use]}, **noted}))
        is_error = bool(fields.pop("is_error", False))
        answer = {"type": "tool_result", "tool_use_id": use["id"], "content": result, "is_error": is_error}
        add("user", [answer], **fields)

    add("user", "<command-message>review</command-message>\n<command-name>/review</command-name>")
    call(
        1,
        "Bash",
        {"command": "git commit -am 'Fix it'"},
        f"[main {sha256(name.encode()).hexdigest()[:9]}] Fix it\n 1 file changed",
    )
    call(2, "Bash", {"command": "rm -rf /"}, "The user doesn't want to proceed with this tool use.", is_error=True)
    call(3, "Bash", {"command": "false"}, "Exit code 1", is_error=True)
    call(4, "Skill", {"skill": "tidy"}, "Launching skill: tidy")
    call(5, "Read", {"file_path": "/a"}, "x", attributionSkill="tidy")
    add("user", "Now open a pull request.")
    call(6, "Bash", {"command": "rm x"}, "no", is_error=True, toolDenialKind="user-rejected")
    call(7, "Bash", {"command": "rm y"}, "denied by a rule", is_error=True, toolDenialKind="rule")
    url = f"https://github.com/shop/{name}/pull/7"
    call(8, "Bash", {"command": "gh pr create --fill"}, f"Creating pull request\n{url}\n")
    call(9, "Agent", {"subagent_type": "reviewer", "prompt": "Look.", "description": "look"}, "Fine.")
    script.append(("pr-link", {"prNumber": 7, "prUrl": url, "prRepository": f"shop/{name}"}))
    lines = []
    above: str | None = None
    for number, (kind, fields) in enumerate(script):
        about = {"sessionId": name, "timestamp": f"{day}T10:00:{number:02}.000Z", "version": "2.1.210"}
        links = {} if kind == "pr-link" else {"uuid": identifier("outcome", name, number), "parentUuid": above}
        lines.append(json.dumps({"type": kind, **links, **about, **fields}).encode() + b"\n")
        above = links.get("uuid", above)
    return b"".join(lines)
