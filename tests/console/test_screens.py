"""Screens of the console that are compared with captures, and what commands and failures show on them."""

from __future__ import annotations

import asyncio
import base64
import re
import subprocess
from pathlib import Path

import pytest

from clew.api.mock.scripts import Fault, ScriptRule, ScriptStep
from clew.console.menu import Menu
from clew.console.question_box import layout_question
from clew.console.questionnaire import ask_questions
from tests.console.terminal import CTRL_C, ENTER, ESC, captured, use, world

CTRL_O = "\x0f"
SIZES = [(80, 24), (120, 40)]
THOUGHT = {"type": "thinking", "thinking": "Widgets come first.\nThen their parts.", "signature": "c2ln"}
LINES = "seq 1 30"
FOUR_CALLS = [
    use("Read", file_path="a.py"),
    use("Bash", command="echo one\necho two"),
    use("Grep", pattern="value"),
    use("Glob", pattern="*.py"),
]
HELLO = ScriptRule(prompt="hello", steps=["Hello there."])


def test_what_was_folded_in_the_last_turn_is_shown_on_request(tmp_path: Path) -> None:
    rules = [ScriptRule(prompt="think", steps=[[THOUGHT, use("Bash", command=LINES)], "Counted."])]
    with world(tmp_path, rules) as made, made.console("--allowedTools", "Bash(seq *)", rows=60) as console:
        console.idle()
        console.say("think about it")
        console.see("● Counted.", "✻ Thought", "… +24 lines")
        assert "Then their parts." not in console.screen
        console.type(CTRL_O)
        console.see(
            "Folded in the last turn:", "Widgets come first.", "Then their parts.", "     30", "verbose (ctrl+o)"
        )
        console.type(CTRL_O)
        console.miss("verbose (ctrl+o)")
        console.type(CTRL_O)
        console.see("verbose (ctrl+o)")
        assert console.everything.count("Then their parts.") == 1


def test_parallel_calls_are_printed_once_and_lines_of_commands_stay_apart(tmp_path: Path) -> None:
    rules = [ScriptRule(prompt="look", steps=[["I look.", *FOUR_CALLS], "Seen."])]
    with world(tmp_path, rules) as made:
        (made.project / "a.py").write_text("value = 1\n")
        with made.console(rows=40) as console:
            console.idle()
            console.say("look around")
            console.see("● Seen.", "Took ")
            console.idle()
            shown = console.everything
            for title in ("Read(a.py)", "Bash(echo one ↵ echo two)", "Grep(value)", "Glob(*.py)"):
                assert shown.count(f"● {title}") == 1, shown
            assert shown.count("Read 2 lines") == 1


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_menus_of_the_model_the_effort_and_the_commands(tmp_path: Path, columns: int, rows: int) -> None:
    with world(tmp_path, [HELLO]) as made, made.console("--model", "sonnet", columns=columns, rows=rows) as console:
        console.idle()
        console.type("/")
        console.see("/help", "(↑↓)")
        captured(console, "commands")
        console.type("model", ENTER)
        console.see("Which model?", "❯ 1. sonnet (now)")
        captured(console, "model")
        console.type(ENTER)  # the model in use is selected
        console.see("The model is now claude-sonnet-5-5.")
        console.say("/effort")
        console.see("Which effort", "(now)")
        captured(console, "effort")
        console.type(ESC)
        console.idle()
        console.type("!ls")
        console.see("runs in the shell")
        console.type(CTRL_C)
        console.see("/help for help")


def test_a_failure_is_printed_once_and_attempts_are_counted(tmp_path: Path) -> None:
    down = Fault(status=500, kind="api_error", message="Internal server error", times=2)
    wrong = Fault(status=400, kind="invalid_request_error", message="messages.0: wrong")
    rules = [
        ScriptRule(prompt="down", steps=[ScriptStep(content="Up again.", fault=down)]),
        ScriptRule(prompt="wrong", steps=[ScriptStep(fault=wrong)]),
    ]
    with world(tmp_path, rules) as made, made.console() as console:
        console.idle()
        console.say("are you down")
        console.see("! API error 500: Internal server error. Retrying in", "Attempt 1 of 10 failed, retrying…")
        console.see("● Up again.")
        console.idle()
        assert console.everything.count("Internal server error") == 1
        console.say("all wrong")
        console.see("✗ API error 400: messages.0: wrong.")
        console.idle()
        assert "$0.0000" not in console.screen  # a request that failed costs nothing, and says nothing about it


def test_a_server_that_refuses_connections_is_named_without_numbers(tmp_path: Path) -> None:
    nowhere = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    with world(tmp_path, [], more=nowhere) as made, made.console() as console:
        console.idle()
        console.say("hello")
        console.see("! http://127.0.0.1:9 cannot be reached: Connection refused.", "Attempt 1 of 10")
        assert "Errno" not in console.everything


def test_init_lets_the_model_write_the_memory_file(tmp_path: Path) -> None:
    write = use("Write", file_path="CLAUDE.md", content="# Widgets\n")
    rules = [ScriptRule(prompt="write CLAUDE.md", steps=[[write], "Described."])]
    with world(tmp_path, rules) as made, made.console() as console:
        console.idle()
        console.say("/init mind the tests")
        console.see("Write this file?", "# Widgets")
        console.answer(1)
        console.see("● Described.")
        assert (made.project / "CLAUDE.md").read_text() == "# Widgets\n"
        assert "The user adds: mind the tests" in str(made.sent[0]["messages"])
        console.idle()
        console.say("/memory")
        console.see("CLAUDE.md (")


def test_copy_sends_the_last_reply_to_the_terminal(tmp_path: Path) -> None:
    rules = [ScriptRule(prompt="talk", steps=[["Before.", use("Bash", command="true")], "Größe **zwei**.\n\n- a"])]
    with world(tmp_path, rules) as made, made.console() as console:
        console.idle()
        console.say("/copy")
        console.see("There is no reply to copy yet.")
        console.say("talk to me")
        console.see("● Größe zwei.")
        console.idle()
        console.say("/copy")
        console.see("Sent 20 characters to the clipboard of the terminal.")
        [sent] = re.findall(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07", console.bytes)
        assert base64.b64decode(sent).decode() == "Größe **zwei**.\n\n- a"


def test_the_cost_stays_when_a_session_is_resumed(tmp_path: Path) -> None:
    with world(tmp_path, [HELLO]) as made, made.console() as console:
        console.idle()
        console.say("hello one")
        console.see("● Hello there.", "Took ")
        console.idle()
        console.say("/clear")
        console.miss("● Hello there.")
        console.idle()
        console.say("/resume")
        console.see("Resume which session?", "❯ hello one")
        console.type(ENTER)
        console.see("● Hello there.", "Took ")
        console.idle()
        assert "turn took" not in console.everything
        console.say("/cost")
        console.see("Total cost")
        spent = re.search(r"Total cost\s+\$(\d+\.\d+)", console.screen)
        assert spent is not None and float(spent[1]) > 0


def test_a_command_in_the_background_is_named_shortly(tmp_path: Path) -> None:
    rules = [ScriptRule(prompt="wait", steps=[[use("Bash", command="sleep 60", run_in_background=True)], "It runs."])]
    with world(tmp_path, rules) as made, made.console("--allowedTools", "Bash(sleep *)") as console:
        console.idle()
        console.say("wait for it")
        console.see("It is running in background as b", "● It runs.", "◆ command: sleep 60", "1 in the background")
        console.say("/tasks")
        console.see("Background tasks", "1. Stop sleep 60  command")
        console.answer(1)
        console.miss("◆ command")


def test_a_small_terminal_shows_the_subject_of_a_question_first(tmp_path: Path) -> None:
    edit = use("Edit", file_path="a.py", old_string="value = 1", new_string="value = 2")
    rules = [ScriptRule(prompt="edit", steps=[[use("Read", file_path="a.py")], [edit], "Edited."])]
    with world(tmp_path, rules) as made:
        (made.project / "a.py").write_text("value = 1\n")
        with made.console(columns=36, rows=16) as console:
            console.idle()
            console.say("edit it")
            console.see("Make this edit?", "1 - value = 1", "1 + value = 2")
            console.ready()
            captured(console, "edit-question")


def test_tabs_that_do_not_fit_are_marked() -> None:
    questions = [
        {"question": f"Number {n}?", "header": f"Question {n}", "options": [{"label": "Yes"}]} for n in range(6)
    ]
    seen = []

    async def ask(menu: Menu) -> None:
        seen.append("".join(text for _, text in layout_question(menu, 36, 16).rows[1]))

    asyncio.run(ask_questions(questions, False, ask))
    assert seen == [" ← · Question 0  · Question 1 … →"]


def test_what_cannot_be_undone_is_named_once(tmp_path: Path) -> None:
    rules = [ScriptRule(prompt="change", steps=[[use("Bash", command="rm -rf sub/.git; echo x > a")], "Changed."])]
    with world(tmp_path, rules) as made:
        for folder in (".", "sub", "other"):
            (made.project / folder).mkdir(exist_ok=True)
            subprocess.run(["git", "init", "-q", "."], cwd=made.project / folder, env=made.environment, check=True)
        with made.console("--allowedTools", "Bash") as console:
            console.idle()
            console.say("change it")
            console.see("● Changed.", "left out: other/, sub/.")
            console.idle()
            assert console.everything.count("Not everything that commands change can be undone") == 1


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_the_todo_list_stays_while_the_model_works(tmp_path: Path, columns: int, rows: int) -> None:
    states = ("completed", "completed", "in_progress", *("pending",) * 5)
    todos = [{"content": f"Step {n}", "status": state, "activeForm": f"Doing {n}"} for n, state in enumerate(states)]
    done = [todo | {"status": "completed"} for todo in todos]
    hang = ScriptStep(content="One two three.", chunk=4, fault=Fault(stream="hang", after=5))
    rules = [
        ScriptRule(prompt="work", steps=[[use("TodoWrite", todos=todos)], hang]),
        ScriptRule(prompt="finish", steps=[[use("TodoWrite", todos=done)], hang]),
    ]
    with world(tmp_path, rules) as made, made.console(columns=columns, rows=rows) as console:
        console.idle()
        console.say("work on it")
        console.see("Writing… ", "◐ Step 2", "… 2 more todos")
        captured(console, "todos")
        console.type(ESC)
        console.see("Interrupted.")
        console.idle()
        assert "more todos" not in console.screen
        console.say("finish it")
        console.see("Writing… ", "TodoWrite(8/8 done)")
        console.type(ESC)
        console.see("Interrupted.")


def test_options_without_an_effect_are_named_and_not_written_over_the_prompt(tmp_path: Path) -> None:
    with world(tmp_path, [HELLO]) as made, made.console("--permission-mode", "auto", "--effort", "huge") as console:
        console.idle()
        console.see("! The mode auto is not supported by clew; using the mode default.", "! unknown effort 'huge'")
        console.say("hello")
        console.see("● Hello there.")
        console.idle()
        assert console.everything.count("is not supported by clew") == 1
