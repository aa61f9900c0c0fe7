"""Prose: what is made quickly is what markdown-it makes, and links go nowhere they should not."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.view import markdown_html
from clew.view.markdown_html import markdown_to_html, render_with_markdown_it
from tests.view.markup import tags

WORDS = (
    *(
        "word",
        "Two words.",
        "a `code` b",
        "`x`",
        "`a b`",
        "**bold**",
        "**bold words**: more",
        "snake_case",
        "_x_",
        "*y*",
        "1. one",
    ),
    *(
        "- item",
        "- `x`: y",
        "2) two",
        "# Head",
        "## `x` **y**",
        "> quote",
        "| a | b |",
        "a * b",
        "3 ** 2 ** 1",
        "a**b**c",
        "`` ` ``",
    ),
    *(
        "a & b",
        "&amp;",
        "[x](https://e.example)",
        "<b>",
        "\\\\*",
        "--- ",
        "===",
        "~~gone~~",
        "    code",
        "  two",
        "`",
        "**",
        "__",
        "é**ü**",
    ),
    *(
        "trailing  ",
        "#no",
        "#",
        "# x #",
        "-no",
        "1.no",
        "+ plus",
        "12. twelve",
        "**a`b`**",
        "** a **",
        "***a***",
        "!",
        "https://e.example",
    ),
)
BREAKS = ("\n", "\n\n", " ", "\n\n\n")


def flat(html: str) -> str:
    """White space between blocks means nothing; nor does a tight list that was cut in two."""
    return re.sub(r"\s+(?=<)|(?<=>)\s+", "", html)


@given(st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(BREAKS)), max_size=6))
def test_what_is_made_quickly_is_what_markdown_means(parts: list[tuple[str, str]]) -> None:
    text = "".join(word + end for word, end in parts).strip("\n")
    made = markdown_to_html(text)
    tags(made)
    assert flat(made) == flat(render_with_markdown_it(text))


ITEMS = (
    "- a",
    "- it's `b`",
    '- **c** "d"',
    "1. e",
    "2. f",
    "007. g",
    "- h ",
    "- i  ",
    "- `j",
    "-",
    "- - k",
    "* l",
    "a",
    "  m",
)


@given(st.lists(st.tuples(st.sampled_from(ITEMS), st.sampled_from(("\n", "\n\n", "\n \n", "\n\n\n"))), max_size=6))
@settings(max_examples=300)
def test_list_with_blank_lines_is_what_markdown_means(items: list[tuple[str, str]]) -> None:
    text = "".join(item + end for item, end in items).strip("\n")
    assert flat(markdown_to_html(text).replace("&#x27;", "'")) == flat(render_with_markdown_it(text))


@pytest.mark.parametrize("lead", ["", "lead\n"])
@pytest.mark.parametrize("text", ["- it's\n- `b`\n\n- **c**", "1. a\n\n2. b\n \n\n7. c", "3. a\n\n3. b"])
def test_list_with_blank_lines_needs_no_markdown_it(lead: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    meant = render_with_markdown_it(lead + text)
    if lead and text.startswith("3"):
        return  # no list may begin with 3 below a line of text
    monkeypatch.setattr(markdown_html, "render_with_markdown_it", None)
    assert markdown_to_html(lead + text) == meant
    assert markdown_to_html(f"{lead}{text}\n\nafter") == f"{meant}<p>after</p>\n"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a\nb", "<p>a\nb</p>\n"),
        ("- a\n- `b`", "<ul>\n<li>a</li>\n<li><code>b</code></li>\n</ul>\n"),
        ("3. a\n4. b", '<ol start="3">\n<li>a</li>\n<li>b</li>\n</ol>\n'),
        ("a:\n- b\n- `c`", "<p>a:</p>\n<ul>\n<li>b</li>\n<li><code>c</code></li>\n</ul>\n"),
        ("a\nb:\n1. c\n2. d", "<p>a\nb:</p>\n<ol>\n<li>c</li>\n<li>d</li>\n</ol>\n"),
        ('it\'s:\n- "b"', "<p>it's:</p>\n<ul>\n<li>&quot;b&quot;</li>\n</ul>\n"),
        ("a:\n2. b", "<p>a:\n2. b</p>\n"),
        ("# a **b**", "<h3>a <strong>b</strong></h3>\n"),
        (
            "```nolanguage\n<x>\n\ny\n```\nz",
            '<div class="code"><span class="language">nolanguage</span>'
            "<pre><code>&lt;x&gt;\n\ny</code></pre></div><p>z</p>\n",
        ),
        (
            "```py\nx = 1\n```",
            '<div class="code"><span class="language">py</span>'
            '<pre><code>x = <span class="t-number">1</span></code></pre></div>',
        ),
        ("- [x] dug\n- [ ] sown", '<ul>\n<li class="task done">☒ dug</li>\n<li class="task">☐ sown</li>\n</ul>\n'),
        (
            "a[^1] `[^2]`\n\n[^1]: why",
            '<p>a<sup>1</sup> <code>[^2]</code></p>\n<p class="footnote"><sup>1</sup> why</p>\n',
        ),
        ("```\nopen", "<pre><code>open</code></pre>"),
        ("~~~~\n~~~\n~~~~", "<pre><code>~~~</code></pre>"),
        (
            "[a](https://e.example/x?y&z)",
            '<p><a href="https://e.example/x?y&amp;z" rel="noopener noreferrer nofollow">a</a></p>\n',
        ),
        (
            "![a](https://e.example/p)",
            '<p><a href="https://e.example/p" rel="noopener noreferrer nofollow">a</a></p>\n',
        ),
        ("[a](ftp://e.example)", "<p>[a](ftp://e.example)</p>\n"),
        ("| a | b |\n|--:|---|\n| 1 | 2 |", None),
    ],
)
def test_what_becomes_of_what(text: str, html: str | None) -> None:
    made = markdown_to_html(text)
    assert made == html if html is not None else '<th class="right">a</th>' in made and "style" not in made


def test_very_long_text_is_shown_as_it_was_written() -> None:
    assert markdown_to_html("*x* <b> " * 40_000).startswith('<pre class="text">*x* &lt;b&gt; ')
