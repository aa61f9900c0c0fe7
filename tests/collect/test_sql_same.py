"""The same texts give the same values on every engine."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from clew.collect.identity import Owner, save_owner
from clew.collect.sql.query_result import QueryEngine
from clew.collect.sql.views import VIEWS
from clew.demo.demo_tree import write_demo
from tests.collect.collect_fixture import World, session
from tests.collect.engines import OTHERS, answer, queries, sqlite
from tests.collect.talks import outcome_session

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
TRAPS = (
    "SELECT prompt FROM turns WHERE prompt LIKE '%AWKWARD%' ORDER BY time, turn",
    "SELECT prompt, length(prompt) AS letters FROM turns WHERE prompt LIKE '%awkward%' ORDER BY time, turn",
    "SELECT model, cost_micros FROM replies ORDER BY cost_micros NULLS LAST, model, reply",
    "SELECT title FROM sessions ORDER BY title, session",
    "SELECT DISTINCT project FROM sessions ORDER BY project",
    "SELECT * FROM sessions ORDER BY session",
    "SELECT * FROM turns ORDER BY session, agent, turn",
    "SELECT * FROM replies ORDER BY reply",
    "SELECT * FROM calls ORDER BY call, session, reply",
    "SELECT * FROM usage_daily ORDER BY day, project, model",
    "SELECT * FROM file_changes ORDER BY call, session",
    "SELECT * FROM agents ORDER BY session, agent",
    "SELECT * FROM commits ORDER BY hash",
    "SELECT * FROM pull_requests ORDER BY url",
    "SELECT * FROM waits_daily ORDER BY day, project",
    "SELECT week, month, team, count(*) AS calls FROM calls GROUP BY week, month, team ORDER BY week, month",
)


def awkward() -> bytes:
    """What engines disagree on: NUL, half a surrogate pair, cases, models without price or tokens, large numbers."""
    said = ["Awkward a\0b", "awkward \ud83d half", "AWKWARD ÄÖ ß", "awkward 'quote' \"double\" \\ back", "x" * 300]
    lines: list[dict[str, Any]] = []
    above: str | None = None
    for number, text in enumerate(said):
        uuid = f"00000000-0000-4000-8000-0000000000{number:02}"
        lines.append({"type": "user", "uuid": uuid, "parentUuid": above, "message": {"role": "user", "content": text}})
        usage = {"input_tokens": 10**12, "output_tokens": number, "cache_read_input_tokens": None}
        if number == 4:
            usage = {"input_tokens": 0, "output_tokens": 0, "cache_read_input_tokens": 0}
        model = "silent" if number == 4 else "somebody-else"
        message = {"id": f"msg_{number}", "model": model, "usage": usage, "role": "assistant"}
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": "make test"}}
        content = [{"type": "text", "text": f"answer\0 {number}"}, call]
        above = uuid.replace("4000", "4001")
        reply = {"type": "assistant", "uuid": above, "parentUuid": uuid, "message": {**message, "content": content}}
        lines.append({**reply, "timestamp": f"2026-05-0{number + 1}T10:00:00.000Z"} if number else reply)
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    made = World()
    try:
        shutil.rmtree(made.root)
        write_demo(made.root, NOW)
        made.write(session(7), awkward())
        made.write(session(8), awkward())  # a copy of it, whose replies count once
        made.write(session(6), outcome_session())
        save_owner(made.connection, Owner("ada@exämple.com", "Ada's laptop", "payments"))
        made.poll()
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def judge(world: World) -> Iterator[QueryEngine]:
    with sqlite(world.connection) as engine:
        yield engine


def test_the_page_has_queries_on_every_view() -> None:
    text = " ".join(queries())
    assert len(queries()) >= 39
    assert all(re.search(rf"\b{name}\b", text) for name in VIEWS)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", OTHERS)
def test_every_engine_gives_the_same_values(name: str, world: World, judge: QueryEngine) -> None:
    """All queries in one test: an engine takes long to start, and tests are spread over processes.

    Spark takes seconds for each, so it gets a third of those of the guide, and all of them in `make soak`.
    """
    different = []
    guide = queries()[::3] if name == "spark" and "CLEW_SOAK" not in os.environ else queries()
    with OTHERS[name](world.connection) as engine:
        for query in (*guide, *TRAPS):
            expected, found = answer(judge, query), answer(engine, query)
            assert expected[1], f"a query without an answer compares nothing: {query}"
            if found != expected:
                different.append((query, found, expected))
    assert different == []


def test_a_reply_in_two_files_counts_once(judge: QueryEngine) -> None:
    [(rows, output)] = answer(judge, "SELECT count(*), sum(output) FROM replies WHERE model = 'somebody-else'")[1]
    assert (rows, output) == (4, 6)
