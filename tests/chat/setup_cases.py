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


def _style(place: Place) -> None:
    place.write(".claude/output-styles/pirate.md", "---\nname: pirate\ndescription: Talks so\n---\nSTYLE OF THE USER")
    place.write(".claude/output-styles/plain.md", "STYLE WITHOUT A HEADER")
    place.write("project/.claude/output-styles/ours.md", "---\nname: ours\n---\nSTYLE OF THE PROJECT")
    place.trust()


def _with_style(**settings: Any) -> Callable[[Place], None]:
    def prepare(place: Place) -> None:
        _style(place)
        place.user(settings)

    return prepare


def _has(*words: str) -> Callable[[Ran], list[bool]]:
    return lambda ran: [word in ran.sent for word in words]


def _listed(ran: Ran) -> Any:
    """What the first frame of an SDK says about the set-up."""
    frames = [json.loads(line) for line in ran.stdout.splitlines()]
    first = next(frame for frame in frames if frame.get("subtype") == "init")
    plugins = [plugin["name"] for plugin in first["plugins"] if not plugin["source"].endswith("@builtin")]
    servers = [(server["name"], server["status"], server["source"]) for server in first["mcp_servers"]]
    commands = [name for name in first["slash_commands"] if name.startswith("inst:")]
    return plugins, servers, sorted(commands), "inst:rev" in first["agents"], first["output_style"]


STYLES = {
    "outputStyle of the user": Case([True], _has("STYLE OF THE USER"), _with_style(outputStyle="pirate")),
    "outputStyle without a header": Case([True], _has("STYLE WITHOUT A HEADER"), _with_style(outputStyle="plain")),
    "outputStyle of a trusted project": Case([True], _has("STYLE OF THE PROJECT"), _with_style(outputStyle="ours")),
    "outputStyle that is built in": Case([True], _has("# Output Style: Learning"), _with_style(outputStyle="Learning")),
    "no outputStyle": Case([False], _has("# Output Style"), _with_style(outputStyle="default")),
    "outputStyle and --system-prompt": Case(
        [True, True], _has("STYLE OF THE USER", "OWN PROMPT"), _with_style(outputStyle="pirate"),
        options=("--system-prompt", "OWN PROMPT"),
    ),
    "language": Case([True], _has("in klingon"), _user(language="klingon")),
    "attribution": Case([True], _has("Signed by me"), _user(attribution={"commit": "Signed by me", "pr": ""})),
}  # fmt: skip


HELPER = {
    "apiKeyHelper": Case(
        {"x-api-key": "from-helper", "authorization": "Bearer from-helper"}, _credentials,
        _user(apiKeyHelper="echo from-helper"), env={"ANTHROPIC_API_KEY": ""},
    ),
    "apiKeyHelper beside a key": Case(
        {"x-api-key": KEY, "authorization": "Bearer from-helper"}, _credentials, _user(apiKeyHelper="echo from-helper")
    ),
    "apiKeyHelper beside a token": Case(
        {"x-api-key": "from-helper", "authorization": "Bearer tok"}, _credentials,
        _user(apiKeyHelper="echo from-helper"), env={"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": "tok"},
    ),
}  # fmt: skip


def plugin(place: Place, folder: str, name: str) -> Path:
    """A plugin with one thing of each kind."""
    root = place.home / folder
    place.write(f"{folder}/.claude-plugin/plugin.json", {"name": name, "version": "1.0.0", "description": "d"})
    place.write(f"{folder}/commands/hello.md", "---\ndescription: says\n---\nCOMMAND $ARGUMENTS ${CLAUDE_PLUGIN_ROOT}")
    place.write(f"{folder}/commands/sub/deep.md", "---\ndescription: deep\n---\nDEEP COMMAND")
    place.write(f"{folder}/skills/fold/SKILL.md", "---\nname: fold\ndescription: folds things\n---\nBODY OF THE SKILL")
    place.write(f"{folder}/agents/rev.md", "---\nname: rev\ndescription: reviews things\n---\nYou review.")
    place.write(f"{folder}/output-styles/zen.md", "---\nname: zen\n---\nSTYLE OF THE PLUGIN")
    command = "echo HOOK OF ${CLAUDE_PLUGIN_ROOT} and $CLAUDE_PLUGIN_ROOT"
    place.write(
        f"{folder}/hooks/hooks.json",
        {"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": command}]}]}},
    )
    place.write(
        f"{folder}/.mcp.json", {"mcpServers": {"srv": server("srv", env={"FROM_ENV": "${CLAUDE_PLUGIN_ROOT}"})}}
    )
    return root


def _installed(place: Place) -> None:
    """A plugin as `claude plugin install` leaves it."""
    root = plugin(place, ".claude/plugins/cache/mkt/inst/1.0.0", "inst")
    record = {"scope": "user", "installPath": str(root), "version": "1.0.0"}
    place.write(".claude/plugins/installed_plugins.json", {"version": 2, "plugins": {"inst@mkt": [record]}})
    market = {"source": {"source": "directory", "path": str(place.home / "mkt")}}
    place.write(
        ".claude/plugins/known_marketplaces.json", {"mkt": {**market, "installLocation": str(place.home / "mkt")}}
    )
    listing = {"name": "mkt", "owner": {"name": "me"}, "plugins": [{"name": "inst", "source": "./inst"}]}
    place.write("mkt/.claude-plugin/marketplace.json", listing)
    plugin(place, "mkt/inst", "inst")
    place.user({"enabledPlugins": {"inst@mkt": True, "other@mkt": False}, "outputStyle": "inst:zen"})


def _plugin_folder(place: Place) -> None:
    plugin(place, "plugin", "inst")


_PLUGIN_SIGNS = ("STYLE OF THE PLUGIN", "inst:rev", "inst:fold", "HOOK OF", "INSTRUCTIONS OF srv")


def _plugin_calls(name: str) -> tuple[Reply, ...]:
    call = tool_use(f"mcp__plugin_{name}_srv__shout", text="hey")
    return (Reply([tool_use("Skill", skill=f"{name}:fold")]), Reply([call]), Reply([text("Done.")]))


PLUGINS = {
    "--plugin-dir": Case(
        ([True] * 5, True, True),
        lambda ran: (_has(*_PLUGIN_SIGNS)(ran), "BODY OF THE SKILL" in ran.sent, ran.results[1].startswith("SHOUT srv hey")),
        lambda place: _plugin_folder(place),
        prompt="/inst:hello you",
        options=(
            "--plugin-dir", "../plugin", "--settings", '{"outputStyle": "inst:zen"}',
            "--allowedTools", "mcp__plugin_inst_srv",
        ),
        replies=_plugin_calls("inst"),
    ),
    "installed plugin": Case(
        ([True] * 5, True), lambda ran: (_has(*_PLUGIN_SIGNS)(ran), "COMMAND you /" in ran.sent), _installed,
        prompt="/inst:hello you",
    ),
    "lists for an SDK": Case(
        (
            ["inst"],
            [("plugin:inst:srv", "connected", "plugin")],
            ["inst:fold", "inst:hello", "inst:sub:deep"],
            True,
            "inst:zen",
        ),
        _listed, _installed, options=("--output-format", "stream-json", "--verbose"),
    ),
    "command in a folder of a plugin": Case([True], _has("DEEP COMMAND"), _installed, prompt="/inst:sub:deep"),
}  # fmt: skip


def _hook(event: str, *hooks: dict[str, Any], matcher: str = "") -> Callable[[Place], None]:
    return _user(hooks={event: [{"matcher": matcher, "hooks": list(hooks)}]})


def _recording_hooks(place: Place) -> None:
    """Hooks that write what they were told into a file, which the last call reads."""
    (place.project / "sub").mkdir()
    fields = {"PostToolBatch": ("batch", '"tool_name":', '"[A-Za-z]*"'), "CwdChanged": ("cwd", '"new_cwd":', 'sub"')}
    hooks = {}
    for event, (name, key, value) in fields.items():
        told = f"tr -d ' ' | grep -o '{key}[^,}}]*' | grep -o '{value}' | tail -1"
        hooks[event] = [{"hooks": [{"type": "command", "command": f'echo "{name} $({told})" >> $HOME/events'}]}]
    place.user({"hooks": hooks})


HOOKS = {
    "hook with a condition": Case(
        ["done", "hook says no"],
        lambda ran: ["done" if result == "1" else "hook says no" for result in ran.results],
        _hook("PreToolUse", {"type": "command", "command": "exit 2", "if": "Bash(git *)"}, matcher="Bash"),
        options=("--allowedTools", "Bash"),
        replies=(*_bash("echo 1")[:1], *_bash("git --version")),
    ),
    "hooks after all calls of a reply, and for a changed folder": Case(
        'batch "Bash"\ncwd sub"',
        _last_result,
        lambda place: _recording_hooks(place),
        options=("--allowedTools", "Bash"),
        replies=(*_bash("cd sub")[:1], *_bash("sort $HOME/events")),
    ),
    "variables that a hook sets": Case(
        "yes /opt/x",
        _last_result,
        _hook(
            "SessionStart",
            {
                "type": "command",
                "command": "echo 'export FROM_FILE=yes' >> $CLAUDE_ENV_FILE;"
                " echo 'export PATH=\"$PATH:/opt/x\"' >> $CLAUDE_ENV_FILE",
            },
        ),
        options=("--allowedTools", "Bash"),
        replies=_bash("echo $FROM_FILE ${PATH##*:}"),
    ),
    "hook with arguments": Case(
        [True],
        _has("one two $HOME"),
        _hook("UserPromptSubmit", {"type": "command", "command": "/bin/echo", "args": ["one two", "$HOME"]}),
    ),
}


CASES: dict[str, Case] = {**MODELS, **VARIABLES, **SERVERS, **STYLES, **HELPER, **PLUGINS, **HOOKS}
SAMPLE = [name for number, name in enumerate(CASES) if number % 4 == 0]  # what a run without `make soak` tries
