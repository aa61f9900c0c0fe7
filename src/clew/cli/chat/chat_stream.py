"""The doors of programs: a conversation as JSON lines on stdin and stdout, and `clew-agent`, which Agent SDKs start.

An SDK starts what its `cli_path` names with flags alone. `clew-agent` is `clew chat` under such a name: it takes the flags
of the SDKs, and passes over those that it does not know, with a remark.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator, Callable

from clew.cli.output import print_data, print_message
from clew.system.control_characters import escape_json_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.chat.session_spec import SessionSpec

LEVEL = "2.1.29"  # of the format and of the protocol, which is what an SDK asks for when it asks for a version
LONGEST = 1 << 28  # bytes of one line that is read


def add_arguments(command: ArgumentParser) -> None:
    group = command.add_argument_group("programs")
    group.add_argument(
        "--input-format", choices=("text", "stream-json"), default="text", help="prompts as text, or as JSON lines"
    )
    group.add_argument(
        "--permission-prompt-tool", metavar="NAME", default="", help="stdio: the program is asked; or an MCP tool"
    )
    group.add_argument(
        "--permission-prompts", choices=("host", "none"), default="host", help="none: deny what would be asked"
    )
    group.add_argument("--debug-file", metavar="FILE", default="", help="append messages to this file")
    group.add_argument("--include-partial-messages", action="store_true", help="tell every event of the stream")
    group.add_argument("--include-hook-events", action="store_true", help="tell when hooks start and end")
    group.add_argument("--replay-user-messages", action="store_true", help="say prompts back")
    group.add_argument("--forward-subagent-text", action="store_true", help="tell also what agents say")
    group.add_argument("--session-mirror", action="store_true", help="tell also every line that is written down")
    group.add_argument("--system-prompt-file", metavar="FILE", default="", help="instead of clew's own")
    group.add_argument(
        "--allow-dangerously-skip-permissions", action="store_true", help="the mode bypassPermissions may be set later"
    )
    for name in ("--verbose", "--await-initialize"):
        group.add_argument(name, action="store_true", help="taken, and of no effect")


async def serve(options: Namespace, spec: SessionSpec, prompt: str | None = None) -> int:
    """Until stdin ends, or until one prompt is answered. The exit code."""
    from pathlib import Path
    from uuid import uuid4

    from msgspec.structs import replace

    from clew.chat.sdk.sdk_frames import FrameBuilder
    from clew.chat.sdk.serve_sdk import serve_sdk
    from clew.system.environment import entrypoint, wants_session_state

    framing = FrameBuilder(
        new_id=lambda: str(uuid4()),
        shows_partial=options.include_partial_messages,
        shows_prompts=options.replay_user_messages,
        shows_agents=options.forward_subagent_text,
        shows_hooks=options.include_hook_events,
    )
    spec = replace(
        spec,
        can_prompt_user=bool(options.permission_prompt_tool) and options.permission_prompts == "host",
        entrypoint=entrypoint() or spec.entrypoint,
    )
    if options.system_prompt_file:
        spec = replace(spec, system=Path(options.system_prompt_file).read_text(encoding="utf-8"))
    lines = _lines() if prompt is None else _one(prompt)
    say = _speaker(options)
    return await serve_sdk(
        spec,
        lines,
        _write,
        framing,
        tells_state=wants_session_state(),
        may_bypass=options.allow_dangerously_skip_permissions,
        mirrors=options.session_mirror,
        prompt_tool=options.permission_prompt_tool,
        warn=say,
    )


def _speaker(options: Namespace) -> Callable[[str], None]:
    """Return what says messages to the user of the program: on stderr, and in the file that was named."""
    from pathlib import Path

    def say(text: str) -> None:
        if not options.quiet:
            print_message(text)
        if options.debug_file:
            with Path(options.debug_file).open("a", encoding="utf-8") as file:
                file.write(f"{text}\n")

    if options.debug_file:
        Path(options.debug_file).touch(mode=0o600)
    return say


def _write(line: bytes) -> None:
    print_data([escape_json_bytes(line)], is_json=True)


async def _lines() -> AsyncIterator[bytes]:
    import asyncio

    reader = asyncio.StreamReader(limit=LONGEST)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield line


async def _one(prompt: str) -> AsyncIterator[bytes]:
    from clew.wire.json_codec import encode

    yield encode({"type": "user", "message": {"role": "user", "content": prompt}})


def main() -> int:
    """`clew-agent`: as an Agent SDK starts it."""
    from clew.system.subprocesses import isolate_process

    isolate_process()
    from clew.cli import guarded_streams

    before = guarded_streams.install()
    try:
        return _main(sys.argv[1:])
    finally:
        guarded_streams.restore(before)


def _main(words: list[str]) -> int:
    from clew.cli.run_command import command_parser, run
    from clew.version import __version__

    if words in (["-v"], ["--version"]):
        print(f"{LEVEL} (the level of the format; clew {__version__})")
        return 0
    _, unknown = command_parser("chat").parse_known_args(words)
    if unknown:
        print_message(f"clew: passed over: {' '.join(unknown)}")
    return run(["chat", *(word for word in words if word not in unknown)])
