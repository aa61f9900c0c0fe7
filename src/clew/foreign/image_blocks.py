"""Pictures in messages: as blocks that the Messages API takes, or as a word in their place."""

from __future__ import annotations

import re
from typing import Any

from clew.api.lint_blocks import check_blocks
from clew.wire.json_codec import Json

_DATA = re.compile(r"data:([\w.+-]+/[\w.+-]+)(?:;[\w=-]+)*;base64,(.*)", re.DOTALL)


def picture(address: Any) -> Json:
    """An image block of a data or web address; a text that says so if it cannot be shown again."""
    if isinstance(address, str) and (found := _DATA.fullmatch(address)):
        return embedded(found[1], "".join(found[2].split()))
    if isinstance(address, str) and address.startswith("https://"):
        return {"type": "image", "source": {"type": "url", "url": address}}
    name = address if isinstance(address, str) and len(address) < 300 else "without an address"
    return _word(f"[Image: {name}]")


def embedded(kind: str, data: Any) -> Json:
    """A block of a file that stands in the record as base64."""
    source = {"type": "base64", "media_type": "image/jpeg" if kind == "image/jpg" else kind, "data": data}
    block = {"type": "document" if kind == "application/pdf" else "image", "source": source}
    return _word(f"[File: {kind}]") if any(check_blocks([block], "user", "")) else block


def _word(text: str) -> Json:
    return {"type": "text", "text": text}
