"""Decide where a file of a store goes in the mirror. Names in a store are not trusted."""

from __future__ import annotations

from unicodedata import normalize

from clew.wire.tree_walk import is_utf8, is_uuid

HISTORY = "history.jsonl"
HISTORIES = "histories"  # the folder with the prompt history of each host
_INDEX = "sessions-index.json"
_MAX_NAME, _MAX_DEPTH = 200, 12  # bytes of one name, and names of a path
_UNSAFE = frozenset('\\:*?"<>|')  # not in names that Claude Code makes, and special on some systems


def is_safe_path(path: str, kind: str) -> bool:
    """Return whether a path is one that the collector delivers: a transcript or an index of a project, or the history."""
    if kind == "history":
        return path == HISTORY
    if not is_utf8(path) or not path.isprintable() or _UNSAFE & set(path):
        return False
    names = path.split("/")
    if not 3 <= len(names) <= _MAX_DEPTH or names[0] != "projects" or not all(map(_is_safe_name, names)):
        return False
    last = names[-1]
    if kind == "index":
        return len(names) == 3 and last == _INDEX
    if kind == "session":
        return len(names) == 3 and last.endswith(".jsonl") and is_uuid(last[:-6])
    return kind == "agent" and last.startswith("agent-") and last.endswith(".jsonl")


def is_safe_host(host: str) -> bool:
    """Return whether the name of a host can be a part of a file name."""
    return 0 < len(host) <= 64 and host.isascii() and host.isalnum()


def _is_safe_name(name: str) -> bool:
    return bool(name.strip(". ")) and not name.endswith((".", " ")) and len(name.encode()) <= _MAX_NAME


def candidate_places(path: str, host: str, file: int) -> list[str]:
    """Return where a file may go, the best first. The project gets the name of the host if others have the same path."""
    if path == HISTORY:
        return [f"{HISTORIES}/{host}-{file}.jsonl"]
    root, project, rest = path.split("/", 2)
    return [path, f"{root}/{project}~{host[:8]}/{rest}", f"{root}/{project}~{host}-{file}/{rest}"]


def claim_of(place: str) -> str:
    """Return what two places share if they can be one file on some file system."""
    return normalize("NFC", place).casefold()
