"""Find the MCP servers of a session where `claude mcp add` keeps them.

One name can be configured in several scopes. Priority, high to low: given for this session (`--mcp-config`), local, project,
user, plugin. Servers of a project are started only if the folder is trusted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from clew.chat.config.repository import repository_root
from clew.chat.config.settings import Settings, as_object, as_strings
from clew.chat.mcp.mcp_client import McpServer, read_configs
from clew.chat.permission.folder_trust import Trust
from clew.wire.json_codec import Json, decode_readable

STATE_FILE = ".claude.json"
MANAGED_FILE = "managed-mcp.json"
PROJECT_FILE = ".mcp.json"


class ServerSearch(Struct, frozen=True):
    """Where to look for servers."""

    cwd: Path
    claude: Path  # the folder of Claude Code
    settings: Settings
    sources: Collection[str] = ("user", "project", "local")
    given: Sequence[str] = ()  # configurations for this session: JSON texts or files
    only_given: bool = False
    managed: Path | None = None  # the folder of the administrator

    def find(self, plugins: Mapping[str, Json]) -> tuple[list[McpServer], list[str]]:
        """Return the servers, each in the state `pending` or `disabled`, and notices about those that are not used.
        Raises ValueError if a configuration that was given cannot be read.
        """
        notices: list[str] = []
        managed = _servers(_read(self.managed / MANAGED_FILE, notices)) if self.managed else {}
        if managed:
            scopes: list[tuple[str, Mapping[str, Json]]] = [("managed", managed)]
        else:
            scopes = list(self._scopes(plugins, notices))
        entry = self._project_entry(notices)
        disabled = set(as_strings(entry.get("disabledMcpServers")))
        servers: dict[str, McpServer] = {}
        for scope, configs in scopes:
            for name, config in configs.items():
                if config.get("type") == "sdk" or name in servers:
                    continue
                if reason := self._refusal(name, config):
                    notices.append(f"The MCP server {name} is not started: {reason}.")
                    continue
                state: Any = "disabled" if name in disabled else "pending"
                servers[name] = McpServer(name, config, state, scope=scope)
        return list(servers.values()), list(dict.fromkeys(notices))

    def _scopes(self, plugins: Mapping[str, Json], notices: list[str]) -> Iterator[tuple[str, Mapping[str, Json]]]:
        """Yield the configurations by scope, high to low."""
        yield "dynamic", read_configs(self.given, self.cwd)
        if self.only_given:
            return
        if "local" in self.sources:
            yield "local", _servers(self._project_entry([]))
        if "project" in self.sources:
            yield "project", self._project_servers(notices)
        if "user" in self.sources:
            yield "user", _servers(self._state(notices))
        yield "plugin", plugins

    def _state(self, notices: list[str]) -> Json:
        """Return what Claude Code keeps in `.claude.json`: inside its folder, or next to `~/.claude`."""
        places = [
            self.claude / STATE_FILE,
            *([self.claude.parent / STATE_FILE] if self.claude.name == ".claude" else []),
        ]
        return next((_read(path, notices) for path in places if path.is_file()), {})

    def _project_entry(self, notices: list[str]) -> Json:
        """Return the entry of the project: that of the repository, or of the folder."""
        projects = as_object(self._state(notices).get("projects"))
        folders = (repository_root(self.cwd) or self.cwd, self.cwd)
        return next((as_object(projects[str(folder)]) for folder in folders if str(folder) in projects), {})

    def _project_servers(self, notices: list[str]) -> dict[str, Json]:
        """Return the servers of `.mcp.json` in the folder and those above it; the nearer file wins."""
        files = [folder / PROJECT_FILE for folder in (self.cwd, *self.cwd.parents) if (folder / PROJECT_FILE).is_file()]
        if not files:
            return {}
        if not self.settings.trusted:
            if files[0].parent == self.cwd:
                notices.append(
                    f"The MCP servers of {files[0]} are not started: the folder is not trusted. Trust it with: clew trust"
                )
            return {}
        merged, state = self.settings.merged, self._project_entry([])
        name = "disabledMcpjsonServers"
        rejected = {*as_strings(merged.get(name)), *as_strings(state.get(name))}
        configs: dict[str, Json] = {}
        for path in reversed(files):
            if path.parent == self.cwd or Trust().holds(path.parent):
                configs |= _servers(_read(path, notices))
        return {name: config for name, config in configs.items() if name not in rejected}

    def _refusal(self, name: str, config: Json) -> str:
        """Return why the administrator's settings do not let a server start; empty if they do."""
        managed = [source.data for source in self.settings.sources if source.scope == "managed"]
        for data in managed:
            if any(_fits(as_object(rule), name, config) for rule in data.get("deniedMcpServers") or ()):
                return "the managed settings deny it"
            allowed = data.get("allowedMcpServers")
            if isinstance(allowed, list) and not any(_fits(as_object(rule), name, config) for rule in allowed):
                return "it is not among those that the managed settings allow"
        return ""


def _fits(rule: Json, name: str, config: Json) -> bool:
    """Return True if a rule of an administrator names a server by its name, command or URL (`*` at the end)."""
    command = [config.get("command"), *(config.get("args") or ())]
    url, pattern = str(config.get("url") or ""), rule.get("serverUrl")
    if isinstance(pattern, str) and url:
        return url.startswith(pattern[:-1]) if pattern.endswith("*") else url == pattern
    return rule.get("serverName") == name or ("command" in config and rule.get("serverCommand") == command)


def _servers(data: Json) -> dict[str, Json]:
    found = as_object(data.get("mcpServers"))
    return {name: config for name, config in found.items() if isinstance(config, dict)}


def _read(path: Path, notices: list[str]) -> Json:
    """Return the JSON object of a file; empty if it is missing, and with a notice if it is invalid."""
    try:
        data = decode_readable(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        notices.append(f"{path} cannot be read and is ignored: {error}.")
        return {}
    return as_object(data)
