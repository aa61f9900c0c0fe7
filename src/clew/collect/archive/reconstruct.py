"""Reconstructed sessions: what can be said of a session whose transcript was gone before anybody kept it.

The history knows its prompts; agents, saved files and lists may still lie where they were. What comes of that is marked in
every line, and its first line says what it is: the answers are lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

from clew.collect.archive.reader import Archive, ArchivedFile
from clew.system.plural import plural
from clew.wire.json_codec import encode
from clew.wire.project_slug import slug
from clew.wire.prompt_history import HistoryPrompt, prompts, read_history
from clew.wire.timestamps import stamp

_NOTHING = (b"", b"[]", b"{}")
_UNKNOWN = "-reconstructed"  # the project of a session that nothing names one for


class Rebuilt(NamedTuple):
    """A session made from what was left of it."""

    session: str
    path: str
    data: bytes
    mtime: int
    belongings: tuple[ArchivedFile, ...]


def rebuilt(archive: Archive, root: str) -> Iterator[Rebuilt]:
    """Every session that left traces and has no transcript in the archive."""
    files = [file for file in archive.files(root=root) if file.size]
    known = {file.session.lower() for file in files if file.kind == "session"}
    said = _said(archive, files)
    left: dict[str, list[ArchivedFile]] = {}
    for file in files:
        if file.session and file.kind != "session" and not _is_nothing(archive, file):
            left.setdefault(file.session, []).append(file)
    for session in sorted({*said, *left}):
        if session.lower() not in known and _is_id(session):
            yield _session(session, said.get(session, []), tuple(left.get(session, ())))


def _said(archive: Archive, files: list[ArchivedFile]) -> dict[str, list[HistoryPrompt]]:
    """The prompts of each session, in the order in which they were typed; each line of the history once."""
    found: dict[str, list[HistoryPrompt]] = {}
    for history in (file for file in files if file.kind == "history"):
        seen: set[bytes] = set()
        for generation in archive.generations(history):
            for prompt in prompts(read_history(archive.read(generation))):
                if prompt.session_id and prompt.line.json not in seen:
                    seen.add(prompt.line.json)
                    found.setdefault(prompt.session_id, []).append(prompt)
    return found


def _is_nothing(archive: Archive, file: ArchivedFile) -> bool:
    return file.kind in ("todo", "task") and file.size < 8 and archive.read(file).strip() in _NOTHING


def _is_id(name: str) -> bool:
    """Whether it can be the name of a file: it comes out of files that anybody may have written."""
    return 0 < len(name) <= 64 and name.replace("-", "").isalnum() and name.isascii()


def _session(session: str, said: list[HistoryPrompt], left: tuple[ArchivedFile, ...]) -> Rebuilt:
    said = sorted(said, key=lambda prompt: prompt.time.timestamp() if prompt.time else 0.0)
    project = next((p.project for p in said if p.project), None)
    folder = slug(project) if project else next((file.project for file in left if file.project), _UNKNOWN)
    first = next((stamp(p.time) for p in said if p.time), None)
    lines = [_line(session, "0", None, project, first, {"type": "system", "content": _account(said, left)})]
    for number, prompt in enumerate(said, 1):
        above = _uuid(session, str(number - 1))
        body = {"type": "user", "message": {"role": "user", "content": prompt.text}}
        when = stamp(prompt.time) if prompt.time else first
        lines.append(_line(session, str(number), above, prompt.project or project, when, body))
    times = [int(p.time.timestamp() * 1e9) for p in said if p.time] + [file.mtime for file in left]
    return Rebuilt(session, f"projects/{folder}/{session}.jsonl", b"".join(lines), max(times, default=0), left)


def _account(said: list[HistoryPrompt], left: tuple[ArchivedFile, ...]) -> str:
    """What the session was made from, in words."""
    kinds = (("agent", "agent"), ("todo", "list"), ("task", "task"), ("backup", "saved file"), ("side", "long output"))
    counts = [(len(said), "prompt"), *((sum(f.kind == kind for f in left), name) for kind, name in kinds)]
    what = ", ".join(plural(count, name) for count, name in counts if count)
    return f"Reconstructed by clew from what was left of this session: {what}. The answers are lost."


def _line(session: str, name: str, above: str | None, cwd: str | None, time: str | None, body: dict[str, Any]) -> bytes:
    subtype = {"subtype": "informational", "level": "info", "isMeta": False} if body["type"] == "system" else {}
    entry = {
        "parentUuid": above,
        "isSidechain": False,
        "userType": "external",
        "cwd": cwd,
        "sessionId": session,
        **body,
        **subtype,
        "uuid": _uuid(session, name),
        "timestamp": time,
        "reconstructed": True,
    }
    return encode({key: value for key, value in entry.items() if value is not None or key == "parentUuid"}) + b"\n"


def _uuid(session: str, name: str) -> str:
    """The same for the same line, whenever it is made."""
    return str(uuid5(NAMESPACE_URL, f"clew:reconstructed:{session}:{name}"))
