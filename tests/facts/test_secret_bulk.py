"""Texts are looked through together, with walls between them: that may miss nothing that a look at each would find."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clew.facts.secrets import mask_secrets
from clew.facts.secrets.secret_rules import WALL
from tests.facts.test_mask_secrets import DATA, IN_CONTEXT, INNOCENT, KNOWN, TEXTS

SECRET_TEXTS = [value for _, value in KNOWN.values()] + [frame.format(value) for frame, _, value in IN_CONTEXT.values()]
NEIGHBOURS = ("a", '"', "token=", "-----BEGIN ", "[REDACTED:", "A" * 40, "İ", "\ud800")


def wrapped(text: str, width: int, newline: str) -> str:
    """The text in base64, in lines as mail and PEM have them."""
    letters = base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()
    return newline.join(letters[at : at + width] for at in range(0, len(letters), width))


ANY = st.one_of(TEXTS, st.builds(wrapped, TEXTS, st.sampled_from([60, 64, 76]), st.sampled_from(["\n", "\r\n"])))


def one_by_one(texts: list[str]) -> tuple[list[str], int]:
    masked = [mask_secrets.mask(text, b"key") for text in texts]
    return [text for text, _ in masked], sum(len(secrets) for _, secrets in masked)


@given(st.lists(ANY, max_size=8))
@settings(max_examples=250)
def test_together_or_one_by_one_is_the_same(texts: list[str]) -> None:
    assert mask_secrets.mask_data(texts, b"key") == one_by_one(texts)
    assert mask_secrets.may_contain_secrets(texts) == [bool(mask_secrets.find(text)) for text in texts]


@given(st.lists(DATA, max_size=6))
@settings(max_examples=120)
def test_what_may_hold_nothing_holds_nothing(values: list[Any]) -> None:
    for value, held in zip(values, mask_secrets.may_contain_secrets(values), strict=True):
        assert held or not mask_secrets.mask_data(value)[1]


@given(ANY, ANY)
@example("https://example.com/hooks/pre-commit-and-other-hooks-of-git", "redis:5432:b:c")
@example("sshpass -p !!", "password ssh host-of-ann")
@settings(max_examples=250)
def test_no_rule_looks_across_a_wall(first: str, second: str) -> None:
    shift = len(first) + 1
    apart = [*mask_secrets.find(first), *((s.rule, s.start + shift, s.end + shift) for s in mask_secrets.find(second))]
    together = list(mask_secrets.find(first + WALL + second))
    short = [text for text in (first, second) if len(text) < 15]  # too short to be looked at by themselves
    assert together == apart or short
    assert {*apart} <= {*together}


@pytest.mark.parametrize("text", SECRET_TEXTS, ids=lambda text: text[:16])
def test_no_neighbour_hides_a_secret(text: str) -> None:
    hidden = base64.b64encode(f"the {text} of it, and more".encode()).decode()
    for neighbour in NEIGHBOURS:
        texts = [neighbour, text, neighbour + " ", hidden, f" {neighbour}"]
        assert mask_secrets.mask_data(texts, b"key") == one_by_one(texts)
        assert mask_secrets.may_contain_secrets([{"a": neighbour}, {"a": [texts]}, {"b": {text: 1}}]) == [
            False,
            True,
            True,
        ]


def test_innocent_lines_are_known_to_be_plain_without_a_second_look() -> None:
    assert not any(mask_secrets.may_contain_secrets([{"type": "user", "text": text} for text in INNOCENT]))


def test_names_learned_as_plain_still_tell_by_the_label_beside_them() -> None:
    plain = {"name": "COLOUR", "value": "swordfish"}
    assert mask_secrets.may_contain_secrets([plain]) == [False]
    assert mask_secrets.may_contain_secrets([plain, {"name": "DB_PASSWORD", "value": "swordfish"}]) == [False, True]


@pytest.mark.shared
def test_real_lines_are_masked_together_as_one_by_one(shared: Path) -> None:
    for path in sorted((shared / "corpus").rglob("*.jsonl")):
        values = [value for line in path.read_bytes().splitlines() if (value := _value(line)) is not None]
        held = mask_secrets.may_contain_secrets(values)
        assert all(held[at] or not mask_secrets.mask_data(value)[1] for at, value in enumerate(values))
        texts = sorted({text for value in values for text in _texts(value)})
        assert mask_secrets.mask_data(texts, b"key") == one_by_one(texts)


def _value(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _texts(value: Any) -> list[str]:
    todo, found = [value], []
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            todo += [*item, *item.values()]
        elif isinstance(item, list):
            todo += item
        elif isinstance(item, str):
            found.append(item)
    return found
