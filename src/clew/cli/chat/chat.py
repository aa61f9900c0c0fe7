"""`clew chat`: chat with a model in a folder, in sessions that Claude Code can resume."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace

from clew.cli.chat.model_options import add_model_options, read_model, read_output_schema, read_reasoning
from clew.cli.options import add_common_options
from clew.cli.output import clean, print_data, print_json, print_message
from clew.system.extras import install_hint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from clew.api.key_helper import KeyHelper
    from clew.chat.config.permission_mode import Mode
    from clew.chat.config.settings import Settings
    from clew.chat.deps import ConversationLimits
    from clew.chat.events import Event, TurnFinished
    from clew.chat.session_spec import SessionSpec

    Report = Callable[[str], None]

INTERRUPTED = 130


def add_arguments(command: ArgumentParser) -> None:
    from clew.cli.chat import chat_stream

    command.add_argument("prompt", nargs="?", default="", help="the prompt; piped input is appended to it")
    command.add_argument("--print", "-p", action="store_true", help="print the reply to one prompt and exit")
    command.add_argument(
        "--output-format", choices=("text", "json", "stream-json"), default="text", help="how to print it"
    )
    command.add_argument("--plain", action="store_true", help="in lines: for screen readers and simple terminals")
    _session(command)
    add_model_options(command)
    rights(command)
    chat_stream.add_arguments(command)
    add_common_options(command)


def _session(command: ArgumentParser) -> None:
    group = command.add_argument_group("session")
    group.add_argument(
        "--continue", "-c", dest="latest", action="store_true", help="resume the newest session of this folder"
    )
    group.add_argument("--resume", "-r", metavar="ID", default="", help="resume a session: its id, title or path")
    group.add_argument("--fork-session", action="store_true", help="resume in a copy, and leave the original unchanged")
    group.add_argument(
        "--resume-session-at",
        "--at",
        metavar="PLACE",
        dest="at",
        default="",
        help="in a copy up to this turn, branch (b2) or entry",
    )
    group.add_argument(
        "--resume-drops-turn",
        metavar="UUID",
        default="",
        help="with --at: refuse unless only this prompt's turn is left out",
    )
    group.add_argument("--session-id", metavar="UUID", type=_uuid, help="the id of a new session")
    group.add_argument("--name", "-n", metavar="TITLE", default="", help="a title for it")
    group.add_argument("--no-session-persistence", action="store_true", help="do not save the session")
    group.add_argument(
        "--no-shadow", action="store_true", help="do not save what commands change, so that it cannot be taken back"
    )
    group.add_argument(
        "--rewind-files",
        metavar="UUID",
        default="",
        help="put the files back to before this prompt of --resume, and end",
    )
    group.add_argument(
        "--durability", choices=("line", "turn", "off"), default="line", help="when to force lines to the disk"
    )


def rights(command: ArgumentParser) -> None:
    """Add the options that limit what the chat may do and which tools it has."""
    group = command.add_argument_group("rights")
    group.add_argument(
        "--permission-mode", metavar="MODE", default="", help="default, acceptEdits, plan, dontAsk or bypassPermissions"
    )
    group.add_argument("--dangerously-skip-permissions", action="store_true", help="the same as bypassPermissions")
    group.add_argument(
        "--allowedTools",
        "--allowed-tools",
        metavar="RULE",
        nargs="+",
        default=[],
        help="allow these: 'Bash(git log *)', Edit",
    )
    group.add_argument(
        "--disallowedTools", "--disallowed-tools", metavar="RULE", nargs="+", default=[], help="refuse these"
    )
    group.add_argument("--tools", metavar="NAME", nargs="*", help="offer only these tools")
    group.add_argument(
        "--web-search", metavar="COMMAND", default="", help="the command that WebSearch runs (see docs/tools.md)"
    )
    group.add_argument("--add-dir", metavar="DIR", nargs="+", default=[], help="further folders to work in")
    group.add_argument("--settings", metavar="JSON", help="further settings: JSON, or a file")
    group.add_argument(
        "--managed-settings",
        metavar="JSON",
        help="restrictions of the program that starts clew",
    )
    group.add_argument(
        "--project-config-root", metavar="DIR", default="", help="take settings, commands and servers from this folder"
    )
    group.add_argument("--setting-sources", metavar="LIST", help="which settings to read: user,project,local")
    group.add_argument(
        "--plugin-dir", metavar="DIR", action="append", default=[], help="use the plugin in this folder (repeatable)"
    )
    group.add_argument("--mcp-config", metavar="JSON", nargs="+", default=[], help="MCP servers: JSON, or files")
    group.add_argument("--strict-mcp-config", action="store_true", help="only those servers")


def run(options: Namespace) -> int:
    import asyncio

    from clew.cli.chat import chat_stream

    if options.rewind_files:
        return _rewind_files(options)
    if options.input_format == "stream-json":
        return asyncio.run(chat_stream.serve(options, session_spec(options)))
    if not options.print:
        return _console(options)
    prompt = _read_prompt(options.prompt)
    if not prompt.strip():
        print_message("clew: the prompt is empty. Write: clew chat -p PROMPT")
        return 2
    if options.output_format == "stream-json":
        return asyncio.run(chat_stream.serve(options, session_spec(options), prompt))
    return asyncio.run(_run(options, prompt))


def _rewind_files(options: Namespace) -> int:
    from clew.cli.edit.rewind import restore_files_before
    from clew.cli.select_session import open_tree
    from clew.errors import ClewError

    if options.print or options.prompt or not options.resume:
        raise ClewError(
            "--rewind-files goes with --resume, and with no prompt.",
            hint="Give both: clew chat --resume ID --rewind-files UUID",
        )
    restore_files_before(open_tree(options), options.resume, options.rewind_files)
    print(f"Files rewound to state at message {options.rewind_files}")
    return 0


def _console(options: Namespace) -> int:
    """Return the console; where nothing can be drawn, in lines."""
    from importlib.util import find_spec
    from pathlib import Path

    from msgspec.structs import replace

    from clew.system.environment import terminal_kind, wants_colour
    from clew.wire.layout import claude_dir

    is_plain = options.plain or sys.platform == "win32" or terminal_kind() in ("dumb", "")
    if not is_plain and not (sys.stdin.isatty() and sys.stdout.isatty()):
        print_message(
            "clew: the console needs a terminal. Ask once with: clew chat -p PROMPT, or talk in lines with: --plain"
        )
        return 2
    if not is_plain and find_spec("prompt_toolkit") is None:
        print_message("clew: the console needs prompt_toolkit.")
        print_message(install_hint("chat"))
        return 2

    def make(report: Report) -> SessionSpec:
        return replace(session_spec(options, report=report), entrypoint="cli", can_prompt_user=True)

    from clew.cli.guarded_streams import release
    from clew.console.console_app import ConsoleOptions, run_console

    if not is_plain:
        release()  # the console draws the terminal, and cleans all text where it is painted

    started = ConsoleOptions(
        make,
        Path.cwd().resolve(),
        claude_dir(options.claude_dir).resolve(),
        first=options.prompt,
        is_plain=is_plain,
        colour=wants_colour(),
    )
    return run_console(started)


async def _run(options: Namespace, prompt: str) -> int:
    import asyncio
    import signal

    from clew.chat.session_factory import open_session

    spec = session_spec(options)

    def tell(event: Event) -> None:
        _print_event(event, options.quiet)

    async with open_session(spec, tell) as opened:
        loop = asyncio.get_running_loop()
        if sys.platform != "win32":
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, opened.engine.interrupt)
        finished = await opened.say(prompt)
        finished = await opened.engine.settle() or finished
        return _print_result(
            finished, opened.engine.conversation.session_id, opened.engine.conversation.journal.new_id(), options
        )


def _print_result(finished: TurnFinished, session_id: str, uuid: str, options: Namespace) -> int:
    from clew.chat.sdk.result_json import result
    from clew.system.control_characters import escape_json_bytes
    from clew.wire.json_codec import encode

    if options.json:
        print_json([{"kind": "result", **result(finished, session_id, uuid)}])
    elif options.output_format == "json":
        print_data([escape_json_bytes(encode(result(finished, session_id, uuid))), b"\n"], is_json=True)
    else:
        if finished.text:
            print(clean(finished.text))
        for error in finished.errors:
            print_message(f"clew: {error}")
    if finished.is_interrupted:
        return INTERRUPTED
    return 2 if finished.is_error else 0


def _print_event(event: Event, quiet: bool) -> None:
    """Print an event that the user should know about while waiting."""
    from clew.chat import events

    if quiet:
        return
    if isinstance(event, events.Notice):
        print_message(event.text)
    elif isinstance(event, events.RequestRetried):
        print_message(f"{event.message} Again in {event.delay:.0f} s ({event.number} of {event.of}).")
    elif isinstance(event, events.ConversationCompacted):
        print_message(f"The conversation was compacted, from {event.before:,} tokens to {event.after:,}.")


def session_spec(options: Namespace, cwd: Path | None = None, report: Report = print_message) -> SessionSpec:
    """Return the session that the options describe. It is in `cwd` or the current directory. `report` is told of options
    without an effect. Raises ApiError if there is no key.
    The variables of the settings apply to this process; those of a project do not if `cwd` is given, because the
    process may then serve several projects.
    """
    from pathlib import Path

    from clew.api.endpoint import endpoint
    from clew.chat.config.settings import Settings
    from clew.chat.session_spec import SessionSpec
    from clew.system import environment
    from clew.wire.layout import claude_dir

    is_only = cwd is None
    cwd = (cwd or Path.cwd()).resolve()
    root = Path(options.project_config_root).resolve() if options.project_config_root else cwd
    is_trusted = _is_trusted(root, report)
    sources = _sources(options)
    claude = claude_dir(options.claude_dir).resolve()
    settings = Settings.load(root, claude, sources, is_trusted, cli=options.settings)
    environment.apply_variables((settings if is_only else settings.without_project).variables)
    return SessionSpec(
        cwd=cwd,
        claude=claude,
        endpoint=endpoint(options.base_url, helper=_key_helper(settings, cwd)),
        session_id=options.session_id or "",
        resume=options.resume,
        is_latest=options.latest,
        is_fork=options.fork_session,
        at=options.at,
        dropped_turn=options.resume_drops_turn,
        agent=options.agent,
        host_policy=options.managed_settings,
        config_root=root if options.project_config_root else None,
        model=read_model(options, report),
        fallback=options.fallback_model,
        mode=_mode(options, report),
        roots=tuple(Path(folder).resolve() for folder in options.add_dir),
        system=options.system_prompt,
        added_system=options.append_system_prompt,
        title=options.name,
        limits=_limits(options),
        small_model=environment.small_model(),
        reasoning=read_reasoning(options, report),
        output_schema=read_output_schema(options),
        entrypoint="sdk-cli",
        is_kept=not options.no_session_persistence,
        durability=options.durability,
        watches_commands=not options.no_shadow,
        allowed=_split_rules(options.allowedTools),
        disallowed=_split_rules(options.disallowedTools),
        tools=None if options.tools in (None, ["default"]) else _split_rules(options.tools),
        settings=options.settings,
        sources=sources,
        is_trusted=is_trusted,
        plugins=tuple(Path(folder).resolve() for folder in options.plugin_dir),
        servers=tuple(options.mcp_config),
        only_these_servers=options.strict_mcp_config,
        web_search=options.web_search,
    )


def _limits(options: Namespace) -> ConversationLimits:
    from clew.chat.deps import ConversationLimits
    from clew.system import environment

    return ConversationLimits(
        turns=options.max_turns,
        dollars=options.max_budget_usd,
        output=environment.positive_number("CLAUDE_CODE_MAX_OUTPUT_TOKENS"),
        auto_compact=not environment.is_on("DISABLE_AUTO_COMPACT") and not environment.is_on("DISABLE_COMPACT"),
    )


def _key_helper(settings: Settings, cwd: Path) -> KeyHelper | None:
    from clew.api.key_helper import KeyHelper

    command = settings.merged.get("apiKeyHelper")
    return KeyHelper(command, cwd) if isinstance(command, str) and command.strip() else None


def _is_trusted(cwd: Path, report: Report) -> bool:
    from clew.chat.permission.folder_trust import Trust

    state = Trust().state(cwd)
    if state == "changed":
        report(f"What {cwd} brings along has changed since you trusted it, and does not count.")
        report("Look at it with: clew trust --dry-run. Trust it again with: clew trust")
    return state == "trusted"


def _mode(options: Namespace, report: Report) -> Mode | None:
    """Return the permission mode that the options name; None for that of the settings."""
    from clew.chat.config.permission_mode import parse_mode

    asked = "bypassPermissions" if options.dangerously_skip_permissions else options.permission_mode
    mode, strange = parse_mode(asked) if asked else (None, "")
    if strange:
        report(strange)
    return mode


def _sources(options: Namespace) -> tuple[str, ...]:
    """Return the settings files that apply."""
    from clew.chat.config.settings import FILE_SCOPES

    names = options.setting_sources
    return FILE_SCOPES if names is None else tuple(name.strip() for name in names.split(",") if name.strip())


def _split_rules(arguments: list[str]) -> tuple[str, ...]:
    """Split rules at commas and spaces outside parentheses: `Bash(git log *),Edit` is two rules."""
    rules: list[str] = []
    for word in arguments:
        depth, part = 0, ""
        for letter in word:
            depth += (letter == "(") - (letter == ")")
            if letter in ", " and depth == 0:
                rules.append(part)
                part = ""
            else:
                part += letter
        rules.append(part)
    return tuple(rule for rule in rules if rule)


def _read_prompt(prompt: str) -> str:
    """Return the prompt, followed by the text that is piped in."""
    piped = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.read()
    return "\n\n".join(part for part in (prompt, piped.strip("\n")) if part)


def _uuid(text: str) -> str:
    from uuid import UUID

    try:
        return str(UUID(text))
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a UUID") from None
