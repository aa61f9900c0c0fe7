"""Long outputs: which file belongs to a call, and how it is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from clew.wire.overflow_files import Overflow, OverflowFolder, parse_placeholder
from tests.step_count import Work, assert_linear

KEY = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEAabcdefgh\n" * 20 + "-----END RSA PRIVATE KEY-----\n"


def at(path: Path, data: bytes) -> Overflow:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return Overflow(path, len(data))


@pytest.mark.req("R010")
def test_any_bytes_are_read_as_text(tmp_path: Path) -> None:
    raw = bytes(range(256)) * 7000
    found = at(tmp_path / "toolu_1.txt", raw)
    assert len(raw) > 1_700_000
    assert "".join(found.chunks()).startswith("\x00\x01") and "\ufffd" in found.first(1000)
    assert "".join(at(tmp_path / "b.txt", "größer\n".encode()).chunks()) == "größer\n"
    assert at(tmp_path / "c.bin", bytes(range(256))).is_binary
    assert not at(tmp_path / "d.txt", "größer\x1b[0m\n".encode()).is_binary


@pytest.mark.parametrize("size", [700, 1000, 4096])
def test_the_chunks_joined_are_the_text_and_cut_no_character_and_no_key(tmp_path: Path, size: int) -> None:
    text = ("eine Zeile mit ü\n" * 30 + "password:\n  hunter-two-and-more\n" + KEY + "x" * 900 + "\n") * 9
    chunks = list(at(tmp_path / "a.txt", text.encode()).chunks(size))
    assert "".join(chunks) == text
    assert len(chunks) >= 5
    if size == 4096:
        assert all(chunk.count("BEGIN RSA") == chunk.count("END RSA") for chunk in chunks)
        assert not any(chunk.endswith("password:\n") for chunk in chunks)


def test_the_lines_after_the_head_are_counted(tmp_path: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(1000))
    for ending in ("", "the last"):
        found = at(tmp_path / "a.txt", (text + ending).encode())
        head, beyond = found.head(500)
        assert len(head.encode()) <= 500
        assert head.count("\n") + beyond == 1000 + bool(ending)


def test_a_vanished_file_is_empty(tmp_path: Path) -> None:
    gone = Overflow(tmp_path / "gone.txt", 5)
    assert list(gone.chunks()) == [] and gone.head(10) == ("", 0) and not gone.is_binary


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("<persisted-output>\nOutput too large (2MB). Full output saved to: /h/u/tool-results/b1.txt\n\n", "b1.txt"),
        (
            "Error: result (90,000 characters) exceeds it. Output has been saved to /h/tool-results/mcp-x-1.txt.",
            "mcp-x-1.txt",
        ),
        (r"Full output saved to: C:\Users\Jo Do\.claude\projects\p\s\tool-results\toolu_1.txt", "toolu_1.txt"),
        ("All of it is in /x/tool-results/toolu_2.txt. It begins:", "toolu_2.txt"),
        ("see tool-results/b1.txt", None),
        ("x" * 5000 + " saved to: /tool-results/b1.txt", None),
    ],
)
def test_a_placeholder_names_its_file(text: str, name: str | None) -> None:
    assert parse_placeholder(text) == name


def test_what_a_placeholder_names_is_looked_for_in_the_sessions_own_folder_alone(tmp_path: Path) -> None:
    session, outside = tmp_path / "s", at(tmp_path / "outside.txt", b"secret")
    kept = session / "tool-results"
    at(kept / "real.txt", b"mine")
    (kept / "link.txt").symlink_to(outside.path)
    (kept / "folder.txt").mkdir()
    os.mkfifo(kept / "pipe.txt")

    def found(text: str, detail: object = None) -> Path | None:
        one = OverflowFolder(session).find("", text, detail)
        return one.path if one else None

    assert found("saved to: /elsewhere/tool-results/real.txt") == kept / "real.txt"
    assert found("", {"persistedOutputPath": "/another/machine/tool-results/real.txt"}) == kept / "real.txt"
    for name in ("link.txt", "folder.txt", "pipe.txt", "../../outside.txt", "..", "gone.txt"):
        assert found(f"saved to: /x/tool-results/{name}") is None
        assert found("", {"persistedOutputPath": f"/x/{name}"}) is None
    assert found("", {"persistedOutputPath": str(outside.path)}) is None


def test_linked_folders_are_not_followed(tmp_path: Path) -> None:
    at(tmp_path / "real" / "tool-results" / "a.txt", b"secret")
    (tmp_path / "linked").symlink_to(tmp_path / "real")
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "tool-results").symlink_to(tmp_path / "real" / "tool-results")
    assert OverflowFolder(tmp_path / "real").names == ("a.txt",)
    for folder in (tmp_path / "linked", tmp_path / "half", None):
        assert OverflowFolder(folder).names == ()


@pytest.mark.parametrize(
    ("names", "call", "found"),
    [
        (["toolu_1.txt", "mcp-x-toolu_1.txt", "toolu_1.json"], "toolu_1", "toolu_1.txt"),
        (["toolu_1.json", "mcp-x-toolu_1.txt"], "toolu_1", "toolu_1.json"),
        (["b-toolu_1.json", "mcp-x-toolu_1.txt", "a-toolu_1.txt"], "toolu_1", "a-toolu_1.txt"),
        (["mcp-x-toolu_1.txt"], "x-toolu_1", "mcp-x-toolu_1.txt"),
        (["toolu_1"], "toolu_1", "toolu_1"),
        (["toolu_12.txt", "xtoolu_1.txt", "toolu_1-2.txt"], "toolu_1", None),
        (["toolu_1_.txt", "-.txt"], "", None),
    ],
)
def test_a_file_is_named_after_its_call(tmp_path: Path, names: list[str], call: str, found: str | None) -> None:
    for name in names:
        at(tmp_path / "tool-results" / name, b"mine")
    one = OverflowFolder(tmp_path).find(call, "")
    assert (one and one.path.name) == found


def test_calls_find_their_files_in_time_that_grows_with_their_number(tmp_path: Path) -> None:
    def prepare(size: int) -> Work:
        for number in range(size):
            at(tmp_path / f"{size}" / "tool-results" / f"toolu_{number}.txt", b"")
        folder = OverflowFolder(tmp_path / f"{size}")
        return lambda: [folder.find(f"toolu_{number}", "") for number in range(size)]

    assert_linear(prepare, 60)
