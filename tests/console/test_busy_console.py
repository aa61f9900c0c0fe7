"""What the console does while something runs: commands, the queue, questions with tabs and agents; and its main screens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from clew.api.mock.scripts import Fault, ScriptRule, ScriptStep
from tests.console.terminal import CTRL_C, ENTER, ESC, UP, captured, use, world

HANG = ScriptStep(content="One two three.", chunk=4, fault=Fault(stream="hang", after=5))
LEFT, RIGHT = "\x1b[D", "\x1b[C"
SIZES = [(80, 24), (120, 40)]
OLD, NEW = (
    "".join(f"value_{n} = {n}\n" for n in range(3)),
    "def total(values: list[int]) -> int:\n    return sum(values)\n",
)


@pytest.mark.req("R240")
def test_commands_answer_while_busy_and_the_queue_is_kept_in_order(tmp_path: Path) -> None:
    with world(tmp_path, [ScriptRule(prompt="tell", steps=[HANG])]) as made, made.console(rows=30) as console:
        console.idle()
        console.say("tell me")
        console.see("esc to interrupt")
        console.say("/cost")
        console.see("Cost since the console started", "esc to interrupt")
        console.say("/model haiku")
        console.see("The model is now claude-haiku-5-5.", "esc to interrupt")
        for line in ("first", "/compact", "second"):
            console.say(line)
            console.see(f"❯ {line}  (queued)")
        queued = re.findall(r"❯ (.*)  \(queued\)", console.screen)
        assert queued == ["first", "/compact", "second"]
        captured(console, "queue")
        console.type(UP)
        console.miss("❯ second  (queued)")
        console.see("❯ second")
        console.type(CTRL_C)  # interrupts; the line that is edited stays
        console.see("Interrupted.", "Not run: /compact")
        console.miss("(queued)")
        console.see("❯ second")
        assert len(made.sent) == 1


def test_the_cost_is_that_of_the_console_and_not_of_the_session(tmp_path: Path) -> None:
    with world(tmp_path, [ScriptRule(prompt="hello", steps=["Hello."])]) as made, made.console() as console:
        console.idle()
        console.say("hello")
        console.see("● Hello.", "Took ")
        console.idle()
        console.say("/clear")
        console.miss("● Hello.")
        console.idle()
        console.say("/cost")
        console.see("Total cost")
        spent = re.search(r"Total cost\s+\$(\d+\.\d+)", console.screen)
        assert spent is not None and float(spent[1]) > 0


def test_nothing_is_written_into_a_folder_that_is_not_trusted(tmp_path: Path) -> None:
    rules = [ScriptRule(prompt="make", steps=[[use("Bash", command="mkdir -p sub")], "Made."])]
    with world(tmp_path, rules) as made, made.console() as console:
        console.idle()
        console.say("make it")
        console.see("don't ask again for Bash(mkdir -p sub)", "in this session")
        console.answer(2)
        console.see("● Made.", "Allowed from now on in this session")
        console.idle()
        assert not (made.project / ".claude").exists()


QUESTIONS = [
    {
        "question": f"Which {name}?",
        "header": name.capitalize(),
        "options": [{"label": label, "description": f"It is {label.lower()}."} for label in labels],
        "multiSelect": False,
    }
    for name, labels in (("colour", ("Red", "Blue")), ("size", ("Small", "Large")))
]


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_answers_can_be_revisited(tmp_path: Path, columns: int, rows: int) -> None:
    rules = [ScriptRule(prompt="ask", steps=[[use("AskUserQuestion", questions=QUESTIONS)], "Thanks."])]
    with world(tmp_path, rules) as made, made.console(columns=columns, rows=rows) as console:
        console.idle()
        console.say("ask me")
        console.see("Which colour?", "· Colour", "· Size", "Submit")
        console.answer(1)
        console.see("Which size?", "✓ Colour")
        console.ready()
        captured(console, "ask-user")
        console.type(LEFT)
        console.see("Which colour?", "❯ 1. Red")
        console.until(lambda: "enter to choose" in console.screen, "a question that takes keys")
        console.type("2")
        console.see("❯ 2. Blue")
        console.type(ENTER)
        console.see("Which size?")
        console.answer(2)
        console.see("Submit these answers?", "Colour: Blue", "Size:   Large")
        console.answer(1)
        console.see("● Thanks.")
        assert "Blue" in str(made.sent[-1]["messages"]) and "Large" in str(made.sent[-1]["messages"])


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_the_main_screens(tmp_path: Path, columns: int, rows: int) -> None:
    work = use(
        "Task", description="Look around", prompt="inner", subagent_type="general-purpose", run_in_background=True
    )
    rules = [
        ScriptRule(prompt="inner", steps=[[use("Glob", pattern="*.py")], HANG]),
        ScriptRule(prompt="edit", steps=[[use("Read", file_path="a.py")], [EDIT], "Edited."]),
        ScriptRule(prompt="write", steps=[[use("Write", file_path="long.py", content="x = 1\n" * 40)], "Written."]),
        ScriptRule(prompt="agent", steps=[[work], "It looks around."]),
    ]
    with world(tmp_path, rules) as made:
        (made.project / "a.py").write_text(OLD)
        with made.console(columns=columns, rows=rows) as console:
            console.idle()
            console.say("edit it")
            console.see("Make this edit?", "return sum(values)")
            console.ready()
            captured(console, "edit-question")
            console.answer(2)
            console.see("● Edited.", "Took ")
            console.idle()
            console.say("write it")
            console.see("● Written.", "… +30 lines")
            console.idle()
            console.say("use an agent")
            console.see("● It looks around.", "◆ general-purpose: Look around (1 call")
            captured(console, "agents")
            console.say("/context")
            console.see("■ Messages", "Free space")
            captured(console, "context")
            console.type(ESC)


EDIT = use("Edit", file_path="a.py", old_string="value_1 = 1\n", new_string=NEW)
