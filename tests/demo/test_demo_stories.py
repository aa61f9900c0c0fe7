"""The stories of the demo as data: each file builds a session, and says for what it is there."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

import clew.demo
from clew.demo.demo_stories import Story, load_stories

FOLDER = Path(clew.demo.__path__[0], "stories")
BEGIN = datetime(2026, 5, 1, 17, 0, tzinfo=UTC)


def build(steps: list[dict[str, object]], **data: object) -> bytes:
    story = Story("test", load_stories()[0].ago, {"session": "test", "cwd": "/home/ada", "steps": steps, **data})
    return story.build(BEGIN).bytes()


def test_every_story_file_is_loaded_and_begins_with_a_description() -> None:
    files = sorted(FOLDER.glob("*.toml"))
    assert {path.stem for path in files} == {story.key for story in load_stories()}
    assert all(path.read_text(encoding="utf-8").startswith("# ") for path in files)


def test_stories_are_ordered_by_age() -> None:
    ages = [story.ago for story in load_stories()]
    assert len(ages) > 20
    assert ages == sorted(ages, reverse=True)


def test_a_story_built_twice_has_the_same_bytes() -> None:
    story = load_stories()[0]
    assert story.build(BEGIN).bytes() == story.build(BEGIN).bytes()


def test_no_placeholder_remains() -> None:
    for story in load_stories():
        for _, content in story.build(BEGIN).contents():
            for placeholder in (b"{session}", b"{use:", b"{row:", b"{text:", b"{+}"):
                assert placeholder not in content, story.key


def test_placeholders_are_replaced() -> None:
    steps: list[dict[str, object]] = [
        {"do": "ask", "text": "{text:hello:4} sk_{+}live"},
        {"do": "repeat", "rows": [["one"], ["two"]], "of": [{"do": "reply", "text": "answer {row:0}"}]},
    ]
    content = build(steps, texts={"hello": "hello"})
    assert b'"hell sk_live"' in content
    assert b'"answer one"' in content
    assert b'"answer two"' in content


def test_a_fragment_is_a_part_of_a_line_that_is_not_written() -> None:
    written = build(
        [{"do": "user", "content": "a"}, {"do": "fragment", "first": 7, "of": [{"do": "reply", "text": "lost"}]}]
    )
    assert len(written.split(b"\n")[-1]) == 7
    assert b"lost" not in written


def test_an_unknown_step_is_an_error() -> None:
    with pytest.raises(AttributeError, match="whistle"):
        build([{"do": "whistle"}])
