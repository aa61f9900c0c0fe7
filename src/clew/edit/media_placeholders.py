"""Replace images and documents inside messages by short placeholder texts."""

from __future__ import annotations

from typing import Any

from clew.wire.json_codec import as_text

PICTURES = ("image", "document")


def is_picture(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in PICTURES


def placeholder(part: dict[str, Any]) -> str:
    """Return a line that describes the image or document and its size."""
    source = part.get("source")
    source = source if isinstance(source, dict) else {}
    data = source.get("data")
    kind = as_text(source.get("media_type") or part["type"])
    size = f", {_decoded_size(data, source.get('type')):,} bytes" if isinstance(data, str) else ""
    where = f", {source['url']}" if isinstance(source.get("url"), str) else ""
    return f"[{part['type']} removed: {kind}{size}{where}]"


def _decoded_size(data: str, kind: Any) -> int:
    """Return the size of the decoded data."""
    return len(data) * 3 // 4 - data.count("=", -2) if kind == "base64" else len(data)
