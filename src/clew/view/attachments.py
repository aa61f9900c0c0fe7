"""Call inputs, pictures and turn totals, which pages show in addition to the text."""

from __future__ import annotations

import binascii
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from clew.conversation.replies import Call
from clew.conversation.turns import Turn
from clew.facts import token_usage
from clew.facts.tool_catalog import TOOLS
from clew.wire.content_block import Block
from clew.wire.json_codec import as_text, decode_readable, encode

MAX_LABEL = 160  # characters of the line that names a call; longer values are shown as its input
_STARTS = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}


class Picture(NamedTuple):
    """An image or document of a message. `data` is base64 as in the file, not validated."""

    kind: str
    media_type: str
    data: str

    @property
    def uri(self) -> str | None:
        """A `data:` URI if the data is valid base64 of an image type that cannot contain scripts; else None."""
        encoded = self.data.replace("\n", "")
        try:
            first = binascii.a2b_base64(encoded[:32], strict_mode=True)
            binascii.a2b_base64(encoded, strict_mode=True)
        except (ValueError, binascii.Error):
            return None
        kind = next((kind for kind, starts in _STARTS.items() if first.startswith(starts)), None)
        if kind is None or (kind == "image/webp" and first[8:12] != b"WEBP"):
            return None
        return f"data:{kind};base64,{encoded}"

    @property
    def size(self) -> int:
        """The size of the decoded data in bytes."""
        return len(self.data) * 3 // 4 - self.data.count("=", -2)


def block_picture(block: Block) -> Picture | None:
    """Return the picture of a prompt block."""
    return _picture(block.type, decode_readable(block.source))


def result_pictures(content: Any) -> Iterator[Picture]:
    """Yield the pictures of a tool result."""
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and part.get("type") in ("image", "document"):
            picture = _picture(as_text(part["type"]), part.get("source"))
            if picture:
                yield picture


def _picture(kind: str, source: Any) -> Picture | None:
    data = source.get("data") if isinstance(source, dict) else None
    return Picture(kind, as_text(source.get("media_type") or ""), data) if isinstance(data, str) else None


class TurnTotals(NamedTuple):
    """The seconds of a turn, the tokens its replies wrote, and the context size of its last request."""

    seconds: float | None
    output: int = 0
    context: int = 0


def turn_totals(turn: Turn) -> TurnTotals:
    counts = [
        token_usage.count(tokens) for reply in turn.replies if (tokens := reply.tokens) and not reply.is_synthetic
    ]
    if not counts:
        return TurnTotals(turn.seconds)
    return TurnTotals(turn.seconds, token_usage.total(counts).output, counts[-1].prompt)


def input_details(call: Call, everything: bool) -> str:
    """Return the input of a call that its label does not show: long values, or with `everything` all other values."""
    known = TOOLS.get(call.name)
    named = known.named_by if known else ()
    texts = {key: _value_text(value) for key, value in call.input.items()}
    shown = {key: text for key, text in texts.items() if _is_long(text) or (everything and key not in named)}
    if len(shown) == 1 and set(shown) <= set(named):
        return next(iter(shown.values()))
    return _format_values(shown)


def _is_long(text: str) -> bool:
    return len(text) > MAX_LABEL or "\n" in text


def _format_values(values: Mapping[str, str]) -> str:
    return "\n".join(f"{key}:\n{text}" if "\n" in text else f"{key}: {text}" for key, text in values.items())


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else encode(value).decode("utf-8", "replace")
