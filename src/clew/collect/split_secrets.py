"""Mask secrets that are split across the border of two text blocks.

A model reads the text blocks of a list as one text, and so does this: with `["sk-ab", "cdef"]` the secret
`sk-abcdef` is masked in both blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from clew.facts.secrets.mask_secrets import find


def mask_split_secrets(value: Any, mark: Callable[[str, str], str]) -> int:
    """Mask, in place, secrets across borders of text blocks. Returns their number. `mark` gets the rule and the
    secret.
    """
    return sum(_mask_blocks(blocks, mark) for blocks in _text_block_lists(value))


def _text_block_lists(value: Any) -> Iterator[list[dict[str, Any]]]:
    """Yield the text blocks of each list that has several."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            todo.extend(item.values())
        elif isinstance(item, list):
            todo.extend(item)
            blocks = [block for block in item if isinstance(block, dict) and isinstance(block.get("text"), str)]
            if len(blocks) > 1:
                yield blocks


def _mask_blocks(blocks: list[dict[str, Any]], mark: Callable[[str, str], str]) -> int:
    texts = [block["text"] for block in blocks]
    starts = [0]
    for text in texts:
        starts.append(starts[-1] + len(text))
    joined = "".join(texts)
    split = [s for s in find(joined) if any(s.start < border < s.end for border in starts[1:-1])]
    for secret in reversed(split):
        replacement = mark(secret.rule, joined[secret.start : secret.end])
        for block, start in zip(blocks, starts, strict=False):
            end = start + len(block["text"])
            if secret.start < end and start < secret.end:
                span = slice(max(0, secret.start - start), min(len(block["text"]), secret.end - start))
                block["text"] = block["text"][: span.start] + replacement + block["text"][span.stop :]
                replacement = ""
    return len(split)
