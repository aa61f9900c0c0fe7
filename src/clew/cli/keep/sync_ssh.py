"""Synchronise with another machine: run `clew` there over ssh, and exchange packs through its stdin and stdout."""

from __future__ import annotations

import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from clew.edit.arrival import BUSY, DIVERGED, GROWN, NEW, STATES
from clew.edit.pack_format import extract_pack, write_pack
from clew.edit.receive_sessions import Received, plan_all, receive
from clew.edit.sync_trees import SyncResult, changed_arrivals, inventory, sync_results, tree_sessions
from clew.errors import Refused
from clew.system.subprocesses import find_program
from clew.wire.json_codec import decode
from clew.wire.layout import Tree
from clew.wire.session_parts import collect_parts
from clew.wire.session_writer import create_exactly
from clew.wire.tree_walk import is_uuid

_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@:\[\]-]*")
_BATCH = 500  # ids in one command line


def sync_with_host(host: str, tree: Tree, is_done: bool) -> tuple[list[SyncResult], list[SyncResult]]:
    """Exchange what differs with a host; return what changed here and there. Without `is_done` nothing is written."""
    remote = _Remote(host)
    here, there = inventory(tree), remote.inventory()
    wanted = [id for id, sum in there.items() if here.get(id) != sum]
    pulled: list[SyncResult] = []
    for ids in _batches(wanted):
        pulled += _pull(remote, ids, tree, is_done)
    if is_done:
        here = inventory(tree)
    offered = sorted((id for id, sum in here.items() if there.get(id) != sum), key=lambda id: id in there)
    pushed: list[SyncResult] = []
    for ids in _batches(offered):
        pushed += _push(remote, ids, tree, is_done)
    return pulled, pushed


class _Remote:
    """clew on another machine."""

    def __init__(self, host: str) -> None:
        if not _HOST.fullmatch(host):
            raise Refused([f"{host!r} is not the name of a host"], hint="Write ssh:HOST or ssh:USER@HOST.")
        program = find_program("ssh")
        if program is None:
            raise Refused(["ssh is not on the PATH"], hint="Install it, or sync with a folder: clew sync DIR")
        self._command = [program, host]
        self.host = host

    def inventory(self) -> dict[str, str]:
        rows = [decode(line) for line in self.run(["sync", "--inventory"]).stdout.splitlines()]
        return {
            row["session"]: row["digest"]
            for row in rows
            if isinstance(row, dict) and isinstance(row.get("digest"), str) and is_uuid(str(row.get("session")))
        }

    def run(
        self, words: Sequence[str], given: IO[bytes] | None = None, *, codes: Sequence[int] = (0,)
    ) -> subprocess.CompletedProcess[bytes]:
        """Run clew there. Raises Refused with its last message if it fails."""
        done = subprocess.run(
            [*self._command, shlex.join(["clew", *words])],
            stdin=given or subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if done.returncode not in codes:
            last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
            raise Refused(
                [f"clew {words[0]} failed on {self.host}: {last[0]}"],
                hint="Check that clew is installed there and on the PATH of ssh: ssh HOST clew --version",
            )
        return done


def _batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[start : start + _BATCH] for start in range(0, len(ids), _BATCH))


def _pull(remote: _Remote, ids: Sequence[str], tree: Tree, is_done: bool) -> list[SyncResult]:
    """Get sessions from the host and put them into the tree."""
    with tempfile.TemporaryDirectory(prefix="clew-sync-") as folder:
        pack, extracted = Path(folder) / "pack.zip", Path(folder) / "tree"
        create_exactly(pack, [remote.run(["pack", *ids, "--memory", "--quiet", "-o", "-"]).stdout], sync=False)
        manifest = extract_pack(pack, extracted)
        files = [file for project in Tree(extracted).projects() for file in project.sessions()]
        sessions = [collect_parts(file, memory=True) for file in files if file.id in manifest.sessions]
        arrivals = changed_arrivals(plan_all(sessions, tree))
        if not is_done:
            return sync_results(map(Received, arrivals))
        return sync_results(receive(arrivals, tree, f"sync from {remote.host}", f"ssh:{remote.host}")[1])


def _push(remote: _Remote, ids: Sequence[str], tree: Tree, is_done: bool) -> list[SyncResult]:
    """Send sessions to the host; it answers what happened to each, or what would."""
    sessions = {parts.id: parts for parts in tree_sessions(tree, frozenset(ids))}
    with tempfile.TemporaryFile() as pack:
        write_pack(pack, (sessions[id] for id in ids if id in sessions))
        pack.seek(0)
        words = ["unpack", "-", "--json", "--quiet", *([] if is_done else ["--dry-run"])]
        rows = [decode(line) for line in remote.run(words, given=pack, codes=(0, 1)).stdout.splitlines()]
    return list(_parse_results(rows))


def _parse_results(rows: Iterable[Any]) -> Iterator[SyncResult]:
    """Read what `clew unpack --json` says of each session that changed."""
    for row in rows:
        if isinstance(row, dict) and row.get("state") in STATES and is_uuid(str(row.get("session"))):
            state, merged, problem = (str(row.get(name) or "") for name in ("state", "merged", "problem"))
            if problem or state in (NEW, GROWN, DIVERGED, BUSY):
                yield SyncResult(row["session"], state, merged, problem)
