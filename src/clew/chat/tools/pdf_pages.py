"""PDF files: a few pages at a time, handed to the model as a document."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

from clew.chat.tools.size_format import told_size
from clew.chat.tools.tool import CallResult, ToolFailed
from clew.system.plural import plural

if TYPE_CHECKING:
    from pypdf import PdfReader

UNASKED = 10  # pages that are given without being asked for by number
AT_ONCE = 20
_RANGE = re.compile(r"\s*(\d{1,6})\s*(?:-\s*(\d{0,6})\s*)?")


def pages(path: Path, data: bytes, asked: str | None) -> CallResult:
    """Some pages of a PDF file, or all of a short one."""
    reader = _opened(path, data)
    total = len(reader.pages)
    if asked is None:
        if total > UNASKED:
            raise ToolFailed(
                f"{path} has {total} pages, which are too many to read at once. "
                f"Say which with `pages`, such as 1-{AT_ONCE}; at most {AT_ONCE} at a time."
            )
        first, last = 1, total
    else:
        first, last = _range(asked, total)
        data = _cut(reader, first, last)
    text = base64.b64encode(data).decode()
    document = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": text}}
    which = f"pages {first}-{last} of {total}" if asked else plural(total, "page")
    line = {"type": "text", "text": f"PDF file read: {path} ({told_size(len(data))}, {which})"}
    return CallResult(
        [line, document], {"type": "pdf", "file": {"filePath": str(path), "base64": text, "originalSize": len(data)}}
    )


def _opened(path: Path, data: bytes) -> PdfReader:
    try:
        from pypdf import PdfReader
        from pypdf.errors import PyPdfError
    except ModuleNotFoundError:
        raise ToolFailed("PDF files need an extra: pip install 'clew[chat]'.", is_misuse=False) from None
    if not data.startswith(b"%PDF-"):
        raise ToolFailed(f"{path} is no PDF file, whatever its name says.")
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted:
            raise ToolFailed(f"{path} is protected with a password, and cannot be read.")
        len(reader.pages)
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError, AssertionError) as error:
        raise ToolFailed(f"{path} is a damaged PDF file: {error}", is_misuse=False) from error
    return reader


def _range(asked: str, total: int) -> tuple[int, int]:
    found = _RANGE.fullmatch(asked)
    if found is None:
        raise ToolFailed(f"`pages` is {asked!r}; give a page or a range of them, such as 3, 1-5 or 10-.")
    first = int(found[1])
    last = first if found[2] is None else int(found[2] or total)
    if not 1 <= first <= last:
        raise ToolFailed(f"`pages` is {asked!r}, which is no range of pages.")
    if first > total:
        raise ToolFailed(f"The file has {plural(total, 'page')}; there is no page {first}.")
    last = min(last, total)
    if last - first >= AT_ONCE:
        raise ToolFailed(f"`pages` asks for {last - first + 1} pages; at most {AT_ONCE} can be read at a time.")
    return first, last


def _cut(reader: PdfReader, first: int, last: int) -> bytes:
    from pypdf import PdfWriter

    writer = PdfWriter()
    for page in reader.pages[first - 1 : last]:
        writer.add_page(page)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()
