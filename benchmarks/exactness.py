"""Exactness: what clew finds on a tree, held against SQLite and ripgrep on text that plain json has extracted.

    python -m benchmarks.exactness [--words 1000] [--substrings 300] [--expressions 100] [--keep DIR]

1. Words and phrases: the sessions that have them by SQLite's own unicode61 tokenizer.
2. Substrings and regular expressions: the sessions whose text ripgrep finds them in.

Prompts, replies, thinking, tool inputs and tool results are compared. Other text (what the program adds, damaged lines, side
files) may be found or not: samples that only such text decides are not asked.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measure import Line, Note, print_lines
from benchmarks.recall.reader import session_of
from benchmarks.recall.tree import write_tree
from clew.index.session_index import Index

FIELDS = "in:prompt,reply,thinking,input,result"
WIDE = re.compile(
    "[\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u2e80-\u31ff\u3400-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff]"
)
WORD = re.compile(r"[^\W_]+")
ENCODED = re.compile(r"[A-Za-z0-9+/_-]{200,}")
MOST = 100  # sessions; what more of them have is not asked, as it takes long and says little
TABLES = ("sure", "other")
ADDED = ("<", "[Request", "Caveat:", "[Image", "This session is being continued")


@dataclass(slots=True)
class Extract:
    """The text of each session: what must be found, and what may be."""

    sure: dict[str, list[str]] = field(default_factory=dict)
    other: dict[str, list[str]] = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)  # by path


@dataclass(frozen=True, slots=True)
class Difference:
    query: str
    missed: set[str]
    extra: set[str]


# -- reading with plain json


def extract(root: Path) -> Extract:
    found = Extract()
    for path in sorted((root / "projects").rglob("*")):
        if path.suffix == ".jsonl":
            for line in path.read_bytes().split(b"\n"):
                _extract_line(found, path, line.decode("utf-8", "replace"))
        elif path.is_file() and path.parent.name == "tool-results":
            text = path.read_text(encoding="utf-8", errors="replace")
            found.other.setdefault(path.parent.parent.name, []).append(text)
    return found


def _extract_line(found: Extract, path: Path, line: str) -> None:
    try:
        entry = json.loads(line)
    except ValueError:
        entry = None
    if not isinstance(entry, dict):
        found.other.setdefault(path.stem, []).append(line)
        return
    session = found.sessions.setdefault(str(path), session_of(path, entry))
    texts = list(_message_texts(entry)) if entry.get("type") in ("user", "assistant") else []
    for text, is_sure in texts:
        is_sure = is_sure and not ENCODED.search(text)
        (found.sure if is_sure else found.other).setdefault(session, []).append(text)
    if not texts:
        found.other.setdefault(session, []).extend(_strings(entry))


def _message_texts(entry: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield the texts of a message, and whether each is certainly searched."""
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    kinds = {block.get("type") for block in blocks if isinstance(block, dict)}
    is_added = any(
        entry.get(name) for name in ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")
    )
    for block in blocks:
        if not isinstance(block, dict):
            continue
        kind, text = block.get("type"), str(block.get("text") or "")
        if kind == "text":
            plain = not is_added and not text.lstrip().startswith(ADDED) and "<system-reminder>" not in text
            yield text, plain and (entry["type"] == "assistant" or (kinds == {"text"} and len(blocks) == 1))
        elif kind == "thinking":
            yield str(block.get("thinking") or ""), not is_added
        elif kind == "tool_use":
            yield "\n".join(_strings(block.get("input"))), not is_added
        elif kind == "tool_result":
            inner = block.get("content")
            parts = (
                [inner]
                if isinstance(inner, str)
                else [str(b.get("text", "")) for b in inner or () if isinstance(b, dict)]
            )
            yield "\n".join(parts), len(parts) == 1


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


# -- words, by SQLite


class Words:
    """The sessions that have a word or a phrase, by the tokenizer of the sqlite3 module."""

    def __init__(self, found: Extract) -> None:
        self.database = sqlite3.connect(":memory:")
        for table, texts in (("sure", found.sure), ("other", found.other)):
            columns = "text, session UNINDEXED, tokenize='unicode61 remove_diacritics 0'"
            self.database.execute(f"CREATE VIRTUAL TABLE {table} USING fts5({columns})")
            rows = [(separate(text), session) for session, several in texts.items() for text in several]
            self.database.executemany(f"INSERT INTO {table} VALUES (?, ?)", rows)

    def holders(self, asked: str) -> tuple[set[str], set[str]]:
        """Return the sessions whose certain text has it, and those whose other text has it."""
        phrase = '"' + separate(asked).replace('"', " ") + '"'
        select = "SELECT DISTINCT session FROM {0} WHERE {0} MATCH ?"
        sure, other = ({str(row[0]) for row in self.database.execute(select.format(t), (phrase,))} for t in TABLES)
        return sure, other


def separate(text: str) -> str:
    """Put spaces around characters of scripts without spaces, and spaces for symbols, as clew documents it."""
    spaced = WIDE.sub(r" \g<0> ", text)
    if spaced.isascii():
        return spaced
    return "".join(" " if unicodedata.category(c)[0] == "S" else c for c in spaced)


def sample_words(found: Extract, rng: random.Random) -> Iterator[str]:
    """Yield words and phrases of two to four words, from random texts."""
    texts = [text for several in found.sure.values() for text in several if len(text) > 20]
    while True:
        every = [word for word in WORD.findall(rng.choice(texts)) if len(word) <= 40]
        if len(every) > 4:
            at = rng.randrange(len(every) - 3)
            yield " ".join(every[at : at + rng.choice((1, 1, 2, 3, 4))])


# -- substrings and expressions, by ripgrep


class Ripgrep:
    """The sessions in whose text ripgrep finds a pattern, line by line, with its smart case."""

    def __init__(self, found: Extract, folder: Path) -> None:
        self.folder = folder
        for table, texts in (("sure", found.sure), ("other", found.other)):
            (folder / table).mkdir(parents=True)
            for session, several in texts.items():
                (folder / table / session).write_text(
                    "\n".join(several), encoding="utf-8", errors="replace", newline=""
                )

    def holders(self, pattern: str, *, fixed: bool) -> tuple[set[str], set[str]]:
        """Return the sessions whose certain text has it, and those whose other text has it."""
        command = ["rg", "-l", "-a", "-S", "--no-config", "-uuu", *(["-F"] if fixed else []), "-e", pattern]
        done = subprocess.run([*command, str(self.folder)], capture_output=True, text=True, check=False)
        if done.returncode > 1:
            raise ValueError(done.stderr)
        paths = [Path(line) for line in done.stdout.splitlines()]
        sure, other = ({path.name for path in paths if path.parent.name == table} for table in TABLES)
        return sure, other


def sample_substrings(found: Extract, rng: random.Random) -> Iterator[str]:
    """Yield pieces of lines of 4 to 20 characters, wherever they begin."""
    lines = [line for several in found.sure.values() for text in several for line in text.split("\n")]
    while True:
        line = rng.choice(lines)
        length = rng.randint(4, 20)
        if len(line) > length:
            at = rng.randrange(len(line) - length)
            piece = line[at : at + length]
            if piece.strip() == piece and "\r" not in piece and piece.isprintable():
                yield piece


def sample_expressions(found: Extract, rng: random.Random) -> Iterator[str]:
    """Yield expressions around words of random lines: beginnings and ends of lines, gaps, classes, alternatives."""
    lines = [line for several in found.sure.values() for text in several for line in text.split("\n")]
    while True:
        line = rng.choice(lines)
        every = [word for word in WORD.findall(line) if word.isascii() and 2 < len(word) < 20]
        if len(every) < 3 or "\r" in line:
            continue
        one, two = every[0], every[-1]
        at = rng.randrange(len(every) - 1)
        near, next_ = every[at], every[at + 1]
        yield rng.choice(
            (
                rf"\b{near[:3]}\w*",
                rf"{near}\W{{1,3}}{next_}",
                rf"{near[:4]}.{{0,12}}{next_[:4]}",
                rf"({near}|{next_})\.\w+",
                rf"^{_literal(line[:6])}",
                rf"{_literal(line[-6:])}$",
                rf"^\W*{one}\b.*\b{two}\W*$",
                rf"\b[a-z]+_{near}\b",
                rf"[^a-z]{near}[0-9]+",
                rf"\d{{2,4}} {near}",
            )
        )


def _literal(text: str) -> str:
    """Escape what Python and ripgrep both take for an operator; `re.escape` escapes more than ripgrep allows."""
    return re.sub(r"[\\.^$*+?()\[\]{}|]", r"\\\g<0>", text)


# -- comparing


def compare(
    samples: Iterator[str],
    count: int,
    holders: Callable[[str], tuple[set[str], set[str]]],
    ask: Callable[[str], set[str]],
) -> tuple[int, list[Difference]]:
    """Ask samples that the certain text decides, each once; how many found something, and what differs."""
    asked: set[str] = set()
    differences, hits = [], 0
    for sample in samples:
        if len(asked) == count:
            break
        if sample in asked:
            continue
        expected, other = holders(sample)
        if other - expected or len(expected) > MOST:
            continue
        asked.add(sample)
        hits += bool(expected)
        got = ask(sample)
        if got != expected:
            differences.append(Difference(sample, expected - got, got - expected))
    return hits, differences


def measure(root: Path, scratch: Path, counts: dict[str, int], seed: int) -> Iterator[Line | Note]:
    yield from measure_words(root, scratch / "words", counts["words"], seed)
    if not shutil.which("rg"):
        yield Note("substrings and expressions: not compared, as there is no ripgrep (rg)")
        return
    part = scratch / "part" / ".claude"
    copy_part(root, part)
    yield from measure_scans(part, scratch / "scans", counts, seed)


def measure_words(root: Path, scratch: Path, count: int, seed: int) -> Iterator[Line | Note]:
    found = extract(root)
    words = Words(found)
    with Index.open(root, scratch) as index:
        index.refresh()

        def ask(text: str) -> set[str]:
            return {found.sessions[passage.path] for passage in index.iter_passages(f'"{text}" {FIELDS}')}

        samples = sample_words(found, random.Random(f"{seed}:words"))
        yield from report("words and phrases", count, compare(samples, count, words.holders, ask))


def copy_part(root: Path, part: Path) -> None:
    """Copy the real samples and every fifth other project: a scan reads all files each time."""
    folders = sorted(path for path in (root / "projects").iterdir() if path.is_dir())
    for number, folder in enumerate(folders):
        if folder.name.startswith("-samples-") or number % 5 == 0:
            shutil.copytree(folder, part / "projects" / folder.name)


def measure_scans(root: Path, scratch: Path, counts: dict[str, int], seed: int) -> Iterator[Line | Note]:
    found = extract(root)
    ripgrep = Ripgrep(found, scratch / "text")
    with Index.open(root, scratch / "index") as index:
        index.refresh()
        for what, sample in (("substrings", sample_substrings), ("expressions", sample_expressions)):
            ask = partial(_scan, index, what)
            holders = partial(ripgrep.holders, fixed=what == "substrings")
            samples = sample(found, random.Random(f"{seed}:{what}"))
            yield from report(what, counts[what], compare(samples, counts[what], holders, ask))


def _scan(index: Index, what: str, pattern: str) -> set[str]:
    return {result.session for result in index.grep(pattern, regex=what == "expressions", filters=FIELDS)}


def report(what: str, count: int, compared: tuple[int, list[Difference]]) -> Iterator[Line | Note]:
    hits, differences = compared
    yield Line(f"{what}: {count} asked, {hits} found; differences", len(differences), "", "= 0", not differences)
    for one in differences[:20]:
        yield Note(f"{one.query!r}: missed {sorted(one.missed)[:3]}, extra {sorted(one.extra)[:3]}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.exactness", description="Compare clew with SQLite and ripgrep.")
    parser.add_argument("--words", type=int, default=1000)
    parser.add_argument("--substrings", type=int, default=300)
    parser.add_argument("--expressions", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="keep the tree there, and use it again if it is there")
    options = parser.parse_args()
    counts = {"words": options.words, "substrings": options.substrings, "expressions": options.expressions}
    with tempfile.TemporaryDirectory() as scratch:
        root = (options.keep or Path(scratch) / "home") / ".claude"
        if not (root / "projects").exists():
            write_tree(root, options.seed, datetime.now(UTC))
        return print_lines(measure(root, Path(scratch), counts, options.seed))


if __name__ == "__main__":
    sys.exit(main())
