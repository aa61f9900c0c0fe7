"""The corpus holds what its manifest says: all of it is read again with stdlib json and counted anew."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks.corpus import generate, parse_size
from benchmarks.corpus.__main__ import main
from benchmarks.corpus.needles import FIELDS, KINDS
from benchmarks.corpus.truth import Manifest, Tally, Usage

SIZE = 2_000_000
BIG = 600_000
NOT_TYPED = ("<command-name>", "<local-command", "<task-notification>", "[Request interrupted")
Entry = dict[str, Any]


@dataclass(frozen=True)
class Line:
    file: str
    offset: int
    data: bytes
    last: bool  # has no newline behind it

    @property
    def entry(self) -> Entry | None:
        try:
            return dict(json.loads(self.data))
        except ValueError:
            return None


@dataclass(frozen=True)
class Corpus:
    root: Path
    manifest: Manifest
    lines: list[Line] = field(repr=False)

    @property
    def whole(self) -> list[tuple[Line, Entry]]:
        return [(line, entry) for line in self.lines if (entry := line.entry) is not None]

    @property
    def broken(self) -> list[Line]:
        return [line for line in self.lines if line.entry is None]


def read_lines(root: Path) -> Iterator[Line]:
    for path in sorted(root.glob("projects/**/*.jsonl")):
        offset = 0
        parts = path.read_bytes().split(b"\n")
        for at, data in enumerate(parts):
            if data:
                yield Line(path.relative_to(root).as_posix(), offset, data, at == len(parts) - 1)
            offset += len(data) + 1


@pytest.fixture(scope="module", params=[1, 2, 3])
def corpus(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    root = tmp_path_factory.mktemp("corpus") / "claude"
    manifest = generate(root, SIZE, request.param, BIG if request.param == 3 else None)
    return Corpus(root, manifest, list(read_lines(root)))


def salvage(data: bytes) -> list[Entry]:
    """The whole entries on a damaged line: from each place where one may begin and can be read to its end."""
    decoder = json.JSONDecoder()
    text = data.decode("utf-8", "replace")
    found: list[Entry] = []
    at = 0
    while at < len(text):
        starts = [start for key in ('{"parentUuid"', '{"type"') if (start := text.find(key, at)) >= 0]
        if not starts:
            break
        at = min(starts)
        try:
            entry, end = decoder.raw_decode(text, at)
        except ValueError:
            at += 1
            continue
        if "timestamp" in entry or "sessionId" in entry or "leafUuid" in entry or "snapshot" in entry:
            found.append(entry)
        at = end
    return found


def blocks(entry: Entry) -> list[Entry]:
    content = entry.get("message", {}).get("content", [])
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def kind_of(entry: Entry) -> str:
    """Who speaks in a user entry: a person, a person with a command, or nobody."""
    if entry["type"] == "attachment" and entry["attachment"]["type"] == "queued_command":
        return "queued"
    if entry["type"] != "user" or entry.get("isMeta") or entry.get("isCompactSummary") or entry["isSidechain"]:
        return ""
    if any(block["type"] == "tool_result" for block in blocks(entry)):
        return ""
    text = "".join(block.get("text", "") for block in blocks(entry))
    if text.startswith("<command-name>"):
        return "command"
    return "" if text.startswith(NOT_TYPED) else "prompt"


def usage_of(entry: Entry) -> Usage:
    usage = entry["message"]["usage"]
    written = usage["cache_creation_input_tokens"]
    hour = usage.get("cache_creation", {}).get("ephemeral_1h_input_tokens", 0)
    read = usage["cache_read_input_tokens"]
    return Usage(usage["input_tokens"], usage["output_tokens"], written - hour, hour, read)


def best_lines(entries: list[Entry]) -> dict[str, tuple[str, Usage]]:
    """Each reply once, by the line with most output tokens."""
    best: dict[str, tuple[str, Usage]] = {}
    for entry in entries:
        if entry["type"] == "assistant":
            id_, usage = entry["message"]["id"], usage_of(entry)
            if id_ not in best or usage.output > best[id_][1].output:
                best[id_] = (entry["message"]["model"], usage)
    return best


def sum_usage(entries: list[Entry]) -> dict[str, Usage]:
    total: dict[str, Usage] = {}
    for model, usage in best_lines(entries).values():
        total[model] = total.get(model, Usage()) + usage
    return total


def tool_names(entries: list[Entry]) -> dict[str, str]:
    return {block["id"]: block["name"] for entry in entries for block in blocks(entry) if block["type"] == "tool_use"}


def count_tools(entries: list[Entry], names: dict[str, str], kind: str, key: str) -> dict[str, int]:
    return dict(Counter(names[block[key]] for entry in entries for block in blocks(entry) if block["type"] == kind))


def count(entries: list[Entry], names: dict[str, str]) -> Tally:
    kinds = Counter(map(kind_of, entries))
    return Tally(
        entries=len(entries),
        types=dict(Counter(entry["type"] for entry in entries)),
        prompts=kinds["prompt"],
        commands=kinds["command"],
        queued=kinds["queued"],
        calls=count_tools(entries, names, "tool_use", "id"),
        results=count_tools(entries, names, "tool_result", "tool_use_id"),
        replies=dict(Counter(model for model, _ in best_lines(entries).values())),
        usage=sum_usage(entries),
    )


def add_usage(one: dict[str, Usage], two: dict[str, Usage]) -> dict[str, Usage]:
    return {model: one.get(model, Usage()) + two.get(model, Usage()) for model in one.keys() | two.keys()}


def digest(root: Path) -> str:
    total = hashlib.sha256()
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        total.update(f"{path.relative_to(root)} {path.stat().st_mtime_ns}\n".encode() + path.read_bytes())
    return total.hexdigest()


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    manifests = [generate(tmp_path / name, 1_000_000, 7) for name in ("one", "two")]
    other = generate(tmp_path / "three", 1_000_000, 8)
    assert digest(tmp_path / "one") == digest(tmp_path / "two") != digest(tmp_path / "three")
    assert manifests[0] == manifests[1] != other


def test_sizes_are_as_asked(corpus: Corpus) -> None:
    files = [path for path in corpus.root.rglob("*") if path.is_file()]
    sizes = {path: path.stat().st_size for path in files}
    transcripts = [path for path in files if path.suffix == ".jsonl" and path.name != "history.jsonl"]
    manifest = corpus.manifest
    asked = SIZE + (BIG if manifest.big else 0)
    assert abs(manifest.bytes - asked) < 0.02 * asked
    assert manifest.bytes == sum(sizes.values())
    assert manifest.files == len(files)
    assert manifest.transcript_bytes == sum(sizes[path] for path in transcripts)
    if manifest.big:
        assert abs(sizes[corpus.root / manifest.big] - BIG) < 0.15 * BIG


def test_files_are_of_every_sort(corpus: Corpus) -> None:
    root, manifest = corpus.root, corpus.manifest
    sessions = [path for path in root.glob("projects/*/*.jsonl") if not path.name.startswith("agent-")]
    agents = [*root.glob("projects/*/agent-*.jsonl"), *root.glob("projects/*/*/subagents/agent-*.jsonl")]
    first = [json.loads(path.read_bytes().split(b"\n")[0])["message"]["content"] for path in agents]
    assert manifest.projects == len(list(root.glob("projects/*"))) >= 18
    assert manifest.sessions == sum(path.stat().st_size > 0 for path in sessions)
    assert manifest.empty == sum(path.stat().st_size == 0 for path in sessions) >= 2
    assert manifest.agents == len(agents)
    assert manifest.warmups == first.count("Warmup") >= 2
    assert {len(path.relative_to(root).parts) for path in agents} == {3, 5}
    assert list(root.glob("projects/*/*/subagents/agent-*.meta.json"))
    assert manifest.history == (root / "history.jsonl").read_bytes().count(b"\n") > 0


def test_times_are_in_the_ninety_days_before_the_epoch(corpus: Corpus) -> None:
    epoch = datetime.fromisoformat(corpus.manifest.epoch).timestamp()
    times = [path.stat().st_mtime for path in corpus.root.rglob("*") if path.is_file()]
    assert max(times) <= epoch
    assert min(times) >= epoch - 91 * 86400
    stamps = [datetime.fromisoformat(entry["timestamp"]) for _, entry in corpus.whole if "timestamp" in entry]
    assert max(stamps).timestamp() <= epoch


def test_every_entry_is_counted(corpus: Corpus) -> None:
    entries = [entry for _, entry in corpus.whole]
    names = tool_names(entries)
    assert count(entries, names) == corpus.manifest.every
    assert corpus.manifest.every.prompts > 30
    assert corpus.manifest.every.types["system"] > 0


def test_lines_are_whole_damaged_or_torn(corpus: Corpus) -> None:
    manifest = corpus.manifest
    torn = [line for line in corpus.broken if line.last]
    damaged = [line for line in corpus.broken if not line.last]
    assert manifest.lines == len(corpus.lines)
    assert manifest.every.entries + len(damaged) + len(torn) == len(corpus.lines)
    assert manifest.torn == len(torn) >= 1
    assert manifest.unterminated == sum(line.last for line, _ in corpus.whole)
    assert set(manifest.damaged) == {"joined", "truncated", "nul"}
    assert manifest.damaged["nul"] == sum(line.data.startswith(b"\0") for line in damaged)
    assert sum(manifest.damaged.values()) == len(damaged)


def test_what_can_be_salvaged_is_counted(corpus: Corpus) -> None:
    manifest = corpus.manifest
    whole = [entry for _, entry in corpus.whole]
    saved = [entry for line in corpus.broken for entry in salvage(line.data)]
    assert manifest.salvageable == len(saved)
    counted = count(saved, tool_names(whole))
    fields = ("entries", "types", "prompts", "commands", "queued", "calls", "results")
    assert {name: getattr(counted, name) for name in fields} == {
        name: getattr(manifest.salvage, name) for name in fields
    }
    assert sum_usage(whole + saved) == add_usage(manifest.every.usage, manifest.salvage.usage)


def test_forks_copy_entries_and_nothing_is_paid_twice(corpus: Corpus) -> None:
    by_file: dict[str, list[Entry]] = {}
    for line, entry in corpus.whole:
        by_file.setdefault(line.file, []).append(entry)
    assert corpus.manifest.forks
    copied: list[Entry] = []
    for fork in corpus.manifest.forks:
        source, copies = by_file[fork.source], by_file[fork.file][: fork.entries]
        ids = {entry["sessionId"] for entry in copies if "sessionId" in entry}
        assert ids == {Path(fork.file).stem} != {Path(fork.source).stem}
        assert [entry.get("uuid") for entry in copies] == [entry.get("uuid") for entry in source[: fork.entries]]
        copied += copies
    counted = count(copied, tool_names(copied))
    tally = corpus.manifest.copied
    assert (counted.entries, counted.types, counted.prompts) == (tally.entries, tally.types, tally.prompts)
    assert (counted.calls, counted.results) == (tally.calls, tally.results)


def test_calls_without_result_are_counted(corpus: Corpus) -> None:
    entries = [entry for _, entry in corpus.whole]
    entries += [entry for line in corpus.broken for entry in salvage(line.data)]
    seen = [block for entry in entries for block in blocks(entry)]
    called = {block["id"] for block in seen if block["type"] == "tool_use"}
    answered = {block["tool_use_id"] for block in seen if block["type"] == "tool_result"}
    assert answered <= called
    assert corpus.manifest.unanswered == len(called - answered)


def test_parents_are_in_the_file(corpus: Corpus) -> None:
    known: dict[str, set[str]] = {}
    lost: set[str] = set()
    for line in corpus.lines:
        entry = line.entry
        for found in [entry] if entry else salvage(line.data):
            known.setdefault(line.file, set()).add(found.get("uuid", ""))
        if entry is None:
            lost.add(line.file)
    for line, entry in corpus.whole:
        if entry.get("parentUuid") and line.file not in lost:
            assert entry["parentUuid"] in known[line.file]


def test_compactions_and_rewinds_are_counted(corpus: Corpus) -> None:
    entries = [entry for _, entry in corpus.whole]
    entries += [entry for line in corpus.broken for entry in salvage(line.data)]
    boundaries = [entry for entry in entries if entry.get("subtype") == "compact_boundary"]
    assert corpus.manifest.compactions == len({entry["uuid"] for entry in boundaries}) >= 1
    assert all(entry["parentUuid"] is None and entry["logicalParentUuid"] for entry in boundaries)
    summaries = {entry["parentUuid"] for entry in entries if entry.get("isCompactSummary")}
    assert {entry["uuid"] for entry in boundaries} >= summaries


def test_rewinds_are_counted(corpus: Corpus) -> None:
    """A prompt goes back when it does not hang below the entry before it; told for files without damage only."""
    damaged = {line.file for line in corpus.broken}
    before: dict[str, str | None] = {}
    rewound: set[str] = set()
    for line, entry in corpus.whole:
        if line.file in damaged or "uuid" not in entry:
            continue
        typed = kind_of(entry) == "prompt" or (entry.get("isMeta") and entry["type"] == "user")
        if typed and entry["parentUuid"] != before.get(line.file):
            rewound.add(entry["uuid"])
        before[line.file] = entry["uuid"]
    assert len(rewound) <= corpus.manifest.rewinds
    assert corpus.manifest.rewinds >= 1


def field_texts(entry: Entry, name: str) -> str:
    """The plain text of one field."""
    texts: list[str] = []
    for block in blocks(entry):
        if name in ("prompt", "reply") and block["type"] == "text":
            texts.append(block["text"])
        elif name == "thinking" and block["type"] == "thinking":
            texts.append(block["thinking"])
        elif name == "tool_input" and block["type"] == "tool_use":
            texts.append(str(block["input"]["command"]))
        elif name == "tool_result" and block["type"] == "tool_result":
            texts.append(str(block["content"]))
    return "\n".join(texts)


def test_every_needle_is_at_its_offset(corpus: Corpus) -> None:
    needles = corpus.manifest.needles
    assert len(needles) >= 100
    assert {(needle.kind, needle.field) for needle in needles} == {(k, f) for k in KINDS for f in FIELDS}
    for needle in needles:
        with (corpus.root / needle.file).open("rb") as file:
            file.seek(needle.offset)
            entry = json.loads(file.readline())
        assert needle.text in field_texts(entry, needle.field)
        assert (entry["type"] == "assistant") == (needle.field in ("reply", "thinking", "tool_input"))


def test_every_needle_is_on_one_line_only(corpus: Corpus) -> None:
    files = {
        path.relative_to(corpus.root).as_posix(): path.read_bytes() for path in corpus.root.rglob("*") if path.is_file()
    }
    for needle in corpus.manifest.needles:
        written = json.dumps(needle.text, ensure_ascii=False)[1:-1].encode()
        places = {
            (name, data.rfind(b"\n", 0, at) + 1) for name, data in files.items() for at in find_all(data, written)
        }
        assert places == {(needle.file, needle.offset)}, needle


def find_all(data: bytes, text: bytes) -> Iterator[int]:
    at = data.find(text)
    while at >= 0:
        yield at
        at = data.find(text, at + 1)


def test_lines_are_written_as_javascript_does(corpus: Corpus) -> None:
    for line, entry in corpus.whole[:400]:
        again = json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
        assert line.data == again.encode()


def test_the_eras_differ(corpus: Corpus) -> None:
    seen: dict[str, set[Any]] = {}
    for _, entry in corpus.whole:
        if entry["type"] == "assistant" and entry["message"]["model"] != "<synthetic>":
            seen.setdefault(entry["version"], set()).add(entry["message"]["stop_reason"])
    stops = {version: stop for version, stop in seen.items() if version.startswith("2.1")}
    assert all(stop == {None} for version, stop in stops.items() if version in ("2.1.12", "2.1.29"))
    assert all(None not in stop for version, stop in stops.items() if version > "2.1.2" and len(version) == 7)
    assert len({version.rpartition(".")[0] for version in seen}) == 3


def test_the_command_writes_the_manifest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "home" / "claude"
    assert main([str(root), "--size", "600K", "--seed", "5"]) == 0
    manifest = Manifest.read(tmp_path / "home" / "manifest.json")
    assert f"{manifest.bytes:,} bytes" in capsys.readouterr().out
    assert sum(os.path.getsize(path) for path in root.rglob("*") if path.is_file()) == manifest.bytes
    with pytest.raises(FileExistsError):
        generate(root, 600_000, 5)


@pytest.mark.parametrize(("text", "size"), [("300M", 300_000_000), ("1.5k", 1500), ("2GB", 2 * 10**9), ("7", 7)])
def test_sizes_are_decimal(text: str, size: int) -> None:
    assert parse_size(text) == size
