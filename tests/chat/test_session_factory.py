"""A session as it is wished for: settings, rules, hooks, memory, skills, agents, files that are named, and servers."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from clew.api.mock.scripts import AnyStep, ScriptRule
from clew.chat import events
from clew.chat.permission.decision import Decision
from clew.chat.session_factory import ChatSession, open_session
from clew.chat.session_spec import SessionSpec
from tests.chat.chat_fixture import MODEL, SESSION, World, sound, use, world
from tests.chat.test_mcp_client import SERVER


def spec(made: World, **more: Any) -> SessionSpec:
    made.project.mkdir(parents=True, exist_ok=True)
    defaults: dict[str, Any] = {"session_id": SESSION, "model": MODEL, "durability": "off", "entrypoint": "sdk-cli"}
    defaults |= {"endpoint": made.endpoint}
    return SessionSpec(cwd=made.project, claude=made.root / "claude", **{**defaults, **more})


def say(made: World, *prompts: str, **more: Any) -> events.TurnFinished:
    async def run(opened: ChatSession) -> events.TurnFinished:
        return [await opened.say(prompt) for prompt in prompts][-1]

    finished: events.TurnFinished = within(made, run, **more)
    return finished


def within(made: World, work: Callable[[ChatSession], Awaitable[Any]], **more: Any) -> Any:
    async def run() -> Any:
        async with open_session(spec(made, **more), made.events.append) as opened:
            return await work(opened)

    return asyncio.run(run())


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def results(made: World) -> list[str]:
    blocks = [b for m in made.sent[-1]["messages"] for b in m["content"] if b["type"] == "tool_result"]
    return [b["content"] if isinstance(b["content"], str) else b["content"][0]["text"] for b in blocks]


EDIT: list[AnyStep] = [
    [use("Read", file_path="PROJECT/a.txt")],
    [use("Edit", file_path="PROJECT/a.txt", old_string="one", new_string="two")],
    [use("Bash", command="git push --force")],
    "Done.",
]


def steps(made_steps: list[AnyStep], project: Path) -> list[AnyStep]:
    text = json.dumps(made_steps).replace("PROJECT", str(project))
    found: list[AnyStep] = json.loads(text)
    return found


@pytest.mark.parametrize(
    ("more", "content", "denied"),
    [
        ({}, "one", 2),
        ({"mode": "acceptEdits"}, "two", 1),
        ({"allowed": ("Edit", "Bash(git push *)")}, "two", 0),
        ({"mode": "bypassPermissions", "disallowed": ("Bash(git push *)",)}, "two", 1),
    ],
)
def test_rules_and_modes_decide(tmp_path: Path, more: dict[str, Any], content: str, denied: int) -> None:
    with world(tmp_path, *steps(EDIT, tmp_path.resolve() / "project")) as made:
        file = write(made.project / "a.txt", "one\n")
        done = say(made, "go", **more)
    assert done.text == "Done." and file.read_text() == f"{content}\n"
    assert len(done.denials) == denied
    sound(made.path())


def test_the_package_opens_a_session(tmp_path: Path) -> None:
    """The names that `clew.chat` offers are enough for a program that asks one question."""
    from clew.chat import Engine, SessionSpec, open_session

    with world(tmp_path, "Hi.") as made:
        made.project.mkdir()
        described = SessionSpec(cwd=made.project, claude=made.root / "claude", endpoint=made.endpoint, model=MODEL)

        async def run() -> str:
            async with open_session(described, made.events.append) as opened:
                assert isinstance(opened.engine, Engine)
                return (await opened.engine.submit("go")).text

        assert asyncio.run(run()) == "Hi."


def test_tools_that_are_refused_by_name_are_not_offered(tmp_path: Path) -> None:
    with world(tmp_path, "Hi.") as made:
        say(made, "go", disallowed=("Bash", "WebFetch"), tools=("Bash", "Read", "Edit"))
    assert [tool["name"] for tool in made.sent[0]["tools"]] == ["Read", "Edit"]


HOOK = "import json,sys; d=json.load(sys.stdin); open({log!r},'a').write(d['hook_event_name']+'\\n'); {rest}"


def hooked(folder: Path, **rest: str) -> dict[str, Any]:
    """Settings with a hook for each event, each a real program that notes it."""
    names = (
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "Stop",
        "SessionEnd",
    )
    found: dict[str, Any] = {}
    for name in names:
        script = write(folder / f"{name}.py", HOOK.format(log=str(folder / "log"), rest=rest.get(name, "pass")))
        found[name] = [{"hooks": [{"type": "command", "command": f"{sys.executable} {script}"}]}]
    return {"hooks": found}


def test_hooks_are_told_and_heard(tmp_path: Path) -> None:
    output = "{'hookEventName': d['hook_event_name'], 'additionalContext': 'from a hook'}"
    added = f"print(json.dumps({{'hookSpecificOutput': {output}}}))"
    refuses = "d['tool_input'].get('command') == 'false' and (print('not that one', file=sys.stderr), sys.exit(2))"
    stops = "d['stop_hook_active'] or (print('look again', file=sys.stderr), sys.exit(2))"
    settings = hooked(tmp_path / "hooks", UserPromptSubmit=added, PreToolUse=refuses, PostToolUse=added, Stop=stops)
    with world(tmp_path, [use("Bash", command="true"), use("Bash", command="false")], "Done.", "Really.") as made:
        done = say(made, "go", settings=settings, mode="bypassPermissions")
    assert done.text == "Really."
    assert "not that one" in results(made)[1]
    sent = json.dumps(made.sent[-1]["messages"])
    assert sent.count("from a hook") == 2 and "look again" in sent
    told = (tmp_path / "hooks" / "log").read_text().split()
    assert told[:2] == ["SessionStart", "UserPromptSubmit"] and told[-3:] == ["Stop", "Stop", "SessionEnd"]
    assert told.count("PreToolUse") == 2 and told.count("PostToolUse") == 1
    assert any(line.get("data", {}).get("type") == "hook_progress" for line in made.lines())
    sound(made.path())


def test_a_prompt_that_a_hook_refuses_is_not_said(tmp_path: Path) -> None:
    settings = hooked(tmp_path / "hooks", UserPromptSubmit="print('no', file=sys.stderr); sys.exit(2)")
    with world(tmp_path, "Never.") as made:
        done = say(made, "go", settings=settings)
    assert made.sent == [] and "no" in done.text and not done.is_error


def test_a_prompt_that_waits_in_the_queue_is_told_to_hooks_too(tmp_path: Path) -> None:
    refuses = "d['prompt'] == 'bad' and (print('no', file=sys.stderr), sys.exit(2))"
    settings = hooked(tmp_path / "hooks", UserPromptSubmit=refuses)
    with world(tmp_path, [use("Bash", command="true")], "Done.") as made:

        async def work(opened: ChatSession) -> None:
            turn = asyncio.create_task(opened.say("go"))
            while not made.of(events.BlockCompleted):
                await asyncio.sleep(0)
            opened.engine.queue("bad")
            opened.engine.queue("good")
            await turn

        within(made, work, settings=settings, mode="bypassPermissions")
    assert "bad" not in str(made.sent[-1]["messages"]) and "good" in str(made.sent[-1]["messages"])
    sound(made.path())


def answering(
    made: World, answers: Callable[[events.Event], None]
) -> Callable[[ChatSession], Awaitable[events.TurnFinished]]:
    """Say go, and answer what is asked."""

    async def work(opened: ChatSession) -> events.TurnFinished:
        turn = asyncio.create_task(opened.say("go"))
        seen = 0
        while not turn.done():
            for each in made.events[seen:]:
                answers(each)
            seen = len(made.events)
            await asyncio.sleep(0)
        return turn.result()

    return work


def test_the_model_asks_the_person(tmp_path: Path) -> None:
    options = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]
    question = {"question": "Which colour?", "header": "Colour", "options": options, "multiSelect": False}

    def answers(each: events.Event) -> None:
        if isinstance(each, events.QuestionRequested):
            each.answer.set_result({"Which colour?": "Blue"})
        elif isinstance(each, events.PermissionRequested):
            each.answer.set_result(Decision("allow"))

    with world(tmp_path, [use("AskUserQuestion", questions=[question])], "Blue it is.") as made:
        done = within(made, answering(made, answers), can_prompt_user=True)
    assert done.text == "Blue it is." and "Blue" in results(made)[0]
    sound(made.path())


def test_planning_is_a_mode_that_changes_nothing(tmp_path: Path) -> None:
    plan: list[AnyStep] = [
        [use("EnterPlanMode")],
        [use("Write", file_path="PROJECT/x.txt", content="x")],
        [use("ExitPlanMode", plan="Write x.")],
        [use("Write", file_path="PROJECT/x.txt", content="x")],
        "Done.",
    ]
    asked: list[str] = []

    def answers(each: events.Event) -> None:
        if isinstance(each, events.PermissionRequested):
            asked.append(each.name)
            each.answer.set_result(Decision("allow"))

    with world(tmp_path, *steps(plan, tmp_path.resolve() / "project")) as made:
        within(made, answering(made, answers), can_prompt_user=True, mode="acceptEdits")
    told = results(made)
    assert "ExitPlanMode" in asked and (made.project / "x.txt").read_text() == "x"
    assert len(told) == 4 and "plan" in told[1].lower()


@pytest.mark.req("R249")
def test_a_skill_is_a_command_with_its_body_below(tmp_path: Path) -> None:
    with world(tmp_path, "Done.") as made:
        write(
            made.project / ".claude" / "commands" / "greet.md",
            "---\ndescription: Greets.\n---\ngo and greet $ARGUMENTS",
        )
        say(made, "/greet Ada")
    lines = [line for line in made.lines() if line["type"] == "user"]
    assert "<command-name>/greet</command-name>" in lines[0]["message"]["content"] and "isMeta" not in lines[0]
    assert lines[1]["isMeta"] and lines[1]["parentUuid"] == lines[0]["uuid"]
    assert lines[1]["message"]["content"] == "go and greet Ada"
    sound(made.path())


@pytest.mark.req("R249")
def test_the_model_uses_a_skill(tmp_path: Path) -> None:
    with world(tmp_path, [use("Skill", skill="tidy")], "Done.") as made:
        write(
            made.project / ".claude" / "skills" / "tidy" / "SKILL.md",
            "---\ndescription: Tidies up.\n---\nTidy the desk.",
        )
        say(made, "go", mode="bypassPermissions")
    assert "tidy: Tidies up." in str(made.sent[0]["messages"][0])
    note = next(line for line in made.lines() if line.get("isMeta"))
    assert "Tidy the desk." in str(note["message"]["content"]) and note["sourceToolUseID"]


def test_memory_and_named_files_reach_the_model(tmp_path: Path) -> None:
    with world(tmp_path, "Done.") as made:
        write(made.project / "CLAUDE.md", "Speak like a pirate.")
        write(made.project / "notes.txt", "the treasure\n")
        say(made, "go and see @notes.txt")
    first = made.sent[0]["messages"][0]["content"]
    assert "Speak like a pirate." in first[0]["text"] and first[0]["text"].startswith("<system-reminder>")
    assert "the treasure" in first[-1]["text"]
    assert "pirate" not in json.dumps(made.sent[0]["system"]) and "pirate" not in json.dumps(made.lines())


def test_memory_of_a_folder_comes_when_a_file_in_it_is_read(tmp_path: Path) -> None:
    inner = tmp_path.resolve() / "project" / "deep"
    with world(tmp_path, [use("Read", file_path=str(inner / "a.txt"))], "Done.") as made:
        write(inner / "CLAUDE.md", "Here be dragons.")
        write(inner / "a.txt", "x")
        say(made, "go")
    assert "dragons" not in str(made.sent[0]["messages"]) and "dragons" in str(made.sent[1]["messages"][-1])


def test_a_kind_of_agent_from_a_file(tmp_path: Path) -> None:
    rules = [
        ScriptRule(prompt="judge this", steps=["Guilty."]),
        ScriptRule(
            prompt="go", steps=[[use("Task", description="d", prompt="judge this", subagent_type="judge")], "Done."]
        ),
    ]
    with world(tmp_path, rules=rules) as made:
        header = "---\nname: judge\ndescription: Judges.\ntools: Read\nmodel: haiku\n---\nYou judge."
        write(made.root / "claude" / "agents" / "judge.md", header)
        say(made, "go", mode="bypassPermissions")
    agent = made.sent[1]
    assert agent["system"][0]["text"] == "You judge." and agent["model"] == "claude-haiku-5-5"
    assert [tool["name"] for tool in agent["tools"]] == ["Read"]
    assert results(made)[0] == "Guilty."


def test_servers_are_used_only_where_they_were_named_or_are_trusted(tmp_path: Path) -> None:
    program = write(tmp_path / "server.py", SERVER)
    config = json.dumps({"mcpServers": {"calc": {"command": sys.executable, "args": [str(program)]}}})
    with world(tmp_path, [use("mcp__calc__add", a=1, b=2)], "Done.") as made:
        write(made.project / ".mcp.json", config)
        say(made, "go")
        assert "No such tool" in results(made)[0]
        say(made, "go", servers=(config,), allowed=("mcp__calc",), session_id="", resume=SESSION)
    assert results(made)[-1] == "3"


def test_untrusted_settings_run_nothing(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    hook = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": f"touch {marker}"}]}]}}
    with world(tmp_path, [use("Bash", command="touch x")], "Done.") as made:
        write(made.project / ".claude" / "settings.json", json.dumps({**hook, "permissions": {"allow": ["Bash"]}}))
        done = say(made, "go")
        assert not marker.exists() and len(done.denials) == 1 and made.of(events.Notice)
        done = say(made, "go", is_trusted=True, session_id="", resume=SESSION)
    assert marker.exists() and done.denials == ()


def test_git_starts_no_program_of_a_repository_that_is_not_trusted(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    with world(tmp_path, [use("Bash", command="git status")], "Done.") as made:
        made.project.mkdir(exist_ok=True)
        for words in (("init", "-q"), ("config", "core.fsmonitor", f"touch {marker}; false")):
            subprocess.run(["git", *words], cwd=made.project, check=True)
        done = say(made, "go")
        assert len(done.denials) == 1 and not marker.exists()
        done = say(made, "go", allowed=("Bash(git status)",), session_id="", resume=SESSION)
        assert done.denials == () and not marker.exists()
        done = say(made, "go", is_trusted=True, session_id="", resume=SESSION)
        assert done.denials == () and marker.exists()


def test_compact_is_a_command(tmp_path: Path) -> None:
    rules = [
        ScriptRule(prompt="Sum up", steps=["In short."]),
        ScriptRule(prompt="first", steps=["One."]),
        ScriptRule(prompt="more", steps=["Two."]),
    ]
    with world(tmp_path, rules=rules) as made:
        done = say(made, "first", "/compact the names", "more")
    assert done.text == "Two." and "the names" in str(made.sent[1]["messages"][-1])
    kinds = made.kinds()
    at = kinds.index("compact_boundary")
    assert kinds[at : at + 7] == [
        *("compact_boundary", "summary-entry", "summary", "last-prompt", "note", "user", "user")
    ]
    assert "In short." in str(made.sent[-1]["messages"][0])
    sound(made.path())


def test_what_runs_in_the_background_ends_with_the_session(tmp_path: Path) -> None:
    command = f"sleep 60 & echo $! > {tmp_path}/pid; wait"
    with world(tmp_path, [use("Bash", command=command, run_in_background=True)], "Started.") as made:

        async def work(opened: ChatSession) -> None:
            await opened.say("go")
            while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
                await asyncio.sleep(0.01)

        within(made, work, mode="bypassPermissions")
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/cmdline").exists() or is_dead(tmp_path)


def is_dead(folder: Path) -> bool:
    state = Path(f"/proc/{(folder / 'pid').read_text().strip()}/stat").read_text().rpartition(")")[2].split()[0]
    return state == "Z"
