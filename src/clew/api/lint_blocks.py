"""Check content blocks against the rules of the Messages API.

Each kind of block is a row: the roles that may use it, its required fields and its optional ones.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import force_setattr

from clew.wire.content_block import THINKING_TYPES
from clew.wire.json_codec import Json

TOOL_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")
MAX_IMAGE = 5 * 1024 * 1024
_MAGIC_BYTES: Mapping[str, tuple[bytes, ...]] = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}


class Violation(Struct, frozen=True):
    """A violated rule. If `is_refused`, the API answers 400; else it accepts it, but a client should not send it."""

    rule: str
    where: str
    message: str
    is_refused: bool = True

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


class _Kind(Struct, frozen=True):
    roles: tuple[str, ...]
    needs: Mapping[str, type | tuple[type, ...]]
    takes: tuple[str, ...] = ()
    known: frozenset[str] = frozenset()  # all fields

    def __post_init__(self) -> None:
        force_setattr(self, "known", frozenset(("type", "cache_control", *self.needs, *self.takes)))


_BOTH, _USER, _MODEL = ("user", "assistant"), ("user",), ("assistant",)
_ANY: tuple[type, ...] = (str, list, dict)
_SERVER_RESULT = _Kind(_MODEL, {"tool_use_id": str, "content": _ANY}, ("caller", "is_error"))
KINDS: Mapping[str, _Kind] = {
    "text": _Kind((*_BOTH, "system"), {"text": str}, ("citations",)),
    "image": _Kind(_USER, {"source": dict}),
    "document": _Kind(_USER, {"source": dict}, ("title", "context", "citations")),
    "search_result": _Kind(_USER, {"source": str, "title": str, "content": list}, ("citations",)),
    "container_upload": _Kind(_BOTH, {"file_id": str}),
    "tool_result": _Kind(_USER, {"tool_use_id": str}, ("content", "is_error")),
    "tool_use": _Kind(_MODEL, {"id": str, "name": str, "input": dict}, ("caller",)),
    "thinking": _Kind(_MODEL, {"thinking": str, "signature": str}),
    "redacted_thinking": _Kind(_MODEL, {"data": str}),
    "server_tool_use": _Kind(_MODEL, {"id": str, "name": str, "input": dict}, ("caller",)),
    "mcp_tool_use": _Kind(_MODEL, {"id": str, "name": str, "server_name": str, "input": dict}),
    "mcp_tool_result": _SERVER_RESULT,
    "web_search_tool_result": _SERVER_RESULT,
    "web_fetch_tool_result": _SERVER_RESULT,
    "code_execution_tool_result": _SERVER_RESULT,
    "bash_code_execution_tool_result": _SERVER_RESULT,
    "text_editor_code_execution_tool_result": _SERVER_RESULT,
    "tool_search_tool_result": _SERVER_RESULT,
    "compaction": _Kind(_MODEL, {"content": (str, type(None))}),
}
_RESULT_BLOCKS = ("text", "image", "document", "search_result", "tool_reference")


def check_blocks(content: Any, role: str, where: str) -> list[Violation]:
    """Return the violations in the content of one message, block by block."""
    if isinstance(content, str):
        return [*_check_text(content, where)]
    if not isinstance(content, list):
        return [Violation("content", where, "content must be a text or a list of blocks.")]
    return [
        violation
        for index, block in enumerate(content)
        for violation in _check_block(block, role, f"{where}.content.{index}")
    ]


def _check_block(block: Any, role: str, where: str) -> list[Violation]:
    if not isinstance(block, dict):
        return [Violation("block", where, "a block must be an object.")]
    name = block.get("type")
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        return [Violation("type", where, f"unknown block type {name!r}.")]
    found: list[Violation] = []
    if role not in kind.roles:
        found.append(Violation("role", where, f"`{name}` blocks are not for {role} messages."))
    for field, expected in kind.needs.items():
        if field not in block:
            found.append(Violation("field", f"{where}.{name}.{field}", "Field required"))
        elif not isinstance(block[field], expected):
            found.append(Violation("field", f"{where}.{name}.{field}", "Input is of the wrong type"))
    if not kind.known.issuperset(block):
        extra = (field for field in block if field not in kind.known)
        found += [Violation("extra", f"{where}.{name}.{field}", "Extra inputs are not permitted") for field in extra]
    if block.get("cache_control") is not None:
        found += _check_mark(block, where)
    if check := _CHECKS.get(str(name)):
        found += check(block, where)
    return found


def _check_mark(block: Json, where: str) -> Iterator[Violation]:
    yield from check_mark_shape(block["cache_control"], f"{where}.cache_control")
    if block.get("type") in THINKING_TYPES:
        yield Violation("mark", where, "cache_control cannot be set for thinking blocks.")
    if block.get("type") == "text" and block.get("text") == "":
        yield Violation("mark", where, "cache_control cannot be set for empty text blocks.")


def check_mark_shape(mark: Any, where: str) -> Iterator[Violation]:
    """Yield what is wrong with a prompt-cache mark by itself."""
    if not isinstance(mark, dict) or mark.get("type") != "ephemeral":
        yield Violation("mark", where, "the type of a mark must be 'ephemeral'.")
    elif mark.get("ttl", "5m") not in ("5m", "1h"):
        yield Violation("mark", where, "the ttl of a mark must be '5m' or '1h'.")


def _check_text_block(block: Json, where: str) -> Iterator[Violation]:
    if isinstance(block.get("text"), str):
        yield from _check_text(block["text"], where)


def _check_text(text: str, where: str) -> Iterator[Violation]:
    if not text:
        yield Violation("empty", where, "text content blocks must be non-empty.")
    elif not text.strip():
        yield Violation("blank", where, "text content blocks must contain non-whitespace text.")


def _check_image(block: Json, where: str) -> Iterator[Violation]:
    source = block.get("source")
    if not isinstance(source, dict):
        return
    at = f"{where}.image.source"
    match source.get("type"):
        case "base64":
            yield from _check_image_data(source, f"{at}.base64")
        case "url" if not str(source.get("url")).startswith("https://"):
            yield Violation("image", f"{at}.url", "only HTTPS addresses are supported.")
        case "file" if not isinstance(source.get("file_id"), str):
            yield Violation("image", f"{at}.file_id", "Field required")
        case "url" | "file":
            pass
        case other:
            yield Violation("image", at, f"unknown source type {other!r}.")


def _check_image_data(source: Json, where: str) -> Iterator[Violation]:
    kind, data = str(source.get("media_type")), source.get("data")
    if kind not in _MAGIC_BYTES:
        yield Violation("image", f"{where}.media_type", f"Input should be one of {', '.join(_MAGIC_BYTES)}.")
    raw = _decode_base64(data)
    if raw is None:
        yield Violation("image", f"{where}.data", "the data is not valid base64.")
    elif not raw:
        yield Violation("image", f"{where}.data", "an image cannot be empty.")
    elif len(raw) > MAX_IMAGE:
        yield Violation("image", where, f"image exceeds 5 MB maximum: {len(raw)} bytes > {MAX_IMAGE} bytes.")
    elif kind in _MAGIC_BYTES and not raw.startswith(_MAGIC_BYTES[kind]):
        yield Violation("image", where, f"the image does not look like the media type {kind}.")


def _check_document(block: Json, where: str) -> Iterator[Violation]:
    source = block.get("source")
    if not isinstance(source, dict):
        return
    at = f"{where}.document.source"
    match source.get("type"):
        case "base64":
            if source.get("media_type") != "application/pdf":
                yield Violation("document", f"{at}.base64.media_type", "Input should be 'application/pdf'.")
            if not _decode_base64(source.get("data")):
                yield Violation("document", f"{at}.base64.data", "the data is not valid base64.")
        case "text":
            if source.get("media_type") != "text/plain":
                yield Violation("document", f"{at}.text.media_type", "Input should be 'text/plain'.")
            if not isinstance(source.get("data"), str) or not source["data"]:
                yield Violation("document", f"{at}.text.data", "the text of a document cannot be empty.")
        case "url" | "file" | "content":
            pass
        case other:
            yield Violation("document", at, f"unknown source type {other!r}.")


def _decode_base64(data: Any) -> bytes | None:
    try:
        return base64.b64decode(data, validate=True) if isinstance(data, str) else None
    except ValueError:
        return None


def _check_result(block: Json, where: str) -> Iterator[Violation]:
    content = block.get("content")
    yield from _check_id(block.get("tool_use_id"), f"{where}.tool_result.tool_use_id")
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, list):
        yield Violation("result", f"{where}.tool_result.content", "Input is of the wrong type")
        return
    for index, part in enumerate(content):
        at = f"{where}.tool_result.content.{index}"
        name = part.get("type") if isinstance(part, dict) else None
        if name not in _RESULT_BLOCKS:
            yield Violation("result", at, f"a result cannot contain blocks of the type {name!r}.")
        elif block.get("is_error") and name != "text":
            yield Violation("result", at, "all content must be type `text` if `is_error` is true.")
        elif name != "tool_reference":
            yield from _check_block(part, "user", at)


def _check_call(block: Json, where: str) -> Iterator[Violation]:
    yield from _check_id(block.get("id"), f"{where}.tool_use.id")
    name = block.get("name")
    if isinstance(name, str) and not 1 <= len(name) <= 200:
        yield Violation("name", f"{where}.tool_use.name", "a name has 1 to 200 characters.")


def _check_id(value: Any, where: str) -> Iterator[Violation]:
    if isinstance(value, str) and not TOOL_ID.fullmatch(value):
        yield Violation("id", where, "String should match pattern '^[a-zA-Z0-9_-]+$'")


def _check_thinking(block: Json, where: str) -> Iterator[Violation]:
    if block.get("signature") == "":
        yield Violation("signature", where, "Invalid `signature` in `thinking` block.")


_CHECKS: Mapping[str, Callable[[Json, str], Iterator[Violation]]] = {
    "text": _check_text_block,
    "image": _check_image,
    "document": _check_document,
    "tool_result": _check_result,
    "tool_use": _check_call,
    "thinking": _check_thinking,
}
