"""What a session says, in a form that a test can be read by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clew.conversation.session import Session
from clew.foreign.formats import find_in_path
from clew.foreign.session_builder import FOREIGN_TYPE
from clew.foreign.write_import import draft_import
from clew.wire.layout import Tree


def sessions(path: Path) -> list[Session]:
    """Each conversation of a file as a session."""
    found = [talk for form, file in find_in_path(path) for talk in form.read(file)]
    return [draft_import(talk, Tree(path.parent / "claude"), talk.cwd or "/home/ada").session for talk in found]


def session(path: Path) -> Session:
    return sessions(path)[0]


def told(session: Session) -> list[str]:
    """The chain, a line for each block: who speaks, and what."""
    return [_line(entry.type, block, entry.data) for entry in session.entries if entry.uuid for block in _blocks(entry)]


def _blocks(entry: Any) -> list[Any]:
    content = entry.data.get("message", {}).get("content", "")
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _line(kind: str, block: Any, data: Any) -> str:
    mark = "note" if data.get("isMeta") else "summary" if data.get("isCompactSummary") else kind
    match block["type"]:
        case "text":
            return f"{mark}: {block['text']}" if kind != "system" else f"system: {data['subtype']}"
        case "tool_use":
            return f"call: {block['name']} {block['input']}"
        case "tool_result":
            return f"{'error' if block.get('is_error') else 'result'}: {block['content']}"
    return f"{mark}: [{block['type']}]"


def kept(session: Session) -> list[str]:
    """The kinds of what stands beside."""
    return [str(entry.data["kind"]) for entry in session.entries if entry.type == FOREIGN_TYPE]


def originals(session: Session, kind: str) -> list[Any]:
    return [
        entry.data["original"] for entry in session.entries if entry.type == FOREIGN_TYPE and entry.data["kind"] == kind
    ]
