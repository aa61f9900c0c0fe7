"""One session in any number of files: split, copied, forked, resumed or repeated, its grand total is the same."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.demo.talk import Talk, bash, talk, task
from clew.facts.prices import load
from clew.report.collect_buckets import collect_buckets
from clew.report.usage_row import sum_buckets
from clew.wire.json_codec import encode
from tests.report.build import session

PRICES = load()
VERSIONS = st.sampled_from(["1.0.43", "2.0.76", "2.1.29", "2.1.114", "2.1.232"])
STEPS = st.lists(st.sampled_from(["say", "think", "call", "two calls", "fail", "agent"]), min_size=1, max_size=6)


def told(version: str, steps: list[str]) -> Talk:
    made = talk(version=version, session_id=session(1)).user("Begin.")
    for number, step in enumerate(steps):
        match step:
            case "say":
                made = made.reply(f"Step {number}.").user("Go on.")
            case "think":
                made = made.reply(f"Step {number}.", thinking="Hm, " * 40)
            case "call":
                made = made.reply("I look.", call=bash(f"ls {number}")).result("a\nb")
            case "two calls":
                made = (
                    made.reply(calls=[bash(f"a {number}"), bash(f"b {number}")]).result("x", for_=0).result("y", for_=1)
                )
            case "fail":
                made = made.api_error("overloaded")
            case "agent":
                errand = talk(version=version, seed=f"errand {number}").user("Look.").reply("Seen.", thinking="Hm.")
                made = made.reply(call=task("Look", "Look.")).agent(-1, errand)
    return made.reply("Done.")


def total(root: Path) -> dict[str, Any]:
    """Tokens and money, summed up by both ways."""
    found = [collect_buckets(str(root), None, per_reply=per_reply).buckets for per_reply in (False, True)]
    sums = [sum_buckets(buckets, PRICES).to_json() for buckets in found]
    assert sums[0] == sums[1]
    return sums[0]


@pytest.mark.req("R121", "R122", "R124")
@settings(max_examples=60)
@given(VERSIONS, STEPS, st.data())
def test_however_a_session_is_cut_up_and_copied_its_total_is_the_same(
    version: str, steps: list[str], data: st.DataObject
) -> None:
    made = told(version, steps)
    with tempfile.TemporaryDirectory() as scratch:
        whole, parts = Path(scratch) / "whole", Path(scratch) / "parts"
        original = made.write(whole)
        made.write(parts)
        expected = total(whole)
        count = clew.usage(clew.read(original)).total
        assert (expected["input"], expected["output"], expected["cache_read"]) == (
            count.input,
            count.output,
            count.cache_read,
        )

        lines = original.read_bytes().splitlines(keepends=True)
        path = parts / original.relative_to(whole)
        cuts = sorted(data.draw(st.lists(st.integers(0, len(lines)), max_size=3)))
        pieces = [lines[a:b] for a, b in zip([0, *cuts], [*cuts, len(lines)], strict=True)]
        for number, piece in enumerate(pieces, 2):
            again = data.draw(st.integers(0, len(lines)))  # a resumed file begins with a copy of what came before
            copied = [_under(each, session(number)) for each in lines[:again]]
            (path.parent / f"{session(number)}.jsonl").write_bytes(b"".join(copied + piece))
        if data.draw(st.booleans()):
            path.unlink()  # what was cut up need not be there any more
        assert total(parts) == expected


def _under(raw: bytes, name: str) -> bytes:
    """A line as a fork copies it: of another session."""
    return raw.replace(session(1).encode(), name.encode())


@pytest.mark.req("R121")
def test_a_fork_marked_or_not_adds_only_what_is_new(tmp_path: Path) -> None:
    made = told("2.1.232", ["say", "call"])
    made.write(tmp_path)
    before = total(tmp_path)
    made.fork(session(7)).write(tmp_path)
    assert total(tmp_path) == before
    made.fork(session(8)).user("More.").reply("Yes.", usage={"output_tokens": 77}).write(tmp_path)
    assert total(tmp_path)["output"] == before["output"] + 77


def test_a_damaged_line_gives_what_can_be_saved(tmp_path: Path) -> None:
    path = told("2.1.232", ["say"]).write(tmp_path)
    before = total(tmp_path)
    lost = {
        "type": "assistant",
        "uuid": "x",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "message": {"id": "msg_x", "model": "claude-opus-5", "usage": {"output_tokens": 5}},
    }
    with path.open("ab") as file:
        file.write(encode({"type": "user", "uuid": "y"})[:-4] + encode(lost) + encode(lost | {"uuid": "z"}) + b"\n")
    assert total(tmp_path)["output"] == before["output"] + 5
