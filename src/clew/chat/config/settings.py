"""Settings: what the person, the project and the administrator have written down, merged, with where it came from.

High to low: managed, command line, `.claude/settings.local.json`, `.claude/settings.json`, the user's own. Lists merge,
other values override. A folder that is not trusted can only tighten: of its settings nothing but deny and ask rules counts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from clew.wire.json_codec import Json

Scope = Literal["managed", "cli", "local", "project", "user", "session"]

FILED: tuple[Scope, ...] = ("local", "project", "user")
_OF_THE_PROJECT: tuple[Scope, ...] = ("local", "project")
_ONLY_BY_THE_USER = ("bypassPermissions", "auto")


class SettingsSource(Struct, frozen=True):
    """Settings from one place. `root` is the folder that its `/patterns` start from."""

    scope: Scope
    root: Path
    data: Json
    path: Path | None = None


@dataclass(frozen=True)
class Settings:
    """All sources, high to low. `notices` are sentences for the person; `trusted` says whether the folder is."""

    sources: tuple[SettingsSource, ...] = ()
    notices: tuple[str, ...] = ()
    trusted: bool = True

    @staticmethod
    def load(
        project: Path,
        home: Path,
        sources: Sequence[str] = FILED,
        trusted: bool = False,
        *,
        cli: str | Json | None = None,
        managed: Path | None = None,
    ) -> Settings:
        """Read the settings of a project folder. `home` is the folder of Claude Code (`~/.claude`), `sources` which of
        local, project and user to read, `cli` the value of --settings: an object, its JSON, or a file's name."""
        found: list[SettingsSource] = []
        notices: list[str] = []
        top = managed or managed_folder()
        _add(found, notices, "managed", top, top / "managed-settings.json")
        if cli is not None:
            _add_given(found, notices, project, cli)
        for scope in FILED:
            if scope in sources:
                _add(found, notices, scope, home if scope == "user" else project, settings_file(scope, project, home))
        if not trusted:
            found = [_tightening(s) if s.scope in _OF_THE_PROJECT else s for s in _noting(found, notices, project)]
        return Settings(tuple(_modest(s, notices) for s in found), tuple(notices), trusted)

    @property
    def merged(self) -> Json:
        """All sources as one object."""
        whole: Json = {}
        for source in reversed(self.sources):
            whole = _over(source.data, whole)
        return whole

    def rules(self, kind: Literal["allow", "deny", "ask"]) -> Iterator[tuple[str, SettingsSource]]:
        """All permission rules of a kind, each with where it stands."""
        managed_only = any(s.scope == "managed" and s.data.get("allowManagedPermissionRulesOnly") for s in self.sources)
        for source in self.sources:
            if managed_only and source.scope in FILED:
                continue
            for rule in texts(table(source.data.get("permissions")).get(kind)):
                yield rule, source


def settings_file(scope: Scope, project: Path, home: Path) -> Path:
    """The file of a scope."""
    if scope == "user":
        return home / "settings.json"
    return project / ".claude" / ("settings.local.json" if scope == "local" else "settings.json")


def managed_folder() -> Path:
    """Where an administrator keeps settings and memory for all users of a machine."""
    if sys.platform == "darwin":
        return Path("/Library/Application Support/ClaudeCode")
    if sys.platform == "win32":
        return Path("C:/Program Files/ClaudeCode")
    return Path("/etc/claude-code")


def table(value: Any) -> Json:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def texts(value: Any) -> list[str]:
    """The strings of a list; nothing if it is no list."""
    return [v for v in value if isinstance(v, str)] if isinstance(value, list) else []


def _add(found: list[SettingsSource], notices: list[str], scope: Scope, root: Path, path: Path) -> None:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, UnicodeDecodeError) as error:
        notices.append(f"{path} cannot be read and is ignored: {error}.")
        return
    data = _parsed(text, str(path), notices)
    if data:
        found.append(SettingsSource(scope, root, data, path))


def _add_given(found: list[SettingsSource], notices: list[str], project: Path, given: str | Json) -> None:
    if isinstance(given, Mapping):
        found.append(SettingsSource("cli", project, dict(given)))
    elif given.lstrip().startswith("{"):
        data = _parsed(given, "What --settings says", notices)
        if data:
            found.append(SettingsSource("cli", project, data))
    elif Path(given).is_file():
        _add(found, notices, "cli", project, Path(given))
    else:
        notices.append(f"There is no settings file {given}.")


def _parsed(text: str, name: str, notices: list[str]) -> Json:
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


def _noting(found: list[SettingsSource], notices: list[str], project: Path) -> list[SettingsSource]:
    """The sources as they are; a remark if trust would change what counts."""
    held = [s.path.name for s in found if s.scope in _OF_THE_PROJECT and s.path and _tightening(s).data != s.data]
    if held:
        notices.append(
            f"{project} is not trusted: of {' and '.join(held)} only deny and ask rules count, and nothing is run"
            " (see: clew trust --dry-run)."
        )
    return found


def _tightening(source: SettingsSource) -> SettingsSource:
    permissions = table(source.data.get("permissions"))
    kept = {kind: permissions[kind] for kind in ("deny", "ask") if kind in permissions}
    return SettingsSource(source.scope, source.root, {"permissions": kept} if kept else {}, source.path)


def _modest(source: SettingsSource, notices: list[str]) -> SettingsSource:
    """A project cannot switch the questions off, trusted or not."""
    permissions = table(source.data.get("permissions"))
    mode = permissions.get("defaultMode")
    if source.scope not in _OF_THE_PROJECT or mode not in _ONLY_BY_THE_USER:
        return source
    notices.append(f"{source.path} may not set the mode {mode}: only you can, on the command line or in your settings.")
    kept = {key: value for key, value in permissions.items() if key != "defaultMode"}
    return SettingsSource(source.scope, source.root, {**source.data, "permissions": kept}, source.path)


def _over(high: Json, low: Json) -> Json:
    whole = dict(low)
    for key, value in high.items():
        under = low.get(key)
        if isinstance(value, dict) and isinstance(under, dict):
            whole[key] = _over(value, under)
        elif isinstance(value, list) and isinstance(under, list):
            whole[key] = value + [v for v in under if v not in value]
        else:
            whole[key] = value
    return whole
