"""A session that is summarized while it grows has the summary of one that is read at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.conversation.session import Session
from clew.conversation.session_growth import MARGIN
from clew.demo.talk import Talk, bash, edit, talk, task
from clew.facts.prices import load
from clew.report.growing_summary import MIN_SIZE, GrownSummary, SummaryRequest, summarize_growing
from clew.report.session_summary import summarize
from clew.wire.json_codec import encode
from clew.wire.layout import session_at
from tests.conversation.lines import Json
from tests.conversation.test_always import FILES
from tests.oracle.generate import generate

PRICES = load()


def summarize_next(path: Path, kept: bytes, margin: int, min_size: int = 0) -> GrownSummary:
    """Summarize a file in its present state, from what was kept of it; compare with the file that is read at once."""
    stat = path.stat()
    request = SummaryRequest(str(path), stat.st_ino, stat.st_size, stat.st_mtime_ns, "prices", kept)
    grown = summarize_growing(request, PRICES, margin, min_size)
    assert grown.summary == summarize(Session(path, file=session_at(path)), PRICES)
    return grown


def grow(path: Path, data: bytes, cuts: Sequence[int], margin: int = 0) -> Iterator[GrownSummary]:
    """Write a file up to each of some offsets, and summarize it each time."""
    kept = b""
    for cut in [*sorted(cuts), len(data)]:
        path.write_bytes(data[:cut])  # in place: the inode stays
        grown = summarize_next(path, kept, margin)
        kept = grown.kept
        yield grown


@given(FILES, st.lists(st.integers(0, 4000), max_size=6))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_lines_can_be_added_in_any_steps(tmp_path: Path, file: list[Json], cuts: list[int]) -> None:
    data = b"".join(encode(line) + b"\n" for line in file)
    list(grow(tmp_path / "a.jsonl", data, [min(cut, len(data)) for cut in cuts]))


@pytest.mark.parametrize("seed", range(60))
def test_conversations_with_forks_compactions_agents_and_damage_can_be_added_in_any_steps(
    tmp_path: Path, seed: int
) -> None:
    data, chance = generate(seed).data, Random(seed)
    ends = [index + 1 for index, byte in enumerate(data) if byte == 0x0A]
    cuts = ends if seed % 2 else [chance.randrange(len(data)) for _ in range(6)]  # also in the middle of lines
    list(grow(tmp_path / "a.jsonl", data, cuts, chance.choice((0, 0, 3, 8))))


def long_talk(turns: int, seed: str = "long") -> Talk:
    told = talk(seed=seed, cwd="/home/ada/long")
    for number in range(turns):
        told = told.user(f"prompt {number}").reply("Looking.", call=bash(f"ls {number % 3}")).result("a b")
        told = told.reply("Changing.", call=edit(f"/home/ada/long/{number % 7}.py", "a", "ab"))
        told = told.result("failed", error=True) if number % 5 == 0 else told.result("done")
        told = told.reply(f"answer {number} " + "word " * 300)
    return told


def test_only_the_end_of_a_long_session_is_read_again(tmp_path: Path) -> None:
    data, path = long_talk(120).bytes(), tmp_path / "a.jsonl"
    ends = [index + 1 for index, byte in enumerate(data) if byte == 0x0A]
    kept, offsets = b"", []
    for end in ends[-200::5]:
        path.write_bytes(data[:end])
        grown = summarize_next(path, kept, MARGIN, MIN_SIZE)
        kept = grown.kept
        offsets.append(grown.offset)
    assert MIN_SIZE < offsets[0] < offsets[-1] and offsets == sorted(offsets)
    assert all(data[offset:end].count(b"\n") <= 3 * MARGIN for offset, end in zip(offsets, ends[-200::5], strict=True))
    path.write_bytes(b"x" * offsets[-1] + data[offsets[-1] :])  # the lines before are not read, but they are compared
    assert summarize_next(path, kept, MARGIN, MIN_SIZE).offset != offsets[-1]


def test_a_file_that_was_edited_or_replaced_is_read_as_a_whole(tmp_path: Path) -> None:
    data, path = long_talk(40).bytes(), tmp_path / "a.jsonl"
    kept = list(grow(path, data, []))[-1].kept
    path.write_bytes(data.replace(b"prompt 3", b"prompt X"))
    assert summarize_next(path, kept, 0).summary.title
    other = tmp_path / "b.jsonl"
    other.write_bytes(long_talk(40, "other").bytes() + data)
    other.replace(path)
    summarize_next(path, kept, 0)
    path.write_bytes(data[: len(data) // 3])
    summarize_next(path, kept, 0)
    summarize_next(path, b"damaged", 0)


def test_the_costs_of_other_prices_are_not_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    kept = list(grow(path, long_talk(40).bytes(), []))[-1].kept
    dear = load({"models": {name: {"input": 1000, "output": 1000} for name in ("claude-opus-5", "claude-sonnet-4-5")}})
    stat = path.stat()
    request = SummaryRequest(str(path), stat.st_ino, stat.st_size, stat.st_mtime_ns, "other prices", kept)
    summary = summarize_growing(request, dear, 0, 0).summary
    assert summary == summarize(Session(path, file=session_at(path)), dear)


def agents_talk(turns: int) -> Talk:
    told = talk(seed="agents", cwd="/home/ada/agents")
    for number in range(turns):
        told = told.user(f"prompt {number}").reply("Sure.")
        if number % 4 == 1:
            prompt = f"look {number % 8}"  # two have the same prompt
            child = (
                talk(seed=f"inner {number}").user(prompt).reply("seen", call=bash("ls")).result("x", error=number > 5)
            )
            told = told.reply(call=task(prompt, prompt)).agent(0, child.reply("done")).reply("It looked.")
    return told


def _id(agent: Path) -> bytes:
    return agent.name.removeprefix("agent-").partition(".")[0].encode()


def test_agents_that_are_started_while_a_session_grows_are_counted_once(tmp_path: Path) -> None:
    whole = agents_talk(24).write(tmp_path / "whole")
    lines = whole.read_bytes().splitlines(keepends=True)
    path = tmp_path / "growing" / whole.relative_to(tmp_path / "whole")
    path.parent.mkdir(parents=True)
    folder, kept, was_divided = whole.with_suffix(""), b"", 0
    agents = sorted(folder.rglob("agent-*"))
    named = {agent: next(i for i, line in enumerate(lines) if _id(agent) in line) for agent in agents}  # by the result
    for count in range(1, len(lines) + 1):
        path.write_bytes(b"".join(lines[:count]))
        for agent in (agent for agent in agents if named[agent] <= count):  # it works before its result is there
            copy = path.with_suffix("") / agent.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            if not copy.exists():
                copy.write_bytes(agent.read_bytes())
        grown = summarize_next(path, kept, 0)
        kept = grown.kept
        was_divided += bool(kept)
    assert was_divided > len(lines) // 3
    with next(path.with_suffix("").rglob("agent-*.jsonl")).open("ab") as file:  # an agent of the kept sums goes on
        file.write(agents_talk(2).bytes())
    assert summarize_next(path, kept, 0).summary.agents
