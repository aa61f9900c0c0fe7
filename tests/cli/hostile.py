"""A home full of hostile strings: the demo tree with a payload in every string of every session, and in names of folders."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from clew.demo.demo_tree import write_demo

CONTROLS = (
    "\x1b]52;c;UFdO\x07\x1b]0;PWNED\x1b\\\x1b]8;;http://evil.example\x07L\x1b]8;;\x07\x1bP+q544e\x1b\\\x1b_G1\x1b\\"
    "\x1b[31mRED\x1b[2J\x1b[8mHID\x1b[1A\x9b31m\x9d0;PWNED\x9c\u202eRLO\u2066\u200b\u200e\u200dA\ufeff\U000e0041"
    "\x00\x08\x7f\x85\ufffe\uffff\rBREAK{0}\nBREAK{0}\r\nBREAK{0}\u2028BREAK{0}\x0bBREAK{0}\x0cBREAK{0}\tTAB"
)
NAME, TEXT = CONTROLS.format("NAME"), CONTROLS.format("TEXT")
_NAMES = """model name gitBranch cwd version slug agentType subagent_type file_path path tag aiTitle customTitle title
summary trigger project notebook_path agentName"""
_KEPT = """type uuid parentUuid sessionId timestamp id tool_use_id role stop_reason subtype leafUuid logicalParentUuid
requestId messageId agentId sourceToolAssistantUUID media_type data userType promptId sourceToolUseID toolUseID status
parentToolUseID"""
NAMES, KEPT = frozenset(_NAMES.split()), frozenset(_KEPT.split())
HOSTILE_ID = "-evil;$(touch PWNED)`id`'\"&%PATH%!^ é\n\x1b]0;PWNED\x07"

# What clew may send to a terminal by itself: colours without concealing, its progress line, the screen of its player.
OURS = re.compile(
    r"\x1b\[(?:[0-79]|2[1-9]|3[0-79]|4[0-79]|9[0-7]|10[0-7]|[34]8;5;\d{1,3}|[34]8;2(?:;\d{1,3}){3}|;)*m"
    r"|\r\x1b\[2?K|\r(?=[A-Z ])|\x1b\[2J\x1b\[H"
)
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f]|(?<=[\x00-\x7f])[\u200c\u200d]"
)


def poison(value: Any, key: str = "") -> Any:
    """A JSON value with the payload at the end of every string that does not hold the session together."""
    if isinstance(value, dict):
        return {name: each if name in KEPT else poison(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [poison(each, key) for each in value]
    return value + (NAME if key in NAMES else TEXT) if isinstance(value, str) else value


def hostile_home(root: Path) -> Path:
    """A folder of Claude Code in which every session is hostile, its project folders and one session's id too."""
    write_demo(root, datetime(2026, 6, 1, 12, tzinfo=UTC))
    for path in [*root.rglob("*.jsonl"), *root.rglob("*.meta.json")]:
        lines = path.read_text(encoding="utf-8").splitlines()
        made = []
        for line in lines:
            try:
                made.append(json.dumps(poison(json.loads(line))))
            except ValueError:
                made.append(line + TEXT.replace("\n", " ").encode("utf-8", "replace").decode())
        path.write_text("\n".join(made) + "\n", encoding="utf-8")
    projects = sorted((root / "projects").iterdir())
    suffix = NAME.replace("\x00", "").replace("/", "|")[:90]
    projects[0].rename(f"{projects[0]}{suffix}")
    session = next(iter(sorted(projects[1].glob("*.jsonl"))))
    (session.parent / f"{HOSTILE_ID}.jsonl").write_bytes(session.read_bytes())
    return root


def leaks(text: str) -> list[str]:
    """Everything in an output that could drive a terminal and is not ours."""
    rest = OURS.sub("", text.replace("\r\n", "\n"))
    return [repr(rest[max(0, m.start() - 30) : m.end() + 20]) for m in FORBIDDEN.finditer(rest)]


def forged(text: str, mark: str) -> list[str]:
    """Lines that a line break inside of a value began."""
    return [line for line in OURS.sub("", text).splitlines() if line.strip(" │·").startswith(f"BREAK{mark}")]
