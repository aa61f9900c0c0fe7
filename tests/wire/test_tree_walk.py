"""Listing the transcripts of a tree, all of them or those that changed."""

from __future__ import annotations

import os
from pathlib import Path

from clew.wire.tree_walk import list_transcripts

NAMES = [f"3f2a0c5e-0000-4000-8000-{number:012}" for number in range(4)]


def test_files_with_a_known_state_are_not_listed(tmp_path: Path) -> None:
    project = tmp_path / "projects" / "-p"
    agents = project / NAMES[0] / "subagents"
    agents.mkdir(parents=True)
    paths = [*(project / f"{name}.jsonl" for name in NAMES), agents / "agent-1.jsonl", agents / "agent-2.jsonl"]
    for path in paths:
        path.write_text("{}\n")
    known = {
        file.path: (file.inode, file.size, file.mtime_ns, file.ctime_ns) for file in list_transcripts(str(tmp_path))
    }
    assert sorted(known) == sorted(map(str, paths))
    left = dict(known)
    assert list_transcripts(str(tmp_path), known=left) == []
    assert left == {}
    grown, rewritten, deleted, new = paths[0], paths[4], paths[5], project / f"{NAMES[0][:-1]}9.jsonl"
    with grown.open("a") as file:
        file.write("{}\n")
    rewritten.write_text("[]\n")  # the same size and, below, the same time
    os.utime(rewritten, ns=(known[str(rewritten)][2],) * 2)
    deleted.unlink()
    new.write_text("{}\n")
    left = dict(known)
    found = {file.path for file in list_transcripts(str(tmp_path), known=left)}
    assert found == {str(grown), str(rewritten), str(new)}
    assert list(left) == [str(deleted)]
