"""Read pages of a PDF file as a document block for the model."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

from clew.chat.tools.size_format import format_size
from clew.chat.tools.tool import CallResult, ToolFailed
from clew.system.extras import install_hint
from clew.system.plural import plural

if TYPE_CHECKING:
    from pypdf import PdfReader

MAX_DEFAULT_PAGES = 10  # longest file that is read without a page range
MAX_PAGES = 20
_RANGE = re.compile(r"\s*(\d{1,6})\s*(?:-\s*(\d{0,6})\s*)?")


def pages_result(path: Path, data: bytes, page_range: str | None) -> CallResult:
    """Return some pages of a PDF file, or all pages of a short one. Raises ToolFailed."""
    reader = _open_pdf(path, data)
    total = len(reader.pages)
    if page_range is None:
        if total > MAX_DEFAULT_PAGES:
            raise ToolFailed(
                f"{path} has {total} pages, which are too many to read at once. "
                f"Say which with `pages`, such as 1-{MAX_PAGES}; at most {MAX_PAGES} at a time."
            )
        first, last = 1, total
    else:
        first, last = _parse_range(page_range, total)
        data = _extract_pages(reader, first, last)
    text = base64.b64encode(data).decode()
    document = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": text}}
    which = f"pages {first}-{last} of {total}" if page_range else plural(total, "page")
    line = {"type": "text", "text": f"PDF file read: {path} ({format_size(len(data))}, {which})"}
    return CallResult(
        [line, document], {"type": "pdf", "file": {"filePath": str(path), "base64": text, "originalSize": len(data)}}
    )


def _open_pdf(path: Path, data: bytes) -> PdfReader:
    try:
        from pypdf import PdfReader
        from pypdf.errors import PyPdfError
    except ModuleNotFoundError:
        raise ToolFailed(f"PDF files need pypdf. {install_hint('chat')}", is_misuse=False) from None
    if not data.startswith(b"%PDF-"):
        raise ToolFailed(f"{path} is not a PDF file, despite its name.")
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted:
            raise ToolFailed(f"{path} is protected with a password, and cannot be read.")
        len(reader.pages)
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError, AssertionError) as error:
        raise ToolFailed(f"{path} is a damaged PDF file: {error}", is_misuse=False) from error
    return reader


def _parse_range(page_range: str, total: int) -> tuple[int, int]:
    match = _RANGE.fullmatch(page_range)
    if match is None:
        raise ToolFailed(f"`pages` is {page_range!r}; give a page or a range of them, such as 3, 1-5 or 10-.")
    first = int(match[1])
    last = first if match[2] is None else int(match[2] or total)
    if not 1 <= first <= last:
        raise ToolFailed(f"`pages` is {page_range!r}, which is not a valid page range.")
    if first > total:
        raise ToolFailed(f"The file has {plural(total, 'page')}; there is no page {first}.")
    last = min(last, total)
    if last - first >= MAX_PAGES:
        raise ToolFailed(f"`pages` asks for {last - first + 1} pages; at most {MAX_PAGES} can be read at a time.")
    return first, last


def _extract_pages(reader: PdfReader, first: int, last: int) -> bytes:
    from pypdf import PdfWriter

    writer = PdfWriter()
    for page in reader.pages[first - 1 : last]:
        writer.add_page(page)
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()
