"""Recognize images by their first bytes and measure them without decoding."""

from __future__ import annotations

import base64
import struct
from pathlib import Path

from clew.chat.tools.size_format import format_size
from clew.chat.tools.tool import CallResult, ToolFailed
from clew.wire.json_codec import Json

MAX_BYTES = 5 * (1 << 20) * 3 // 4  # bytes: the Messages API takes 5 MB of base64
MAX_PIXELS = 8000  # pixels that the Messages API takes, on either side


def image_result(path: Path, data: bytes) -> CallResult:
    """Return an image as the result of a call. Raises ToolFailed if it is not an image or too large for the API."""
    kind = media_type(data)
    if kind is None:
        raise ToolFailed(f"{path} is not a PNG, JPEG, GIF or WebP image, despite its name.")
    size = measure(kind, data)
    if len(data) > MAX_BYTES or (size and max(size) > MAX_PIXELS):
        raise ToolFailed(
            f"{path} is too large a picture ({format_size(len(data))}): at most {format_size(MAX_BYTES)} "
            f"and {MAX_PIXELS} pixels on a side can be shown. Make a smaller copy with Bash and read that."
        )
    text = base64.b64encode(data).decode()
    file: Json = {"base64": text, "type": kind, "originalSize": len(data)}
    if size:
        width, height = size
        file["dimensions"] = {
            "originalWidth": width,
            "originalHeight": height,
            "displayWidth": width,
            "displayHeight": height,
        }
    return CallResult([image_block(kind, text)], {"type": "image", "file": file})


def image_block(kind: str, text: str) -> Json:
    """Return the content block of an image, from its base64."""
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": text}}


def media_type(data: bytes) -> str | None:
    """Return the media type of image bytes; None if the format is not supported."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


def measure(kind: str, data: bytes) -> tuple[int, int] | None:
    """Return width and height; None if the image header is damaged."""
    try:
        if kind == "image/png":
            width, height = struct.unpack(">II", data[16:24])
        elif kind == "image/gif":
            width, height = struct.unpack("<HH", data[6:10])
        elif kind == "image/webp":
            return _webp_size(data)
        else:
            return _jpeg_size(data)
    except struct.error:
        return None
    return width, height


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """Scan the segments for a start-of-frame marker (0xC0 to 0xCF, except 0xC4, 0xC8 and 0xCC), which has the size."""
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 1 if marker == 0xFF else 2 + struct.unpack(">H", data[at + 2 : at + 4])[0]
    return None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    form = data[12:16]
    if form == b"VP8X":
        return (
            1 + int.from_bytes(data[24:27], "little"),
            1 + int.from_bytes(data[27:30], "little"),
        )
    if form == b"VP8L":
        bits = struct.unpack("<I", data[21:25])[0]
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if form == b"VP8 ":
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    return None
