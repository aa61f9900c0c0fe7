"""Convert images to blocks that the Messages API accepts, or to a text placeholder."""

from __future__ import annotations

import re
from typing import Any

from clew.api.lint_blocks import check_blocks
from clew.wire.json_codec import Json

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)(?:;[\w=-]+)*;base64,(.*)", re.DOTALL)


def image_block(address: Any) -> Json:
    """Return an image block for a data or web address; a text placeholder if it cannot be sent."""
    if isinstance(address, str) and (match := _DATA_URL.fullmatch(address)):
        return file_block(match[1], "".join(match[2].split()))
    if isinstance(address, str) and address.startswith("https://"):
        return {"type": "image", "source": {"type": "url", "url": address}}
    name = address if isinstance(address, str) and len(address) < 300 else "without an address"
    return _placeholder(f"[Image: {name}]")


def file_block(kind: str, data: Any) -> Json:
    """Return a block for a file that is embedded as base64."""
    source = {"type": "base64", "media_type": "image/jpeg" if kind == "image/jpg" else kind, "data": data}
    block = {"type": "document" if kind == "application/pdf" else "image", "source": source}
    return _placeholder(f"[File: {kind}]") if any(check_blocks([block], "user", "")) else block


def _placeholder(text: str) -> Json:
    return {"type": "text", "text": text}
