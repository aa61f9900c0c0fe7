"""Colours of terminals as HTML: each part as it would be alone, and the text is cleaned and escaped once."""

from __future__ import annotations

from collections import Counter
from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.view import ansi_html
from clew.view.ansi_html import ansi_to_html
from clew.view.sanitize import clean

RED, OFF = "\x1b[31m", "\x1b[0m"
PIECES = [
    RED,
    OFF,
    "\x1b[1;4m",
    "\x1b[",
    "\x1b",
    "a",
    " ",
    "\n",
    "<b>",
    "&",
    "'",
    '"',
    "\x07",
    "\r",
    "ä",
    "😀",
    "\u200d",
    "\u202e",
]


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_each_part_is_cleaned_and_escaped_as_if_alone(pieces: list[str]) -> None:
    text = "".join(pieces)
    parts = ansi_html._COLOUR.split(text)[::2]
    shown = ansi_to_html(text)
    for start in ("<span", "</span"):
        shown = "".join(part if not at else part.partition(">")[2] for at, part in enumerate(shown.split(start)))
    assert shown == "".join(escape(clean(part)) for part in parts)


def test_a_text_is_cleaned_and_escaped_once_however_many_colours_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()

    def count_clean(text: str) -> str:
        calls["clean"] += 1
        return clean(text)

    def count_escape(text: str) -> str:
        calls["escape"] += 1
        return escape(text)

    monkeypatch.setattr(ansi_html, "clean", count_clean)
    monkeypatch.setattr(ansi_html, "escape", count_escape)
    shown = ansi_to_html(f"{RED}a < b{OFF} and so on\n" * 100)
    assert shown == '<span class="a-fg1">a &lt; b</span> and so on\n' * 100
    assert calls == {"clean": 1, "escape": 1}
