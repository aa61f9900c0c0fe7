"""Control requests of the Agent SDKs, sent to a program one after the other in one session.

Each answer is reduced to its shape: whether it succeeded, and the keys of the response with the types of their values.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from clew.api.mock.scripts import MockScript, ScriptRule
from clew.api.mock.server import running
from tests.chat.chat_fixture import use
from tests.chat.test_mcp_client import SERVER
from tests.oracle.stream_talk import Json, StreamTalk, environment

KNOWN_UUID = "22222222-2222-4222-8222-222222222222"
OTHER_UUID = "11111111-1111-4111-8111-111111111111"
CALC = "calc"

Step = Callable[["ControlTalk"], object]


class ControlTalk:
    """A session with a program, in which requests are sent and their answers kept by name."""

    def __init__(self, talk: StreamTalk, project: Path, server: Json) -> None:
        self.talk = talk
        self.project = project
        self.server = server
        self.answers: dict[str, Json] = {}

    def ask(self, name: str, kind: str, **fields: Any) -> None:
        self.answers[name] = self.talk.request(kind, **fields)

    def run(self) -> None:
        """Send every request once, with what it takes, and with what it does not take."""
        groups = (self._settings, self._model, self._files, self._project, self._servers, self._side, self._queue)
        for group in (*groups, self._end):
            group()

    def _settings(self) -> None:
        self.ask("initialize", "initialize", hooks=None)
        self.talk.turn("hello")
        self.ask("get_settings", "get_settings")
        self.ask("get_session_cost", "get_session_cost")
        self.ask("get_context_usage", "get_context_usage", detail="summary")
        self.ask("apply_flag_settings", "apply_flag_settings", settings={"effortLevel": "high"})
        self.ask("apply_flag_settings without settings", "apply_flag_settings")
        self.ask("get_settings after it", "get_settings")
        self.ask("get_usage", "get_usage", skip_behaviors=True)
        self.ask("list_models", "list_models")
        self.ask("get_binary_version", "get_binary_version")
        self.ask("list_permission_rules", "list_permission_rules")
        self.ask("get_hooks_listing", "get_hooks_listing")
        self.ask("set_has_subscribers", "set_has_subscribers", has_subscribers=True)

    def _model(self) -> None:
        self.ask("set_model", "set_model", model="claude-sonnet-5-5")
        self.ask("set_model to the default", "set_model")
        self.ask("set_permission_mode", "set_permission_mode", mode="plan")
        self.ask("set_permission_mode back", "set_permission_mode", mode="default")
        self.ask("set_permission_mode to an unknown one", "set_permission_mode", mode="nope")
        self.ask("set_permission_mode to bypass", "set_permission_mode", mode="bypassPermissions")
        self.ask("set_max_thinking_tokens", "set_max_thinking_tokens", max_thinking_tokens=5000)
        self.ask("set_max_thinking_tokens to the default", "set_max_thinking_tokens", max_thinking_tokens=None)
        self.ask("set_max_thinking_tokens to a word", "set_max_thinking_tokens", max_thinking_tokens="x")

    def _files(self) -> None:
        path = self.project / "a.txt"
        self.ask("seed_read_state", "seed_read_state", path=str(path), mtime=int(path.stat().st_mtime * 1000))
        self.talk.turn("edit")  # which needs a file that was read
        self.answers["edited"] = {"subtype": path.read_text()}
        self.ask("seed_read_state of a missing file", "seed_read_state", path=str(path.with_name("none")), mtime=1)
        self.ask("read_file", "read_file", path="a.txt")
        self.ask("rewind_files", "rewind_files", user_message_id=OTHER_UUID, dry_run=True)
        self.ask("rename_session", "rename_session", title="A title")
        self.ask("rename_session without a title", "rename_session", title="")
        self.ask("reload_plugins", "reload_plugins")
        self.ask("reload_skills", "reload_skills")
        self.ask("reload_output_styles", "reload_output_styles")

    def _project(self) -> None:
        inner = self.project / "inner"
        inner.mkdir()
        self.ask("file_suggestions", "file_suggestions", query="")
        self.ask("file_suggestions without a query", "file_suggestions")
        self.ask("register_repo_root", "register_repo_root", directory=str(inner))
        self.ask("register_repo_root again", "register_repo_root", directory=str(inner))
        self.ask("register_repo_root outside", "register_repo_root", directory=str(self.project.parent))
        self.ask("register_repo_root of no folder", "register_repo_root", directory=str(inner / "none"))
        self.ask("update_settings", "update_settings", source="localSettings", settings={"outputStyle": "default"})
        self.ask(
            "update_settings of the user", "update_settings", source="userSettings", settings={"effortLevel": "low"}
        )
        self.ask("update_settings of another key", "update_settings", source="userSettings", settings={"model": "opus"})
        self.ask("update_settings to null", "update_settings", source="localSettings", settings={"outputStyle": None})
        self.ask("update_settings elsewhere", "update_settings", source="projectSettings", settings={})

    def _servers(self) -> None:
        self.ask("mcp_set_servers", "mcp_set_servers", servers={CALC: self.server})
        self.ask("mcp_status", "mcp_status")
        self.ask("mcp_call", "mcp_call", tool="mcp__calc__add", arguments={"a": 1, "b": 2})
        self.ask("mcp_call of a short name", "mcp_call", tool="add", arguments={})
        self.ask("mcp_read_resource of another scheme", "mcp_read_resource", serverName=CALC, uri="file:///x")
        self.ask("mcp_read_resource of no server", "mcp_read_resource", serverName="none", uri="ui://x")
        self.ask(
            "set_mcp_permission_mode_override", "set_mcp_permission_mode_override", serverName=CALC, mode="default"
        )
        self.ask("… of an unknown server", "set_mcp_permission_mode_override", serverName="none", mode="default")
        self.ask("… to a wider mode", "set_mcp_permission_mode_override", serverName=CALC, mode="acceptEdits")
        self.ask("mcp_toggle off", "mcp_toggle", serverName=CALC, enabled=False)
        self.ask("mcp_status disabled", "mcp_status")
        self.ask("mcp_toggle on", "mcp_toggle", serverName=CALC, enabled=True)
        self.ask("mcp_reconnect", "mcp_reconnect", serverName=CALC)
        self.ask("mcp_reconnect of an unknown server", "mcp_reconnect", serverName="none")
        self.ask("mcp_toggle of an unknown server", "mcp_toggle", serverName="none", enabled=True)
        self.ask("mcp_set_servers to none", "mcp_set_servers", servers={})
        missing = {"type": "stdio", "command": "/none/such", "args": []}
        self.ask("mcp_set_servers that fail", "mcp_set_servers", servers={"bad": missing})
        self.ask("mcp_status failed", "mcp_status")

    def _side(self) -> None:
        self.ask("side_question", "side_question", question="what is this?")
        self.ask("generate_session_title", "generate_session_title", description="Parsers", persist=False)
        self.ask("generate_session_title without a text", "generate_session_title")

    def _queue(self) -> None:
        self.ask("stop_task of an unknown task", "stop_task", task_id="none")
        self.ask("get_task_output of an unknown task", "get_task_output", task_id="none")
        self.ask("background_tasks", "background_tasks")
        self.ask("cancel_async_message of an unknown one", "cancel_async_message", message_uuid=OTHER_UUID)
        self.ask("interrupt without a turn", "interrupt")
        start = len(self.talk.frames)
        self.talk.prompt("slow")
        self.talk.until(lambda frame: frame["type"] == "assistant", start)
        self.talk.prompt("hello", uuid=KNOWN_UUID)
        self.ask("cancel_async_message", "cancel_async_message", message_uuid=KNOWN_UUID)
        self.ask("interrupt", "interrupt")
        self.talk.until(lambda frame: frame["type"] == "result", start)
        self.ask("nonsense", "nonsense")
        self.talk.turn("hello")

    def _end(self) -> None:
        self.ask("end_session", "end_session", reason="done")
        self.answers["exit"] = {"subtype": str(self.talk.close(closes_input=False))}


def collect_answers(command: Sequence[str], folder: Path) -> dict[str, Json]:
    """Run the whole session with one program and return its answers by name."""
    project = folder / "project"
    project.mkdir(parents=True)
    (project / "a.txt").write_text("one\ntwo\n")
    (folder / "server.py").write_text(SERVER)
    edit = use("Edit", file_path=str(project / "a.txt"), old_string="one", new_string="1")
    rules = [
        ScriptRule(prompt="edit", steps=[[edit], "Edited."]),
        ScriptRule(prompt="slow", steps=[[use("Bash", command="sleep 30", description="Wait")], "Slow."]),
        ScriptRule(prompt="hello", steps=["Hello."]),
        ScriptRule(prompt="", steps=["Other."]),
    ]
    server = {"type": "stdio", "command": sys.executable, "args": [str(folder / "server.py")]}
    with running(MockScript(rules=rules)) as api:
        talk = StreamTalk(command, project, environment(folder / "home", api.url), "--permission-prompt-tool", "stdio")
        with talk:
            asked = ControlTalk(talk, project, server)
            asked.run()
    return asked.answers


def shape(value: Any, depth: int = 3) -> Any:
    """Return the keys of an object with the types of their values; of a list, the shape of its first item."""
    if isinstance(value, dict):
        return {name: shape(item, depth - 1) for name, item in sorted(value.items())} if depth else "object"
    if isinstance(value, list):
        return [shape(value[0], depth - 1)] if value and depth else "list"
    if value is None or isinstance(value, bool):
        return str(value)
    return "number" if isinstance(value, int | float) else "text"
