"""The trees on which two versions are compared, and the commands for each."""

from __future__ import annotations

import random
import re
import shutil
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from benchmarks.corpus import generate
from benchmarks.search import samples as sample_queries
from clew.demo.demo_tree import write_demo
from tests.fuzz.runs import WORDS
from tests.fuzz.world import HEALTHY, Seeds

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# Commands that know no tree, or whose answer depends on the time.
_LEFT_OUT = {"ps", "unpack", "import", "mock", "skill", "trust", "completion", "sync", "undo"}
_WITHOUT_TREE = {"restore", "sql"}  # take no --claude-dir
_BY_CHANCE = re.compile(r"--to codex|^lineage|^pack .*--redact")  # the order or the size follows from new ids
Words = tuple[str, ...]


class Scene(NamedTuple):
    """A tree, and the commands that are run on it, one after the other."""

    name: str
    tree: Path
    commands: list[Words]


def _words(text: str, session: str, path: str) -> Words:
    """One command of `tests.fuzz.runs` for a session; `{root}` and `{out}` stay for each version to fill in."""
    values = {"id": session, "path": path, "out": "{out}", "root": "{root}", "mutated": path, "foreign": "{out}"}
    words = tuple(word.format(**values).replace("/**/", " ") for word in text.split(" "))
    return words if words[0] in _WITHOUT_TREE else (*words, "--claude-dir", "{root}")


def _path(session: Path, tree: Path) -> str:
    return "{root}/" + str(session.relative_to(tree)).replace("{", "{{").replace("}", "}}")


def _chosen(whole: bool, healthy: bool) -> Iterator[str]:
    """The commands for a tree (`whole`) or for a session of it."""
    for name, texts in WORDS.items():
        for text in texts if name not in _LEFT_OUT else ():
            is_about_session = "{id}" in text or "{path}" in text
            if is_about_session != whole and (healthy or HEALTHY not in text) and not _BY_CHANCE.search(text):
                yield text


def _sessions(tree: Path) -> list[Path]:
    return sorted(path for path in (tree / "projects").glob("*/*.jsonl") if _UUID.fullmatch(path.stem))


def _scene(name: str, tree: Path, count: int | None, queries: int = 0) -> Scene:
    """All commands for a tree, for some of its sessions (the largest among them), and for words from its texts."""
    every = _sessions(tree)
    chance = random.Random(name)
    chosen = every if count is None else sorted({max(every, key=_size), *chance.sample(every, min(count, len(every)))})
    commands = [_words(text, "", "") for text in _chosen(whole=True, healthy=False)]
    for session in chosen:
        commands += [_words(text, session.stem, _path(session, tree)) for text in _chosen(whole=False, healthy=False)]
    if queries:
        texts = [query for several in sample_queries(tree).values() for query in several if "{" not in query]
        for query in chance.sample(texts, min(queries, len(texts))):
            commands.append(("search", "--json", "-n", "20", "--claude-dir", "{root}", "--", query))
    return Scene(name, tree, commands)


def _size(path: Path) -> int:
    return path.stat().st_size


def demo(folder: Path) -> Scene:
    return _scene("demo", write_demo(folder / "demo", NOW).root, None, 100)


def samples(folder: Path, source: Path) -> Scene:
    """Real transcripts from a folder, each as a session of one project for each of its folders."""
    tree = folder / "samples"
    for path in sorted(source.rglob("*.jsonl")):
        project = tree / "projects" / re.sub(r"[^A-Za-z0-9]", "-", f"-samples-{path.parent.relative_to(source)}")
        project.mkdir(parents=True, exist_ok=True)
        is_named = _UUID.fullmatch(path.stem) or path.name.startswith("agent-")
        name = path.name if is_named else f"{uuid.uuid5(uuid.NAMESPACE_URL, str(path.relative_to(source)))}.jsonl"
        shutil.copyfile(path, project / name)
    return _scene("samples", tree, None, 100)


def generated(folder: Path, size: int, sessions: int) -> Scene:
    tree = folder / f"generated-{size}"
    if not tree.exists():
        generate(tree, size, 1, size // 8)
    return _scene(f"generated, {size / 1e6:.0f} MB", tree, sessions, 400)


def damaged(folder: Path, cases: int, runs: int) -> Iterator[Scene]:
    """Damaged files, each in a home of its own, with some commands each."""
    seeds = Seeds(folder)
    for seed in range(1, cases + 1):
        home = folder / f"case-{seed}"
        case = seeds.case(seed, home)
        texts = [*_chosen(whole=True, healthy=True), *_chosen(whole=False, healthy=True)]
        chosen = random.Random(seed).sample(texts, min(runs, len(texts)))
        words = [_words(text, case.id, _path(case.session, case.root)) for text in chosen]
        yield Scene(f"damaged, case {seed}", case.root, words)
        shutil.rmtree(home)
