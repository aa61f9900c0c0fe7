"""Whether a search is right: its matches are those that a plain reading of the same text finds, no more and no fewer."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.facts.searchable_text import words
from clew.index.base64_filter import strip_base64
from clew.index.index_schema import LONG_OUTPUT
from clew.index.session_index import Index
from clew.index.tokenizer import is_wide, tokenize
from clew.wire.entry import entries, read

Place = tuple[str, int, str]
FIELDS = ("prompt", "reply", "thinking", "input", "result")
EVERYWHERE = " in:" + ",".join(FIELDS)


class Reading:
    """A plain reading of every transcript below a folder: the words of each piece, in order."""

    def __init__(self, paths: list[Path]) -> None:
        self.pieces: list[tuple[Place, str, list[str]]] = []
        self.by_word: dict[str, set[int]] = defaultdict(set)
        for path in paths:
            for entry in entries(read(path, finished=True)):
                for said in words(entry):
                    if said.field in FIELDS:
                        cut = tokenize(strip_base64(said.text))
                        for word in cut:
                            self.by_word[word].add(len(self.pieces))
                        self.pieces.append(((str(path), entry.offset, said.field), said.text, cut))

    def find(self, asked: list[str]) -> set[Place]:
        """Where words stand in sequence."""
        candidates = set.intersection(*(self.by_word.get(word, set()) for word in asked))
        return {self.pieces[number][0] for number in candidates if _holds(self.pieces[number][2], asked)}

    def both(self, one: str, two: str) -> set[Place]:
        return {self.pieces[number][0] for number in self.by_word[one] & self.by_word[two]}

    def beginning(self, start: str) -> set[Place]:
        numbers = set[int]().union(*(found for word, found in self.by_word.items() if word.startswith(start)))
        return {self.pieces[number][0] for number in numbers}


def _holds(words: list[str], asked: list[str]) -> bool:
    return any(words[at : at + len(asked)] == asked for at in range(len(words) - len(asked) + 1))


def found(index: Index, query: str) -> set[Place]:
    """What is found in the transcripts themselves; pieces of long outputs beside them have higher parts."""
    return {(p.path, p.offset, p.field) for p in index.iter_passages(query + EVERYWHERE) if p.part < LONG_OUTPUT}


def sampled(reading: Reading, seed: int, count: int) -> Iterator[tuple[str, set[Place]]]:
    """Queries with what they must find: words, beginnings, pairs, phrases, symbols and parts of runs without spaces."""
    rng = random.Random(seed)
    whole = [piece for piece in reading.pieces if len(piece[2]) > 3]
    vocabulary = sorted(reading.by_word)
    for _ in range(count):
        _, text, cut = rng.choice(whole)
        at = rng.randrange(len(cut) - 2)
        phrase = cut[at : at + rng.choice((2, 2, 3))]
        yield cut[at], reading.find(cut[at : at + 1])
        yield rng.choice(vocabulary), set()
        yield '"' + " ".join(phrase) + '"', reading.find(phrase)
        yield f"{cut[at]} {cut[-1]}", reading.both(cut[at], cut[-1])
        if len(cut[at]) > 3:
            yield cut[at][:3] + "*", reading.beginning(cut[at][:3])
        symbols = [part for part in text.split() if not part.isalnum() and len(tokenize(part)) > 1 and part[-1] != "*"]
        symbols = [part for part in symbols if '"' not in part and ":" not in part and not part.startswith("-")]
        if symbols:
            symbol = rng.choice(symbols)
            yield symbol, reading.find(tokenize(symbol))
        wide = [i for i in range(len(text) - 1) if is_wide(text[i]) and is_wide(text[i + 1])]
        if wide:
            start = rng.choice(wide)
            part = text[start : start + rng.choice((2, 3))].split()[0]
            if tokenize(part) and '"' not in part:
                yield f'"{part}"', reading.find(tokenize(part))


def compare(index: Index, reading: Reading, seed: int, count: int) -> int:
    number = 0
    for query, expected in sampled(reading, seed, count):
        expected = expected or reading.find([query])
        assert found(index, query) == expected, query
        number += 1
    return number


def transcripts(root: Path) -> list[Path]:
    return sorted(path for path in (root / "projects").rglob("*.jsonl") if path.name != "history.jsonl")


def test_the_demo_is_searched_right(demo: Index) -> None:
    reading = Reading(transcripts(Path(demo.root)))
    assert compare(demo, reading, 1, 120) > 500


@pytest.mark.shared
def test_real_sessions_are_searched_right(shared: Path, tmp_path: Path) -> None:
    """The samples lie in folders of their own; they are put where Claude Code would have them."""
    from clew.wire.tree_walk import list_transcripts

    root = tmp_path / "claude"
    for number, folder in enumerate(sorted(path for path in (shared / "corpus").iterdir() if path.is_dir())):
        for path in sorted(folder.rglob("*.jsonl")):
            name = (
                path.name
                if _is_transcript(path.name)
                else f"00000000-0000-4000-8000-{number:04d}{hash_of(path):08d}.jsonl"
            )
            target = root / "projects" / f"-{number}-{hash_of(path.parent)}" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    paths = [Path(found.path) for found in list_transcripts(str(root))]
    assert len(paths) > 20
    with Index.open(root, tmp_path / "cache") as index:
        index.refresh()
        assert compare(index, Reading(paths), 2, 120) > 400


def _is_transcript(name: str) -> bool:
    return name.startswith("agent-") or (len(name) == 42 and name.count("-") == 4)


def hash_of(path: Path) -> int:
    from zlib import crc32

    return crc32(str(path).encode()) % 10**8


def test_every_needle_of_a_generated_tree_is_found(tmp_path: Path) -> None:
    from benchmarks.corpus import generate

    manifest = generate(tmp_path / "claude", 6_000_000, 3)
    fields = {"tool_input": "input", "tool_result": "result"}
    with Index.open(tmp_path / "claude", tmp_path / "cache") as index:
        assert index.refresh().is_complete
        for needle in manifest.needles:
            expected = {(str(tmp_path / "claude" / needle.file), needle.offset)}
            if needle.kind == "quoted":
                passages = [p for r in index.grep(needle.text, filters=EVERYWHERE.strip()) for p in r.passages]
            else:
                passages = list(index.iter_passages(f'"{needle.text}"{EVERYWHERE}'))
            field = fields.get(needle.field, needle.field)
            assert {(p.path, p.offset) for p in passages} == expected, needle
            assert {p.field for p in passages} == {field}, needle
