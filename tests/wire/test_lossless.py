"""Lossless: what was read is the file, byte for byte, and written anew it is what Claude Code would write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clew.demo.demo_tree import write_demo
from clew.demo.talk import bash, edit, talk, task
from clew.wire.entry import Damaged, Entry, entries, read
from clew.wire.json_codec import encode

BY_HAND = "acceptance"
REDACTED = b"[REDACTED_"  # a publisher's redactor wrote these lines over again, and broke some


@dataclass
class Score:
    """How many lines come out of the encoder as they went in, and which do not."""

    lines: int = 0
    other: tuple[str, ...] = ()

    def count(self, name: Path, entry: Entry) -> None:
        self.lines += 1
        if encode(entry.data) != entry.line.json:
            self.other += (f"{name}:{entry.line.number}",)

    @property
    def share(self) -> float:
        return 1 - len(self.other) / self.lines

    def __str__(self) -> str:
        return f"{self.lines - len(self.other)} of {self.lines} lines are written as they were read ({self.share:.3%})"


def samples(shared: Path) -> Iterator[Path]:
    found = sorted(path for part in ("oracle/samples", "corpus") for path in (shared / part).rglob("*.jsonl"))
    assert found
    return iter(found)


@pytest.mark.shared
@pytest.mark.req("R053", "R054")
def test_the_lines_of_every_sample_joined_are_the_file(shared: Path) -> None:
    for path in samples(shared):
        raw = path.read_bytes()
        items = list(read(path))
        assert b"".join(item.raw for item in items) == raw, path
        for item in entries(items):
            assert raw[item.offset : item.offset + len(item.raw)] == item.raw, path
            assert item.data, path


@pytest.mark.shared
@pytest.mark.req("R053", "R347")
def test_lines_of_claude_code_are_encoded_as_it_wrote_them(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    real, redacted, by_hand = Score(), Score(), Score()
    for path in samples(shared):
        for item in read(path):
            if isinstance(item, Entry):
                whose = by_hand if BY_HAND in path.parts else redacted if REDACTED in item.raw else real
                whose.count(path.relative_to(shared), item)
    with capsys.disabled():
        print(f"\nby Claude Code: {real}", *real.other, sep="\n  ")
        print(f"redacted: {redacted}", *redacted.other, sep="\n  ")
        print(f"by hand: {by_hand}")
    assert real.lines > 5000
    assert real.share >= 0.999


@pytest.mark.shared
@pytest.mark.req("R051")
def test_the_damage_in_the_samples_is_known(shared: Path) -> None:
    """One joined line of the program's own, and what a redactor broke; all else is whole."""
    found = {}
    for path in samples(shared):
        bad = [item for item in read(path) if isinstance(item, Damaged)]
        if bad and BY_HAND not in path.parts:
            found[path.relative_to(shared / "corpus").parts[0]] = [(item.kind, len(item.salvaged)) for item in bad]
    assert found == {"M-Thisness__M-Claude": [("unreadable", 0)] * 5, "entireio__cli": [("joined", 2)]}


@pytest.mark.req("R053")
@pytest.mark.parametrize("version", ["2.0.36", "2.0.76", "2.1.4", "2.1.45", "2.1.120", "2.1.232"])
def test_a_built_session_is_read_and_encoded_as_it_was_written(version: str) -> None:
    child = talk(version=version).user("look").reply("seen")
    said = (
        talk(version=version).snapshot({"a.py": "x\n"}).user("hi \u2028 ü").reply("yes", thinking="hm", call=bash("ls"))
    )
    said = said.result("out").reply(calls=[edit("a.py", "x", "y"), task("look", "look")]).result().agent(1, child)
    said = said.queue("enqueue", "more").compact("so far", keep=2).user("on").reply("done").turn_duration(5).title("t")
    raw = said.bytes()
    items = list(read(raw))
    assert all(isinstance(item, Entry) and not item.leniency for item in items)
    assert b"".join(item.raw for item in items) == raw
    assert b"".join(encode(entry.data) + b"\n" for entry in entries(items)) == raw


@pytest.mark.req("R053", "R054")
def test_the_demo_tree_is_read_to_the_last_byte_and_encoded_as_it_was_written(tmp_path: Path) -> None:
    write_demo(tmp_path / "claude", datetime(2026, 6, 1, tzinfo=UTC))
    score = Score()
    for path in sorted((tmp_path / "claude").rglob("*.jsonl")):
        items = list(read(path))
        assert b"".join(item.raw for item in items) == path.read_bytes(), path
        for item in items:
            if isinstance(item, Entry):
                score.count(path, item)
    assert score.lines > 800 and score.other == ()
