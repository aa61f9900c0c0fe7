"""Recalls in their files: names, damage, and what is kept of a result."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import Ambiguous, NotFound
from clew.index.results import SearchResult
from clew.index.saved_searches import Recall, find_saved, list_saved, make_recall, save_recall, slug
from clew.index.snippet import Passage
from clew.wire.layout import Tree

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def found(title: str = "Roses", text: str = "Prune the roses.") -> SearchResult:
    result = SearchResult("3f2a0000-0000-4000-8000-000000000001")
    result.title, result.cwd, result.branch, result.path = title, "/home/ada/garden", "main", "/x/3f2a.jsonl"
    result.started, result.ended, result.messages, result.matches = 1_780_000_000, 1_780_000_100, 4, 2
    result.passages = [Passage(result.path, 120, "prompt", text=text)]
    return result


def made(query: str = "roses", days: int = 0) -> Recall:
    return make_recall(query, [found()], NOW + timedelta(days=days))


@pytest.mark.req("R225")
def test_what_is_saved_is_what_is_loaded(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    path = save_recall(tree, made())
    assert path == tmp_path / "recalls" / "roses.json"
    assert find_saved(tree, "roses").recall == made()
    value = json.loads(path.read_text())
    assert (value["clew"], value["kind"], value["query"], value["saved"]) == (
        1,
        "recall",
        "roses",
        "2026-06-01T12:00:00Z",
    )
    [result] = value["results"]
    assert result["session"] == found().session and result["quotes"][0]["offset"] == 120


def test_the_newest_is_first_and_damage_last(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    assert list_saved(tree) == []
    for name, days in (("old", 0), ("new", 2), ("middle", 1)):
        save_recall(tree, made(days=days), name)
    for name, data in (("torn", b'{"query": "a'), ("foreign", b"[1]"), ("odd", b"\xff"), ("other", b'{"kind": "x"}')):
        (tmp_path / "recalls" / f"{name}.json").write_bytes(data)
    (tmp_path / "recalls" / "folder.json").mkdir()
    there = list_saved(tree)
    assert [each.name for each in there] == ["new", "middle", "old", "foreign", "odd", "other", "torn"]
    assert all(each.reason.startswith("not a recall: ") for each in there[3:])


def test_by_name_number_or_beginning(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    save_recall(tree, made(), "rose bed")
    save_recall(tree, made(days=1), "rose hip")
    save_recall(tree, made(days=2), "2")
    assert (
        find_saved(tree, "Rose Bed").name == find_saved(tree, "rose-b").name == find_saved(tree, "3").name == "rose-bed"
    )
    assert find_saved(tree, "2").name == "2"  # a name comes before a number
    with pytest.raises(Ambiguous, match="'rose' matches 2 recalls"):
        find_saved(tree, "rose")
    for asked in ("tulip", "9", "0"):
        with pytest.raises(NotFound):
            find_saved(tree, asked)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("retry backoff", "retry-backoff"),
        ("../../etc/passwd", "etc-passwd"),
        ('tool:Bash "a  b"', "tool-bash-a-b"),
        ("日本語 タイトル", "日本語-タイトル"),
        ("***", "recall"),
        ("a" * 99, "a" * 60),
    ],
)
def test_names_are_slugs(text: str, name: str) -> None:
    assert slug(text) == name


@given(st.text())
def test_a_name_is_always_one_file_in_the_folder(text: str) -> None:
    name = slug(text)
    assert name and len(name) <= 60 and not set(name) & set("/\\:.\0\n") and slug(name) == name


def test_secrets_are_masked_and_times_that_are_none_are_left_out() -> None:
    token = "gh" + "p_" + "Demo" * 9
    odd = found(f"Use {token}", f"with {token}")
    odd.started = 10**15
    kept = make_recall(f"token {token}", [odd], NOW)
    assert token not in str(kept) and kept.results[0].started is None
    assert kept.results[0].title == "Use [REDACTED:github-token]"
