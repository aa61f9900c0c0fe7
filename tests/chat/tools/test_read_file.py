"""Read: what the model is shown of a file, and what it is refused."""

from __future__ import annotations

import base64
import io
import json
import os
import random
import socket
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from pypdf import PdfReader, PdfWriter

from clew.chat.tools.atomic_files import MAX_EDIT_BYTES, digest
from clew.chat.tools.builtin.read_file import READ
from clew.chat.tools.image_files import MAX_BYTES
from clew.chat.tools.tool import ToolContext
from tests.chat.tools.tool_fixture import good, misuse, run, stage, trouble


@pytest.fixture
def scene(tmp_path: Path) -> ToolContext:
    return stage(tmp_path)


def put(scene: ToolContext, name: str, data: bytes | str) -> Path:
    path = scene.state.cwd / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def test_lines_are_numbered_and_a_last_newline_gives_an_empty_one(scene: ToolContext) -> None:
    path = put(scene, "a.txt", "one\ntwo\n")
    result = run(READ, scene, file_path=str(path))
    assert result.content == "     1→one\n     2→two\n     3→"
    assert result.detail == {
        "type": "text",
        "file": {"filePath": str(path), "content": "one\ntwo\n", "numLines": 3, "startLine": 1, "totalLines": 3},
    }
    assert scene.state.seen[path].is_whole


def test_a_part_of_a_file(scene: ToolContext) -> None:
    path = put(scene, "a.txt", "\n".join(f"line {i}" for i in range(1, 101)))
    result = run(READ, scene, file_path="a.txt", offset="99", limit=5)
    assert result.content == "    99→line 99\n   100→line 100"
    assert result.detail["file"]["totalLines"] == 100
    assert not scene.state.seen[path].is_whole
    assert good(run(READ, scene, file_path="a.txt", offset=0, limit=1)) == "     1→line 1"


def test_empty_files_and_offsets_behind_the_end_are_told(scene: ToolContext) -> None:
    put(scene, "empty", "")
    warning = "<system-reminder>Warning: the file exists but"
    assert good(run(READ, scene, file_path="empty")).startswith(f"{warning} the contents are empty.")
    put(scene, "short", "a\nb")
    assert run(READ, scene, file_path="empty").detail["file"]["totalLines"] == 1
    result = run(READ, scene, file_path="short", offset=9)
    assert good(result).startswith(f"{warning} is shorter than the offset (9). It has 2 lines.")
    assert result.detail["file"]["numLines"] == 0


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbfone\r\ntwo", "     1→one\n     2→two"),
        ("grün\n".encode("utf-16"), "     1→grün\n     2→"),
        (b"caf\xe9 \x93x\x94", "     1→café “x”"),
        (b"\x81\xe9", "     1→\x81é"),
        (b"a\x0cb\x85c".replace(b"\x85", b""), "     1→a\x0cbc"),
    ],
)
def test_encodings_and_line_ends(scene: ToolContext, data: bytes, text: str) -> None:
    put(scene, "a", data)
    assert good(run(READ, scene, file_path="a")) == text


@pytest.mark.parametrize("data", [b"\x7fELF\x00\x01", bytes(range(1, 32)) * 9 + b"\xff", b"\xff\xfea\xd8\x00"])
def test_binary_files_are_refused(scene: ToolContext, data: bytes) -> None:
    put(scene, "a", data)
    assert "is a binary file" in misuse(run(READ, scene, file_path="a"))
    assert not scene.state.seen


def test_a_file_that_is_not_there(scene: ToolContext) -> None:
    assert misuse(run(READ, scene, file_path="/nowhere/at/all.py")) == "File does not exist."
    there = put(scene, "src/main.py", "x")
    for asked in ("src/mian.py", "src/main.ts", "/elsewhere/src/main.py"):
        text = misuse(run(READ, scene, file_path=asked))
        assert text == f"File does not exist. Did you mean {there}?"
    assert "File does not exist." in misuse(run(READ, scene, file_path="src/main.py/x"))


def test_folders_pipes_devices_and_proc_are_refused(scene: ToolContext) -> None:
    folder = scene.state.cwd / "folder"
    folder.mkdir()
    result = run(READ, scene, file_path=str(folder))
    assert trouble(result) == "EISDIR: illegal operation on a directory, read"
    os.mkfifo(scene.state.cwd / "pipe")
    assert "pipe, a socket or a device" in misuse(run(READ, scene, file_path="pipe"))
    with socket.socket(socket.AF_UNIX) as server:
        before = Path.cwd()
        os.chdir(scene.state.cwd)
        try:
            server.bind("socket")
        finally:
            os.chdir(before)
        assert "pipe, a socket or a device" in misuse(run(READ, scene, file_path="socket"))
    assert "pipe, a socket or a device" in misuse(run(READ, scene, file_path="/dev/zero"))
    (scene.state.cwd / "link").symlink_to("/proc/self/environ")
    for name in ("/proc/self/environ", "link", "/dev/../proc/kmsg"):
        assert "system's own" in misuse(run(READ, scene, file_path=name))
    (scene.state.cwd / "loop").symlink_to("loop")
    assert trouble(run(READ, scene, file_path="loop")).startswith("ELOOP: ")
    assert "null character" in misuse(run(READ, scene, file_path="a\0b"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(scene: ToolContext) -> None:
    put(scene, "a", "x").chmod(0)
    assert trouble(run(READ, scene, file_path="a")).startswith("EACCES: permission denied, read")


def test_more_than_256_kb_is_only_read_in_parts(scene: ToolContext) -> None:
    put(scene, "a", "0123456789abcde\n" * (16 << 10) + "x")
    text = misuse(run(READ, scene, file_path="a"))
    assert text.startswith("File content (256KB) exceeds maximum allowed size (256KB)")
    put(scene, "b", b"x" * 403_968)
    assert misuse(run(READ, scene, file_path="b")).startswith("File content (394.5KB) exceeds maximum allowed size")
    assert good(run(READ, scene, file_path="a", offset=16385, limit=9)) == " 16385→x"


def test_more_than_25000_tokens_come_as_a_first_page(scene: ToolContext) -> None:
    path = put(scene, "a", "0123456789abcde\n" * 8000)
    result = run(READ, scene, file_path="a")
    assert result.detail["file"]["numLines"] == 6250
    assert result.detail["file"]["totalLines"] == 8001
    assert "these are the first 6250. Continue with offset 6251" in good(result)
    assert not scene.state.seen[path].is_whole
    text = trouble(run(READ, scene, file_path="a", offset=1, limit=8000))
    assert text.startswith("File content (32000 tokens) exceeds maximum allowed tokens (25000)")
    put(scene, "b", "x" * 200_000)
    assert trouble(run(READ, scene, file_path="b")).startswith("File content (50000 tokens) exceeds")


def test_long_lines_are_whole_and_there_is_no_limit_of_lines(scene: ToolContext) -> None:
    put(scene, "a", "x" * 5000 + "\n" * 5000)
    result = run(READ, scene, file_path="a")
    assert result.detail["file"]["numLines"] == 5001
    assert good(result).startswith("     1→" + "x" * 5000 + "\n     2→")


def test_a_part_of_a_huge_file_is_found_without_holding_it(scene: ToolContext) -> None:
    lines = [f"line {i} \u20ac" + "." * 80 for i in range(1, 200_001)]
    path = put(scene, "a", "\r\n".join(lines))
    assert path.stat().st_size > MAX_EDIT_BYTES
    for offset, limit in ((1, 2), (70_000, 3), (199_999, 9), (200_000, 1)):
        result = run(READ, scene, file_path="a", offset=offset, limit=limit)
        assert result.detail["file"]["content"] == "\n".join(lines[offset - 1 :][:limit])
        assert result.detail["file"]["totalLines"] == 200_000
    assert good(run(READ, scene, file_path="a", offset=200_001)).startswith("<system-reminder>Warning")
    assert trouble(run(READ, scene, file_path="a", offset=1)).startswith("File content (")
    assert scene.state.seen[path].digest == digest(path.read_bytes())


def test_a_file_beyond_all_bounds_is_refused(scene: ToolContext) -> None:
    path = put(scene, "a", "")
    os.truncate(path, (1 << 30) + 1)
    assert "too large for Read" in misuse(run(READ, scene, file_path="a", offset=1, limit=1))


@given(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00"), max_size=60))
def test_what_is_read_is_what_is_there(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    scene = stage(tmp_path_factory.mktemp("read"))
    put(scene, "a", text)
    detail = run(READ, scene, file_path="a").detail
    if not text.startswith("\ufeff"):
        assert detail["file"]["content"] == text.replace("\r\n", "\n")


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    body = zlib.compress((b"\0" + b"\0" * width) * height)
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", body) + chunk(b"IEND", b"")


JPEG = b"\xff\xd8\xff\xe0\x00\x04AB\xff\xc0\x00\x0b\x08\x00\x05\x00\x07\x01\x01\x11\x00\xff\xd9"
GIF = b"GIF89a" + struct.pack("<HH", 7, 5) + b"\x00\x00\x00;"
WEBP = {
    "VP8X": b"RIFF\x1e\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0" + bytes([6, 0, 0, 4, 0, 0]),
    "VP8L": b"RIFF\x1e\0\0\0WEBPVP8L\x0a\0\0\0\x2f" + struct.pack("<I", 6 | 4 << 14),
    "VP8 ": b"RIFF\x1e\0\0\0WEBPVP8 \x0a\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 7, 5),
}


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.png", png(7, 5), "image/png"),
        ("a.jpg", JPEG, "image/jpeg"),
        ("wrong.png", JPEG, "image/jpeg"),
        ("a.gif", GIF, "image/gif"),
        *((f"{n.strip()}.webp", data, "image/webp") for n, data in WEBP.items()),
    ],
)
def test_pictures_are_shown_as_such(scene: ToolContext, name: str, data: bytes, kind: str) -> None:
    put(scene, name, data)
    result = run(READ, scene, file_path=name)
    text = base64.b64encode(data).decode()
    assert result.content == [{"type": "image", "source": {"type": "base64", "media_type": kind, "data": text}}]
    size = {"originalWidth": 7, "originalHeight": 5, "displayWidth": 7, "displayHeight": 5}
    assert result.detail == {
        "type": "image",
        "file": {"base64": text, "type": kind, "originalSize": len(data), "dimensions": size},
    }


def test_pictures_that_cannot_be_shown(scene: ToolContext) -> None:
    put(scene, "a.png", "<svg/>")
    assert "despite its name" in misuse(run(READ, scene, file_path="a.png"))
    put(scene, "broken.png", png(9000, 1)[:60])
    assert "damaged picture" in trouble(run(READ, scene, file_path="broken.png"))
    put(scene, "bomb.png", png(1, 1)[:16] + struct.pack(">II", 60_000, 60_000) + png(1, 1)[24:])
    assert "too large a picture" in misuse(run(READ, scene, file_path="bomb.png"))
    put(scene, "cut.png", png(1, 1)[:12])
    assert "dimensions" not in run(READ, scene, file_path="cut.png").detail["file"]


def noise(width: int, height: int, kind: str) -> bytes:
    buffer = io.BytesIO()
    Image.frombytes("RGB", (width, height), random.Random(1).randbytes(width * height * 3)).save(buffer, kind)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "shown", "kind"),
    [
        ("wide.png", png(9000, 20), (2000, 4), "image/png"),
        ("tall.png", png(20, 2001), (20, 2000), "image/png"),
        ("large.png", noise(1300, 1100, "PNG"), (1300, 1100), "image/jpeg"),
        ("large.jpg", noise(2500, 1000, "JPEG"), (2000, 800), "image/jpeg"),
        ("padded.png", png(1, 1) + b"\0" * (4 << 20), (1, 1), "image/png"),
    ],
)
def test_large_pictures_are_scaled_down(
    scene: ToolContext, name: str, data: bytes, shown: tuple[int, int], kind: str
) -> None:
    put(scene, name, data)
    result = run(READ, scene, file_path=name)
    blocks: Any = result.content
    source = blocks[0]["source"]
    sent = base64.b64decode(source["data"])
    with Image.open(io.BytesIO(sent)) as picture:
        assert (picture.size, source["media_type"]) == (shown, kind) and len(sent) <= MAX_BYTES
    file = result.detail["file"]
    assert (file["dimensions"]["displayWidth"], file["dimensions"]["displayHeight"]) == shown
    assert file["originalSize"] == len(data) and file["type"] == kind


def test_without_pillow_a_picture_that_the_api_takes_is_sent(
    scene: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    put(scene, "wide.png", png(2500, 1))
    assert run(READ, scene, file_path="wide.png").detail["file"]["dimensions"]["displayWidth"] == 2500
    put(scene, "wider.png", png(9000, 1))
    assert "[chat]" in trouble(run(READ, scene, file_path="wider.png"))


def pdf(pages: int) -> bytes:
    writer = PdfWriter()
    for number in range(pages):
        writer.add_blank_page(100 + number, 100)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_a_short_pdf_file_is_given_whole(scene: ToolContext) -> None:
    data = pdf(2)
    path = put(scene, "a.pdf", data)
    result = run(READ, scene, file_path="a.pdf")
    text = base64.b64encode(data).decode()
    assert not isinstance(result.content, str)
    line, document = result.content
    assert line["text"].startswith(f"PDF file read: {path} (")
    assert document["source"] == {"type": "base64", "media_type": "application/pdf", "data": text}
    assert result.detail == {
        "type": "pdf",
        "file": {"filePath": str(path), "base64": text, "originalSize": len(data)},
    }


def test_pages_of_a_pdf_file(scene: ToolContext) -> None:
    put(scene, "a.pdf", pdf(30))
    assert "has 30 pages" in misuse(run(READ, scene, file_path="a.pdf"))
    for asked, widths in (("3", [102]), ("2-4", [101, 102, 103]), ("29-", [128, 129]), ("30-99", [129])):
        data = base64.b64decode(run(READ, scene, file_path="a.pdf", pages=asked).detail["file"]["base64"])
        assert [int(page.mediabox.width) for page in PdfReader(io.BytesIO(data)).pages] == widths
    for asked, told in (
        ("1-21", "at most 20"),
        ("31", "there is no page 31"),
        ("4-2", "not a valid page range"),
        ("0", "not a valid page range"),
        ("all", "give a page"),
    ):
        assert told in misuse(run(READ, scene, file_path="a.pdf", pages=asked))


def test_what_is_no_pdf_file(scene: ToolContext) -> None:
    put(scene, "a.pdf", "hello")
    assert "not a PDF file" in misuse(run(READ, scene, file_path="a.pdf"))
    put(scene, "b.pdf", b"%PDF-1.4\nnothing more")
    assert "damaged PDF" in trouble(run(READ, scene, file_path="b.pdf"))
    put(scene, "c.txt", "hello")
    assert "`pages` is for PDF files" in misuse(run(READ, scene, file_path="c.txt", pages="1"))


def book(*cells: dict[str, Any]) -> str:
    about = {"language_info": {"name": "python"}}
    return json.dumps({"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def test_a_notebook_is_shown_by_its_cells(scene: ToolContext) -> None:
    picture = base64.b64encode(png(1, 1)).decode()
    cells = (
        {"cell_type": "markdown", "id": "m", "metadata": {}, "source": ["# T\n", "x"]},
        {
            "cell_type": "code",
            "id": "c1",
            "metadata": {},
            "execution_count": 2,
            "source": "print(1)",
            "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["1\n"]},
                {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["t"]},
            ],
        },
    )
    path = put(scene, "a.ipynb", book(*cells))
    result = run(READ, scene, file_path="a.ipynb")
    text = (
        '<cell id="m"><cell_type>markdown</cell_type># T\nx</cell id="m">\n\n'
        '<cell id="c1">print(1)</cell id="c1">\n\n1\n\n\nE: v\nt'
    )
    assert result.content == [{"type": "text", "text": text}]
    assert result.detail["type"] == "notebook"
    assert result.detail["file"]["filePath"] == str(path)
    assert result.detail["file"]["cells"][1] == {
        "cellType": "code",
        "source": "print(1)",
        "cell_id": "c1",
        "language": "python",
        "execution_count": 2,
        "outputs": [{"output_type": "stream", "text": "1\n"}, {"output_type": "error", "text": "E: v\nt"}],
    }
    drawn = {"output_type": "display_data", "data": {"text/plain": "<fig>", "image/png": picture}, "metadata": {}}
    put(scene, "b.ipynb", book({"cell_type": "code", "source": "plot()", "outputs": [drawn]}))
    blocks = run(READ, scene, file_path="b.ipynb").content
    assert not isinstance(blocks, str)
    assert [b["type"] for b in blocks] == ["text", "image"]
    assert blocks[0]["text"] == '<cell id="cell-0">plot()</cell id="cell-0">\n\n<fig>'


def test_what_is_no_notebook(scene: ToolContext) -> None:
    for data in ("", "[]", "{", '{"cells": 3}', '{"cells": [3]}'):
        put(scene, "a.ipynb", data)
        assert "notebook" in misuse(run(READ, scene, file_path="a.ipynb"))
    put(scene, "a.ipynb", book({"cell_type": "code", "source": "x" * 200_000, "outputs": []}))
    assert "exceeds maximum allowed tokens" in trouble(run(READ, scene, file_path="a.ipynb"))
