"""Find a session by id, prefix or path, and a project by path or name."""

from __future__ import annotations

import os
import re
from pathlib import Path
from unicodedata import normalize

from clew.errors import Ambiguous, NotFound
from clew.wire.layout import Project, SessionFile, Tree, list_sessions, session_at
from clew.wire.project_slug import DRIVE, MAX_SLUG, slugs

_PATH = re.compile(r"\.{1,2}([\\/]|$)|~|[\\/]|[A-Za-z]:")  # looks like a path, not like a part of one


def _expand(path: str) -> str:
    return os.path.expanduser(path)  # noqa: PTH111 - where a Path would raise, this leaves `~unknown` as it is


def find_session(tree: Tree, query: str) -> SessionFile:
    """Find a session by its id, a prefix of it, or a path; non-empty files take precedence.

    Raises NotFound or Ambiguous.
    """
    if query.endswith(".jsonl") and os.path.isfile(path := _expand(query)):
        return session_at(path)
    prefix = query.removesuffix(".jsonl").lower()
    projects = tree.projects()
    files = [file for p in projects for file in list_sessions(p.folder, prefix)] if prefix else []
    files = [file for file in files if not file.is_empty] or files
    if len(files) == 1:
        return files[0]
    if not files:
        near = {file.id[: len(prefix)].lower(): file.id for p in projects for file in p.sessions()}
        raise NotFound(query, near=_close_matches(prefix, near))
    ids = sorted({file.id for file in files})
    raise Ambiguous(query, ids if len(ids) > 1 else sorted(str(file.path) for file in files))


def find_project(tree: Tree, query: str) -> Project:
    """Find a project by its path, the name of its folder, or an unambiguous part of its path.

    Raises NotFound or Ambiguous.
    """
    by_name = {project.name: project for project in tree.projects()}
    candidates = _candidate_paths(query)
    names = [query, *(name for path in candidates for name in slugs(path))]
    if exact := next((by_name[name] for name in names if name in by_name), None):
        return exact
    paths = {project: project.path().path for project in by_name.values()}
    matches = _projects_at(candidates, names, paths) or (
        [] if _PATH.match(query) else _projects_containing(query, paths)
    )
    if len(matches) > 1:
        raise Ambiguous(query, [paths[p] for p in matches], kind="projects")
    if not matches:
        near = _close_matches(_base_name(query), {_base_name(path): path for path in paths.values()})
        raise NotFound(query, kind="project", near=near)
    return matches[0]


def _candidate_paths(query: str) -> list[str]:
    """Return the absolute paths that a query can mean; none if it does not look like a path."""
    if os.name != "nt" and (DRIVE.match(query) or query.startswith("\\\\")):
        return [query.rstrip("/\\")]
    if _PATH.match(query) or "/" in query:
        full = Path(_expand(query))
        return [str(full.resolve()), os.path.normpath(full.absolute())]
    return []


def _projects_at(candidates: list[str], names: list[str], paths: dict[Project, str]) -> list[Project]:
    """Return the projects whose recorded path matches, else those whose folder name begins with it or differs only
    in case.
    """
    plain = {_normalise_path(path) for path in candidates}
    if same := [p for p, path in paths.items() if _normalise_path(path) in plain]:
        return same
    cut = tuple(f"{name}-" for name in names if len(name) == MAX_SLUG)
    folded = {name.lower() for name in names if any(map(DRIVE.match, candidates))}
    return [p for p in paths if p.name.startswith(cut) or p.name.lower() in folded]


def _projects_containing(query: str, paths: dict[Project, str]) -> list[Project]:
    """Return the projects with this text in their path or name; if some have exactly this name, only these."""
    part = query.lower()
    matches = [p for p, path in paths.items() if part and (part in path.lower() or part in p.name.lower())]
    return [p for p in matches if _base_name(paths[p]) == part] or matches


def _base_name(path: str) -> str:
    return re.split(r"[\\/]", path.rstrip("/\\"))[-1].lower()


def _normalise_path(path: str) -> str:
    """Normalise a path for comparison: Unicode form, final separator, and case on Windows."""
    path = normalize("NFC", path).rstrip("/\\") or path
    return path.replace("/", "\\").lower() if DRIVE.match(path) else path


def _close_matches(query: str, names: dict[str, str]) -> list[str]:
    from difflib import get_close_matches

    return [names[key] for key in get_close_matches(query, sorted(names), n=3)]
