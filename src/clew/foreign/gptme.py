"""Read gptme conversations: one folder with a `conversation.jsonl` each.

Tools are called in Markdown, which stays text, or as `@tool(id): {…}`, which becomes a call. Messages of the
program, including tool outputs, have the role `system`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from clew.foreign.conversation_steps import Conversation, StepRecorder
from clew.foreign.image_blocks import image_block
from clew.foreign.json_values import build_usage, get_count, get_object, get_objects, get_text, parse_time, read_records
from clew.wire.json_codec import Json, scan

TOOL = "gptme"
NAME = "conversation.jsonl"
_CALL = re.compile(r"^@([\w-]+)\(([^()\n]{1,200})\): (?=\{)", re.MULTILINE)
_THOUGHT = re.compile(r"\s*<(think|thinking)>(.*?)</\1>\s*", re.DOTALL)
_FOLDER = re.compile(r"\*\*Working Directory:\*\* (\S.*)")
_VERSION = re.compile(r"You are gptme v(\S+?),? ")
_PICTURES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}
_FAILED = re.compile(r"Error\b")


def find(folder: Path) -> Iterator[Path]:
    yield from folder.rglob(NAME)


def fits(path: Path, head: Json) -> bool:
    return path.name == NAME and isinstance(head.get("role"), str)


def read(path: Path) -> Iterator[Conversation]:
    scribe = StepRecorder()
    folder, version = "", ""
    for _, message in read_records(path, scribe):
        message_text = _message_text(message)
        if message.get("role") == "system" and scribe.has_no_messages:
            folder = folder or _search(_FOLDER, message_text)
            version = version or _search(_VERSION, message_text)
        _take_message(scribe, message, message_text, path.parent)
    scribe.close()
    yield Conversation(
        tool=TOOL,
        id=path.parent.name,
        path=str(path),
        steps=tuple(scribe.steps),
        version=version,
        cwd=_workspace(path.parent) or folder,
        title=re.sub(r"^\d{4}-\d{2}-\d{2}-", "", path.parent.name).replace("-", " "),
        problems=tuple(scribe.problems),
    )


def _take_message(scribe: StepRecorder, message: Json, message_text: str, folder: Path) -> None:
    time = parse_time(message.get("timestamp"), local=True)
    match get_text(message, "role"):
        case "user":
            is_note = message_text.startswith("<system>") and message_text.rstrip().endswith("</system>")
            pictures = tuple(_message_images(message, folder))
            scribe.prompt(
                ({"type": "text", "text": message_text}, *pictures) if pictures else message_text, time, is_note=is_note
            )
            if message.get("files") or message.get("file_hashes"):
                scribe.keep("files", {"files": message.get("files"), "file_hashes": message.get("file_hashes")}, time)
        case "assistant":
            _take_reply(scribe, message, message_text, time)
        case "system" if call := get_text(message, "call_id"):
            scribe.result(
                call, message_text, time, is_error=bool(_FAILED.match(message_text)), aside=message.get("metadata")
            )
        case "system" if not (scribe.has_no_messages or message.get("hide") is True or message.get("pinned") is True):
            scribe.prompt(message_text, time, is_note=True)
        case role:
            scribe.keep(f"{role or 'unknown'} message", message, time)


def _take_reply(scribe: StepRecorder, message: Json, reply_text: str, time: datetime | None) -> None:
    if thought := _THOUGHT.match(reply_text):
        scribe.think(thought[2].strip(), time)
        reply_text = reply_text[thought.end() :]
    at = 0
    for match in _CALL.finditer(reply_text):
        if match.start() < at:
            continue
        try:
            call_input, end = scan(reply_text, match.end())
        except ValueError:
            continue
        scribe.say(reply_text[at : match.start()].rstrip("\n"), time)
        scribe.call(match[2], match[1], call_input if isinstance(call_input, dict) else {"input": call_input}, time)
        at = end
    scribe.say(reply_text[at:].strip("\n"), time)
    meta = get_object(message, "metadata")
    counts = get_object(meta, "usage")
    tokens = build_usage(
        get_count(counts, "input_tokens"),
        get_count(counts, "output_tokens"),
        get_count(counts, "cache_read_tokens"),
        get_count(counts, "cache_creation_tokens"),
    )
    scribe.close(tokens, get_text(meta, "served_model", "model"))
    if meta:
        scribe.keep("metadata", meta, time)


def _message_text(message: Json) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "".join(get_text(part, "text") for part in get_objects(content))


def _message_images(message: Json, folder: Path) -> Iterator[Json]:
    """Yield the images of a message from the copies next to the conversation; no other file is opened."""
    import base64

    for name, hash in get_object(message, "file_hashes").items():
        kind = _PICTURES.get(Path(name).suffix.lower())
        if kind and isinstance(hash, str) and hash.isalnum():
            for copy in (folder / "files").glob(f"{hash}.*"):
                yield image_block(f"data:{kind};base64,{base64.b64encode(copy.read_bytes()).decode()}")


def _workspace(folder: Path) -> str:
    try:
        settings: Any = tomllib.loads((folder / "config.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        settings = {}
    workspace = get_text(get_object(settings, "chat"), "workspace")
    link = folder / "workspace"
    return workspace if workspace.startswith("/") else str(link.resolve()) if link.is_dir() else ""


def _search(pattern: re.Pattern[str], content: str) -> str:
    match = pattern.search(content)
    return match[1].strip() if match else ""
