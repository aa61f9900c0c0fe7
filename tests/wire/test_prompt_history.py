"""The history of prompts: every line, damage as values, pasted texts in place."""

from __future__ import annotations

import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.wire.entry import Damaged
from clew.wire.json_codec import encode
from clew.wire.layout import Tree
from clew.wire.lookup import find_session
from clew.wire.prompt_history import HistoryPrompt, Pasted, prompts, read_history

ID = "11111111-aaaa-4bbb-8ccc-000000000001"


def lines(*values: dict[str, Any] | bytes) -> bytes:
    return b"".join(v if isinstance(v, bytes) else encode(v) + b"\n" for v in values)


def one(value: dict[str, Any]) -> HistoryPrompt:
    (prompt,) = read_history(lines(value))
    assert isinstance(prompt, HistoryPrompt)
    return prompt


@pytest.mark.req("R335")
def test_a_line_is_a_prompt() -> None:
    prompt = one(
        {
            "display": "Fix the login bug",
            "pastedContents": {},
            "timestamp": 1766607244547,
            "project": "/Users/name/Desktop/project",
            "sessionId": ID,
        }
    )
    assert prompt.display == prompt.text == "Fix the login bug"
    assert prompt.time == datetime(2025, 12, 24, 20, 14, 4, 547000, tzinfo=UTC)
    assert (prompt.project, prompt.session_id, prompt.pasted) == ("/Users/name/Desktop/project", ID, ())
    assert prompt.line.number == 1


@pytest.mark.req("R335")
@pytest.mark.parametrize("value", [{}, {"display": 3, "timestamp": "x", "project": [], "pastedContents": 7}])
def test_fields_may_be_missing_or_wrong(value: dict[str, Any]) -> None:
    prompt = one(value)
    assert (prompt.display, prompt.time, prompt.project, prompt.session_id) == ("", None, None, None)


@pytest.mark.req("R335")
def test_pasted_texts_are_put_in_place() -> None:
    prompt = one(
        {
            "display": "See [Pasted text #1 +2 lines] and [...Truncated text #2 +9 lines...], [Pasted text #3] [Image #4]",
            "pastedContents": {
                "1": {"id": 1, "type": "text", "content": "a\nb [Pasted text #3]"},
                "2": {"id": 2, "type": "text", "content": "c"},
                "3": {"id": 3, "type": "text", "contentHash": "0123456789abcdef"},
                "4": {"id": 4, "type": "image", "content": "iVBORw0KGgo="},
            },
        }
    )
    assert prompt.text == "See a\nb [Pasted text #3] and c, [Pasted text #3] [Image #4]"
    assert prompt.pasted[2] == Pasted(3, "text", None, "0123456789abcdef")
    assert [p.id for p in prompt.pasted] == [1, 2, 3, 4]


def test_pasted_things_of_other_shapes() -> None:
    listed = one({"display": "[Pasted text #1][Pasted text #2]", "pastedContents": ["x", {"content": "y"}, 3]})
    assert listed.text == "xy"
    assert one({"display": "[Pasted text #9]", "pastedContents": {"nine": {"content": "x"}}}).text == "[Pasted text #9]"
    assert one({"display": f"[Pasted text #{'9' * 5000}]"}).text.startswith("[Pasted")


@pytest.mark.req("R012")
def test_damaged_lines_are_values() -> None:
    raw = lines(
        {"display": "first"}, b"\n", b"torn {\n", b"[1]\n", b'{"display":"a"}{"display":"b"}\n', b'{"display":"last"}'
    )
    items = list(read_history(raw))
    damage = [item for item in items if isinstance(item, Damaged)]
    assert [d.line.number for d in damage] == [3, 4, 5]
    assert [p.display for p in prompts(items)] == ["first", "a", "b", "last"]
    assert [p.display for p in items if isinstance(p, HistoryPrompt)] == ["first", "last"]


def test_an_object_with_a_raw_control_character_does_no_harm() -> None:
    items = list(read_history(b'{"display":"a\x00b"}{"display":"c"}\n'))
    assert len(items) == 1
    assert isinstance(items[0], Damaged)
    assert "c" in [p.display for p in prompts(items)]


@given(st.binary(max_size=400) | st.text(max_size=200).map(str.encode))
def test_no_bytes_can_break_it(raw: bytes) -> None:
    items = list(read_history(raw))
    assert sum(1 for line in raw.split(b"\n") if line.strip()) >= len(items)
    list(prompts(items))


@pytest.mark.req("R336")
def test_prompts_join_to_sessions_and_projects(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    folder = tmp_path / "projects" / "-p"
    folder.mkdir(parents=True)
    (folder / f"{ID}.jsonl").write_bytes(b"{}\n")
    tree.history.write_bytes(
        lines(
            {"display": "a", "timestamp": 1766607244547, "project": "/p", "sessionId": ID},
            {"display": "b", "timestamp": 1766707244547, "project": "/p"},
            {"display": "c", "timestamp": 1766607244547, "project": "/q"},
        )
    )
    found = list(prompts(read_history(tree.history)))
    assert [p.display for p in found if p.project == "/p"] == ["a", "b"]
    assert [p.display for p in found if p.time and p.time >= datetime(2025, 12, 25, tzinfo=UTC)] == ["b"]
    assert [find_session(tree, p.session_id).id for p in found if p.session_id] == [ID]


def test_a_missing_file_holds_no_prompts(tmp_path: Path) -> None:
    assert list(read_history(tmp_path / "history.jsonl")) == []


@pytest.mark.req("R345")
def test_a_long_history_needs_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    line = encode({"display": "x" * 2000, "timestamp": 1766607244547, "project": "/p"}) + b"\n"
    path.write_bytes(line * 10_000)
    tracemalloc.start()
    count = sum(1 for _ in read_history(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 10_000
    assert peak < 6_000_000


SAMPLES = Path(__file__).parents[3] / "shared" / "oracle" / "samples"


@pytest.mark.shared
@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the shared samples are not here")
@pytest.mark.req("R335")
def test_histories_written_by_the_real_program() -> None:
    files = sorted(SAMPLES.glob("2*/*/.claude/history.jsonl"))
    assert files
    for path in files:
        for item in read_history(path):
            assert isinstance(item, HistoryPrompt)
            assert item.display
            assert item.time
            assert item.project == "/home/dev/proj"
            assert item.session_id


def test_prompts_of_skipped_sessions_are_left_out_and_damaged_lines_stay() -> None:
    other = ID.replace("1", "2")
    kept = {"display": "two", "sessionId": other}
    data = lines({"display": "one", "sessionId": ID.upper()}, kept, b'{"display":"cut off\n', {"display": "no id"})
    found = list(read_history(data, {ID}))
    assert [item.display if isinstance(item, HistoryPrompt) else "damaged" for item in found] == [
        "two",
        "damaged",
        "no id",
    ]
