"""The same trees as ccusage: equal to the last token and to the cent, but for two rules that docs/usage.md explains.

1. Replies without a request id: it counts each of their lines, where the lines are parts of one reply.
2. What an agent said, repeated in the session that began it: it counts that again, and takes its stub for the last word.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.ccusage import Spent, Unavailable, by_model, install
from benchmarks.corpus import generate
from benchmarks.corpus.truth import Manifest
from clew.demo.demo_tree import write_demo
from clew.facts.prices import MICRO, load
from clew.report.collect_buckets import collect_buckets
from clew.report.usage_row import UsageRow
from clew.report.usage_table import UsageQuery, build_table
from clew.wire.json_codec import encode
from tests.cli.conftest import NOW
from tests.report.build import line, session, write

pytestmark = pytest.mark.oracle

PRICES = load()
CENT = 0.01


@pytest.fixture(scope="module", autouse=True)
def judge() -> None:
    try:
        install()
    except Unavailable as why:
        if os.environ.get("CI") or os.environ.get("CLEW_REQUIRE_ORACLE") == "1":
            pytest.fail(f"ccusage cannot be run: {why}", pytrace=False)
        pytest.skip(f"ccusage cannot be run: {why}")


def ours(root: Path) -> dict[str, UsageRow]:
    buckets = collect_buckets(str(root), None, per_reply=False).buckets
    return {row.name: row for row in build_table(buckets, UsageQuery(by="model"), PRICES).rows}


def spent(row: UsageRow) -> Spent:
    return Spent(row.input, row.output, row.write, row.read, row.cost / MICRO**2)


def differences(root: Path) -> dict[str, tuple[Spent, Spent]]:
    """Models whose tokens differ, or whose cost does by half a cent where both have a price."""
    mine, theirs = ours(root), by_model(root)
    nothing = Spent(0, 0, 0, 0, 0.0)
    found: dict[str, tuple[Spent, Spent]] = {}
    for model in mine.keys() | theirs.keys():
        a = spent(mine[model]) if model in mine else nothing
        b = theirs.get(model, nothing)
        is_priced = model in mine and not mine[model].unpriced and b.cost > 0
        if a[:4] != b[:4] or (is_priced and abs(a.cost - b.cost) >= CENT / 2):
            found[model] = (a, b)
    return found


def test_the_demo_tree(tmp_path: Path) -> None:
    write_demo(tmp_path, NOW)
    assert differences(tmp_path) == {}
    assert len(by_model(tmp_path)) >= 6


@pytest.mark.shared
def test_real_transcripts(shared: Path, tmp_path: Path) -> None:
    """Each under a name that a session or an agent can have."""
    for path in sorted((shared / "corpus").rglob("*.jsonl")):
        inside = path.relative_to(shared / "corpus")
        folder = tmp_path / "projects" / f"-{inside.parts[0].replace('_', '-')}"
        if "subagents" in inside.parts:
            target = folder / inside.parts[inside.parts.index("subagents") - 1] / "subagents" / path.name
        elif path.name.startswith("agent-"):
            target = folder / path.name
        else:
            target = folder / f"{uuid.uuid5(uuid.NAMESPACE_URL, str(inside))}.jsonl"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    assert differences(tmp_path) == {}
    assert len(by_model(tmp_path)) >= 12


# -- a generated tree, whose truth is known


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Manifest]:
    root = tmp_path_factory.mktemp("corpus") / "claude"
    return root, generate(root, 8_000_000, 3, 0)


@pytest.fixture(scope="module")
def corpus(made: tuple[Path, Manifest]) -> Path:
    return made[0]


def rewritten(root: Path, into: Path, *, with_requests: bool, without_repeats: bool) -> Path:
    """The tree without what the two rules are about."""
    for path in (root / "projects").rglob("*.jsonl"):
        target = into / path.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(b"".join(_lines(path, with_requests, without_repeats)))
    return into


def _lines(path: Path, with_requests: bool, without_repeats: bool) -> Iterator[bytes]:
    for raw in path.read_bytes().splitlines(keepends=True):
        if b'"usage"' not in raw:
            continue
        try:
            entry: dict[str, Any] = json.loads(raw)
        except ValueError:
            yield raw
            continue
        if without_repeats and entry["type"] == "progress":
            continue
        if with_requests and entry["type"] == "assistant" and not entry.get("requestId"):
            raw = encode({**entry, "requestId": f"req_{entry['message']['id']}"}) + b"\n"
        yield raw


def test_a_generated_tree_without_the_two_cases(corpus: Path, tmp_path: Path) -> None:
    plain = rewritten(corpus, tmp_path, with_requests=True, without_repeats=True)
    assert differences(plain) == {}
    assert {name: spent(row) for name, row in ours(plain).items()} == {n: spent(r) for n, r in ours(corpus).items()}


def test_a_generated_tree_as_it_is(made: tuple[Path, Manifest], tmp_path: Path) -> None:
    """We say what the generator says; the judge says more, and each rule takes a part of that away."""
    corpus, manifest = made
    truth = manifest.every.usage
    for model, row in ours(corpus).items():
        mine = (row.input, row.output, row.write_5m, row.write_1h, row.read)
        true = truth[model]
        assert mine == (true.input, true.output, true.cache_creation_5m, true.cache_creation_1h, true.cache_read), model
    assert differences(corpus)
    assert differences(rewritten(corpus, tmp_path / "a", with_requests=True, without_repeats=False))
    assert differences(rewritten(corpus, tmp_path / "b", with_requests=False, without_repeats=True))


# -- the two rules, each in its smallest case


def test_a_reply_without_a_request_id_is_one_reply(tmp_path: Path) -> None:
    """Versions before 1.0.50 or so, and gateways, write none. The message id says that the lines belong together."""
    used = {"input_tokens": 100}
    times = ("2026-01-05T12:00:00.000Z", "2026-01-05T12:00:01.000Z")
    lines = [line("msg-1", output=7, usage=used, time=t, uuid=f"u{n}") for n, t in enumerate(times)]
    write(tmp_path, session(1), *lines)
    root = tmp_path / "claude"
    assert spent(ours(root)["claude-opus-5"])[:2] == (100, 7)
    assert by_model(root)["claude-opus-5"][:2] == (200, 14)


def test_what_an_agent_said_is_repeated_and_not_said_again(tmp_path: Path) -> None:
    """The agent's file has the final numbers; the repetition was written when the stream began."""
    final = line("msg_01", output=500, request="req_1", usage={"input_tokens": 10}, isSidechain=True)
    stub = json.loads(line("msg_01", output=1, request="req_1", usage={"input_tokens": 10}))
    data = {"type": "agent_progress", "message": stub}
    repeated = {"type": "progress", "data": data, "timestamp": stub["timestamp"], "uuid": "p", "sessionId": session(1)}
    write(tmp_path, session(1), encode(repeated) + b"\n")
    write(tmp_path, f"{session(1)}/subagents/agent-a1", final)
    root = tmp_path / "claude"
    assert spent(ours(root)["claude-opus-5"])[:2] == (10, 500)
    assert by_model(root)["claude-opus-5"][:2] != (10, 500)
