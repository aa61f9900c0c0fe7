"""Find plugins: folders with commands, skills, agents, hooks, MCP servers and output styles under one name.

A plugin is named on the command line (`--plugin-dir`), or enabled in the settings and installed by Claude Code.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from clew.chat.config.settings import Settings, as_object, as_strings
from clew.wire.json_codec import Json

ROOT_VARIABLE = "CLAUDE_PLUGIN_ROOT"
DATA_VARIABLE = "CLAUDE_PLUGIN_DATA"
_MANIFEST = ".claude-plugin/plugin.json"
# Parts of plugins that clew does not use: the field of the manifest, the file, and what it is called.
_UNUSED = (("lspServers", ".lsp.json", "language servers"), ("monitors", "monitors/monitors.json", "monitors"))


class Plugin(Struct, frozen=True):
    """One plugin. `source` is its name with its marketplace, or `@inline`."""

    name: str
    root: Path
    source: str
    data: Path  # where it keeps its own files
    manifest: Json = {}

    @property
    def version(self) -> str:
        return str(self.manifest.get("version") or "")

    @property
    def variables(self) -> dict[str, str]:
        """The variables for its hooks and servers."""
        return {ROOT_VARIABLE: str(self.root), DATA_VARIABLE: str(self.data)}

    def expand(self, value: Any) -> Any:
        """Return a text, or a value with texts in it, with the folders of the plugin filled in."""
        if isinstance(value, str):
            for name, folder in self.variables.items():
                value = value.replace(f"${{{name}}}", folder)
            return value
        if isinstance(value, list):
            return [self.expand(item) for item in value]
        if isinstance(value, dict):
            return {key: self.expand(item) for key, item in value.items()}
        return value

    def folders(self, field: str, default: str) -> list[Path]:
        """Return the files and folders of a part: the usual folder, and those that the manifest names."""
        stated = self.manifest.get(field)
        names = [stated] if isinstance(stated, str) else as_strings(stated)
        paths = [self.root / default, *(self.root / name for name in names)]
        return [path for path in dict.fromkeys(paths) if path.exists() and self._contains(path)]

    def objects(self, field: str, default: str, notices: list[str]) -> Iterator[Json]:
        """Yield the JSON objects of a part: of the usual file, of files that the manifest names, or in the manifest."""
        for path in self.folders(field, default):
            if path.is_file():
                yield _read(path, notices)
        if isinstance(self.manifest.get(field), dict):
            yield self.manifest[field]

    def hooks(self, notices: list[str]) -> list[Json]:
        """Return the hooks of the plugin, each as the object of a settings file."""
        found = [
            {"hooks": as_object(data.get("hooks", data))} for data in self.objects("hooks", "hooks/hooks.json", notices)
        ]
        return [self.expand(data) for data in found]

    def servers(self, notices: list[str]) -> dict[str, Json]:
        """Return the MCP servers of the plugin under their full names (`plugin:name:server`)."""
        servers: dict[str, Json] = {}
        for data in self.objects("mcpServers", ".mcp.json", notices):
            for name, stated in as_object(data.get("mcpServers", data)).items():
                config = as_object(self.expand(stated))
                variables = {**self.variables, **as_object(config.get("env"))}
                servers[f"plugin:{self.name}:{name}"] = {**config, "env": variables}
        return servers

    def _contains(self, path: Path) -> bool:
        """Return True if a path leads into the plugin: its manifest cannot name other folders."""
        return path.resolve().is_relative_to(self.root.resolve())


def load_plugins(folders: Sequence[Path], claude: Path, settings: Settings) -> tuple[list[Plugin], list[str]]:
    """Return the plugins of a session, and notices about those that cannot be used. A folder that was named replaces an
    installed plugin of the same name.
    """
    notices: list[str] = []
    plugins: dict[str, Plugin] = {}
    for folder in folders:
        if not folder.is_dir():
            notices.append(f"There is no plugin folder {folder}.")
            continue
        plugin = _load(folder, "", claude, notices)
        plugins[plugin.name] = plugin
    for name in _enabled(settings):
        path = _installed_path(name, claude, notices)
        if path is None:
            notices.append(
                f"The plugin {name} is enabled but not installed. Install it with: claude plugin install {name}"
            )
            continue
        plugin = _load(path, name, claude, notices)
        plugins.setdefault(plugin.name, plugin)
    for plugin in plugins.values():
        notices += _unused_parts(plugin)
    return list(plugins.values()), notices


def _load(root: Path, source: str, claude: Path, notices: list[str]) -> Plugin:
    manifest = _read(root / _MANIFEST, notices) if (root / _MANIFEST).is_file() else {}
    name = str(manifest.get("name") or source.partition("@")[0] or root.resolve().name)
    source = source or f"{name}@inline"
    return Plugin(name, root, source, claude / "plugins" / "data" / source.replace("@", "-"), manifest)


def _enabled(settings: Settings) -> list[str]:
    stated = as_object(settings.merged.get("enabledPlugins"))
    return [name for name, value in stated.items() if value not in (False, None) and not name.endswith("@builtin")]


def _installed_path(name: str, claude: Path, notices: list[str]) -> Path | None:
    """Return the folder of an installed plugin: the recorded one, or the one of its marketplace."""
    folder = claude / "plugins"
    installed = (
        _read(folder / "installed_plugins.json", notices) if (folder / "installed_plugins.json").is_file() else {}
    )
    entry = as_object(installed.get("plugins")).get(name)
    records = entry if isinstance(entry, list) else [entry]
    stated = [as_object(record).get("installPath") for record in records]
    paths = [Path(path) for path in stated if isinstance(path, str)]
    plugin, _, marketplace = name.partition("@")
    paths += _marketplace_paths(plugin, marketplace, folder, notices)
    return next((path for path in paths if path.is_dir()), None)


def _marketplace_paths(plugin: str, marketplace: str, folder: Path, notices: list[str]) -> list[Path]:
    known = folder / "known_marketplaces.json"
    place = as_object(_read(known, notices).get(marketplace)).get("installLocation") if known.is_file() else None
    listing = Path(place) / ".claude-plugin" / "marketplace.json" if isinstance(place, str) else None
    if listing is None or not listing.is_file() or place is None:
        return []
    entries = _read(listing, notices).get("plugins")
    rows = [as_object(entry) for entry in entries] if isinstance(entries, list) else []
    return [
        Path(place) / row["source"] for row in rows if row.get("name") == plugin and isinstance(row.get("source"), str)
    ]


def _unused_parts(plugin: Plugin) -> Iterator[str]:
    for field, file, what in _UNUSED:
        if field in plugin.manifest or (plugin.root / file).exists():
            yield f"The plugin {plugin.name} has {what}, which clew does not use."


def _read(path: Path, notices: list[str]) -> Json:
    try:
        return as_object(json.loads(path.read_text(encoding="utf-8-sig")))
    except (OSError, ValueError, RecursionError) as error:
        notices.append(f"{path} cannot be read and is ignored: {error}.")
        return {}
