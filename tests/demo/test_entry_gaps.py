"""The times of what the builder makes: the gaps of real sessions, unless a test asks for a fixed step."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median

from clew.demo.talk import DENSE, Talk, bash, talk
from clew.wire.timestamps import parse_timestamp


def long_talk(told: Talk) -> Talk:
    for number in range(60):
        told = told.snapshot().user(f"prompt {number}").reply("So:", thinking="Hm.", call=bash("ls")).result("a")
        told = told.reply("Done.").turn_duration().last_prompt()
    return told


def times(told: Talk) -> list[datetime]:
    found = [parse_timestamp(entry["timestamp"]) for entry in told.data() if "timestamp" in entry]
    return [moment for moment in found if moment]


def gaps(told: Talk) -> dict[str, list[float]]:
    """Seconds before each line, by what it is; a snapshot has the time of its prompt."""
    found: dict[str, list[float]] = {}
    lines = [line for line in told.data() if "timestamp" in line]
    for before, line in pairwise(lines):
        kind = str(line["type"])
        if "toolUseResult" in line:
            kind = "result"
        elif kind == "assistant" and before["type"] == "assistant":
            kind = "block" if before["message"]["id"] == line["message"]["id"] else "assistant"
        start, end = parse_timestamp(before["timestamp"]), parse_timestamp(line["timestamp"])
        assert start and end
        found.setdefault(kind, []).append((end - start).total_seconds())
    return found


def test_the_gaps_are_those_of_real_sessions() -> None:
    found = gaps(long_talk(talk()))
    assert min(found["user"]) > 5 and 60 < median(found["user"]) < 600 and max(found["user"]) > 3600
    assert min(found["assistant"]) > 1 and 2 < median(found["assistant"]) < 10 and max(found["assistant"]) < 60
    assert median(found["block"]) < 2 and max(found["result"]) > 5
    assert max(found["system"]) < 1


def test_every_line_is_later_than_the_one_before_it() -> None:
    assert all(a < b for a, b in pairwise(times(long_talk(talk()))))


def test_the_same_seed_has_the_same_gaps_and_another_seed_others() -> None:
    assert times(long_talk(talk())) == times(long_talk(talk()))
    assert times(long_talk(talk())) != times(long_talk(talk(seed=1)))


def test_a_snapshot_is_taken_when_the_prompt_is_sent() -> None:
    told = talk().user("a").reply("b").snapshot().user("c")
    snapshot, prompt = told.data()[-2:]
    reply, taken, sent = (
        parse_timestamp(at) for at in (times_of(told)[1], snapshot["snapshot"]["timestamp"], prompt["timestamp"])
    )
    assert reply and taken and sent
    assert taken - reply > timedelta(seconds=5) and timedelta(0) < sent - taken < timedelta(seconds=1)


def times_of(told: Talk) -> list[str]:
    return [str(entry["timestamp"]) for entry in told.data() if "timestamp" in entry]


def test_a_pause_takes_the_place_of_the_gap() -> None:
    told = talk().user("a").pause(seconds=2.5).reply("b").pause(days=1).user("c")
    first, second, third = times(told)
    assert second - first == timedelta(seconds=2.5) and third - second == timedelta(days=1)


def test_a_turn_lasts_from_its_prompt_to_its_end() -> None:
    told = talk().user("a").reply("b").user("c").reply("d").turn_duration()
    prompt, _, end = times(told)[-3:]
    assert told.data()[-1]["durationMs"] == (end - prompt) / timedelta(milliseconds=1)


def test_a_dense_talk_has_one_second_between_lines() -> None:
    told = talk(step=DENSE).snapshot().user("a").reply("b", thinking="c", call=bash("ls")).result("d").user("e")
    assert {b - a for a, b in pairwise(times(told))} == {timedelta(seconds=1)}
