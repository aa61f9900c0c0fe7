"""Whether a file has only grown since it was read."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.wire.growth import ReadState, fingerprint, has_only_grown

BEFORE = b"".join(b"line %d\n" % number for number in range(500))  # more than the sample that is hashed


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (BEFORE, True),
        (BEFORE + b"more\n", True),
        (BEFORE[:-1], False),
        (b"", False),
        (b"L" + BEFORE[1:] + b"more\n", False),
        (BEFORE[:-2] + b"x\nmore\n", False),
    ],
    ids=["unchanged", "grown", "truncated", "empty", "other start", "other end"],
)
def test_only_a_file_with_the_same_bytes_before_its_old_end_has_only_grown(
    tmp_path: Path, after: bytes, expected: bool
) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(BEFORE)
    with open(path, "rb") as file:
        before = ReadState(7, len(BEFORE), fingerprint(file, len(BEFORE)))
    path.write_bytes(after)
    with open(path, "rb") as file:
        assert has_only_grown(file, before, 7, len(after)) is expected
        assert not has_only_grown(file, before, 8, len(after))


def test_a_fingerprint_is_continued_from_an_earlier_one(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(bytes(range(256)) * 20)
    with path.open("rb") as file:
        for start in (0, 1, 700, 5120):
            assert fingerprint(file, 5120, start, fingerprint(file, start)) == fingerprint(file, 5120)
