"""A text that grows is cut into blocks which say what the whole says, wherever the pieces of it end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clew.console.markdown_splitter import MAX_LINES, MIN_TAIL_LINES, Splitter

CODE = "```python\nx = 1\n\ny = 2\n```"


def blocks(*parts: str) -> list[str]:
    splitter = Splitter()
    return [piece.text for part in parts for piece in splitter.feed(part)] + [p.text for p in splitter.finish()]


def test_blocks_end_at_empty_lines_and_behind_closed_fences() -> None:
    assert blocks(f"# Head\n\nwords\nmore\n\n{CODE}\nbehind") == ["# Head", "words\nmore", CODE, "behind"]


def test_a_block_is_given_as_soon_as_the_next_one_begins() -> None:
    splitter = Splitter()
    assert splitter.feed("one\n\n") == []
    assert [p.text for p in splitter.feed("t")] == ["one"]
    assert splitter.tail == "t"


def test_an_item_keeps_what_is_indented_below_it() -> None:
    text = "- one\n\n  more of one\n\n  ```\n  code\n  ```\n- two"
    assert blocks(text) == [text]


def test_a_fence_that_is_open_holds_everything_back() -> None:
    splitter = Splitter()
    assert splitter.feed("~~~\na\n\n```\nb\n\n") == []
    assert splitter.tail.startswith("~~~")


def test_long_code_is_given_in_parts_under_the_same_fence() -> None:
    lines = [f"line {n}" for n in range(3 * MAX_LINES)]
    splitter = Splitter()
    made = [piece for line in ["```c", *lines, "```"] for piece in splitter.feed(f"{line}\n")]
    assert len(made) > 2
    assert [piece.is_continuation for piece in made] == [False] + [True] * (len(made) - 1)
    assert all(piece.text.startswith("```c\n") and piece.text.endswith("\n```") for piece in made)
    assert [line for piece in made for line in piece.text.split("\n")[1:-1]] == lines
    assert len(splitter.tail) == 0


def test_a_long_list_is_given_in_parts() -> None:
    lines = [f"- item {n}" for n in range(2 * MAX_LINES)]
    splitter = Splitter()
    made = [piece for line in lines for piece in splitter.feed(f"{line}\n")]
    assert made
    assert "\n".join([*(p.text for p in made), splitter.tail.rstrip("\n")]).split("\n") == lines
    assert splitter.tail.count("\n") <= MAX_LINES + MIN_TAIL_LINES


PARTS = st.lists(st.sampled_from(["word", " ", "\n", "\n\n", "```\n", "- item\n", "  deep\n", "# h\n"]), max_size=40)


@given(PARTS, st.integers(1, 7))
def test_where_the_pieces_end_does_not_matter_and_no_word_is_lost(parts: list[str], size: int) -> None:
    text = "".join(parts)
    cut = [text[at : at + size] for at in range(0, len(text), size)]
    whole = "".join(blocks(*cut)).replace("\n", "").replace(" ", "")
    assert whole.replace("```", "") == text.replace("\n", "").replace(" ", "").replace("```", "")
