"""Colours of code: every text comes out as it was, in bounded time, and only listed languages are coloured."""

from __future__ import annotations

import re
import time
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.view.diff_html import diff_html
from clew.view.syntax import _ALIASES, colour, file_language, language_name, token_lines
from tests.view.markup import tags
from tests.view.payloads import PAYLOADS

LANGUAGES = sorted(set(_ALIASES.values()))


def bare(html: str) -> str:
    tags(html)
    return unescape(re.sub("<[^>]+>", "", html))


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_is_changed_and_none_becomes_markup(language: str) -> None:
    text = "\n".join(payload.replace("\r", "") for payload in PAYLOADS)
    assert bare(colour(text, language)) == text


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=60), st.sampled_from(LANGUAGES))
def test_any_text_of_any_language_comes_out_as_it_was(text: str, language: str) -> None:
    assert bare(colour(text, language)) == text
    assert bare(diff_html(f"-{text}\n+{text}x", f"a.{language}")) == f"-{text}\n+{text}x\n"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("text", ["(" * 1900, '"' * 1900, "/*" * 900, "a" * 1900, "<" * 1900, " \t" * 900])
def test_no_text_takes_long(language: str, text: str) -> None:
    start = time.process_time()
    colour(text, language)
    assert time.process_time() - start < 3


@pytest.mark.parametrize("text", ["x\n" * 2001, "x " * 100_001, "x" * 2001])
def test_long_text_stays_plain(text: str) -> None:
    assert token_lines(text, "python") is None and colour(text, "python") == text


@pytest.mark.parametrize("name", ['"><script>', "evil.module", "", "x" * 30, "../python", "brainfuck"])
def test_an_unknown_language_is_plain(name: str) -> None:
    assert token_lines("x", name) is None
    assert name == language_name(name) or not language_name(name)


def test_a_file_is_known_by_its_name() -> None:
    names = ("/g/a.py", "C:\\g\\B.TS", "Dockerfile", "/g/Makefile", ".bashrc", "/g/x.unknown", "", "/g/py")
    assert [*map(file_language, names)] == ["python", "typescript", "docker", "make", "bash", "", "", "python"]
