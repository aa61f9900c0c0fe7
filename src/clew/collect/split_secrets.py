"""Secrets that are split: one half ends a text block, and the next block begins with the other.

Blocks of one list are read as one text, as a model reads them. A secret that lies across their border is masked in both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from clew.facts.secrets.mask_secrets import find


def mask_split(value: Any, mark: Callable[[str, str], str]) -> int:
    """Mask, in place, secrets across the borders of text blocks; how many. `mark` is given the rule and the secret."""
    return sum(_mask_blocks(blocks, mark) for blocks in _lists(value))


def _lists(value: Any) -> Iterator[list[dict[str, Any]]]:
    """The text blocks of each list that has several."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            todo.extend(item.values())
        elif isinstance(item, list):
            todo.extend(item)
            blocks = [each for each in item if isinstance(each, dict) and isinstance(each.get("text"), str)]
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
        rest = mark(secret.rule, joined[secret.start : secret.end])
        for block, start in zip(blocks, starts, strict=False):
            end = start + len(block["text"])
            if secret.start < end and start < secret.end:
                cut = slice(max(0, secret.start - start), min(len(block["text"]), secret.end - start))
                block["text"] = block["text"][: cut.start] + rest + block["text"][cut.stop :]
                rest = ""
    return len(split)
