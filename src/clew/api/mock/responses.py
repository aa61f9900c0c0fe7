"""Build the message for a step of a script, and the stream of events for it.

Ids are derived from the request, so the same request has the same ids in every run.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clew.api.mock.scripts import ChosenStep, ScriptStep
from clew.api.request_body import remove_cache_marks
from clew.api.token_estimate import estimate_tokens
from clew.wire.json_codec import Json, encode

_PARTS = 4  # deltas of a block, unless the script sets their length
_DELTAS = {"text": "text_delta", "thinking": "thinking_delta"}


def build_message(body: Mapping[str, Any], chosen: ChosenStep, usage: Json) -> Json:
    """Return the complete message."""
    serial = _serial(body, chosen)
    content = list(_content(body, chosen, serial))
    calls = any(block["type"] == "tool_use" for block in content)
    counted = {**usage, "output_tokens": max(1, estimate_tokens(content))}
    return {
        "id": chosen.step.id or f"msg_{serial}",
        "type": "message",
        "role": "assistant",
        "model": chosen.step.model or body.get("model"),
        "content": content,
        "stop_reason": chosen.step.stop_reason or ("tool_use" if calls else "end_turn"),
        "stop_sequence": chosen.step.stop_sequence,
        "usage": counted | chosen.step.usage if chosen.step.begun is None else chosen.step.usage,
    }


def input_usage(total: int, read: int = 0, written: int = 0, lifetime: str = "5m") -> Json:
    """Return the usage of an input of `total` tokens, of which some were read from and some written to the cache."""
    return {
        "input_tokens": total - read - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": written if lifetime == "5m" else 0,
            "ephemeral_1h_input_tokens": written if lifetime == "1h" else 0,
        },
        "output_tokens": 1,
        "service_tier": "standard",
    }


def sign(thinking: str) -> str:
    """Return the signature that the mock gives to thinking, and by which it recognises its own."""
    return base64.b64encode(hashlib.sha512(f"clew mock {thinking}".encode("utf-8", "surrogatepass")).digest()).decode()


def messages_digest(body: Mapping[str, Any]) -> bytes:
    """Return a key that is equal for requests with the same messages, regardless of cache marks."""
    return hashlib.sha256(encode(remove_cache_marks({"messages": body.get("messages")})["messages"])).digest()


def _serial(body: Mapping[str, Any], chosen: ChosenStep) -> str:
    identity = messages_digest(body) + encode([body.get("model"), chosen.rule, chosen.number])
    return f"01{hashlib.sha256(identity).hexdigest()[:22]}"


def _content(body: Mapping[str, Any], chosen: ChosenStep, serial: str) -> Iterator[Json]:
    """Yield the blocks; without calls if the request offers no tools, because a model cannot call them."""
    offered = [str(t.get("name")) for t in body.get("tools") or () if isinstance(t, dict)]
    step_content = chosen.step.content
    parts = [step_content] if isinstance(step_content, str) else step_content
    blocks = [_block(part, chosen.prompt, f"{serial}{position:04d}", offered) for position, part in enumerate(parts)]
    remaining = [block for block in blocks if offered or block["type"] != "tool_use"]
    yield from remaining if remaining or not parts else [{"type": "text", "text": "ok"}]


def _block(part: str | Json, prompt: str, serial: str, offered: Sequence[str]) -> Json:
    if isinstance(part, str):
        part = {"text": part}
    if "tool" in part:
        names = str(part["tool"]).split("|")  # the tool's names in different client versions
        name = next((n for n in names if n in offered), names[0])
        return {
            "type": "tool_use",
            "id": part.get("id") or f"toolu_{serial}",
            "name": name,
            "input": part.get("input", {}),
        }
    if "type" in part:
        return dict(part)
    if "thinking" in part:
        thought = str(part["thinking"])
        return {"type": "thinking", "thinking": thought, "signature": part.get("signature") or sign(thought)}
    if "redacted" in part:
        return {"type": "redacted_thinking", "data": str(part["redacted"])}
    return {"type": "text", "text": str(part.get("text", "")).replace("{{prompt}}", prompt)}


# -- the stream


def stream_events(reply: Json, step: ScriptStep) -> Iterator[Json]:
    """Yield the events that build a message."""
    begun = {**reply["usage"], "output_tokens": 1} if step.begun is None else step.begun
    yield {"type": "message_start", "message": {**reply, "content": [], "stop_reason": None, "usage": begun}}
    yield {"type": "ping"}
    for index, block in enumerate(reply["content"]):
        start, deltas = _split(block, step.chunk)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": reply["stop_reason"], "stop_sequence": reply["stop_sequence"]}
    yield {"type": "message_delta", "delta": end, "usage": reply["usage"]}
    yield {"type": "message_stop"}


def encode_frame(event: Json) -> bytes:
    """Encode an event for the stream."""
    return b"event: %b\ndata: %b\n\n" % (str(event["type"]).encode(), encode(event))


def _split(block: Json, chunk: int) -> tuple[Json, list[Json]]:
    """Return a block as it starts, and the deltas that complete it."""
    kind = block["type"]
    if kind in _DELTAS and isinstance(block.get(kind), str):
        deltas = [{"type": _DELTAS[kind], kind: part} for part in _split_text(block[kind], chunk)]
        if kind == "thinking" and isinstance(block.get("signature"), str):
            return {**block, kind: "", "signature": ""}, [
                *deltas,
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        return {**block, kind: ""}, deltas
    if kind == "tool_use":
        input_json = encode(block["input"]).decode() if isinstance(block["input"], dict) else str(block["input"])
        return {**block, "input": {}}, [
            {"type": "input_json_delta", "partial_json": p} for p in ("", *_split_text(input_json, chunk))
        ]
    return block, []


def _split_text(text: str, chunk: int) -> list[str]:
    size = chunk or max(1, -(-len(text) // _PARTS))
    return [text[i : i + size] for i in range(0, len(text), size)]
