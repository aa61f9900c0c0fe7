"""How words are cut: as SQLite does it, character for character."""

from __future__ import annotations

import threading

import apsw
from hypothesis import given
from hypothesis import strategies as st

from clew.index.base64_filter import COMPOSED, MIN_RUN, has_run, prepare_text, strip_base64
from clew.index.collect_forms import MAX_KNOWN, FormCollector
from clew.index.query_syntax import SEARCH_FIELDS
from clew.index.tokenizer import TOKENIZER, compose, separate_wide, tokenize

TEXT = st.text(st.characters(codec="utf-8"), max_size=60)
LIKELY = st.text(st.sampled_from("aZ0_.-()/\\\"' \n\té日本語ｶ한국ไทยβß́️👍\ue000"), max_size=40)


def stored(text: str) -> list[str]:
    """The words that the full-text engine keeps of a text, in order."""
    with apsw.Connection(":memory:") as connection:
        connection.execute(f'CREATE VIRTUAL TABLE t USING fts5(x, tokenize="{TOKENIZER}")')
        connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, instance)")
        connection.execute("INSERT INTO t VALUES(?)", (prepare_text(text)[0],))
        found = connection.execute("SELECT term FROM v ORDER BY offset").fetchall()
    return [str(row[0]) for row in found]


@given(TEXT | LIKELY)
def test_words_are_cut_as_the_engine_cuts_them(text: str) -> None:
    assert tokenize(text) == stored(text)


@given(st.text(max_size=60))
def test_any_text_can_be_cut_and_stored(text: str) -> None:
    assert isinstance(tokenize(text), list)
    prepare_text(text)[0].encode()


@given(LIKELY | TEXT)
def test_what_is_stored_is_spaced_as_what_is_asked(text: str) -> None:
    assert prepare_text(text)[0] == separate_wide(compose(text))


@given(st.integers(0, 600), st.text(st.sampled_from("ab /\n+é"), max_size=300), st.text(max_size=20))
def test_a_run_is_seen_wherever_it_stands(length: int, before: str, after: str) -> None:
    text = before + " " + "A" * length + " " + after
    assert has_run(text) == (length >= MIN_RUN or has_run(before))
    if length >= MIN_RUN:
        assert "A" * MIN_RUN not in strip_base64(text)


def test_threads_may_cut_words_at_once() -> None:
    found: list[int] = []
    work = [threading.Thread(target=lambda: found.append(len(tokenize("é wörd " * 20_000)))) for _ in range(4)]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert found == [40_000] * 4


def test_a_character_that_needs_no_look_at_its_neighbours_is_never_composed() -> None:
    letters = [
        letter for code in (*range(0x80, 0xD800), *range(0xE000, 0x20000)) if COMPOSED.fullmatch(letter := chr(code))
    ]
    assert len(letters) > 40_000
    for beside in "e가か":
        text = beside + beside.join(letters)
        assert compose(text) == text


def test_few_and_many_different_wide_characters_are_set_apart_alike() -> None:
    for count in (1, 3, 40):
        run = "".join(chr(0x4E00 + number) for number in range(count))
        assert prepare_text(f"a{run}b")[0] == "a" + "".join(f" {letter} " for letter in run) + "b"


def test_words_that_are_remembered_are_bounded() -> None:
    collector = FormCollector()
    for start in range(0, 3 * MAX_KNOWN, 10_000):
        text = " ".join(f"partOf{number}x" for number in range(start, start + 10_000))
        assert len(set(collector.collect([SEARCH_FIELDS.index("prompt")], [text]))) > 10_000
    assert len(collector.known) <= MAX_KNOWN + 10_000
