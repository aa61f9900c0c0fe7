"""Details of a session that a page has room for: what a call was given, pictures, and what a turn took."""

from __future__ import annotations

import binascii
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from clew.conversation.replies import Call
from clew.conversation.turns import Turn
from clew.facts.token_usage import count, total
from clew.facts.tool_catalog import TOOLS
from clew.wire.content_block import Block
from clew.wire.json_codec import as_text, decode_readable, encode

LONG = 160  # characters of the line that names a call; longer values are told as its input
_STARTS = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}


class Picture(NamedTuple):
    """An image or document of a message. `data` is base64, as it stands in the file, and not yet checked."""

    kind: str
    media_type: str
    data: str

    @property
    def uri(self) -> str | None:
        """A `data:` address, if it is base64 all through and begins as a picture of a type that cannot hold a script."""
        found = self.data.replace("\n", "")
        try:
            first = binascii.a2b_base64(found[:32], strict_mode=True)
            binascii.a2b_base64(found, strict_mode=True)
        except (ValueError, binascii.Error):
            return None
        kind = next((kind for kind, starts in _STARTS.items() if first.startswith(starts)), None)
        if kind is None or (kind == "image/webp" and first[8:12] != b"WEBP"):
            return None
        return f"data:{kind};base64,{found}"

    @property
    def size(self) -> int:
        """Bytes of what the data stands for."""
        return len(self.data) * 3 // 4 - self.data.count("=", -2)


def picture(block: Block) -> Picture | None:
    """The picture of a block of a prompt."""
    return _picture(block.type, decode_readable(block.source))


def pictures(content: Any) -> Iterator[Picture]:
    """The pictures in the content of a tool result."""
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and part.get("type") in ("image", "document"):
            found = _picture(as_text(part["type"]), part.get("source"))
            if found:
                yield found


def _picture(kind: str, source: Any) -> Picture | None:
    data = source.get("data") if isinstance(source, dict) else None
    return Picture(kind, as_text(source.get("media_type") or ""), data) if isinstance(data, str) else None


def took(turn: Turn) -> dict[str, Any]:
    """What a turn took: its seconds, the tokens its replies wrote, and those of the last prompt sent."""
    counts = [count(tokens) for reply in turn.replies if (tokens := reply.tokens) and not reply.is_synthetic]
    facts: dict[str, Any] = {"seconds": turn.seconds}
    if counts:
        facts |= {"output": total(counts).output, "context": counts[-1].prompt}
    return facts


def given(call: Call, everything: bool) -> str:
    """The input of a call, as far as the line that names it does not tell it: what is long, or all the rest."""
    known = TOOLS.get(call.name)
    named = known.named_by if known else ()
    told = {key: _text(value) for key, value in call.input.items()}
    wanted = {key: text for key, text in told.items() if _is_long(text) or (everything and key not in named)}
    if len(wanted) == 1 and set(wanted) <= set(named):
        return next(iter(wanted.values()))
    return _listed(wanted)


def _is_long(text: str) -> bool:
    return len(text) > LONG or "\n" in text


def _listed(values: Mapping[str, str]) -> str:
    return "\n".join(f"{key}:\n{text}" if "\n" in text else f"{key}: {text}" for key, text in values.items())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else encode(value).decode("utf-8", "replace")
