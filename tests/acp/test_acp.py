"""The door for editors, driven by the client of the official package, in a process of its own as an editor starts it."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from acp import Client, RequestError, spawn_agent_process
from acp.client.connection import ClientSideConnection
from acp.helpers import embedded_text_resource, image_block, resource_block, resource_link_block, text_block
from acp.schema import (
    AcceptElicitationResponse,
    AcpMcpServer,
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    EnvVariable,
    FileSystemCapabilities,
    McpServerStdio,
    ReadTextFileResponse,
    RequestPermissionResponse,
    WriteTextFileResponse,
)

import clew
from clew.api.mock.scripts import AnyStep, Fault, MockScript, ScriptRule, ScriptStep
from clew.api.mock.server import MockServer, running
from clew.view.approval_text import unescape
from tests.chat.chat_fixture import use

PROGRAM = str(Path(sys.executable).with_name("clew"))
LIMIT = 200  # seconds for a whole talk, on any machine
CALC = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("calc")

@server.tool(description="Adds.")
def add(a: int, b: int) -> str:
    import os
    return os.environ["UNIT"] + str(a + b)

server.run()
"""

PIXEL = b"\x89PNG\r\n\x1a\n"  # as much of a picture as a server looks at

Choose = Callable[[Any, list[Any]], str | None]


@dataclass
class Editor:
    """An editor: it notes what it is told, and answers what it is asked."""

    choose: Choose = lambda call, options: "allow_once"
    buffers: dict[str, str] = field(default_factory=dict)
    form: Callable[[Any], dict[str, Any]] = lambda schema: {}
    updates: list[tuple[str, Any]] = field(default_factory=list)
    asked: list[tuple[Any, list[str]]] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append((session_id, update))
        self.news.set()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **_: Any
    ) -> RequestPermissionResponse:
        self.asked.append((tool_call, [option.option_id for option in options]))
        self.news.set()
        chosen = self.choose(tool_call, options)
        if chosen is None:
            await asyncio.Event().wait()
        assert chosen is not None
        if chosen == "cancelled":
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    async def read_text_file(self, session_id: str, path: str, **_: Any) -> ReadTextFileResponse:
        if path in self.buffers:
            return ReadTextFileResponse(content=self.buffers[path])
        if not Path(path).exists():
            raise RequestError.resource_not_found(path)
        return ReadTextFileResponse(content=Path(path).read_text())

    async def write_text_file(self, session_id: str, path: str, content: str, **_: Any) -> WriteTextFileResponse:
        Path(path).write_text(content)
        self.buffers.pop(path, None)
        return WriteTextFileResponse()

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> AcceptElicitationResponse:
        return AcceptElicitationResponse(action="accept", content=self.form(mode.requested_schema))

    def of(self, kind: str, session_id: str = "") -> list[Any]:
        return [u for s, u in self.updates if u.session_update == kind and session_id in ("", s)]

    def text(self, session_id: str = "", kind: str = "agent_message_chunk") -> str:
        return "".join(update.content.text for update in self.of(kind, session_id))

    def states(self) -> dict[str, str]:
        """The last state of every call, by its title."""
        titles = {start.tool_call_id: start.title for start in self.of("tool_call")}
        return {titles[u.tool_call_id]: u.status for u in self.of("tool_call_update") if u.status}

    async def until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            self.news.clear()
            await self.news.wait()


@dataclass(frozen=True)
class Place:
    """A project, the folder of Claude Code, and what the program is told of them."""

    root: Path
    server: MockServer | None = None

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def environment(self) -> dict[str, str]:
        folders = {"CLAUDE_CONFIG_DIR": "claude", "XDG_DATA_HOME": "data", "HOME": "home", "XDG_CACHE_HOME": "cache"}
        known = {name: str(self.root / folder) for name, folder in folders.items()}
        if self.server is None:
            return known
        return {**known, "ANTHROPIC_BASE_URL": self.server.url, "ANTHROPIC_API_KEY": "sk-ant-not-a-key"}

    def talk(self, editor: Editor, talk: Callable[[ClientSideConnection], Awaitable[Any]], *words: str) -> Any:
        """Start the program, greet it, and talk with it."""
        self.project.mkdir(exist_ok=True)

        async def run() -> Any:
            with (self.root / "remarks").open("a") as remarks:
                kept = {"stderr": remarks.fileno(), "shutdown_timeout": float(LIMIT), "limit": 1 << 26}
                started = spawn_agent_process(
                    cast(Client, editor),
                    PROGRAM,
                    "acp",
                    *words,
                    env=self.environment,
                    transport_kwargs=kept,
                    use_unstable_protocol=True,
                )
                async with started as (connection, process):
                    found = await talk(connection)
                assert process.returncode == 0, (self.root / "remarks").read_text()
                return found

        return asyncio.run(asyncio.wait_for(run(), LIMIT))

    @property
    def bodies(self) -> list[Any]:
        assert self.server is not None
        return [row["body"] for row in self.server.rows if row["path"] == "/v1/messages"]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


def script(*steps: Any, **others: list[AnyStep]) -> MockScript:
    rules = [ScriptRule(prompt=prompt, steps=steps) for prompt, steps in others.items()]
    return MockScript(rules=[*rules, ScriptRule(prompt="go", steps=list(steps))])


async def greeted(connection: ClientSideConnection, **capabilities: Any) -> None:
    found = await connection.initialize(1, client_capabilities=ClientCapabilities(**capabilities))
    assert found.protocol_version == 1


async def begun(connection: ClientSideConnection, place: Place, **more: Any) -> str:
    return (await connection.new_session(cwd=str(place.project), mcp_servers=more.pop("mcp_servers", []))).session_id


async def say(connection: ClientSideConnection, session_id: str, *blocks: Any) -> str:
    prompt = [text_block(block) if isinstance(block, str) else block for block in blocks]
    return (await connection.prompt(session_id=session_id, prompt=prompt)).stop_reason


def test_what_is_offered(place: Place) -> None:
    async def talk(connection: ClientSideConnection) -> Any:
        found = await connection.initialize(99)
        with pytest.raises(RequestError) as refused:
            await connection.new_session(cwd="relative", mcp_servers=[])
        with pytest.raises(RequestError) as unknown:
            await connection.prompt(session_id="none", prompt=[text_block("go")])
        return found, refused.value.code, unknown.value.code

    with running(script("Hello.")) as server:
        found, refused, unknown = Place(place.root, server).talk(Editor(), talk)
    offered = found.agent_capabilities
    assert (found.protocol_version, found.agent_info.name) == (1, "clew")
    assert (offered.load_session, offered.mcp_capabilities.http, offered.mcp_capabilities.sse) == (True, True, True)
    assert (offered.prompt_capabilities.image, offered.prompt_capabilities.embedded_context) == (True, True)
    assert all(getattr(offered.session_capabilities, name) is not None for name in ("list", "fork", "resume", "close"))
    assert (refused, unknown) == (-32602, -32002)


def test_a_turn_with_tools_permissions_and_a_plan(place: Place) -> None:
    path = place.project / "a.py"
    todos = [
        {"content": "Write", "status": "completed", "activeForm": "Writing"},
        {"content": "Test", "status": "in_progress", "activeForm": "Testing"},
    ]
    steps: list[AnyStep] = [
        [{"type": "thinking", "thinking": "Well.", "signature": "c2ln"}, "I write.", use("TodoWrite", todos=todos)],
        [use("Write", file_path=str(path), content="one\n")],
        [use("Edit", file_path=str(path), old_string="one", new_string="two")],
        [use("Bash", command="rm -r a.py", description="Remove it")],
        [use("Bash", command="rm -r a.py", description="Remove it again")],
        [use("Bash", command="cat a.py", description="Look")],
        "Done.",
    ]
    chosen = {"Write a.py": "allow_once", "Edit a.py": "allow_always", "`rm -r a.py`": "reject_always"}
    editor = Editor(lambda call, options: chosen[call.title])

    async def talk(connection: ClientSideConnection) -> Any:
        await greeted(connection)
        session_id = await begun(connection, place)
        return session_id, await connection.prompt(session_id=session_id, prompt=[text_block("go")])

    with running(script(*steps)) as server:
        session_id, answer = Place(place.root, server).talk(editor, talk)
    assert answer.stop_reason == "end_turn"
    assert answer.usage.total_tokens > 0
    assert (editor.text(), editor.text(kind="agent_thought_chunk")) == ("I write.Done.", "Well.")
    kinds = [(start.title, start.kind) for start in editor.of("tool_call")]
    remove = ("`rm -r a.py`", "execute")
    assert kinds == [("Write a.py", "edit"), ("Edit a.py", "edit"), remove, remove, ("`cat a.py`", "execute")]
    assert [call.title for call, _ in editor.asked] == ["Write a.py", "Edit a.py", "`rm -r a.py`"]
    assert editor.asked[1][1] == ["allow_always", "allow_once", "reject_once", "reject_always"]
    assert editor.states() == {
        "Write a.py": "completed",
        "Edit a.py": "completed",
        "`rm -r a.py`": "failed",
        "`cat a.py`": "completed",
    }
    write, edit = (start.content[0] for start in editor.of("tool_call")[:2])
    assert (write.type, write.path, write.old_text, write.new_text) == ("diff", str(path), None, "one\n")
    assert (edit.old_text, edit.new_text) == ("one", "two")
    assert editor.of("tool_call")[0].locations[0].path == str(path)
    shown = [u.content[0] for u in editor.of("tool_call_update") if u.status == "completed"]
    assert [(c.type, getattr(c, "new_text", "")) for c in shown[:2]] == [("diff", "one\n"), ("diff", "two")]
    assert shown[2].content.text == "```\ntwo\n```"
    [plan] = editor.of("plan")
    assert [(entry.content, entry.status) for entry in plan.entries] == [
        ("Write", "completed"),
        ("Test", "in_progress"),
    ]
    kept = json.loads((place.project / ".claude" / "settings.local.json").read_text())
    assert kept == {"permissions": {"allow": ["Edit(/**)"]}}
    assert path.read_text() == "two\n"
    assert editor.of("usage_update")[-1].used > 0
    assert "compact" in [c.name for c in editor.of("available_commands_update")[0].available_commands]
    assert clew.find(session_id, claude=place.root / "claude").turns[0].text == "go"


def test_a_permission_request_holds_all_that_is_asked_for(place: Place) -> None:
    script_text = "cat > x <<'E'\n" + "echo `step`\n" * 400 + "E\n\u202erm -rf ./\u0455rc"
    place.project.mkdir()
    (place.project / "old.txt").write_text("old\n")
    send = use("Task", description="tidy up", prompt="tidy the project", subagent_type="general-purpose")
    write = use("Write", file_path="old.txt", content="new \u200b\n")
    editor = Editor(lambda call, options: "reject_once")

    async def talk(connection: ClientSideConnection) -> None:
        await greeted(connection)
        await say(connection, await begun(connection, place), "go")

    rules = [
        ScriptRule(prompt="tidy the project", steps=[[use("Bash", command=script_text)], "Tidied."]),
        ScriptRule(prompt="go", steps=[[send], [use("Read", file_path="old.txt")], [write], "Done."]),
    ]
    with running(MockScript(rules=rules)) as server:
        Place(place.root, server).talk(editor, talk)
    (bash, _), (changed, _) = editor.asked
    facts, command = (part.content.text for part in bash.content)
    for line in ("Tool: `Bash`", "Asked by: `agent general-purpose (tidy up)`", f"Folder: `{place.project}`"):
        assert line in facts
    shown = command.removeprefix("```\n").removesuffix("\n```")
    assert unescape(shown) == script_text
    assert "\\u202erm -rf ./\\u0455rc" in shown
    assert bash.title.isprintable()
    assert bash.raw_input == {"command": script_text}
    assert bash.field_meta["clew"]["agent"]["type"] == "general-purpose"
    diff, arguments = changed.content[1:]
    assert (diff.path, diff.old_text, diff.new_text) == (str(place.project / "old.txt"), "old\n", "new \u200b\n")
    assert "new \\u200b" in arguments.content.text.replace("\\\\", "\\")  # what a diff would not show
    assert (place.project / "old.txt").read_text() == "old\n"


def test_a_cancel_ends_the_turn_and_the_session_goes_on(place: Place) -> None:
    waiting = [use("Bash", command=f"touch {place.root}/begun; sleep 600", description="Wait")]
    asking = [use("Write", file_path=str(place.project / "a"), content="x")]
    slow = ScriptStep(content="Late.", delay=600)
    editor = Editor(lambda call, options: None if call.kind == "edit" else "allow_once")

    async def talk(connection: ClientSideConnection) -> Any:
        await greeted(connection)
        session_id = await begun(connection, place)
        turn = asyncio.create_task(say(connection, session_id, "go"))
        while not (place.root / "begun").exists():
            await asyncio.sleep(0.02)
        await connection.cancel(session_id)
        first = await turn
        turn = asyncio.create_task(say(connection, session_id, "ask"))
        await editor.until(lambda: len(editor.asked) == 2)
        await connection.cancel(session_id)
        second = await turn
        turns = [asyncio.create_task(say(connection, session_id, text)) for text in ("slow", "slow")]
        await asyncio.sleep(0)  # they are sent when this gives way
        await connection.cancel(session_id)
        return first, second, *[await turn for turn in turns], await say(connection, session_id, "again")

    with running(script(waiting, "Done.", again=["Again."], slow=[slow], ask=[asking, "Done."])) as server:
        found = Place(place.root, server).talk(editor, talk)
    assert found == ("cancelled", "cancelled", "cancelled", "cancelled", "end_turn")
    assert editor.text() == "Again."
    assert set(editor.states().values()) == {"failed"}
    assert not (place.project / "a").exists()


def test_a_cancel_keeps_the_text_that_the_editor_was_shown(place: Place) -> None:
    editor = Editor()
    shown: list[str] = []
    stalled = ScriptStep(content="One two three.", chunk=4, fault=Fault(stream="hang", after=5))

    async def talk(connection: ClientSideConnection) -> None:
        await greeted(connection)
        session_id = await begun(connection, place)
        turn = asyncio.create_task(say(connection, session_id, "go"))
        await editor.until(lambda: editor.text().startswith("One two"))
        await connection.cancel(session_id)
        await turn
        shown.append(editor.text())
        await say(connection, session_id, "again")

    with running(script(stalled, again=["Again."]), keeps_bodies=True) as server:
        place = Place(place.root, server)
        place.talk(editor, talk)
    assert place.bodies[-1]["messages"][1]["content"] == [{"type": "text", "text": shown[0]}]


def test_modes_and_models_are_chosen(place: Place) -> None:
    steps = [
        [use("Write", file_path=str(place.project / "a"), content="x")],
        [use("EnterPlanMode")],
        [use("ExitPlanMode", plan="# First this")],
        [use("Write", file_path=str(place.project / "b"), content="x")],
        "Done.",
    ]
    editor = Editor(lambda call, options: "allow_once")

    async def talk(connection: ClientSideConnection) -> Any:
        await greeted(connection)
        new = await connection.new_session(cwd=str(place.project), mcp_servers=[])
        await connection.set_session_mode(session_id=new.session_id, mode_id="acceptEdits")
        chosen = await connection.set_config_option(
            config_id="model", session_id=new.session_id, value="claude-opus-5-5"
        )
        with pytest.raises(RequestError):
            await connection.set_session_mode(session_id=new.session_id, mode_id="fast")
        with pytest.raises(RequestError):
            await connection.set_config_option(config_id="model", session_id=new.session_id, value="gpt")
        return new, chosen, await say(connection, new.session_id, "go")

    with running(script(*steps), keeps_bodies=True) as server:
        there = Place(place.root, server)
        new, chosen, stop = there.talk(editor, talk, "--model", "claude-sonnet-4-5")
        models = {body["model"] for body in there.bodies}
    assert new.modes.current_mode_id == "default"
    assert {mode.id for mode in new.modes.available_modes} >= {"default", "acceptEdits", "plan", "bypassPermissions"}
    assert [option.category for option in new.config_options] == ["mode", "model"]
    assert new.config_options[1].current_value == "claude-sonnet-4-5"
    assert [option.current_value for option in chosen.config_options] == ["acceptEdits", "claude-opus-5-5"]
    assert (stop, models) == ("end_turn", {"claude-opus-5-5"})
    modes = [update.current_mode_id for update in editor.of("current_mode_update")]
    assert modes == ["acceptEdits", "plan", "acceptEdits"]
    assert [(call.kind, ids) for call, ids in editor.asked] == [
        ("switch_mode", ["accept_edits", "allow_once", "reject_once"])
    ]
    facts, plan = (part.content.text for part in editor.asked[0][0].content)
    assert f"Folder: `{place.project}`" in facts
    assert plan == "```\n# First this\n```"
    assert (place.project / "b").exists()


def test_sessions_are_listed_loaded_resumed_and_forked(place: Place) -> None:
    steps = [["I look.", use("Glob", pattern="*.none")], "Nothing there."]
    first, second = Editor(), Editor()

    async def begin(connection: ClientSideConnection) -> str:
        await greeted(connection)
        session_id = await begun(connection, place)
        await say(connection, session_id, "go", image_block(base64.b64encode(PIXEL).decode(), "image/png"))
        return session_id

    async def go_on(connection: ClientSideConnection) -> Any:
        await greeted(connection)
        listed = await connection.list_sessions(cwd=str(place.project))
        session_id = listed.sessions[0].session_id
        await connection.load_session(cwd=str(place.project), session_id=session_id, mcp_servers=[])
        told = [update for _, update in second.updates]
        stop = await say(connection, session_id, "again")
        fork = (await connection.fork_session(session_id=session_id, cwd=str(place.project))).session_id
        await say(connection, fork, "again")
        await connection.close_session(session_id)
        with pytest.raises(RequestError) as gone:
            await say(connection, session_id, "again")
        await connection.resume_session(session_id=session_id, cwd=str(place.project))
        with pytest.raises(RequestError) as unknown:
            await connection.load_session(cwd=str(place.project), session_id="0" * 36, mcp_servers=[])
        return listed, told, stop, fork, gone.value.code, unknown.value.code

    with running(script(*steps, again=["Again."]), keeps_bodies=True) as server:
        there = Place(place.root, server)
        session_id = there.talk(first, begin)
        listed, told, stop, fork, gone, unknown = there.talk(second, go_on)
        sent = there.bodies
    assert [(info.session_id, info.cwd, info.title) for info in listed.sessions] == [
        (session_id, str(place.project), "go")
    ]
    shown = [update.session_update for update in told if update.session_update != "available_commands_update"]
    assert shown == [
        "user_message_chunk",
        "user_message_chunk",
        "agent_message_chunk",
        "tool_call",
        "tool_call_update",
        "agent_message_chunk",
    ]
    assert (stop, gone, unknown) == ("end_turn", -32002, -32002)
    assert [message["role"] for message in sent[2]["messages"]] == ["user", "assistant"] * 2 + ["user"]
    assert [message["role"] for message in sent[3]["messages"]] == ["user", "assistant"] * 3 + ["user"]
    tree = place.root / "claude"
    assert (len(clew.find(session_id, claude=tree).turns), len(clew.find(fork, claude=tree).turns)) == (2, 3)


def test_servers_of_the_editor_bring_tools_and_two_sessions_run_side_by_side(place: Place) -> None:
    program = place.root / "calc.py"
    program.write_text(CALC)
    unit = EnvVariable(name="UNIT", value="m")
    server = McpServerStdio(name="calc", command=sys.executable, args=[str(program)], env=[unit])
    meet = [use("Bash", command="touch here; while [ ! -e there ]; do sleep 0.05; done", description="Meet")]
    met = [use("Bash", command="touch there; while [ ! -e here ]; do sleep 0.05; done", description="Meet")]
    editor = Editor()

    async def talk(connection: ClientSideConnection) -> Any:
        await greeted(connection)
        one = await begun(connection, place, mcp_servers=[server])
        two = await begun(connection, place)
        with pytest.raises(RequestError):
            other = AcpMcpServer(type="acp", name="old", server_id="old")
            await begun(connection, place, mcp_servers=[other])
        stops = await asyncio.gather(say(connection, one, "go"), say(connection, two, "meet"))
        return one, two, stops

    steps = [[use("mcp__calc__add", a=2, b=3)], met, "First."]
    with running(script(*steps, meet=[meet, "Second."])) as mock:
        one, two, stops = Place(place.root, mock).talk(editor, talk)
    assert stops == ["end_turn", "end_turn"]
    assert (editor.text(one), editor.text(two)) == ("First.", "Second.")
    assert editor.of("tool_call", one)[0].title == "calc: add"
    assert "m5" in str(editor.of("tool_call_update", one))


def test_what_the_editor_has_not_saved_is_seen_and_not_lost(place: Place) -> None:
    place.project.mkdir()
    path = place.project / "notes.txt"
    path.write_text("old\n")
    steps = [
        [use("Read", file_path=str(path))],
        [use("Edit", file_path=str(path), old_string="typed", new_string="changed")],
        "Done.",
    ]
    editor = Editor(buffers={str(path): "old\ntyped just now\n"})

    async def talk(connection: ClientSideConnection) -> None:
        await greeted(connection, fs=FileSystemCapabilities(read_text_file=True, write_text_file=True))
        await say(connection, await begun(connection, place), "go")

    with running(script(*steps)) as server:
        Place(place.root, server).talk(editor, talk)
    assert "typed just now" in str(editor.of("tool_call_update")[1].content)
    assert path.read_text() == "old\nchanged just now\n"
    assert editor.buffers == {}


def test_all_kinds_of_blocks_reach_the_model(place: Place) -> None:
    place.project.mkdir()
    path = place.project / "my notes.txt"
    path.write_text("on disk\n")
    data = base64.b64encode(PIXEL).decode()
    resource = resource_block(embedded_text_resource("file:///x/open.py", "in the editor", mime_type="text/x-python"))

    async def talk(connection: ClientSideConnection) -> str:
        await greeted(connection)
        link = resource_link_block("my notes.txt", path.as_uri())
        picture = image_block(data, "image/png")
        return await say(connection, await begun(connection, place), "go, look at", link, resource, picture)

    with running(script("Seen."), keeps_bodies=True) as server:
        there = Place(place.root, server)
        stop = there.talk(Editor(), talk)
        [body] = there.bodies
    content = body["messages"][0]["content"]
    text = "\n".join(block.get("text", "") for block in content)
    assert stop == "end_turn"
    assert f'go, look at @"{path}" [open.py](file:///x/open.py)' in text
    assert "in the editor" in text
    assert "on disk" in text
    assert [block["source"]["data"] for block in content if block["type"] == "image"] == [data]


def test_questions_are_asked_by_a_form_or_one_by_one(place: Place) -> None:
    def question(text: str, **more: Any) -> dict[str, Any]:
        options = [{"label": label, "description": "d"} for label in ("Red", "Blue")]
        return {"question": text, "header": "Colour", "options": options, **more}

    asked = [question("Which?"), question("Which ones?", multiSelect=True)]
    steps = [[use("AskUserQuestion", questions=asked)], "Done."]
    with_form = Editor(form=lambda schema: {"answer1": "Blue", "answer2": ["Red", "Blue"]})
    without = Editor(lambda call, options: "0")

    def told(editor: Editor, place: Place, **capabilities: Any) -> str:
        async def talk(connection: ClientSideConnection) -> None:
            await greeted(connection, **capabilities)
            await say(connection, await begun(connection, place), "go")

        place.talk(editor, talk)
        return str(editor.of("tool_call_update")[-1].content)

    forms = ElicitationCapabilities(form=ElicitationFormCapabilities())
    with running(script(*steps)) as server:
        there = Place(place.root, server)
        assert '"Which?"="Blue", "Which ones?"="Red, Blue"' in told(with_form, there, elicitation=forms)
        assert '"Which?"="Red", "Which ones?"="Red"' in told(without, there)
    assert [call.title for call, _ in without.asked] == ["Which?", "Which ones?"]


def test_how_turns_end_is_told(place: Place) -> None:
    looping = [use("Glob", pattern="*.none")]
    ends: dict[str, list[AnyStep]] = {
        "refuse": [ScriptStep(content="No.", stop_reason="refusal")],
        "loop": [looping, looping, "Done."],
        "key": [ScriptStep(fault=Fault(status=401, kind="authentication_error", message="invalid x-api-key"))],
        "broken": [ScriptStep(fault=Fault(status=400, kind="invalid_request_error", message="No such thing."))],
    }

    async def talk(connection: ClientSideConnection) -> list[Any]:
        await greeted(connection)
        found: list[Any] = []
        for text in ends:
            try:
                found.append(await say(connection, await begun(connection, place), text))
            except RequestError as error:
                found.append((error.code, str(error)))
        return found

    editor = Editor()
    with running(script("Hello.", **ends)) as server:
        found = Place(place.root, server).talk(editor, talk, "--max-turns", "2")
    assert found[:2] == ["refusal", "max_turn_requests"]
    assert [code for code, _ in found[2:]] == [-32000, -32603]
    assert "No such thing." in found[3][1]
    assert "limit of 2 turns" in editor.text()


def test_without_a_key_no_session_begins(place: Place) -> None:
    async def talk(connection: ClientSideConnection) -> list[int]:
        await greeted(connection)
        codes = []
        for asking in (begun(connection, place), connection.authenticate(method_id="api-key")):
            with pytest.raises(RequestError) as refused:
                await asking
            codes.append(refused.value.code)
        return codes

    assert place.talk(Editor(), talk) == [-32000, -32000]


def test_lines_that_are_no_messages_are_refused_and_the_next_is_answered(place: Place) -> None:
    lines = [
        b"garbage",
        b"\xff\xfe",
        b"[" * 100_000,
        b"[1]",
        b'{"id":{},"method":"initialize"}',
        b'{"jsonrpc":"2.0","id":1}',
        b'{"jsonrpc":"2.0","id":[],"result":{}}',
        b'{"jsonrpc":"2.0","id":9,"error":"x"}',
        b'{"jsonrpc":"2.0","method":"unheard/of"}',
        b'{"jsonrpc":"2.0","id":2,"method":"nope"}',
        b'{"jsonrpc":"2.0","id":3,"method":"session/new","params":"x"}',
        b'{"jsonrpc":"2.0","id":4,"method":"initialize","params":{"protocolVersion":1}}',
    ]
    environment = {**os.environ, **place.environment}
    program = subprocess.Popen([PROGRAM, "acp"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write(b"\n".join(lines) + b"\n\n")
    program.stdin.flush()
    found = [json.loads(program.stdout.readline()) for _ in range(11)]
    program.stdin.close()
    assert program.wait(LIMIT) == 0
    assert program.stdout.read() == b""
    program.stdout.close()
    codes = [answer["error"]["code"] for answer in found if "error" in answer]
    assert sorted(codes) == sorted([-32700] * 3 + [-32600] * 5 + [-32601, -32602])
    assert [answer["result"]["protocolVersion"] for answer in found if "result" in answer] == [1]
