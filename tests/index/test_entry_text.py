"""The quick reader of an entry's texts gives what `words` gives, or leaves the entry to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clew.facts.searchable_text import words
from clew.index.entry_text import _all_pieces, _decode_entry, _plain_pieces
from clew.index.session_index import Index
from clew.wire.bulk_scan import scan

TEXTS = st.one_of(
    st.sampled_from(
        ["", " ", "hello", "  fix it\n", "<bash-input>ls</bash-input>", "[Request interrupted by user]", "A" * 300]
    ),
    st.sampled_from(
        ["x <system-reminder>y</system-reminder> z", "<ide_selection>a</ide_selection>b", "a " + "A" * 300]
    ),
    st.text(st.characters(codec="utf-8"), max_size=20),
)
VALUES = st.recursive(
    st.one_of(
        TEXTS,
        st.integers(-(2**40), 2**40),
        st.booleans(),
        st.none(),
        st.just({"media_type": "image/png", "data": "aGk="}),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.sampled_from("abc"), inner, max_size=2)),
    max_leaves=4,
)
BLOCKS = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, TEXTS),
    st.builds(lambda text: {"type": "thinking", "thinking": text}, TEXTS),
    st.builds(lambda given: {"type": "tool_use", "id": "t", "name": "Bash", "input": given}, VALUES),
    st.builds(lambda content: {"type": "tool_result", "tool_use_id": "t", "content": content}, VALUES),
    st.just({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}),
    st.just({"type": "redacted_thinking", "data": "aGk="}),
)
ENTRIES = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["user", "assistant", "attachment", "system"]),
        "message": st.fixed_dictionaries(
            {"content": st.one_of(TEXTS, st.lists(BLOCKS, max_size=3))},
            optional={"model": st.sampled_from(["<synthetic>", "claude-opus-4-5"])},
        ),
    },
    optional={
        "isMeta": st.booleans(),
        "isCompactSummary": st.booleans(),
        "origin": st.sampled_from([{"kind": "human"}, {"kind": "peer"}]),
        "attachment": st.just({"type": "queued_command", "prompt": "more", "commandMode": "prompt"}),
    },
)


def expected(line: bytes) -> list[tuple[str, str]]:
    return [(item.field, item.text) for batch in scan(line + b"\n") for e in batch.spoken for item in words(e)]


@given(ENTRIES)
def test_generated_entries_are_read_as_words_reads_them(value: dict[str, Any]) -> None:
    line = json.dumps(value, ensure_ascii=False).encode()
    assert _all_pieces(line) == expected(line)
    assert _plain_pieces(_decode_entry(line)) in (None, expected(line))


def test_entries_of_the_demo_are_read_as_words_reads_them(demo: Index) -> None:
    quick = 0
    for path in Path(demo.root).rglob("*.jsonl"):
        for line in path.read_bytes().splitlines():
            entry = _decode_entry(line)
            if entry.get("type") in ("user", "assistant"):
                pieces = _plain_pieces(entry)
                quick += pieces is not None
                assert pieces in (None, expected(line)), line[:200]
    assert quick > 100  # most entries are plain
