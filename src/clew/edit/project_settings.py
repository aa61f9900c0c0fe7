"""Read and move the settings that Claude Code keeps for a project folder in `.claude.json`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from clew.wire.json_codec import decode_readable, encode
from clew.wire.path_mapping import PathMapping

NAME = ".claude.json"


def settings_file(root: Path) -> Path | None:
    """Return the file that belongs to a folder of Claude Code: inside it, or next to `~/.claude`."""
    places = [root / NAME, *([root.parent / NAME] if root.name == ".claude" else [])]
    return next((path for path in places if path.is_file()), None)


def project_settings(path: Path, paths: PathMapping) -> dict[str, tuple[str, ...]]:
    """Return the projects at or below the old folder that have settings, each with the names of those in use."""
    return {
        project: tuple(sorted(name for name, value in row.items() if value not in (None, False, 0, "", [], {})))
        for project, row in _projects(_read(path)).items()
        if isinstance(row, dict) and paths.covers(project)
    }


def moved_settings(paths: PathMapping, path: Path) -> Iterable[bytes]:
    """Return the content of the file with the settings of the projects under their new paths.

    A setting that the new path already has is kept.
    """
    data = _read(path)
    projects: dict[str, Any] = {}
    for project, row in _projects(data).items():
        name = paths.apply(project)
        present = projects.get(name) or (_projects(data).get(name) if name != project else None)
        projects[name] = {**row, **present} if isinstance(row, dict) and isinstance(present, dict) else row
    return [msgspec.json.format(encode({**data, "projects": projects}), indent=2)]


def _read(path: Path) -> dict[str, Any]:
    try:
        value = decode_readable(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _projects(data: dict[str, Any]) -> dict[str, Any]:
    projects = data.get("projects")
    return projects if isinstance(projects, dict) else {}
