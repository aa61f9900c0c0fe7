"""Slash commands about the set-up: settings, folders, a check of everything, and the prompt that describes a project."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from clew.console.info_commands import CommandContext, CommandResult, PromptRequest
from clew.system.environment import api_key, api_token, terminal_kind
from clew.system.plural import plural
from clew.version import __version__
from clew.view.sanitize import one_line, short_path
from clew.wire.json_codec import encode

INIT_PROMPT = """\
Read this project and write CLAUDE.md in its top folder, for assistants that work here later. If there is one already,
improve it and keep what the user wrote. Describe what the project is, the commands that build, test and lint it (also
how to run one test), the parts of the code and how they depend on each other, and rules that are not obvious from the
code. Leave out what a list of files shows. Write at most about a hundred lines. Look first at the README, the build
files, the configuration of tests and linters, and the main modules."""


async def init(at: CommandContext) -> CommandResult:
    """Let the model describe the project in CLAUDE.md."""
    return PromptRequest(INIT_PROMPT + (f"\n\nThe user adds: {at.arguments}" if at.arguments else ""))


async def add_folder(at: CommandContext) -> CommandResult:
    """Let the model use another folder in this session."""
    if not at.arguments:
        at.show("Name a folder: /add-dir FOLDER")
        return None
    state = at.session.engine.conversation.state
    path = Path(os.path.realpath(state.cwd / Path(at.arguments).expanduser()))
    if not path.is_dir():
        at.show(f"There is no folder {path}.")
    elif path in at.session.permissions.roots:
        at.show(f"{path} is already used in this session.")
    else:
        at.session.permissions.roots.append(path)
        state.roots = (*state.roots, path)
        at.show(f"The model may use {path} in this session.")
        await at.session.engine.report_folder(path, "slash_command")
    return None


async def config(at: CommandContext) -> CommandResult:
    """Show the settings that count, and where each is set."""
    settings = at.session.settings
    pairs = []
    for name, value in settings.merged.items():
        sources = [source for source in settings.sources if name in source.data]
        where = ", ".join(dict.fromkeys(short_path(str(source.path or source.scope)) for source in sources))
        if value not in ({}, []) and where != "cli":
            pairs.append((name, f"{one_line(encode(value).decode(), 200)}  ({where})"))
    user_file = short_path(str(at.spec.claude / "settings.json"))
    at.show_table("Settings", pairs or [("none", "all have their defaults")])
    at.show(f"Change them in {user_file}, or in .claude/settings.json of the project.")
    return None


async def copy(at: CommandContext) -> CommandResult:
    """Copy the last reply to the clipboard of the terminal."""
    text = at.session.engine.last_text
    if not text:
        at.show("There is no reply to copy yet.")
    elif at.ui.copy(text):
        count = plural(len(text), "character")
        at.show(f"Sent {count} to the clipboard of the terminal. If it takes none from programs, use /export.")
    else:
        at.show("This terminal has no clipboard that a program can write. Export the conversation with /export.")
    return None


async def doctor(at: CommandContext) -> CommandResult:
    """Check what the session needs, and name what is missing with the next step."""
    session, spec = at.session, at.spec
    conversation = session.engine.conversation
    failed = [f"{server.name}: {server.error}" for server in session.servers if server.state == "failed"]
    key = "ANTHROPIC_API_KEY" if api_key() else "ANTHROPIC_AUTH_TOKEN" if api_token() else ""
    is_writable = os.access(spec.claude if spec.claude.exists() else spec.claude.parent, os.W_OK)
    folder = short_path(str(spec.claude))
    programs = {name: shutil.which(name) for name in ("git", "rg")}
    pairs = [
        ("clew", f"{__version__}, Python {sys.version.split()[0]}"),
        ("server", spec.endpoint.base),
        ("key", key or "none: set ANTHROPIC_API_KEY, unless the server needs none"),
        ("model", f"{conversation.model}, window {session.engine.window:,} tokens"),
        ("sessions", folder if is_writable else f"{folder} cannot be written: nothing is kept"),
        ("trust", "this folder is trusted" if spec.is_trusted else "this folder is not trusted (clew trust)"),
        *((name, path or f"not found: install {name}") for name, path in programs.items()),
        ("MCP servers", "; ".join(failed) if failed else f"{plural(len(session.servers), 'server')}, none failed"),
        ("settings", "; ".join(session.permissions.notices) or "no problems"),
        ("terminal", terminal_kind() or "unknown"),
    ]
    at.show_table("Check", pairs)
    return None
