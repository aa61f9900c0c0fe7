"""The console in a terminal: what a person types, and what stands on the screen."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from pathlib import Path

from clew.api.mock.scripts import Fault, ScriptRule, ScriptStep
from clew.conversation.load import request
from tests.console.terminal import (
    CTRL_B,
    CTRL_C,
    CTRL_D,
    CTRL_R,
    DOWN,
    ENTER,
    ESC,
    PROMPT,
    SHIFT_TAB,
    TAB,
    UP,
    use,
    world,
)

HANG = ScriptStep(content="One two three.", chunk=4, fault=Fault(stream="hang", after=5))
BEGIN, END = b"\x1b[?2026h", b"\x1b[?2026l"
DOT = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
WAIT = "while [ ! -e go ]; do sleep 0.05; done; echo went"


def texts(body: object) -> str:
    return json.dumps(body, ensure_ascii=False)


def test_a_session_with_tools_and_questions(tmp_path: Path) -> None:
    rules = [
        ScriptRule(prompt="greet", steps=["# Title\n\nSome **bold** words.\n\n- one\n- two"]),
        ScriptRule(prompt="list", steps=[["I look.", use("Bash", command="echo found; touch made")], "It is listed."]),
        ScriptRule(prompt="write", steps=[[use("Write", file_path="a.txt", content="one\ntwo\n")], "It is written."]),
        ScriptRule(
            prompt="change", steps=[[use("Edit", file_path="a.txt", old_string="two", new_string="2")], "Changed."]
        ),
    ]
    with world(tmp_path, rules) as made, made.console() as console:
        console.idle()
        console.say("greet me")
        console.see("● Title", "Some bold words.", "• one")
        console.idle()
        console.say("list it")
        console.see("Run this command?", "1. Yes", "2. Yes, and don't ask again for")
        console.answer(1)
        console.see("⎿  found", "● It is listed.")
        console.idle()
        console.say("write it")
        console.see("Write this file?", "1 + one", "2 + two")
        console.ready()
        console.type(DOWN, DOWN, ENTER)
        console.see("● It is written.", "accepting edits")
        console.idle()
        console.say("change it")
        console.see("2 - two", "2 + 2", "● Changed.")
        console.idle()
        assert (made.project / "a.txt").read_text() == "one\n2\n"
        assert console.leave() == 0
        assert f"Resume with: clew chat --resume {made.session.id}" in console.everything
        assert [turn.text for turn in made.session.turns] == ["greet me", "list it", "write it", "change it"]
        assert request(made.session).is_resumable
        assert {line.get("entrypoint") for line in made.lines if "uuid" in line} == {"cli"}


def test_what_is_not_to_be_asked_again_is_remembered_and_a_no_can_say_why(tmp_path: Path) -> None:
    rules = [
        ScriptRule(prompt="again", steps=[[use("Bash", command="mkdir -p sub")], "Made again."]),
        ScriptRule(prompt="sub", steps=[[use("Bash", command="mkdir -p sub")], "Made."]),
        ScriptRule(prompt="push", steps=[[use("Bash", command="git push")], "As you like."]),
    ]
    with world(tmp_path, rules) as made, made.trusted(), made.console() as console:
        console.idle()
        console.say("make sub")
        console.see("don't ask again for Bash(mkdir -p sub)", "in this project")
        console.answer(2)
        console.see("● Made.")
        console.idle()
        console.say("and again")
        console.see("● Made again.")
        console.idle()
        kept = json.loads((made.project / ".claude" / "settings.local.json").read_text())
        assert kept["permissions"]["allow"] == ["Bash(mkdir -p sub)"]
        console.say("push it")
        console.see("Run this command?", "git push")
        console.answer(3)
        console.see("›")
        console.type("commit first", ENTER)
        console.see("says: commit first", "● As you like.")
        assert "commit first" in texts(made.sent[-1])
        console.idle()
        console.say("push at last")
        console.see("Run this command?")
        console.type(ESC)
        console.see("Interrupted.")
        console.until(lambda: "1. Yes" not in console.screen, "the end of the question")
        assert made.session.turns[-1].state == "interrupted"


def test_esc_interrupts_and_takes_the_queue_back(tmp_path: Path) -> None:
    with world(tmp_path, [ScriptRule(prompt="tell", steps=[HANG])]) as made, made.console() as console:
        console.idle()
        console.say("tell me")
        console.see("● One two", "esc to interrupt")
        console.say("and then")
        console.see("❯ and then  (queued)")
        console.type(ESC)
        console.see("Interrupted.")
        console.until(lambda: "❯ and then" in console.screen and "queued" not in console.screen, "the words taken back")
        operations = [line["operation"] for line in made.lines if line["type"] == "queue-operation"]
        assert operations == ["enqueue", "remove"]
        assert made.session.turns[-1].replies[-1].text.startswith("One two")
        console.type(CTRL_C)
        console.see(PROMPT)
        console.type(CTRL_C)
        console.see("ctrl+c again to leave")
        console.type(CTRL_C)
        assert console.ended() == 0


def test_what_is_said_meanwhile_is_heard_with_the_results(tmp_path: Path) -> None:
    rules = [
        ScriptRule(prompt="begin", steps=[[use("Bash", command=WAIT)], "unheard"]),
        ScriptRule(prompt="besides", steps=["Both are done."]),
    ]
    with world(tmp_path, rules) as made, made.console("--allowedTools", "Bash") as console:
        console.idle()
        console.say("begin it")
        console.see("Running Bash")
        console.say("and this besides")
        console.see("(queued)")
        (made.project / "go").touch()
        console.see("⎿  went", "● Both are done.")
        console.idle()
        assert "(queued)" not in console.screen
        operations = [line["operation"] for line in made.lines if line["type"] == "queue-operation"]
        assert operations == ["enqueue", "dequeue"]


def test_a_running_command_is_put_aside(tmp_path: Path) -> None:
    rules = [
        ScriptRule(prompt="task-notification", steps=["I heard that it ended."]),
        ScriptRule(prompt="begin", steps=[[use("Bash", command=WAIT)], "It runs on."]),
    ]
    with world(tmp_path, rules) as made, made.console("--allowedTools", "Bash") as console:
        console.idle()
        console.say("begin it")
        console.see("Running Bash")
        console.type(CTRL_B)
        console.see("running in background", "● It runs on.", "1 in the background")
        console.idle()
        (made.project / "go").touch()
        console.see("completed (exit code 0)", "● I heard that it ended.")
        console.idle()
        assert "in the background" not in console.screen


def test_going_back_leaves_turns_behind_and_brings_files_back(tmp_path: Path) -> None:
    rules = [
        ScriptRule(prompt="first", steps=["First answer."]),
        ScriptRule(prompt="second", steps=[[use("Write", file_path="b.txt", content="b\n")], "Second answer."]),
        ScriptRule(prompt="third", steps=["Third answer."]),
    ]
    with world(tmp_path, rules) as made, made.console("--permission-mode", "acceptEdits") as console:
        console.idle()
        console.say("first thing")
        console.see("● First answer.")
        console.idle()
        console.say("second thing")
        console.see("● Second answer.")
        console.idle()
        assert (made.project / "b.txt").read_text() == "b\n"
        (made.project / "b.txt").write_text("mine\n")
        console.type(ESC + ESC)
        console.see("Go back to before which prompt?", "❯ second thing", "first thing")
        console.type(ENTER)
        console.see("What should be restored?", "1. The files and the conversation", "3. The files")
        console.ready()
        console.type(ENTER)  # which alone chooses nothing
        console.answer(1)
        console.see("b.txt was changed after the session", "1 + mine", "1. Leave these files as they are")
        console.answer(2)
        console.see("Delete 1 file?")
        console.answer(2)
        console.see("Undo this with", "The conversation continues before: second thing")
        assert not (made.project / "b.txt").exists()
        console.type(CTRL_C)
        console.idle()
        console.say("third thing")
        console.see("● Third answer.")
        console.idle()
        told = texts(made.sent[-1]["messages"])
        assert "first thing" in told
        assert "second thing" not in told
        assert [turn.text for turn in made.session.turns] == ["first thing", "third thing"]


def test_compacting_going_on_and_a_new_session(tmp_path: Path) -> None:
    rules = [
        ScriptRule(prompt="Sum up", steps=["The summary of it."]),
        ScriptRule(prompt="colour", steps=["It is blue."]),
        ScriptRule(prompt="next", steps=["Going on."]),
    ]
    with world(tmp_path, rules) as made:
        with made.console() as console:
            console.idle()
            console.say("which colour")
            console.see("● It is blue.")
            console.idle()
            console.say("/compact only the facts")
            console.see("✻ Compacted (manual")
            console.idle()
            console.say("what is next")
            console.see("● Going on.")
            assert "The summary of it." in texts(made.sent[-1]["messages"])
            assert "It is blue." not in texts(made.sent[-1]["messages"])
            console.idle()
            console.leave()
        with made.console("--continue") as console:
            console.see("❯ which colour", "● It is blue.", "Compacted", "❯ what is next", "● Going on.")
            console.idle()
            first = made.session.id
            console.say("/clear")
            console.miss("which colour")
            console.idle()
            console.say("next please")
            console.see("● Going on.")
            console.idle()
            assert made.session.id != first
            console.say("/resume")
            console.see("Resume which session?", first[:8])
            console.type(ENTER)
            console.see("● It is blue.")
            console.idle()


def test_questions_of_the_model(tmp_path: Path) -> None:
    question = {
        "question": "Which way?",
        "header": "Way",
        "options": [
            {"label": "Left", "description": "the long one"},
            {"label": "Right", "description": "the short one"},
        ],
        "multiSelect": False,
    }
    rules = [ScriptRule(prompt="ask", steps=[[use("AskUserQuestion", questions=[question])], "Thank you."])]
    with world(tmp_path, rules) as made, made.console() as console:
        console.idle()
        console.say("ask me")
        console.see("[Way] Which way?", "1. Left", "the short one", "3. Something else")
        console.answer(2)
        console.see("Which way? → Right", "● Thank you.")
        console.idle()
        console.say("ask me")
        console.see("[Way] Which way?")
        console.answer(3)
        console.see("›")
        console.type("straight on", ENTER)
        console.see("Which way? → straight on")


def test_the_shell_files_commands_and_pastes(tmp_path: Path) -> None:
    rules = [ScriptRule(prompt="", regex="(?s).*", steps=["Heard."])]
    with world(tmp_path, rules) as made:
        (made.project / "notes.txt").write_text("the notes\n")
        (made.project / "dot.png").write_bytes(DOT)
        with made.console() as console:
            console.idle()
            console.say("!echo from-the-shell; exit 3")
            console.see("from-the-shell", "Exit code 3")
            console.idle()
            console.type("/stat")
            console.see("/status", "session, model, server, folder")
            console.type(ENTER)
            console.see("Status", made.server.url)
            console.type("look at @not")
            console.see("@notes.txt")
            console.type(TAB)
            console.see("❯ look at @notes.txt")
            console.type("\\", ENTER, "second line", ESC + ENTER)
            pasted = "\n".join(f"pasted {n}" for n in range(1, 11))
            console.type(f"\x1b[200~{pasted}\x1b[201~")
            console.see("[Pasted text #1 +9 lines]")
            console.type(f"\x1b[200~{made.project / 'dot.png'}\x1b[201~")
            console.see("[Image #2]")
            console.type(ENTER)
            console.see("● Heard.")
            console.idle()
            told = made.sent[-1]["messages"]
            for text in ("<bash-input>echo from-the-shell; exit 3", "the notes", "second line", "pasted 1\\npasted 2"):
                assert text in texts(told), text
            assert "bash-stderr>Exit code 3" in texts(told)
            assert '"media_type": "image/png"' in texts(told)
            console.leave()
        with made.console() as console:
            console.idle()
            console.type(UP)
            console.see("pasted 10")
            console.type(CTRL_C)
            console.see(PROMPT)
            console.type(CTRL_R, "from-the")
            console.see("Earlier prompts", "Search: from-the", "❯ !echo from-the-shell; exit 3")
            console.type(ENTER)
            console.until(lambda: "Search" not in console.screen and "❯ !echo from" in console.screen, "the old prompt")
            console.type(CTRL_C)
            console.see(PROMPT)
            console.type(SHIFT_TAB, SHIFT_TAB)
            console.see("planning")
            console.type(CTRL_D)
            assert console.ended() == 0
            assert "Go on with" not in console.everything


def test_a_flood_arrives_whole_and_once_and_nothing_drives_the_terminal(tmp_path: Path) -> None:
    flood = "```\n" + "\n".join(f"row {n} end" for n in range(1500)) + "\n```\n\n\x1b]0;owned\x07\x1b[2Jbad\x1b[31mred"
    rules = [ScriptRule(prompt="flood", steps=[ScriptStep(content=flood, chunk=200)])]
    with world(tmp_path, rules, {"NO_COLOR": "1"}) as made, made.console(columns=40, rows=16) as console:
        console.idle()
        console.say("flood me")
        console.see("badred")
        console.idle()
        shown = (line.strip("● ") for line in console.everything.splitlines())
        found = [line.split()[1] for line in shown if line.startswith("row ")]
        assert found == [str(n) for n in range(1500)]
        updates = console.bytes[console.bytes.index(BEGIN) :].split(END)[:-1]
        assert all(update.startswith(BEGIN) for update in updates)  # nothing is sent but whole updates
        assert b"owned" not in console.bytes
        assert b"\x1b[2J" not in console.bytes
        assert not re.search(rb"\x1b\[(?:[0-9;]*;)?(?:[349][0-8])[;m]", console.bytes)  # no colour
        console.resize(60, 20)
        console.see(PROMPT)
        assert console.leave() == 0
