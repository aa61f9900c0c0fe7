"""The tools that speak to the person, to agents and to skills; and the toolbox."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from clew.chat.tools.builtin.agent import AGENT, TASK
from clew.chat.tools.builtin.ask_user import ASK_USER_QUESTION
from clew.chat.tools.builtin.plan_mode import ENTER_PLAN_MODE, EXIT_PLAN_MODE
from clew.chat.tools.builtin.todo_write import TODO_WRITE
from clew.chat.tools.builtin.use_skill import SkillBody, create_skill_tool
from clew.chat.tools.builtin.web_search import SearchFailed, WebHit, create_web_search
from clew.chat.tools.search_command import SearchCommand
from clew.chat.tools.tool import CallResult, Tool, ToolContext
from clew.chat.tools.toolbox import ALIASES, create_tools, select_offered
from clew.facts.tool_catalog import TOOLS, result_kind
from clew.wire.json_codec import Json
from tests.chat.tools.tool_fixture import good, misuse, run, stage, trouble


@pytest.fixture
def scene(tmp_path: Path) -> ToolContext:
    return stage(tmp_path)


def test_the_list_of_things_to_do_is_replaced(scene: ToolContext) -> None:
    first = [{"content": "a", "status": "pending", "activeForm": "doing a"}]
    result = run(TODO_WRITE, scene, todos=first)
    assert good(result).startswith("Todos have been modified successfully.")
    assert result.detail == {"oldTodos": [], "newTodos": first}
    second = [{**first[0], "status": "completed"}]
    assert run(TODO_WRITE, scene, todos=second).detail == {"oldTodos": first, "newTodos": second}
    assert scene.state.todos == second
    assert result_kind(result.detail) == "TodoWrite"


def test_an_agent_is_sent_by_whoever_can(scene: ToolContext) -> None:
    sent: list[Json] = []

    async def send(input: Json, where: ToolContext) -> CallResult:
        sent.append(input)
        return CallResult([{"type": "text", "text": "done"}], {"status": "completed"})

    work = {"description": "look", "prompt": "look around", "subagent_type": "Explore"}
    for tool in (TASK, AGENT):
        assert misuse(run(tool, scene, **work)) == "No agent can be begun from here."
        assert run(tool, replace(scene, send=send), **work).detail == {"status": "completed"}
    assert sent == [work, work]


def question(text: str, *labels: str) -> Json:
    options = [{"label": label, "description": "d"} for label in labels]
    return {"question": text, "header": "Choice", "options": options, "multiSelect": False}


def test_questions_and_answers(scene: ToolContext) -> None:
    asked: list[Sequence[Json]] = []

    async def ask(questions: Sequence[Json]) -> Mapping[str, Any]:
        asked.append(questions)
        return {"Which?": "A", "All?": ["x", "y"]}

    questions = [question("Which?", "A", "B"), question("All?", "x", "y")]
    result = run(ASK_USER_QUESTION, replace(scene, ask=ask), questions=questions)
    assert good(result).startswith('User has answered your questions: "Which?"="A", "All?"="x, y".')
    assert result.detail == {"questions": questions, "answers": {"Which?": "A", "All?": "x, y"}}
    assert asked == [questions]
    assert "No user is available" in misuse(run(ASK_USER_QUESTION, scene, questions=questions))


@pytest.mark.parametrize(
    ("questions", "told"),
    [
        ([], "at least 1 items"),
        ([question(f"{n}?", "a", "b") for n in range(5)], "at most 4 items"),
        ([question("q?", "a")], "at least 2 items"),
        ([question("q?", "a", "b", "c", "d", "e")], "at most 4 items"),
        ([{**question("q?", "a", "b"), "header": "x" * 13}], "at most 12 characters"),
        ([question("q?", "a", "a")], "the same label"),
        ([question("q?", "a", "b")] * 2, "asked twice"),
    ],
)
def test_questions_that_cannot_be_asked(scene: ToolContext, questions: list[Json], told: str) -> None:
    assert told in misuse(run(ASK_USER_QUESTION, scene, questions=questions))


def test_what_nobody_answered(scene: ToolContext) -> None:
    async def ask(questions: Sequence[Json]) -> Mapping[str, Any]:
        return {}

    result = run(ASK_USER_QUESTION, replace(scene, ask=ask), questions=[question("q?", "a", "b")])
    assert good(result).startswith("The user did not answer.")
    assert result.detail["answers"] == {}


def test_planning(scene: ToolContext, tmp_path: Path) -> None:
    modes: list[bool] = []

    async def planning(begins: bool) -> None:
        modes.append(begins)

    here = replace(scene, planning=planning)
    assert "no plan mode" in misuse(run(ENTER_PLAN_MODE, scene))
    assert "no plan mode" in misuse(run(EXIT_PLAN_MODE, scene, plan="x"))
    result = run(ENTER_PLAN_MODE, here)
    assert result.detail == {"message": result.content}
    assert "There is no plan to show. Give it as `plan`." in misuse(run(EXIT_PLAN_MODE, here))
    assert modes == [True]
    result = run(EXIT_PLAN_MODE, here, plan="# First")
    assert result.detail == {"plan": "# First", "isAgent": False}
    assert modes == [True, False]
    scene.state.plan = tmp_path / "plan.md"
    assert f"Write the plan to {scene.state.plan}." in good(run(ENTER_PLAN_MODE, here))
    assert f"Write it to {scene.state.plan} first." in misuse(run(EXIT_PLAN_MODE, here))
    scene.state.plan.write_text("# Second\n")
    result = run(EXIT_PLAN_MODE, here)
    assert good(result).startswith("User has approved your plan.")
    assert result.detail == {"plan": "# Second\n", "isAgent": False, "filePath": str(scene.state.plan)}
    assert result_kind(result.detail) == "ExitPlanMode"


class OneSkill:
    def names(self) -> Sequence[str]:
        return ["hello"]

    async def body(self, name: str, arguments: str) -> SkillBody | None:
        return SkillBody(f"Say hello to {arguments}.", Path("/skills/hello")) if name == "hello" else None


def test_skills(scene: ToolContext) -> None:
    result = run(create_skill_tool(OneSkill()), scene, skill="hello", args="Ada")
    assert result.content == "Launching skill: hello"
    assert result.detail == {"success": True, "commandName": "hello"}
    assert result.notes == ("Base directory for this skill: /skills/hello\n\nSay hello to Ada.",)
    assert misuse(run(create_skill_tool(OneSkill()), scene, skill="other")) == "Unknown skill: other. There are: hello."
    assert misuse(run(create_skill_tool(None), scene, skill="other")) == "Unknown skill: other. There are none."


class Engine:
    async def find(self, query: str, allowed: Sequence[str], blocked: Sequence[str]) -> Sequence[WebHit]:
        if query == "trouble":
            raise SearchFailed("the quota is used up")
        return [WebHit("One", "https://one.example/a", "about one"), WebHit("Two", "https://www.two.example/b")]


def test_searching_the_web(scene: ToolContext) -> None:
    tool = create_web_search(Engine())
    result = run(tool, scene, query="numbers")
    links = [{"title": "One", "url": "https://one.example/a"}, {"title": "Two", "url": "https://www.two.example/b"}]
    assert good(result).startswith('Web search results for query: "numbers"\n\nLinks: [{"title": "One"')
    assert result.detail["query"] == "numbers"
    assert result.detail["results"] == [{"tool_use_id": "toolu_01", "content": links}, "One: about one"]
    assert result.detail["durationSeconds"] >= 0
    assert result_kind(result.detail) == "WebSearch"
    only = run(tool, scene, query="numbers", allowed_domains=["two.example"])
    assert only.detail["results"][0]["content"] == links[1:]
    but = run(tool, scene, query="numbers", blocked_domains=["example"])
    assert but.detail["results"][0]["content"] == []
    assert "not both" in misuse(run(tool, scene, query="ab", allowed_domains=["a"], blocked_domains=["b"]))
    assert trouble(run(tool, scene, query="trouble")) == "The web search failed: the quota is used up"
    assert trouble(run(create_web_search(None), scene, query="ab")).startswith("No web search is set up here.")


def searcher(tmp_path: Path, command: str, seconds: float = 20.0) -> Tool:
    return create_web_search(SearchCommand(command, tmp_path, dict(os.environ), seconds))


def test_a_command_of_the_user_searches_the_web(scene: ToolContext, tmp_path: Path) -> None:
    page = '{"title": "One", "url": "https://one.example/a", "text": "about one", "rank": 1}'
    other = '{"title": "Two", "url": "https://two.example"}'
    tool = searcher(tmp_path, f"cat > asked.json; echo '[{page}, {other}]'")
    result = run(tool, scene, query="a $(touch ran) 'quoted' ß", allowed_domains=["one.example"])
    assert result.detail["results"] == [
        {"tool_use_id": "toolu_01", "content": [{"title": "One", "url": "https://one.example/a"}]},
        "One: about one",
    ]
    asked = json.loads((tmp_path / "asked.json").read_text())
    expected = {"query": "a $(touch ran) 'quoted' ß", "allowed_domains": ["one.example"], "blocked_domains": []}
    assert asked == expected and not (tmp_path / "ran").exists()
    assert run(searcher(tmp_path, "echo '[]'"), scene, query="nothing").detail["results"][0]["content"] == []


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("echo first >&2; echo the quota is used up >&2; exit 3", "ended with code 3: the quota is used up"),
        ("exit 1", "ended with code 1."),
        ("no-such-program-at-all", "ended with code 127: "),
        ("echo hello", "did not print a JSON array"),
        ("echo '[{\"title\": 1}]'", "did not print a JSON array"),
        ("true", "did not print a JSON array"),
        ("printf '[\\377]'", "did not print a JSON array"),
        ("yes | head -c 2000000", "printed more than 1 MB"),
    ],
)
def test_a_search_command_that_fails_is_reported(scene: ToolContext, tmp_path: Path, command: str, why: str) -> None:
    said = trouble(run(searcher(tmp_path, command), scene, query="numbers"))
    assert said.startswith("The web search failed: the search command ") and why in said


def test_a_search_command_that_does_not_end_is_stopped(scene: ToolContext, tmp_path: Path) -> None:
    said = trouble(run(searcher(tmp_path, "sleep 600", 0.2), scene, query="numbers"))
    assert said == "The web search failed: the search command did not end within 0.2 seconds."


def test_the_toolbox_holds_every_tool() -> None:
    tools = create_tools()
    assert set(tools) == {
        *("Task", "Agent", "Bash", "BashOutput", "TaskOutput", "KillShell", "TaskStop", "Glob", "Grep", "Read", "Edit"),
        *("MultiEdit", "Write", "NotebookEdit", "WebFetch", "WebSearch", "TodoWrite", "AskUserQuestion"),
        *("EnterPlanMode", "ExitPlanMode", "Skill"),
    }
    assert {tool.name for tool in select_offered(tools.values())} == set(tools) - set(ALIASES)
    for name, tool in tools.items():
        assert tool.name == name
        assert 20 < len(tool.description) < 400
        assert tool.schema["type"] == "object"
        assert tool.schema["additionalProperties"] is False
        known = {field.removesuffix("?") for field in TOOLS[name].inputs}
        assert known <= set(tool.schema["properties"]), name


def test_what_only_looks_may_run_side_by_side() -> None:
    tools = create_tools()
    changing = {"Bash", "Edit", "MultiEdit", "Write", "NotebookEdit", "KillShell", "TaskStop", "Task", "Agent"}
    for name in changing | {"TodoWrite", "ExitPlanMode"}:
        assert not tools[name].is_read_only({}), name
    for name in ("Read", "Glob", "Grep", "WebFetch", "WebSearch", "TaskOutput"):
        assert tools[name].is_read_only({}), name


def test_nothing_is_loaded_before_it_is_needed() -> None:
    script = (
        "import sys, clew.chat.tools.toolbox as t; t.create_tools(); print({'httpx', 'pypdf'} & set(sys.modules) or [])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
