"""Set-ups of a Claude Code user, each with a prompt and what of it reaches the server.

`tests/chat/test_user_setup.py` runs clew in each; `tests/oracle/test_user_setup_beside.py` runs the real Claude Code,
which must give the same.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chat.set_up import KEY, Place, Ran
from tests.oracle.mock_api import Reply, text, tool_use

SERVER = Path(__file__).with_name("mcp_server.py")
OPUS, SONNET, HAIKU, FABLE = "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-2"


@dataclass(frozen=True)
class Case:
    """A set-up, and what one prompt in it gives in both programs."""

    expected: Any
    seen: Callable[[Ran], Any]
    prepare: Callable[[Place], None] = lambda place: None
    prompt: str = "go"
    options: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    replies: tuple[Reply, ...] = ()


def _user(**settings: Any) -> Callable[[Place], None]:
    return lambda place: place.user(settings)


def model_of(ran: Ran) -> Any:
    return ran.main["model"]


def _model(expected: str, *options: str, given: dict[str, str] | None = None, **settings: Any) -> Case:
    return Case(expected, model_of, _user(**settings), options=options, env=given or {})


def _bash(command: str, **more: Any) -> tuple[Reply, ...]:
    return (Reply([tool_use("Bash", command=command, description="Try it", **more)]), Reply([text("Done.")]))


def _credentials(ran: Ran) -> Any:
    return {name: ran.headers[name] for name in ("x-api-key", "authorization") if name in ran.headers}


def _last_result(ran: Ran) -> str:
    return ran.results[-1]


MODELS = {
    "settings model": _model(HAIKU, model="haiku"),
    "ANTHROPIC_MODEL": _model(SONNET, given={"ANTHROPIC_MODEL": "sonnet"}, model="haiku"),
    "--model": _model(OPUS, "--model", "opus", given={"ANTHROPIC_MODEL": "sonnet"}, model="haiku"),
    "ANTHROPIC_MODEL of the settings": _model(
        SONNET, given={"ANTHROPIC_MODEL": "haiku"}, env={"ANTHROPIC_MODEL": "sonnet"}
    ),
    "ANTHROPIC_DEFAULT_SONNET_MODEL": _model(
        "my-sonnet", given={"ANTHROPIC_DEFAULT_SONNET_MODEL": "my-sonnet"}, model="sonnet"
    ),
    "ANTHROPIC_DEFAULT_OPUS_MODEL": _model("my-opus", given={"ANTHROPIC_DEFAULT_OPUS_MODEL": "my-opus"}, model="opus"),
    "ANTHROPIC_DEFAULT_HAIKU_MODEL": _model(
        "my-haiku", given={"ANTHROPIC_DEFAULT_HAIKU_MODEL": "my-haiku"}, model="haiku"
    ),
    "sonnet[1m] of a variable": _model(
        "my-sonnet", given={"ANTHROPIC_DEFAULT_SONNET_MODEL": "my-sonnet"}, model="sonnet[1m]"
    ),
    "sonnet[1m]": _model(SONNET, model="sonnet[1m]"),
    "fable": _model(FABLE, model="fable"),
    "opusplan": _model(SONNET, model="opusplan"),
    "opusplan, planning": _model(OPUS, "--permission-mode", "plan", model="opusplan"),
    "opusplan of variables, planning": _model(
        "my-opus", "--permission-mode", "plan", given={"ANTHROPIC_DEFAULT_OPUS_MODEL": "my-opus"}, model="opusplan"
    ),
    "opusplan of variables": _model(
        "my-sonnet", given={"ANTHROPIC_DEFAULT_SONNET_MODEL": "my-sonnet"}, model="opusplan"
    ),
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS": Case(
        5000, lambda ran: ran.main["max_tokens"], env={"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "5000", "ANTHROPIC_MODEL": OPUS}
    ),
}

VARIABLES = {
    "env reaches Bash": Case(
        "yes", _last_result, _user(env={"FROM_ENV": "yes"}), options=("--allowedTools", "Bash"),
        replies=_bash("echo $FROM_ENV"),
    ),
    "env overrides the environment": Case(
        "yes", _last_result, _user(env={"FROM_ENV": "yes"}), options=("--allowedTools", "Bash"),
        env={"FROM_ENV": "no"}, replies=_bash("echo $FROM_ENV"),
    ),
    "env of --settings overrides that of the user": Case(
        "flag", _last_result, _user(env={"FROM_ENV": "user"}),
        options=("--allowedTools", "Bash", "--settings", '{"env": {"FROM_ENV": "flag"}}'),
        replies=_bash("echo $FROM_ENV"),
    ),
    "env of a trusted project": Case(
        "local project", _last_result, lambda place: _project_env(place), options=("--allowedTools", "Bash"),
        replies=_bash("echo $FROM_LOCAL $FROM_PROJECT"),
    ),
    "env of a hook": Case(
        True, lambda ran: "hook says yes" in ran.sent,
        _user(env={"FROM_ENV": "yes"}, hooks={"UserPromptSubmit": [
            {"hooks": [{"type": "command", "command": "echo hook says $FROM_ENV"}]}
        ]}),
    ),
    "commands know that an agent runs them": Case(
        "1", _last_result, options=("--allowedTools", "Bash"), replies=_bash("echo $CLAUDECODE"),
    ),
    "BASH_DEFAULT_TIMEOUT_MS": Case(
        True, lambda ran: "timed out after 1s" in ran.results[-1], options=("--allowedTools", "Bash"),
        env={"BASH_DEFAULT_TIMEOUT_MS": "1000"}, replies=_bash("sleep 5"),
    ),
    "BASH_MAX_TIMEOUT_MS": Case(
        "hi", _last_result, options=("--allowedTools", "Bash"), replies=_bash("echo hi", timeout=700_000),
        env={"BASH_MAX_TIMEOUT_MS": "800000"},
    ),
    "ANTHROPIC_AUTH_TOKEN of the settings": Case(
        {"authorization": "Bearer tok"}, _credentials, _user(env={"ANTHROPIC_AUTH_TOKEN": "tok"}),
        env={"ANTHROPIC_API_KEY": ""},
    ),
    "key and token": Case(
        {"x-api-key": KEY, "authorization": "Bearer tok"}, _credentials, env={"ANTHROPIC_AUTH_TOKEN": "tok"},
    ),
    "ANTHROPIC_CUSTOM_HEADERS of the settings": Case(
        ("", "2"), lambda ran: (ran.headers.get("x-a", ""), ran.headers.get("x-b")),
        _user(env={"ANTHROPIC_CUSTOM_HEADERS": "X-B: 2"}), env={"ANTHROPIC_CUSTOM_HEADERS": "X-A: 1"},
    ),
    "additionalDirectories": Case(
        "beside", _last_result, lambda place: _beside(place),
        replies=(Reply([tool_use("Bash", command="cat ../beside/a.txt", description="Read")]), Reply([text("Done.")])),
    ),
}  # fmt: skip


def _project_env(place: Place) -> None:
    place.write("project/.claude/settings.json", {"env": {"FROM_PROJECT": "project", "FROM_LOCAL": "no"}})
    place.write("project/.claude/settings.local.json", {"env": {"FROM_LOCAL": "local"}})
    place.trust()


def _beside(place: Place) -> None:
    place.write("beside/a.txt", "beside\n")
    place.user({"permissions": {"additionalDirectories": [str(place.home / "beside")]}})


def server(name: str, **more: Any) -> dict[str, Any]:
    """The configuration of a server that runs `mcp_server.py`."""
    return {"type": "stdio", "command": sys.executable, "args": [str(SERVER), name], **more}


def _servers(place: Place) -> None:
    """A server in each scope where `claude mcp add` puts one."""
    entry = {"mcpServers": {"loc": server("loc"), "both": server("both-local")}}
    user = {"usr": server("usr"), "both": server("both-user"), "off": server("off")}
    place.write(
        ".claude.json",
        {"mcpServers": user, "projects": {str(place.project): {**entry, "disabledMcpServers": ["off"]}}},
    )
    shared = {"prj": server("prj"), "both": server("both-project"), "no": server("no")}
    place.write("project/.mcp.json", {"mcpServers": shared})
    place.write("project/.claude/settings.local.json", {"disabledMcpjsonServers": ["no"]})
    place.user({"env": {"FROM_ENV": "variable"}})
    place.trust()


def _calls(*names: str) -> tuple[Reply, ...]:
    return (*(Reply([tool_use(f"mcp__{name}__shout", text="hey")]) for name in names), Reply([text("Done.")]))


def _allow(*names: str) -> tuple[str, ...]:
    return ("--allowedTools", *(f"mcp__{name}" for name in names))


def _prompt_texts(ran: Ran) -> list[str]:
    blocks = [block for m in ran.main["messages"] if isinstance(m["content"], list) for block in m["content"]]
    texts = [block["text"] for block in blocks if block.get("type") == "text"]
    return [text.strip() for text in texts if text.startswith(("GREET", "SECOND"))]


SERVERS = {
    "MCP servers of user, local and project scope": Case(
        [f"SHOUT {name} hey variable" for name in ("usr", "loc", "prj", "both-local")],
        lambda ran: ran.results,
        _servers,
        options=_allow("usr", "loc", "prj", "both"),
        replies=_calls("usr", "loc", "prj", "both"),
    ),
    "MCP servers that are disabled": Case(
        [True, True],
        lambda ran: ["No such tool" in result or "is no tool" in result for result in ran.results],
        _servers,
        options=_allow("off", "no"),
        replies=_calls("off", "no"),
    ),
    "--strict-mcp-config": Case(
        [True],
        lambda ran: ["No such tool" in result or "is no tool" in result for result in ran.results],
        _servers,
        options=("--strict-mcp-config", *_allow("usr")),
        replies=_calls("usr"),
    ),
    "instructions of MCP servers": Case(True, lambda ran: "INSTRUCTIONS OF usr" in ran.sent, _servers),
    "prompts of MCP servers": Case(
        ['GREET {"who": "bob", "how": "loudly"}', "SECOND"],
        _prompt_texts,
        _servers,
        prompt="/mcp__usr__greet bob loudly",
    ),
    "resources of MCP servers": Case(
        (["One", "One"], "CONTENT OF note://one", True),
        lambda ran: (
            [each["name"] for each in json.loads(ran.results[0]) if each["server"] in ("usr", "loc")],
            json.loads(ran.results[1])["contents"][0]["text"],
            'Server "nope" not found' in ran.results[2],
        ),
        _servers,
        replies=(
            Reply([tool_use("ListMcpResourcesTool")]),
            Reply([tool_use("ReadMcpResourceTool", server="usr", uri="note://one")]),
            Reply([tool_use("ReadMcpResourceTool", server="nope", uri="note://one")]),
            Reply([text("Done.")]),
        ),
    ),
}


CASES: dict[str, Case] = {**MODELS, **VARIABLES, **SERVERS}
SAMPLE = [name for number, name in enumerate(CASES) if number % 4 == 0]  # what a run without `make soak` tries
