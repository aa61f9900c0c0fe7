"""Progress lines of a web search and of waiting for a task, as they stand in the transcript."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from clew.chat.tools.builtin.background import TASK_OUTPUT
from clew.chat.tools.builtin.bash import BASH
from clew.chat.tools.builtin.web_search import SearchFailed, WebHit, create_web_search
from clew.wire.json_codec import Json
from tests.chat.test_journal import journal, lines
from tests.chat.tools.tool_fixture import call, good, stage


class Engine:
    """A search engine that knows two pages."""

    async def find(self, query: str, allowed: Sequence[str], blocked: Sequence[str]) -> Sequence[WebHit]:
        if query == "broken":
            raise SearchFailed("it is down")
        return [WebHit("Tides", "https://tides.example/a"), WebHit("Moon", "https://moon.example/b")]


def written(folder: Path, *, tool: Any, **input: Any) -> list[Json]:
    """The data of the progress lines that a call leaves, with the ids beside them."""
    made = journal(folder)

    async def story() -> None:
        async def progress(data: Json) -> None:
            made.progress(data, "toolu_01")

        scene = replace(stage(folder), progress=progress, stopped=asyncio.Event())
        await call(tool, scene, **input)

    asyncio.run(story())
    return lines(folder) if made.path.exists() else []


@pytest.mark.req("R250")
def test_a_web_search_writes_its_query_and_the_number_of_results(tmp_path: Path) -> None:
    found = written(tmp_path, tool=create_web_search(Engine()), query="spring tide", blocked_domains=["moon.example"])
    assert [line["data"] for line in found] == [
        {"type": "query_update", "query": "spring tide"},
        {"type": "search_results_received", "resultCount": 1, "query": "spring tide"},
    ]
    assert [line["type"] for line in found] == ["progress", "progress"]
    assert [line["toolUseID"] for line in found] == ["search-progress-0", "search-progress-1"]
    assert {line["parentToolUseID"] for line in found} == {"toolu_01"}


@pytest.mark.req("R250")
def test_a_search_that_fails_reports_no_results(tmp_path: Path) -> None:
    found = written(tmp_path, tool=create_web_search(Engine()), query="broken")
    assert [line["data"]["type"] for line in found] == ["query_update"]


@pytest.mark.req("R250")
def test_waiting_for_a_task_is_written_once_and_only_if_it_runs(tmp_path: Path) -> None:
    made = journal(tmp_path)

    async def story() -> None:
        async def progress(data: Json) -> None:
            made.progress(data, "toolu_02")

        scene = replace(stage(tmp_path), progress=progress, stopped=asyncio.Event())
        gate = tmp_path / "gate"
        os.mkfifo(gate)
        begun = await call(BASH, scene, command=f"cat {gate}", description="Read nothing", run_in_background=True)
        name = begun.detail["backgroundTaskId"]
        await call(TASK_OUTPUT, scene, task_id=name, block=False)
        await call(TASK_OUTPUT, scene, task_id=name, timeout=1)
        await asyncio.to_thread(gate.write_text, "go")
        await scene.state.background[name].wait()
        good(await call(TASK_OUTPUT, scene, task_id=name))
        await call(TASK_OUTPUT, scene, task_id=name, block=False)

    asyncio.run(story())
    found = [line["data"] for line in lines(tmp_path)]
    assert found[:1] == [{"type": "waiting_for_task", "taskDescription": "Read nothing", "taskType": "local_bash"}]
    assert len(found) == 1
