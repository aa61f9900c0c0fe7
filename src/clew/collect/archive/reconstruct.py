"""Reconstruct sessions whose transcripts were deleted before they were archived.

The prompt history contains their prompts; agents, file backups and lists may still exist. Every reconstructed line
is marked, and the first line says what it is: the replies are lost.
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
from clew.wire.timestamps import format_timestamp

_EMPTY_LISTS = (b"", b"[]", b"{}")
_UNKNOWN_PROJECT = "-reconstructed"  # the project folder if no trace names one


class ReconstructedSession(NamedTuple):
    """A session built from its remaining traces."""

    session: str
    path: str
    data: bytes
    mtime: int
    belongings: tuple[ArchivedFile, ...]


def reconstruct_sessions(archive: Archive, root: str) -> Iterator[ReconstructedSession]:
    """Yield every session that left traces and has no transcript in the archive."""
    known = {file.session.lower() for file in archive.sessions(root=root)}
    files = [file for file in archive.files(root=root) if file.size and file.session.lower() not in known]
    prompts_by_session = _read_prompts(archive, files)
    traces: dict[str, list[ArchivedFile]] = {}
    for file in files:
        if file.session and not _is_empty_list(archive, file):
            traces.setdefault(file.session, []).append(file)
    for session in sorted({*prompts_by_session, *traces}):
        if session.lower() not in known and _is_safe_id(session):
            yield _build_session(session, prompts_by_session.get(session, []), tuple(traces.get(session, ())))


def _read_prompts(archive: Archive, files: list[ArchivedFile]) -> dict[str, list[HistoryPrompt]]:
    """Return the prompts of each session in the order in which they were typed; each line of the history once."""
    by_session: dict[str, list[HistoryPrompt]] = {}
    for history in (file for file in files if file.kind == "history"):
        known_lines: set[bytes] = set()
        for generation in archive.generations(history):
            for prompt in prompts(read_history(archive.read(generation, []))):
                if prompt.session_id and prompt.line.json not in known_lines:
                    known_lines.add(prompt.line.json)
                    by_session.setdefault(prompt.session_id, []).append(prompt)
    return by_session


def _is_empty_list(archive: Archive, file: ArchivedFile) -> bool:
    return file.kind in ("todo", "task") and file.size < 8 and archive.read(file, []).strip() in _EMPTY_LISTS


def _is_safe_id(name: str) -> bool:
    """Return whether a session id is safe as a file name; it comes from files that anyone may have written."""
    return 0 < len(name) <= 64 and name.replace("-", "").isalnum() and name.isascii()


def _build_session(session: str, typed: list[HistoryPrompt], traces: tuple[ArchivedFile, ...]) -> ReconstructedSession:
    typed = sorted(typed, key=lambda prompt: prompt.time.timestamp() if prompt.time else 0.0)
    project = next((p.project for p in typed if p.project), None)
    folder = slug(project) if project else next((file.project for file in traces if file.project), _UNKNOWN_PROJECT)
    first = next((format_timestamp(p.time) for p in typed if p.time), None)
    lines = [
        _build_line(session, "0", None, project, first, {"type": "system", "content": _describe_sources(typed, traces)})
    ]
    for number, prompt in enumerate(typed, 1):
        parent = _line_uuid(session, str(number - 1))
        body = {"type": "user", "message": {"role": "user", "content": prompt.text}}
        time = format_timestamp(prompt.time) if prompt.time else first
        lines.append(_build_line(session, str(number), parent, prompt.project or project, time, body))
    times = [int(p.time.timestamp() * 1e9) for p in typed if p.time] + [file.mtime for file in traces]
    return ReconstructedSession(
        session, f"projects/{folder}/{session}.jsonl", b"".join(lines), max(times, default=0), traces
    )


def _describe_sources(typed: list[HistoryPrompt], traces: tuple[ArchivedFile, ...]) -> str:
    """Return a sentence that says what the session was built from."""
    kinds = (("agent", "agent"), ("todo", "list"), ("task", "task"), ("backup", "saved file"), ("side", "long output"))
    counts = [(len(typed), "prompt"), *((sum(f.kind == kind for f in traces), name) for kind, name in kinds)]
    sources = ", ".join(plural(count, name) for count, name in counts if count)
    return f"Reconstructed by clew from what was left of this session: {sources}. The answers are lost."


def _build_line(
    session: str, name: str, parent: str | None, cwd: str | None, time: str | None, body: dict[str, Any]
) -> bytes:
    subtype = {"subtype": "informational", "level": "info", "isMeta": False} if body["type"] == "system" else {}
    entry = {
        "parentUuid": parent,
        "isSidechain": False,
        "userType": "external",
        "cwd": cwd,
        "sessionId": session,
        **body,
        **subtype,
        "uuid": _line_uuid(session, name),
        "timestamp": time,
        "reconstructed": True,
    }
    return encode({key: value for key, value in entry.items() if value is not None or key == "parentUuid"}) + b"\n"


def _line_uuid(session: str, name: str) -> str:
    """Return the uuid of a line; the same for every reconstruction."""
    return str(uuid5(NAMESPACE_URL, f"clew:reconstructed:{session}:{name}"))
