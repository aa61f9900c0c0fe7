"""Small transcripts for the index, and its contents in a form that can be compared."""

from __future__ import annotations

import json
import os
import uuid
from bisect import bisect_right
from pathlib import Path
from typing import Any

from clew.index.index_schema import CODE_BITS, CODES, Shard
from clew.index.query_syntax import SEARCH_FIELDS
from clew.index.session_index import Index

NOW = 1_770_000_000.0
DAY = 86_400


def stamp(days: float = 0.0) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(NOW - days * DAY, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def ident(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))


def entry(kind: str, content: Any, *, days: float = 0.0, node: str = "", cwd: str = "/srv/site", **more: Any) -> bytes:
    value = {
        "type": kind,
        "uuid": node or str(uuid.uuid4()),
        "timestamp": stamp(days),
        "cwd": cwd,
        "gitBranch": "main",
        "message": {"role": kind, "content": content, **({"model": "claude-opus-4-5"} if kind == "assistant" else {})},
        **more,
    }
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


def prompt(text: str, **more: Any) -> bytes:
    return entry("user", text, **more)


def reply(text: str, **more: Any) -> bytes:
    return entry("assistant", [{"type": "text", "text": text}], **more)


def thinking(text: str, **more: Any) -> bytes:
    return entry("assistant", [{"type": "thinking", "thinking": text, "signature": "c2ln"}], **more)


def call(tool: str, identity: str = "toolu_1", *, days: float = 0.0, **given: Any) -> bytes:
    return entry("assistant", [{"type": "tool_use", "id": identity, "name": tool, "input": given}], days=days)


def result(text: Any, identity: str = "toolu_1", *, failed: bool = False, **more: Any) -> bytes:
    block = {"type": "tool_result", "tool_use_id": identity, "content": text, "is_error": failed}
    return entry("user", [block], **more)


def custom(title: str) -> bytes:
    return json.dumps({"type": "custom-title", "customTitle": title}).encode() + b"\n"


def made(title: str) -> bytes:
    return json.dumps({"type": "ai-title", "aiTitle": title}).encode() + b"\n"


class Claude:
    """A folder of Claude Code with its index beside it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "claude"
        self.cache = folder / "cache"
        (self.root / "projects").mkdir(parents=True)

    def path(self, name: str, project: str = "-work-site") -> Path:
        return self.root / "projects" / project / f"{ident(name)}.jsonl"

    def agent_path(self, name: str, agent: str, project: str = "-work-site") -> Path:
        return self.root / "projects" / project / ident(name) / "subagents" / f"agent-{agent}.jsonl"

    def write(self, name: str, *lines: bytes, project: str = "-work-site") -> Path:
        return self.put(self.path(name, project), *lines)

    def put(self, path: Path, *lines: bytes) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(lines))
        return path

    def open(self) -> Index:
        return Index.open(self.root, self.cache)

    def refreshed(self) -> Index:
        index = self.open()
        assert index.refresh().is_complete
        return index

    def search(self, text: str, **more: Any) -> list[str]:
        """The names of the sessions that are found, best first."""
        with self.refreshed() as index:
            return [found.session for found in index.search(text, now=NOW, **more)]


def append(path: Path, *lines: bytes) -> None:
    with path.open("ab") as file:
        file.write(b"".join(lines))


def contents(index: Index) -> dict[str, Any]:
    """All that an index holds, whatever numbers its rows have."""
    found: dict[str, list[Any]] = {"piece": [], "word": [], "file": []}
    facts = "path, folder, session, agent, inode, size, mtime, offset, mark, open, root, custom, made, last, summary, first,"
    facts += " command, cwd, branches, models, started, ended, messages"
    for shard in index.shards:
        found["file"] += shard.execute(f"SELECT {facts} FROM file").fetchall()
        rows = shard.execute(
            "SELECT p.id, f.path, p.offset, p.part, p.field, t.name, p.failed, p.time, p.node"
            " FROM piece p JOIN file f ON f.id=p.file LEFT JOIN tool t ON t.id=p.tool"
        ).fetchall()
        places = {row[0]: row[1:5] for row in rows}
        assert len(places) == shard.execute("SELECT count(*) FROM piece").get
        _check_ids(shard)
        found["piece"] += [row[1:] for row in rows]
        for table in ("said", "done"):
            name = f"temp.{table}_all"
            shard.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS {name} USING fts5vocab(main, {table}, instance)")
            for term, doc, _, at in shard.execute(f"SELECT * FROM {name}").fetchall():
                found["word"].append((term, *places[doc], at))
            shard.execute(f"DROP TABLE {name}")
    return {key: sorted(rows, key=repr) for key, rows in found.items()}


def _check_ids(shard: Shard) -> None:
    """Check that the id of each piece tells its file and its field."""
    firsts, files, times = shard.find_runs()
    for piece, file, field, time in shard.execute("SELECT id, file, field, time FROM piece"):
        run = bisect_right(firsts, piece) - 1
        assert files[run] == file and times[run] >= (time or 0)
        assert CODES[piece % (1 << CODE_BITS)][0] == SEARCH_FIELDS[field]


def fresh(claude: Claude, folder: Path) -> dict[str, Any]:
    """What an index holds that was made in one go."""
    with Index.open(claude.root, folder) as index:
        assert index.refresh().is_complete
        return contents(index)


def touch(path: Path, days: float) -> None:
    os.utime(path, (NOW - days * DAY, NOW - days * DAY))
