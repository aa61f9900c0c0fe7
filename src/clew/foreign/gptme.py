"""gptme: `conversation.jsonl` in a folder for each conversation.

Tools are called in Markdown, which stays as it was said, or as `@tool(id): {…}`, which becomes a call. What the program
says, outputs of tools included, has the role `system`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from clew.foreign.conversation_steps import Conversation, Scribe
from clew.foreign.image_blocks import picture
from clew.foreign.json_values import number, object_of, objects, records, text, time_of, usage
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
    scribe = Scribe()
    folder, version = "", ""
    for _, message in records(path, scribe):
        words = _words(message)
        if message.get("role") == "system" and scribe.is_untouched:
            folder = folder or _found(_FOLDER, words)
            version = version or _found(_VERSION, words)
        _take(scribe, message, words, path.parent)
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


def _take(scribe: Scribe, message: Json, words: str, folder: Path) -> None:
    time = time_of(message.get("timestamp"), local=True)
    match text(message, "role"):
        case "user":
            is_note = words.startswith("<system>") and words.rstrip().endswith("</system>")
            pictures = tuple(_pictures(message, folder))
            scribe.prompt(({"type": "text", "text": words}, *pictures) if pictures else words, time, is_note=is_note)
            if message.get("files") or message.get("file_hashes"):
                scribe.keep("files", {"files": message.get("files"), "file_hashes": message.get("file_hashes")}, time)
        case "assistant":
            _reply(scribe, message, words, time)
        case "system" if call := text(message, "call_id"):
            scribe.result(call, words, time, is_error=bool(_FAILED.match(words)), aside=message.get("metadata"))
        case "system" if not (scribe.is_untouched or message.get("hide") is True or message.get("pinned") is True):
            scribe.prompt(words, time, is_note=True)
        case role:
            scribe.keep(f"{role or 'unknown'} message", message, time)


def _reply(scribe: Scribe, message: Json, words: str, time: datetime | None) -> None:
    if thought := _THOUGHT.match(words):
        scribe.think(thought[2].strip(), time)
        words = words[thought.end() :]
    at = 0
    for found in _CALL.finditer(words):
        if found.start() < at:
            continue
        try:
            given, end = scan(words, found.end())
        except ValueError:
            continue
        scribe.say(words[at : found.start()].rstrip("\n"), time)
        scribe.call(found[2], found[1], given if isinstance(given, dict) else {"input": given}, time)
        at = end
    scribe.say(words[at:].strip("\n"), time)
    meta = object_of(message, "metadata")
    told = object_of(meta, "usage")
    spent = usage(
        number(told, "input_tokens"),
        number(told, "output_tokens"),
        number(told, "cache_read_tokens"),
        number(told, "cache_creation_tokens"),
    )
    scribe.close(spent, text(meta, "served_model", "model"))
    if meta:
        scribe.keep("metadata", meta, time)


def _words(message: Json) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "".join(text(part, "text") for part in objects(content))


def _pictures(message: Json, folder: Path) -> Iterator[Json]:
    """The pictures of a message, from the copies that lie beside the conversation; nothing else is opened."""
    import base64

    for name, hash in object_of(message, "file_hashes").items():
        kind = _PICTURES.get(Path(name).suffix.lower())
        if kind and isinstance(hash, str) and hash.isalnum():
            for copy in (folder / "files").glob(f"{hash}.*"):
                yield picture(f"data:{kind};base64,{base64.b64encode(copy.read_bytes()).decode()}")


def _workspace(folder: Path) -> str:
    try:
        told: Any = tomllib.loads((folder / "config.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        told = {}
    named = text(object_of(told, "chat"), "workspace")
    link = folder / "workspace"
    return named if named.startswith("/") else str(link.resolve()) if link.is_dir() else ""


def _found(pattern: re.Pattern[str], words: str) -> str:
    found = pattern.search(words)
    return found[1].strip() if found else ""
