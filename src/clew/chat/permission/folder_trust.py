"""Store which folders the user trusts; only a trusted folder's own settings can run commands."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple

from clew.chat.config.settings import Settings, as_object
from clew.chat.config.skill_files import Skill, load_skills
from clew.system.environment import data_home
from clew.wire.json_codec import Json
from clew.wire.session_writer import replace
from clew.wire.timestamps import format_timestamp

VERSION = 2
State = Literal["trusted", "changed", "untrusted"]
_COMMANDS = {  # settings that name a command, and when it is run
    "apiKeyHelper": "to get the API key",
    "statusLine": "for the status line",
}
_RESTRICTING_KINDS = ("deny", "ask")
_MARKERS = (
    ".git",
    ".claude",
    ".mcp.json",
    "CLAUDE.md",
    "CLAUDE.local.md",
)  # a folder with one of these needs a decision of its own


def describe_settings(project: Path) -> list[str]:
    """Describe each setting of a folder that takes effect once it is trusted, as phrases. Callers escape them."""
    nowhere = project / ".claude" / "nowhere"
    settings = Settings.load(project, nowhere, ("local", "project"), trusted=True, managed=nowhere)
    data = settings.merged
    phrases = [f"allows {rule}" for rule, _ in settings.rules("allow")]
    phrases += [f"runs '{command}' at {event}" for event, command in _hook_commands(as_object(data.get("hooks")))]
    phrases += [f"sets the variable {name} to '{value}'" for name, value in as_object(data.get("env")).items()]
    servers = _read_json(project / ".mcp.json").get("mcpServers")
    phrases += [
        f"starts the MCP server {name}: {_describe_server(as_object(server))}"
        for name, server in as_object(servers).items()
    ]
    phrases += [f"lets /{skill.name} use {rule}" for skill in _project_skills(project) for rule in skill.allowed_tools]
    phrases += [f"enables the plugin {name}" for name, value in as_object(data.get("enabledPlugins")).items() if value]
    phrases += [f"runs '{command}' {when}" for when, command in _other_commands(data)]
    phrases += [f"contains the output style {path.stem}" for path in _output_styles(project)]
    described = ("permissions", "hooks", "env", "enabledPlugins", "$schema", *_COMMANDS)
    others = {name: value for name, value in data.items() if name not in described}
    return phrases + [f"sets {name} to {json.dumps(value, ensure_ascii=False)}" for name, value in others.items()]


def _other_commands(data: Json) -> Iterator[tuple[str, str]]:
    """Yield when each command that is not a hook is run, and the command."""
    for name, when in _COMMANDS.items():
        value = data.get(name)
        command = value.get("command") if isinstance(value, dict) else value
        if command:
            yield when, str(command)


def _output_styles(project: Path) -> list[Path]:
    return sorted((project / ".claude" / "output-styles").glob("*.md"))


def _hook_commands(hooks: Json) -> Iterator[tuple[str, str]]:
    for event, groups in hooks.items():
        for group in groups if isinstance(groups, list) else ():
            hook_list = as_object(group).get("hooks")
            for hook in hook_list if isinstance(hook_list, list) else ():
                fields = as_object(hook)
                yield event, str(fields.get("command") or fields.get("url") or fields.get("prompt") or "")


def _describe_server(server: Json) -> str:
    """Return the URL or the command of a server, and all its other settings."""
    arguments = server.get("args")
    command = " ".join(map(str, (server.get("command"), *(arguments if isinstance(arguments, list) else ()))))
    main = [str(server[name]) if name == "url" else command for name in ("url", "command") if server.get(name)]
    others = {name: value for name, value in server.items() if name not in ("url", "command", "args", "type")}
    return ", ".join([*main, *(f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in others.items())])


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _read_json(path: Path) -> Json:
    """Return the JSON object of a file; empty if the file is missing or invalid."""
    try:
        return as_object(json.loads(path.read_text(encoding="utf-8-sig")))
    except (OSError, ValueError, RecursionError):
        return {}


def fingerprint(project: Path) -> str:
    """Return a hash of all settings of a folder that need trust. Deny and ask rules always apply, so they are left
    out.
    """
    nowhere = project / ".claude" / "nowhere"
    settings = Settings.load(project, nowhere, ("local", "project"), trusted=True, managed=nowhere)
    parts: list[Any] = [_without_restrictions(source.data) for source in settings.sources]
    parts.append(_read_json(project / ".mcp.json"))
    parts += [
        [skill.name, skill.allowed_tools, skill.body] for skill in _project_skills(project) if _needs_trust(skill)
    ]
    parts.append([str(path.relative_to(project)) for path in sorted((project / ".claude" / "agents").rglob("*.md"))])
    parts += [[path.name, _read_text(path)] for path in _output_styles(project)]
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _without_restrictions(settings: Json) -> Json:
    permissions = {
        name: value for name, value in as_object(settings.get("permissions")).items() if name not in _RESTRICTING_KINDS
    }
    return {**{name: value for name, value in settings.items() if name != "$schema"}, "permissions": permissions}


def _project_skills(project: Path) -> list[Skill]:
    skills, _ = load_skills(project, project / ".claude" / "nowhere", True, ("project",))
    return [skills[name] for name in sorted(skills)]


def _needs_trust(skill: Skill) -> bool:
    """Return True if a skill allows tool calls, or runs commands when it is used."""
    return bool(skill.allowed_tools) or "!`" in skill.body


class Trusted(NamedTuple):
    """When a folder was trusted, and the fingerprint of its settings at that time."""

    since: str
    fingerprint: str


class Trust:
    """The trusted folders.

    Trust applies to one folder and to its settings at that time: after a change the user is prompted again. A folder
    below a trusted one is trusted only if it has no settings and is not a repository, so that an unpacked archive is
    not trusted.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or Path(data_home()) / "trust.json"

    def holds(self, folder: Path) -> bool:
        """Return True if a folder is trusted."""
        return self.state(folder) == "trusted"

    def state(self, folder: Path) -> State:
        """Return the state of a folder; `changed` if it was trusted and its settings differ now."""
        entries = self._read()
        current = Path(os.path.realpath(folder))
        while True:
            if entry := entries.get(str(current)):
                return "trusted" if entry.fingerprint == fingerprint(current) else "changed"
            if any((current / name).exists() for name in _MARKERS) or current == current.parent:
                return "untrusted"
            current = current.parent

    def folders(self) -> dict[str, str]:
        """Return the trusted folders, each with the time."""
        return {path: entry.since for path, entry in self._read().items()}

    def give(self, folder: Path) -> None:
        """Trust a folder with its present settings."""
        real_folder = Path(os.path.realpath(folder))
        self._write(
            {**self._read(), str(real_folder): Trusted(format_timestamp(datetime.now(UTC)), fingerprint(real_folder))}
        )

    @contextmanager
    def keeping(self, folder: Path) -> Iterator[None]:
        """Keep a folder trusted while clew changes its settings."""
        is_trusted = os.path.realpath(folder) in self._read() and self.holds(folder)
        yield
        if is_trusted:
            self.give(folder)

    def take(self, folder: Path) -> None:
        """Remove the trust in a folder."""
        real_folder = os.path.realpath(folder)
        self._write({path: entry for path, entry in self._read().items() if path != real_folder})

    def _read(self) -> dict[str, Trusted]:
        """Return the entries by path; none if the file is missing or invalid.

        Entries of version 1 have no fingerprint, so they are `changed`.
        """
        data = _read_json(self.path)
        folders = as_object(data.get("folders")) if data.get("version") in (1, VERSION) else {}
        entries = {
            path: as_object(entry) if data["version"] == VERSION else {"since": entry}
            for path, entry in folders.items()
        }
        return {
            path: Trusted(entry["since"], str(entry.get("fingerprint") or ""))
            for path, entry in entries.items()
            if isinstance(entry.get("since"), str)
        }

    def _write(self, folders: dict[str, Trusted]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        entries = {path: entry._asdict() for path, entry in folders.items()}
        text = json.dumps({"version": VERSION, "folders": entries}, ensure_ascii=False, indent=1)
        replace(self.path, text.encode("utf-8"))
