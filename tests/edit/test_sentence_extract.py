"""Extracts: bounded, telling, and the same each time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.edit.summary.sentence_extract import _INFORMATIVE, extract_sentences, shorten_line

REPORT = """I had a look around. It is a nice day. The total in `pricing.py` is a binary float. Nothing else matters here.
That is the way it is. We decided to use Decimal instead of float. The weather stays fine. So it goes on for a while.

```python
total = round(total, 2)
```

- 42 tests pass, 1 failed with AssertionError.
- And so on, and so forth.

Shall I commit?"""


def test_a_short_text_stays_as_it_is() -> None:
    assert extract_sentences("  One.\n\nTwo.  ", 40) == "One.\n\nTwo."


def test_files_decisions_errors_and_both_ends_are_kept() -> None:
    assert extract_sentences(REPORT, 180) == (
        "I had a look around. The total in `pricing.py` is a binary float. We decided to use Decimal instead of float. "
        "42 tests pass, 1 failed with AssertionError. Shall I commit?"
    )


def test_code_counts_only_where_there_is_nothing_else() -> None:
    assert "round(" not in extract_sentences(REPORT, 300)
    assert "lorem" in extract_sentences("```\n" + "lorem ipsum\n" * 20 + "```", 60)


def test_one_long_sentence_is_cut_between_words() -> None:
    assert extract_sentences("word " * 100, 23) == "word word word word…"


def test_sentences_without_spaces_are_told_apart() -> None:
    assert (
        extract_sentences("丸め誤差です。" + "今日は良い天気です。" * 9 + "直しました。", 20)
        == "丸め誤差です。 直しました。"
    )


@given(st.text(max_size=400), st.integers(1, 200))
def test_an_extract_is_bounded_and_always_the_same(text: str, limit: int) -> None:
    found = extract_sentences(text, limit)
    assert len(found) <= limit
    assert found == extract_sentences(text, limit)
    assert bool(found) == bool(text.strip())
    assert len(shorten_line(text, limit)) <= limit


@pytest.mark.parametrize("part", ["a/", "a-", "a.", "a.b-", "--/", "eyJhbGci."])
def test_a_long_text_without_spaces(part: str) -> None:
    """A search that begins again at each word would take hours."""
    assert extract_sentences(part * 500_000, 40).startswith(part)
    assert "--/--.py" in extract_sentences(f"One. Two {'x ' * 40}. a/--/--.py is a file. {'Three. ' * 20}", 40)


@given(st.text("aZ1_-./\\ `é", max_size=30))
def test_what_names_a_file_or_a_symbol(text: str) -> None:
    named = re.search(r"`[^`\n]+`|\b[\w-]+(?:[./\\][\w-]+)*\.[A-Za-z]\w{0,4}\b", text)
    assert bool(_INFORMATIVE[0][0].search(text)) == bool(named)
