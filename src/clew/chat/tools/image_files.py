"""Recognize images by their first bytes, measure them without decoding, and make large ones smaller.

Pillow is imported only for an image that is too large.
"""

from __future__ import annotations

import base64
import io
import struct
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from clew.chat.tools.size_format import format_size
from clew.chat.tools.tool import CallResult, ToolFailed
from clew.system.extras import install_hint
from clew.wire.json_codec import Json

if TYPE_CHECKING:
    from PIL import Image

MAX_BYTES = 5 * (1 << 20) * 3 // 4  # bytes: the Messages API takes 5 MB of base64
MAX_PIXELS = 8000  # pixels that the Messages API takes, on either side
MAX_SHOWN = 2000  # pixels on either side that are sent, as in Claude Code; the API would scale down itself
MAX_AREA = 200_000_000  # pixels of an image that is decoded: more would fill the memory
_QUALITIES = (80, 60, 40, 20)  # of a JPEG, until it is small enough


def image_result(path: Path, data: bytes) -> CallResult:
    """Return an image as the result of a call, scaled down if it is large. Raises ToolFailed if that cannot be done."""
    kind = media_type(data)
    if kind is None:
        raise ToolFailed(f"{path} is not a PNG, JPEG, GIF or WebP image, despite its name.")
    size = shown = measure(kind, data)
    original = len(data)
    if original > MAX_BYTES or (size and max(size) > MAX_SHOWN):
        kind, data, shown = _shrink(path, kind, data, size)
    text = base64.b64encode(data).decode()
    file: Json = {"base64": text, "type": kind, "originalSize": original}
    if size and shown:
        file["dimensions"] = {
            "originalWidth": size[0],
            "originalHeight": size[1],
            "displayWidth": shown[0],
            "displayHeight": shown[1],
        }
    return CallResult([image_block(kind, text)], {"type": "image", "file": file})


def _shrink(path: Path, kind: str, data: bytes, size: tuple[int, int] | None) -> tuple[str, bytes, tuple[int, int]]:
    """Return an image with at most `MAX_SHOWN` pixels on a side that the API takes: its type, bytes and size."""
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ModuleNotFoundError:
        if size and max(size) <= MAX_PIXELS and len(data) <= MAX_BYTES:
            return kind, data, size  # the API takes it as it is
        raise ToolFailed(
            f"{path} is too large a picture ({format_size(len(data))}), and Pillow, which makes it smaller, is missing. "
            f"{install_hint('chat')}",
            is_misuse=False,
        ) from None
    if size is None or size[0] * size[1] > MAX_AREA:
        raise ToolFailed(f"{path} is too large a picture, or a damaged one: {size or 'no size'} pixels.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # MAX_AREA is the limit
            with Image.open(io.BytesIO(data)) as opened:
                picture: Image.Image = ImageOps.exif_transpose(opened)
                picture.thumbnail((MAX_SHOWN, MAX_SHOWN))
        return *_encode(picture, kind), picture.size
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError) as error:
        raise ToolFailed(f"{path} is a damaged picture: {error}", is_misuse=False) from error


def _encode(picture: Image.Image, kind: str) -> tuple[str, bytes]:
    """Return the type and the bytes of an image: as before, or as a JPEG if that would be too many bytes."""
    if kind != "image/jpeg":
        buffer = io.BytesIO()
        picture.save(buffer, "PNG")
        if buffer.tell() <= MAX_BYTES:
            return "image/png", buffer.getvalue()
    flat = picture.convert("RGB")
    for quality in _QUALITIES:
        buffer = io.BytesIO()
        flat.save(buffer, "JPEG", quality=quality)
        if buffer.tell() <= MAX_BYTES:
            break
    return "image/jpeg", buffer.getvalue()


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
