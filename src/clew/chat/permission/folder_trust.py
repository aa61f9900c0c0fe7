"""Trust: the folders whose own settings may run things, as the user decided. Kept in our data folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple

from clew.chat.config.settings import Settings, table
from clew.chat.config.skill_files import Skill, discover
from clew.system.environment import data_home
from clew.wire.json_codec import Json
from clew.wire.session_writer import replace
from clew.wire.timestamps import format_timestamp

VERSION = 2
State = Literal["trusted", "changed", "untrusted"]
_TIGHTENING = ("deny", "ask")
_OWN = (".git", ".claude", ".mcp.json", "CLAUDE.md", "CLAUDE.local.md")  # what makes a folder one to ask about


def brought(project: Path) -> list[str]:
    """What a folder brings along that counts once it is trusted, one complete phrase each. The caller escapes them."""
    nowhere = project / ".claude" / "nowhere"
    settings = Settings.load(project, nowhere, ("local", "project"), trusted=True, managed=nowhere)
    data = settings.merged
    found = [f"allows {rule}" for rule, _ in settings.rules("allow")]
    found += [f"runs '{command}' at {event}" for event, command in _commands(table(data.get("hooks")))]
    found += [f"sets the variable {name} to '{value}'" for name, value in table(data.get("env")).items()]
    servers = _parsed(project / ".mcp.json").get("mcpServers")
    found += [f"starts the MCP server {name}: {_shown(table(server))}" for name, server in table(servers).items()]
    found += [f"lets /{skill.name} use {rule}" for skill in _skills(project) for rule in skill.allowed_tools]
    known = ("permissions", "hooks", "env", "$schema")
    others = {name: value for name, value in data.items() if name not in known}
    return found + [f"sets {name} to {json.dumps(value, ensure_ascii=False)}" for name, value in others.items()]


def _commands(hooks: Json) -> Iterator[tuple[str, str]]:
    for event, groups in hooks.items():
        for group in groups if isinstance(groups, list) else ():
            stated = table(group).get("hooks")
            for hook in stated if isinstance(stated, list) else ():
                found = table(hook)
                yield event, str(found.get("command") or found.get("url") or found.get("prompt") or "")


def _shown(server: Json) -> str:
    """Where a server is, or how it is started, and every other setting of it."""
    words = server.get("args")
    command = " ".join(map(str, (server.get("command"), *(words if isinstance(words, list) else ()))))
    main = [str(server[name]) if name == "url" else command for name in ("url", "command") if server.get(name)]
    others = {name: value for name, value in server.items() if name not in ("url", "command", "args", "type")}
    return ", ".join([*main, *(f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in others.items())])


def _parsed(path: Path) -> Json:
    try:
        return table(json.loads(path.read_text(encoding="utf-8-sig")))
    except (OSError, ValueError, RecursionError):
        return {}


def fingerprint(project: Path) -> str:
    """A hash of all that a folder brings along and that trust lets count. Rules that deny or ask count anyway."""
    nowhere = project / ".claude" / "nowhere"
    settings = Settings.load(project, nowhere, ("local", "project"), trusted=True, managed=nowhere)
    parts: list[Any] = [_granting(source.data) for source in settings.sources]
    parts.append(_parsed(project / ".mcp.json"))
    parts += [[skill.name, skill.allowed_tools, skill.body] for skill in _skills(project) if _runs(skill)]
    parts.append([str(path.relative_to(project)) for path in sorted((project / ".claude" / "agents").rglob("*.md"))])
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _granting(settings: Json) -> Json:
    permissions = {name: value for name, value in table(settings.get("permissions")).items() if name not in _TIGHTENING}
    return {**{name: value for name, value in settings.items() if name != "$schema"}, "permissions": permissions}


def _skills(project: Path) -> list[Skill]:
    found, _ = discover(project, project / ".claude" / "nowhere", True, ("project",))
    return [found[name] for name in sorted(found)]


def _runs(skill: Skill) -> bool:
    """Whether a skill allows calls, or runs commands when it is used."""
    return bool(skill.allowed_tools) or "!`" in skill.body


class Trusted(NamedTuple):
    """A folder that was trusted: when, and with which settings."""

    since: str
    fingerprint: str


class Trust:
    """The trusted folders.

    Trust belongs to one folder and to what it brought along then: once that changes, the user is asked again. A folder below
    a trusted one counts as long as it brings nothing of its own; one that does, or that is a repository, is asked about by
    itself, so that an archive unpacked there is not trusted unseen.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or Path(data_home()) / "trust.json"

    def holds(self, folder: Path) -> bool:
        """Whether a folder is trusted."""
        return self.state(folder) == "trusted"

    def state(self, folder: Path) -> State:
        """Whether a folder is trusted; `changed` if it was, and brings other things by now."""
        known = self._read()
        place = Path(os.path.realpath(folder))
        while True:
            if entry := known.get(str(place)):
                return "trusted" if entry.fingerprint == fingerprint(place) else "changed"
            if any((place / name).exists() for name in _OWN) or place == place.parent:
                return "untrusted"
            place = place.parent

    def folders(self) -> dict[str, str]:
        """The folders that were trusted, each with the time."""
        return {path: entry.since for path, entry in self._read().items()}

    def give(self, folder: Path) -> None:
        """Trust a folder, with what it brings along now."""
        place = Path(os.path.realpath(folder))
        self._write({**self._read(), str(place): Trusted(format_timestamp(datetime.now(UTC)), fingerprint(place))})

    @contextmanager
    def keeping(self, folder: Path) -> Iterator[None]:
        """Keep the trust in a folder while its settings are changed by us."""
        is_trusted = os.path.realpath(folder) in self._read() and self.holds(folder)
        yield
        if is_trusted:
            self.give(folder)

    def take(self, folder: Path) -> None:
        """Trust it no longer."""
        place = os.path.realpath(folder)
        self._write({path: entry for path, entry in self._read().items() if path != place})

    def _read(self) -> dict[str, Trusted]:
        """The folders by their paths; none if the file does not exist or is not ours. Without a fingerprint, as an earlier
        version wrote them, they are `changed`."""
        data = _parsed(self.path)
        folders = table(data.get("folders")) if data.get("version") in (1, VERSION) else {}
        entries = {
            path: table(entry) if data["version"] == VERSION else {"since": entry} for path, entry in folders.items()
        }
        return {
            path: Trusted(entry["since"], str(entry.get("fingerprint") or ""))
            for path, entry in entries.items()
            if isinstance(entry.get("since"), str)
        }

    def _write(self, folders: dict[str, Trusted]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        kept = {path: entry._asdict() for path, entry in folders.items()}
        text = json.dumps({"version": VERSION, "folders": kept}, ensure_ascii=False, indent=1)
        replace(self.path, text.encode("utf-8"))
