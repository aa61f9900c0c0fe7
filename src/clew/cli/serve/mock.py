"""`clew mock`: run a scripted Messages API on this machine."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from clew.cli.options import add_common_options, parse_count
from clew.cli.output import clean, clean_name, print_json, print_message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clew.api.mock.scripts import MockScript

KEY = "sk-ant-mock"


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument(
        "run", metavar="COMMAND", nargs="*", help="run this with the mock as its API, and end with it; put -- before it"
    )
    command.add_argument("--script", "-s", metavar="FILE", help="what to say: JSON, or TOML; without one it echoes")
    command.add_argument("--host", default="127.0.0.1", help="the address to listen on (default 127.0.0.1)")
    command.add_argument(
        "--port", metavar="N", type=parse_count, default=0, help="the port to listen on (default: a free one)"
    )
    command.add_argument("--ledger", metavar="FILE", help="append a JSON line for each request")
    command.add_argument("--bodies", action="store_true", help="keep the bodies of requests in the ledger")
    command.add_argument("--ask", metavar="PROMPT", help="print what the script says to one prompt, and serve nothing")
    command.add_argument("--lint", metavar="FILE", help="say what the API would refuse of a request, and serve nothing")
    add_common_options(command)


def run(options: Namespace) -> int:
    if options.lint:
        return _lint(options)
    script = _script(options.script)
    return _ask(script, options) if options.ask is not None else _serve(script, options)


def _script(name: str | None) -> MockScript:
    from pathlib import Path

    from clew.api.mock.scripts import ECHO, parse_script

    return parse_script(Path(name).read_bytes(), is_toml=name.endswith(".toml")) if name else ECHO


# -- serving


def _serve(script: MockScript, options: Namespace) -> int:
    import threading

    from clew.api.mock.server import running

    with (
        _ledger(options) as note,
        running(script, host=options.host, port=options.port, note=note, keeps_bodies=options.bodies) as server,
    ):
        if options.run:
            return _run(options.run, server.url)
        if not options.quiet:
            print_message(f"Try: ANTHROPIC_BASE_URL={server.url} ANTHROPIC_API_KEY={KEY} claude -p hello")
        if options.json:
            print_json([{"kind": "mock", "url": server.url}])
        else:
            print(server.url, flush=True)
        threading.Event().wait()
    return 0


def _run(words: list[str], url: str) -> int:
    import subprocess

    from clew.system.environment import child_environment
    from clew.system.subprocesses import resolve_program

    code = subprocess.run(
        [resolve_program(words[0]), *words[1:]],
        env=child_environment(ANTHROPIC_BASE_URL=url, ANTHROPIC_API_KEY=KEY),
        check=False,
    ).returncode
    return code if code >= 0 else 128 - code


@contextmanager
def _ledger(options: Namespace) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Return where requests are logged: to the named file, and to this terminal."""
    from clew.wire.json_codec import encode

    number = os.open(options.ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) if options.ledger else None

    def note(row: Mapping[str, Any]) -> None:
        if number is not None:
            os.write(number, encode(row) + b"\n")
        if options.json:
            print_json([{"kind": "request", **row}])
        elif not options.quiet:
            print_message(_describe_request(row))

    try:
        yield note
    finally:
        if number is not None:
            os.close(number)


def _describe_request(row: Mapping[str, Any]) -> str:
    usage = row.get("usage") or {}
    counts = f", {usage.get('input_tokens', 0)} in, {usage.get('output_tokens', 0)} out" if usage else ""
    step = f" {row['rule']}, step {row['step'] + 1}" if "rule" in row else ""
    fault = f", fault {row['fault']}" if row.get("fault") else ""
    error = f": {row['error']}" if row.get("error") else ""
    return f"{row['method']} {row['path']} {row['status']}{step}{fault}{counts}{error}"


# -- without a server


def _ask(script: MockScript, options: Namespace) -> int:
    from clew.api.mock.http_server import HttpRequest
    from clew.api.mock.mock_api import Mock
    from clew.wire.json_codec import decode, encode

    request = {"model": "claude-mock", "max_tokens": 1024, "messages": [{"role": "user", "content": options.ask}]}
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in sorted(_tools(script))]
    body = encode(request | ({"tools": tools} if tools else {}))
    key = script.keys[0] if script.keys else KEY
    headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}
    plan = Mock(script).answer(HttpRequest("POST", "/v1/messages", headers, body))
    reply = decode(plan.body) or {}
    if options.json:
        print_json([{"kind": "answer", "status": plan.status, "message": reply}])
    elif plan.status != 200:
        print_message(f"{plan.status} {reply['error']['type']}: {reply['error']['message']}")
    else:
        for block in reply["content"]:
            print(clean(_block(block)))
    return 0 if plan.status == 200 else 2


def _tools(script: MockScript) -> set[str]:
    """Return the names of all tools that a script calls; a prompt is asked as if they were on offer."""
    from clew.api.mock.scripts import ScriptStep

    steps = [step for rule in script.rules for step in rule.steps] + list(script.otherwise)
    contents = [step.content if isinstance(step, ScriptStep) else step for step in steps]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return {str(part["tool"]).partition("|")[0] for part in parts if isinstance(part, dict) and "tool" in part}


def _block(block: Mapping[str, Any]) -> str:
    from clew.wire.json_codec import encode

    match block.get("type"):
        case "text":
            return str(block["text"])
        case "thinking":
            return f"(thinking) {block['thinking']}"
        case "tool_use":
            return f"→ {block['name']} {encode(block['input']).decode()}"
    return encode(block).decode()


def _lint(options: Namespace) -> int:
    from pathlib import Path

    from clew.api.lint import lint, violations
    from clew.wire.json_codec import decode

    try:
        body = decode(Path(options.lint).read_bytes())
    except ValueError as error:
        raise ValueError(f"{options.lint} is not JSON: {error}.") from None
    problems = violations(body) if isinstance(body, dict) else lint(body)
    if options.json:
        print_json(
            {"kind": "violation", "rule": v.rule, "where": v.where, "message": v.message, "refused": v.is_refused}
            for v in problems
        )
    else:
        for violation in problems:
            print(clean_name(f"{'refused' if violation.is_refused else 'advice'}  {violation}"))
        if not problems and not options.quiet:
            print_message("Nothing that the API would refuse.")
    return 2 if any(v.is_refused for v in problems) else 0
