"""Trust: the folders whose own settings may run things, as the person has said. Kept in our data folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from clew.chat.setting import Json, Settings, table
from clew.wire.home import data_home
from clew.wire.time import stamp
from clew.wire.write import replace

VERSION = 1


def brought(project: Path) -> list[str]:
    """What a folder brings along that counts once it is trusted, a phrase for each."""
    nowhere = project / ".claude" / "nowhere"
    settings = Settings.load(project, nowhere, ("local", "project"), trusted=True, managed=nowhere)
    data = settings.merged
    found = [f"allows {rule}" for rule, _ in settings.rules("allow")]
    found += [f"runs {command!r} at {event}" for event, command in _commands(table(data.get("hooks")))]
    found += [f"sets the variable {name}" for name in table(data.get("env"))]
    servers = _parsed(project / ".mcp.json").get("mcpServers")
    found += [f"starts the MCP server {name}: {_shown(table(server))}" for name, server in table(servers).items()]
    known = ("permissions", "hooks", "env", "$schema")
    return found + [f"sets {name}" for name in data if name not in known]


def _commands(hooks: Json) -> Iterator[tuple[str, str]]:
    for event, groups in hooks.items():
        for group in groups if isinstance(groups, list) else ():
            stated = table(group).get("hooks")
            for hook in stated if isinstance(stated, list) else ():
                yield event, str(table(hook).get("command") or "")


def _shown(server: Json) -> str:
    words = server.get("args")
    return str(
        server.get("url") or " ".join(map(str, (server.get("command"), *(words if isinstance(words, list) else ()))))
    )


def _parsed(path: Path) -> Json:
    try:
        return table(json.loads(path.read_text(encoding="utf-8-sig")))
    except (OSError, ValueError):
        return {}


class Trust:
    """The trusted folders. A folder within a trusted one counts, unless a repository of its own begins in between."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or Path(data_home()) / "trust.json"

    def holds(self, folder: Path) -> bool:
        """Whether a folder is trusted."""
        trusted = set(self._read())
        place = Path(os.path.realpath(folder))
        while True:
            if str(place) in trusted:
                return True
            if (place / ".git").exists() or place == place.parent:
                return False
            place = place.parent

    def folders(self) -> dict[str, str]:
        """The folders that were trusted, each with the time."""
        return self._read()

    def give(self, folder: Path) -> None:
        """Trust a folder from now on."""
        self._write({**self._read(), os.path.realpath(folder): stamp(datetime.now(UTC))})

    def take(self, folder: Path) -> None:
        """Trust it no more."""
        place = os.path.realpath(folder)
        self._write({path: since for path, since in self._read().items() if path != place})

    def _read(self) -> dict[str, str]:
        """None if the file is not there or not ours to read."""
        data = _parsed(self.path)
        folders = data.get("folders") if data.get("version") == VERSION else None
        return {k: v for k, v in folders.items() if isinstance(v, str)} if isinstance(folders, dict) else {}

    def _write(self, folders: dict[str, str]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        text = json.dumps({"version": VERSION, "folders": folders}, ensure_ascii=False, indent=1)
        replace(self.path, text.encode("utf-8"))
