"""Assemble a reply from the events of a stream.

A reply keeps everything it was sent: blocks of unknown types stay unchanged, thinking keeps its exact signature, and
unknown events are kept next to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from clew.wire.json_codec import Json, decode

_TEXTS = {"text_delta": "text", "thinking_delta": "thinking"}


class ApiReply(Struct, frozen=True):
    """One API response. `data` is the message as the API returns it without a stream."""

    data: Json
    request_id: str = ""
    unparsed: Mapping[int, str] = field(default_factory=dict)  # tool inputs that are not JSON objects, by block index
    strange: tuple[Json, ...] = ()  # events of unknown types

    @property
    def id(self) -> str:
        return str(self.data.get("id") or "")

    @property
    def model(self) -> str:
        return str(self.data.get("model") or "")

    @property
    def content(self) -> list[Json]:
        blocks = self.data.get("content")
        return blocks if isinstance(blocks, list) else []

    @property
    def stop_reason(self) -> str | None:
        return self.data.get("stop_reason")

    @property
    def usage(self) -> Json:
        """The tokens as reported, with every field the API sent."""
        return self.data.get("usage") or {}

    @property
    def text(self) -> str:
        """The text blocks, joined in order."""
        return "".join(str(b.get("text") or "") for b in self.content if b.get("type") == "text")


class ReplyStarted(Struct, frozen=True):
    """The reply has started: its id, its model and the usage so far."""

    message: Json
    request_id: str = ""


class BlockDelta(Struct, frozen=True):
    """A part of a block that is still growing; `event` is the raw event."""

    index: int
    event: Json


class BlockComplete(Struct, frozen=True):
    """A block is complete."""

    index: int
    block: Json


class ReplyFinished(Struct, frozen=True):
    """The reply is complete."""

    reply: ApiReply


ReplyEvent = ReplyStarted | BlockDelta | BlockComplete | ReplyFinished


class StreamError(ValueError):
    """The stream reports a failure, or is invalid. `kind` is the API's error type."""

    def __init__(self, message: str, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


class Assembly:
    """Assembles a reply, one event at a time."""

    def __init__(self, request_id: str = "") -> None:
        self._request_id = request_id
        self._message: Json = {}
        self._blocks: dict[int, Json] = {}
        self._texts: dict[tuple[int, str], list[str]] = {}  # pieces of text, joined when the block ends
        self._open: set[int] = set()
        self._unparsed: dict[int, str] = {}
        self._strange: list[Json] = []
        self.is_finished = False

    @property
    def has_stopped(self) -> bool:
        """True if the API has sent the stop reason: some servers close the stream right after it."""
        return self._message.get("stop_reason") is not None

    @property
    def has_started(self) -> bool:
        """True if the stream has sent the start of a message."""
        return bool(self._message)

    def so_far(self) -> ApiReply:
        """Return the current state: the complete blocks, and the last reported usage."""
        content = [self._blocks[i] for i in sorted(self._blocks) if i not in self._open]
        data = {**self._message, "content": content} if self._message else {}
        return ApiReply(data, self._request_id, dict(self._unparsed), tuple(self._strange))

    def take(self, data: bytes) -> ReplyEvent | None:
        """Process the data of one event. Raises StreamError for an error event and for data that is not JSON."""
        event = _decode_event(data)
        match event.get("type"):
            case "message_start":
                return self._start(event)
            case "content_block_start":
                return self._open_block(event)
            case "content_block_delta":
                return self._grow(event)
            case "content_block_stop":
                return self._close_block(event)
            case "message_delta":
                self._end(event)
            case "message_stop":
                return self.finish()
            case "error":
                raise error_of(event)
            case "ping":
                pass
            case _:
                if not self._message and "choices" in event:
                    raise StreamError("The stream is one of the OpenAI API.", "not_the_api")
                self._strange.append(event)
        return None

    def finish(self) -> ReplyFinished:
        for index in sorted(self._open):
            self._join(index)
        self._open.clear()
        self.is_finished = True
        return ReplyFinished(self.so_far())

    def _start(self, event: Json) -> ReplyStarted:
        message = event.get("message")
        if not isinstance(message, dict) or self._message:
            raise StreamError("The stream starts a message twice or without content.", "protocol")
        self._message = {**message, "content": []}
        for index, block in enumerate(message.get("content") or ()):
            self._blocks[index] = block
        return ReplyStarted(self._message, self._request_id)

    def _open_block(self, event: Json) -> BlockDelta:
        index, block = event.get("index"), event.get("content_block")
        if not self._message or not isinstance(index, int) or not isinstance(block, dict) or index in self._blocks:
            raise StreamError("The stream starts a block at an invalid position.", "protocol")
        self._blocks[index] = dict(block)
        self._open.add(index)
        return BlockDelta(index, event)

    def _grow(self, event: Json) -> BlockDelta:
        index, delta = event.get("index"), event.get("delta")
        if not isinstance(index, int) or index not in self._open or not isinstance(delta, dict):
            raise StreamError("The stream continues a block that is not open.", "protocol")
        block, kind = self._blocks[index], str(delta.get("type"))
        if kind in _TEXTS:
            self._add(index, _TEXTS[kind], delta.get(_TEXTS[kind]))
        elif kind == "input_json_delta":
            self._add(index, "input", delta.get("partial_json"))
        elif kind == "signature_delta":
            self._add(index, "signature", delta.get("signature"))
        elif kind == "citations_delta":
            block["citations"] = [*(block.get("citations") or ()), delta.get("citation")]
        else:
            self._strange.append(event)
        return BlockDelta(index, event)

    def _add(self, index: int, field_name: str, part: Any) -> None:
        if isinstance(part, str):
            self._texts.setdefault((index, field_name), []).append(part)

    def _close_block(self, event: Json) -> BlockComplete:
        index = event.get("index")
        if not isinstance(index, int) or index not in self._open:
            raise StreamError("The stream ends a block that is not open.", "protocol")
        self._join(index)
        self._open.discard(index)
        return BlockComplete(index, self._blocks[index])

    def _join(self, index: int) -> None:
        block = self._blocks[index]
        for name in ("text", "thinking", "signature"):
            if (parts := self._texts.pop((index, name), None)) is not None:
                block[name] = str(block.get(name) or "") + "".join(parts)
        if (parts := self._texts.pop((index, "input"), None)) is not None and (input_text := "".join(parts)).strip():
            tool_input = _decode_object(input_text)
            if tool_input is None:
                self._unparsed[index] = input_text
            else:
                block["input"] = tool_input

    def _end(self, event: Json) -> None:
        if not self._message:
            raise StreamError("The stream ends a message that has not started.", "protocol")
        delta = event.get("delta")
        usage = merge_usage(self._message.get("usage"), event.get("usage"))
        other_fields = {k: v for k, v in event.items() if k not in ("type", "delta", "usage")}
        self._message = {**self._message, **other_fields, **(delta if isinstance(delta, dict) else {}), "usage": usage}


def merge_usage(before: Any, after: Any) -> Any:
    """Merge two reports of one usage. Counts only grow, so the larger one is the later."""
    if isinstance(before, dict) and isinstance(after, dict):
        return before | {key: merge_usage(before.get(key), value) for key, value in after.items()}
    if _is_count(before) and _is_count(after):
        return max(before, after)
    return before if after is None else after


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _decode_event(data: bytes) -> Json:
    try:
        event = decode(data)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise StreamError(f"The stream contains data that is not an event: {_excerpt(data)}", "protocol")
    return event


def _decode_object(text: str) -> Json | None:
    try:
        value = decode(text.encode("utf-8", "surrogatepass"))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def error_of(event: Json) -> StreamError:
    """Return the error that an error event or error body reports."""
    error = event.get("error")
    details = error if isinstance(error, dict) else {}
    return StreamError(
        str(details.get("message") or "The API reports an error."), str(details.get("type") or "api_error")
    )


def _excerpt(data: bytes) -> str:
    return repr(data[:60].decode("utf-8", "replace"))
