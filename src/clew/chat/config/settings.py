"""Load and merge settings of the user, the project, the command line and the administrator.

Priority, high to low: managed, command line, `.claude/settings.local.json`, `.claude/settings.json`, user. Lists are
merged, other values override. Of an untrusted folder only deny and ask rules count.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from clew.wire.json_codec import Json

Scope = Literal["managed", "cli", "local", "project", "user", "plugin", "session"]

FILE_SCOPES: tuple[Scope, ...] = ("local", "project", "user")
_PROJECT_SCOPES: tuple[Scope, ...] = ("local", "project")
_USER_ONLY_VARIABLES = ("CLEW_", "XDG_", "CLAUDE_CONFIG_DIR", "HOME")
_USER_ONLY_MODES = ("bypassPermissions", "auto")


class SettingsSource(Struct, frozen=True):
    """Settings of one source. `/patterns` in it are relative to `root`."""

    scope: Scope
    root: Path
    data: Json
    path: Path | None = None


class Settings(Struct, frozen=True):
    """All sources, high to low. `notices` are messages for the user; `trusted` states whether the folder is trusted."""

    sources: tuple[SettingsSource, ...] = ()
    notices: tuple[str, ...] = ()
    trusted: bool = True

    @staticmethod
    def load(
        project: Path,
        home: Path,
        sources: Sequence[str] = FILE_SCOPES,
        trusted: bool = False,
        *,
        cli: str | Json | None = None,
        managed: Path | None = None,
    ) -> Settings:
        """Load the settings of a project folder. `home` is Claude Code's folder (`~/.claude`), `sources` selects
        local, project and user, `cli` is the value of --settings: an object, JSON text, or a file name.
        """
        loaded: list[SettingsSource] = []
        notices: list[str] = []
        top = managed or managed_folder()
        _add_file(loaded, notices, "managed", top, top / "managed-settings.json")
        if cli is not None:
            _add_cli(loaded, notices, project, cli)
        for scope in FILE_SCOPES:
            if scope in sources:
                _add_file(
                    loaded, notices, scope, home if scope == "user" else project, settings_file(scope, project, home)
                )
        if not trusted:
            loaded = [
                _restrictions(s) if s.scope in _PROJECT_SCOPES else s
                for s in _report_untrusted(loaded, notices, project)
            ]
        return Settings(tuple(_drop_user_modes(s, notices) for s in loaded), tuple(notices), trusted)

    @property
    def merged(self) -> Json:
        """All sources merged into one object."""
        merged: Json = {}
        for source in reversed(self.sources):
            merged = _merge(source.data, merged)
        return merged

    @property
    def variables(self) -> dict[str, str]:
        """The variables that settings add to the environment."""
        variables: dict[str, str] = {}
        for source in reversed(self.sources):
            variables |= _variables(source)
        return variables

    @property
    def without_project(self) -> Settings:
        """The settings without those of the project."""
        return replace(self, sources=tuple(source for source in self.sources if source.scope not in _PROJECT_SCOPES))

    def rules(self, kind: Literal["allow", "deny", "ask"]) -> Iterator[tuple[str, SettingsSource]]:
        """All permission rules of a kind, each with its source."""
        managed_only = any(s.scope == "managed" and s.data.get("allowManagedPermissionRulesOnly") for s in self.sources)
        for source in self.sources:
            if managed_only and source.scope in FILE_SCOPES:
                continue
            for rule in as_strings(as_object(source.data.get("permissions")).get(kind)):
                yield rule, source


def settings_file(scope: Scope, project: Path, home: Path) -> Path:
    """Return the path of a scope's settings file."""
    if scope == "user":
        return home / "settings.json"
    return project / ".claude" / ("settings.local.json" if scope == "local" else "settings.json")


def managed_folder() -> Path:
    """Return the folder in which an administrator puts settings and memory for all users."""
    if sys.platform == "darwin":
        return Path("/Library/Application Support/ClaudeCode")
    if sys.platform == "win32":
        return Path("C:/Program Files/ClaudeCode")
    return Path("/etc/claude-code")


def as_object(value: Any) -> Json:
    """Return the value if it is an object, else an empty object."""
    return value if isinstance(value, dict) else {}


def as_strings(value: Any) -> list[str]:
    """Return the strings of a list; empty if the value is not a list."""
    return [v for v in value if isinstance(v, str)] if isinstance(value, list) else []


def _add_file(loaded: list[SettingsSource], notices: list[str], scope: Scope, root: Path, path: Path) -> None:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, UnicodeDecodeError) as error:
        notices.append(f"{path} cannot be read and is ignored: {error}.")
        return
    data = _parse(text, str(path), notices)
    if data:
        loaded.append(SettingsSource(scope, root, data, path))


def _add_cli(loaded: list[SettingsSource], notices: list[str], project: Path, value: str | Json) -> None:
    if isinstance(value, Mapping):
        loaded.append(SettingsSource("cli", project, dict(value)))
    elif value.lstrip().startswith("{"):
        data = _parse(value, "What --settings says", notices)
        if data:
            loaded.append(SettingsSource("cli", project, data))
    elif Path(value).is_file():
        _add_file(loaded, notices, "cli", project, Path(value))
    else:
        notices.append(f"There is no settings file {value}.")


def _parse(text: str, name: str, notices: list[str]) -> Json:
    if not text.strip():
        return {}
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        notices.append(f"{name} is not JSON and is ignored: {error}.")
        return {}
    if not isinstance(data, dict):
        notices.append(f"{name} is not an object and is ignored.")
        return {}
    return data


def _report_untrusted(loaded: list[SettingsSource], notices: list[str], project: Path) -> list[SettingsSource]:
    """Return the sources unchanged, with a notice if trusting the folder would change what counts."""
    ignored = [s.path.name for s in loaded if s.scope in _PROJECT_SCOPES and s.path and _restrictions(s).data != s.data]
    if ignored:
        notices.append(
            f"{project} is not trusted: of {' and '.join(ignored)} only deny and ask rules count, and nothing is run"
            " (see: clew trust --dry-run)."
        )
    return loaded


def _restrictions(source: SettingsSource) -> SettingsSource:
    """Return the source reduced to its deny and ask rules."""
    permissions = as_object(source.data.get("permissions"))
    rules = {kind: permissions[kind] for kind in ("deny", "ask") if kind in permissions}
    return SettingsSource(source.scope, source.root, {"permissions": rules} if rules else {}, source.path)


def _drop_user_modes(source: SettingsSource, notices: list[str]) -> SettingsSource:
    """Drop a mode that skips permission prompts: a project may not set it, trusted or not."""
    permissions = as_object(source.data.get("permissions"))
    mode = permissions.get("defaultMode")
    if source.scope not in _PROJECT_SCOPES or mode not in _USER_ONLY_MODES:
        return source
    notices.append(f"{source.path} may not set the mode {mode}: only you can, on the command line or in your settings.")
    remaining = {key: value for key, value in permissions.items() if key != "defaultMode"}
    return SettingsSource(source.scope, source.root, {**source.data, "permissions": remaining}, source.path)


def _variables(source: SettingsSource) -> dict[str, str]:
    """Return the variables of a source. A project cannot move the folders of clew or loosen its checks."""
    is_project = source.scope in _PROJECT_SCOPES
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in as_object(source.data.get("env")).items()
        if isinstance(value, str | int | float) and not (is_project and name.startswith(_USER_ONLY_VARIABLES))
    }


def _merge(high: Json, low: Json) -> Json:
    merged = dict(low)
    for key, value in high.items():
        lower = low.get(key)
        if isinstance(value, dict) and isinstance(lower, dict):
            merged[key] = _merge(value, lower)
        elif isinstance(value, list) and isinstance(lower, list):
            merged[key] = value + [v for v in lower if v not in value]
        else:
            merged[key] = value
    return merged
