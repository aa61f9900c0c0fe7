"""Trees and sessions of growing size. A tree is made of parts with different seeds, so that nothing in it is a copy; smaller
trees are the first parts of larger ones, and share their files by hard links."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.corpus import generate

PART = 100_000_000  # bytes of one part of a tree
SMALL = 1_000_000  # bytes of other sessions beside a large one


def tree_of(root: Path, size: int, part_size: int = PART) -> Path:
    """A tree of any size; its parts are written by all cores, and are kept beside it."""
    if (root / "projects").exists():
        return root
    count = max(1, round(size / part_size))
    parts = [root.parent / "parts" / f"{seed}-{min(size, part_size)}" for seed in range(1, count + 1)]
    missing = [part for part in parts if not part.exists()]
    if missing:
        print(f"Writing {size / 1e6:.0f} MB of sessions …", file=sys.stderr, flush=True)
        with ProcessPoolExecutor() as pool:
            for done, _ in enumerate(pool.map(_write_part, missing), 1):
                print(f"  {done} of {len(missing)} parts", file=sys.stderr, flush=True)
    draft = root.with_name(f"{root.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    for part in parts:
        for project in sorted((part / "projects").iterdir()):
            target = draft / "projects" / f"{project.name}-{part.name.partition('-')[0]}"
            shutil.copytree(project, target, copy_function=os.link)
    draft.rename(root)
    return root


def _write_part(part: Path) -> None:
    """Write a part completely or not at all: its name is its seed and its size."""
    seed, _, size = part.name.partition("-")
    draft = part.with_name(f"{part.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    generate(draft, int(size), int(seed))
    draft.rename(part)


def session_of(root: Path, size: int) -> Path:
    """A tree with one session of this size, compacted as large sessions are."""
    if not root.exists():
        print(f"Writing a session of {size / 1e6:.0f} MB …", file=sys.stderr, flush=True)
        draft = root.with_name(f"{root.name}.draft")
        shutil.rmtree(draft, ignore_errors=True)
        generate(draft, SMALL, 1, size)
        draft.rename(root)
    return root


def files_of(root: Path, count: int) -> Path:
    """A tree of many small sessions: one prompt and one reply."""
    if root.exists():
        return root
    draft = root.with_name(f"{root.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    for number in range(count):
        folder = draft / "projects" / f"-home-ada-p{number % 500}"
        folder.mkdir(parents=True, exist_ok=True)
        name = f"3f2a0c5e-0000-4000-8000-{number:012}"
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(entry)}\n" for entry in _small_session(name)))
    draft.rename(root)
    return root


def _small_session(name: str) -> Iterator[dict[str, object]]:
    common = {"sessionId": name, "cwd": "/home/ada/p", "version": "2.1.325", "timestamp": "2026-11-01T10:00:00.000Z"}
    first, second = f"1{name[1:]}", f"2{name[1:]}"
    yield {
        **common,
        "type": "user",
        "uuid": first,
        "parentUuid": None,
        "message": {"role": "user", "content": f"Fix the error in part {name[-6:]}"},
    }
    reply = {
        "id": f"msg_{name}",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": [{"type": "text", "text": "It is fixed."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }
    yield {**common, "type": "assistant", "uuid": second, "parentUuid": first, "message": reply}
