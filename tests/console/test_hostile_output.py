"""Text of others in the console: whatever a model, a tool, a server or a file name says, the terminal obeys none of it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from clew.api.mock.scripts import Fault, ScriptRule, ScriptStep
from clew.console.question_box import wrap
from tests.console.terminal import CTRL_C, DOWN, ENTER, ESC, Console, use, world

HIDDEN = "\u202egpj\u202c \u200b\u2066\u2069\u200e\U000e0041\ufeff"
ORDERS = "\x1b]0;PWN\x07\x1b]52;c;UFdO\x07\x1b]8;;http://x\x1b\\\x1b[?1049h\x1bP1$r\x1b\\\x9b8m\x1b[8m\x1b[3J\x08\x7f"
EVIL = f"evil {ORDERS}{HIDDEN}text"
NAME = "na\x1b[8mme\u202e.py"
CTRL_O = "\x0f"
# what would reach the terminal if a part of the text was written as it is
TRACES = [b"\x1b]0;", b"\x1b]52", b"\x1b]8;", b"\x1b[?1049h", b"\x1bP", b"\x1b[8m", b"\x07", b"\x7f", "\x9b".encode()]
TRACES += [letter.encode() for letter in "\u202e\u202c\u200b\u2066\u2069\u200e\U000e0041\ufeff"]
SERVER = f"""
import json, sys
EVIL, NAME = {EVIL!r}, {NAME!r}
for line in sys.stdin:
    asked = json.loads(line)
    result = {{}}
    if asked.get("method") == "initialize":
        about = {{"capabilities": {{"tools": {{}}, "prompts": {{}}}}, "serverInfo": {{"name": EVIL, "version": EVIL}}}}
        result = {{"protocolVersion": asked["params"]["protocolVersion"], "instructions": EVIL, **about}}
    if asked.get("method") == "tools/list":
        tools = [{{"name": name, "description": EVIL, "inputSchema": {{"type": "object"}}}} for name in ("post", NAME)]
        result = {{"tools": tools}}
    if asked.get("method") == "prompts/list":
        result = {{"prompts": [{{"name": NAME, "description": EVIL, "arguments": [{{"name": NAME}}]}}]}}
    if asked.get("method") == "tools/call":
        result = {{"content": [{{"type": "text", "text": EVIL}}]}}
    if "id" in asked:
        print(json.dumps({{"jsonrpc": "2.0", "id": asked["id"], "result": result}}), flush=True)
"""
QUESTION = {
    "question": f"Which {EVIL}?",
    "header": NAME,
    "options": [{"label": EVIL, "description": EVIL}, {"label": "B", "description": "b"}],
    "multiSelect": False,
}
CALLS: dict[str, list[str | dict[str, Any]]] = {
    "mcp": [use("mcp__evil__post", **{NAME: EVIL, "deep": {NAME: [EVIL]}})],
    "write": [use("Write", file_path=NAME, content=f"{EVIL}\n")],
    "agent": [use("Task", description=EVIL, prompt="inner", subagent_type="general-purpose")],
    "fetch": [use("WebFetch", url=f"http://x.example/{EVIL}", prompt=EVIL)],
    "plan": [use("ExitPlanMode", plan=EVIL)],
    "questions": [use("AskUserQuestion", questions=[QUESTION, QUESTION | {"question": "Other?"}])],
}
SAYS = {
    "talk": ScriptStep(content=[{"type": "thinking", "thinking": EVIL, "signature": "c2ln"}, f"{EVIL}\n\n- {EVIL}\n"]),
    "todo": ScriptStep(content=[use("TodoWrite", todos=[{"content": EVIL, "status": "pending", "activeForm": EVIL}])]),
    "nosuch": ScriptStep(content=[use(NAME, **{NAME: EVIL})]),
    "print": ScriptStep(content=[use("Bash", command="cat evil.txt", description=EVIL)]),
    "failing": ScriptStep(fault=Fault(status=400, kind="invalid_request_error", message=EVIL)),
}
RULES = [
    *(ScriptRule(prompt=f"run {name}", steps=[[*calls], "Done."]) for name, calls in CALLS.items()),
    *(ScriptRule(prompt=f"say {name}", steps=[step, "Done."]) for name, step in SAYS.items()),
    ScriptRule(prompt="inner", steps=[[use("Bash", command="touch x", description=EVIL)], EVIL]),
]


def traces(console: Console) -> list[bytes]:
    return [trace for trace in TRACES if trace in console.bytes]


def test_nothing_that_others_say_reaches_the_terminal_as_an_order(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    program = {"command": sys.executable, "args": [str(tmp_path / "server.py")]}
    servers = {"mcpServers": {"evil": program, NAME: program, f"broken{ORDERS}": {"command": f"/no{ORDERS}"}}}
    with world(tmp_path, RULES) as made:
        (made.project / "evil.txt").write_text(EVIL)
        (made.project / f"@{NAME}").write_text("x\n")
        with made.console("--mcp-config", json.dumps(servers), columns=120, rows=50) as console:
            console.idle()
            console.see("cannot be used")
            for name in CALLS:
                console.say(f"run {name}")
                console.ready()
                shown = re.sub(r"\s*\n\s*(↳ )?", "", console.screen)
                assert "\\x1b]0;PWN\\x07" in shown and "\\u202e" in shown, name  # all of it, in codes
                console.type(ESC)
                console.see("Interrupted.")
                console.idle()
                assert traces(console) == [], name
            for name in SAYS:
                console.say(f"say {name}")
                console.see("✗ API error 400" if name == "failing" else "● Done." if name != "talk" else "evil")
                console.idle()
                assert traces(console) == [], name
            console.type(CTRL_O)  # thinking and output in full
            for command in ("/mcp", "/todos", "/status", "/agents"):
                console.say(command)
                console.idle()
            console.type("look at @@")
            console.see("@@na")
            assert traces(console) == []


def test_names_of_others_in_lists_and_after_a_rewind(tmp_path: Path) -> None:
    write = ScriptRule(prompt="write", steps=[[use("Bash", command='cp evil.txt "$(cat evil.txt)"')], EVIL])
    with world(tmp_path, [write]) as made:
        (made.project / "evil.txt").write_text(NAME)
        with made.console("--allowedTools", "Bash", "--name", EVIL, columns=120, rows=40) as console:
            console.idle()
            console.say("write it")
            console.see("● evil")
            console.idle()
            assert (made.project / NAME).exists()
            console.type(ESC)
            console.see("esc again")
            console.type(ESC)
            console.see("Go back to before which prompt?", "❯ write it")
            console.type(ENTER)
            console.see("What should be restored?", "delete na\\x1b[8mme\\u202e.py")
            console.answer(1)
            console.see("! delete na\\x1b[8mme\\u202e.py", "Delete 1 file?")
            console.answer(2)
            console.see("Deleted na\\x1b[8mme\\u202e.py", "❯ write it")
            console.type(CTRL_C)  # the prompt that came back
            console.idle()
            console.say("/clear")
            console.idle()
            console.say("/resume")
            console.see("Resume which session?", "evil")
            console.type(DOWN, ESC)
            console.idle()
            assert traces(console) == []


def test_a_long_word_after_spaces_begins_on_the_first_line() -> None:
    assert wrap("    " + "x" * 30, 20, at_words=True) == ["    " + "x" * 16, "x" * 14]
    assert wrap("one two three", 9, at_words=True) == ["one two ", "three"]
