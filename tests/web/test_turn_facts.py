"""What the turns did and cost: a session that grows has the same facts as one that is read at once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from clew.demo.talk import bash, talk, task
from clew.web.session_cache import SessionCache, SessionSnapshot
from clew.web.turn_facts import ReadingFacts, reading_facts


def current_facts(shelf: SessionCache, session: str) -> tuple[ReadingFacts, SessionSnapshot]:
    """The facts as a reader page has them: from those of the moment before."""
    snapshot = asyncio.run(shelf.open(session))
    earlier, turns = snapshot.earlier.get("facts", (None, 0))
    return snapshot.memo("facts", lambda: reading_facts(snapshot.reading(), earlier, turns)), snapshot


def plain(facts: ReadingFacts) -> ReadingFacts:
    return replace(facts, agents=())


def test_the_facts_of_a_session_that_grows_are_those_of_the_whole(tmp_path: Path) -> None:
    told = talk(seed="facts", cwd="/home/ada/facts")
    for number in range(40):
        told = told.user(f"prompt {number}").reply("Looking.", call=bash("ls")).result("a", error=number % 7 == 0)
        told = told.reply(f"answer {number}")
    lines = [bytes(line) for line in told.lines()]
    path = told.write(tmp_path)
    path.write_bytes(b"".join(lines[:120]))
    shelf, kept = SessionCache(str(tmp_path)), 0
    for count in range(121, len(lines) + 1):
        path.write_bytes(b"".join(lines[:count])) if count == 121 else _append(path, lines[count - 1])
        facts, snapshot = current_facts(shelf, path.stem)
        kept = max(kept, snapshot.session.unchanged_turns if "facts" in snapshot.earlier else 0)
        anew = asyncio.run(SessionCache(str(tmp_path)).open(path.stem)).reading()
        assert plain(facts) == plain(reading_facts(anew))
    assert kept > 15, "most turns were not counted again"


def test_an_agent_that_goes_on_changes_the_cost_of_its_turn(tmp_path: Path) -> None:
    child = talk(seed="child").user("count").reply("inner")
    told = talk(seed="agent").user("go").reply(call=task("Count", "count")).agent(0, child).reply("after")
    for number in range(30):
        told = told.user(f"prompt {number}").reply("Looking.", call=bash("ls")).result("a").reply(f"answer {number}")
    path = told.write(tmp_path)
    shelf = SessionCache(str(tmp_path))
    current_facts(shelf, path.stem)
    _append(path, told.user("more").bytes()[len(told.bytes()) :])
    first, snapshot = current_facts(shelf, path.stem)
    (agent,) = snapshot.session.agents
    assert agent.file and snapshot.session.unchanged_turns > 10
    _append(agent.file.path, child.user("again").reply("and again").bytes()[len(child.bytes()) :])
    _append(path, told.user("more").reply("most").bytes()[len(told.user("more").bytes()) :])
    facts, _ = current_facts(shelf, path.stem)
    assert facts.turns[1].cost > first.turns[1].cost
    anew = asyncio.run(SessionCache(str(tmp_path)).open(path.stem)).reading()
    assert plain(facts) == plain(reading_facts(anew))


def _append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)
