"""The parts of the benchmark of known items that could mislead: endings, what counts as unique, how ranks are scored."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from benchmarks import exactness
from benchmarks.recall.english import forms, inflect
from benchmarks.recall.lexicon import synonyms, topics
from benchmarks.recall.queries import KINDS, Query, make_queries
from benchmarks.recall.reader import read_tree
from benchmarks.recall.score import judge, mean_rank
from clew.demo.talk import talk
from clew.index.session_index import Index

ENDINGS = """
    query+s queries    key+s keys       branch+s branches   parse+ing parsing   commit+ed committed  stop+ing stopping
    retry+ed retried   retry+ing retrying  visit+ed visited  calibrate+er calibrator  bake+er baker   send+ed sent
    safe+ly safely     heavy+ly heavily  automatic+ly automatically
"""
PAIRS = list(zip(ENDINGS.split()[::2], ENDINGS.split()[1::2], strict=True))


@pytest.mark.parametrize(("asked", "expected"), PAIRS)
def test_words_are_inflected_as_english_is(asked: str, expected: str) -> None:
    word, ending = asked.split("+")
    assert inflect(word, ending) == expected


def test_irregular_verbs_are_not_asked_in_the_past() -> None:
    assert "sent" not in forms("send", "v") and "sending" in forms("send", "v")


def test_the_vocabulary_is_large_enough() -> None:
    assert len(topics()) >= 150 and len({topic.project for topic in topics()}) == len(topics())
    assert sum(len(several) for several in synonyms().values()) / 2 >= 120


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Two sessions: one has words of a passage, the other has the same words in two passages."""
    said = "The harbor radar loses every vessel behind the northern breakwater."
    talk(seed=1).user(said).reply("A buoy reflects the signal.").write(tmp_path)
    first, second = "The harbor radar loses a plane.", "Every vessel waits behind the northern breakwater."
    talk(seed=2).user(first).reply("Good.").user(second).reply("Fine.").write(tmp_path)
    return tmp_path


def test_a_session_holds_words_only_if_one_passage_has_them_all(tree: Path) -> None:
    one, two = (talk(seed=seed).session_id for seed in (1, 2))
    library = read_tree(tree)
    assert library.holders([["radar"], ["vessel", "vessels"]]) == {one}
    assert library.holders([["breakwater"]]) == {one, two}
    assert library.holders_anywhere(["radar", "vessel"]) == {one, two}
    assert library.holders_of_parts(["RADA", "break"]) == {one}
    assert library.most(one, ["radar", "vessel", "breakwater", "teapot"]) == (3, 2)


def test_queries_mean_one_session_alone(tree: Path) -> None:
    library = read_tree(tree)
    made = [query for seed in range(5) for query in make_queries(library, seed, ["exact"])]
    assert made and make_queries(library, 1) == make_queries(library, 1)
    for query in made:
        assert library.holders([word] for word in query.text.split()) == {query.session}


def test_ranks_are_scored_by_their_reciprocals() -> None:
    query = Query("exact-01", "exact", "radar", "wanted")
    answers = [judge(query, found) for found in (["wanted"], ["a", "wanted"], ["a", "b"], [])]
    assert [one.rank for one in answers] == [1, 2, 0, 0]
    assert mean_rank(answers, ["exact"]) == 1.5 / 4
    assert mean_rank(answers, ["path"]) is None
    assert "exact" in KINDS


def test_what_is_found_is_compared_with_sqlite(tree: Path, tmp_path: Path) -> None:
    found = exactness.extract(tree)
    words = exactness.Words(found)
    with Index.open(tree, tmp_path / "cache") as index:
        index.refresh()

        def ask(text: str) -> set[str]:
            return {found.sessions[one.path] for one in index.iter_passages(f'"{text}" {exactness.FIELDS}')}

        samples = exactness.sample_words(found, Random(1))
        assert exactness.compare(samples, 20, words.holders, ask) == (20, [])
        samples = exactness.sample_words(found, Random(1))
        hits, differences = exactness.compare(samples, 20, words.holders, lambda text: set())
        assert hits == len(differences) == 20
