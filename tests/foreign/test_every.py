"""What holds for the conversations of every program."""

from __future__ import annotations

import json
import stat
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.api.lint import lint
from clew.conversation.load import request
from clew.conversation.session import Session
from clew.errors import Refused
from clew.foreign.conversation_steps import Conversation, ForeignPrompt
from clew.foreign.formats import FORMATS, detect, find_in_path
from clew.foreign.session_builder import FOREIGN_TYPE, ImportTarget, build_lines, session_id
from clew.foreign.write_import import ImportDraft, draft_import, find_existing, write_draft
from clew.wire.json_codec import encode
from clew.wire.layout import Tree
from tests.foreign.logs import FIRST, SECOND, WRITERS

EVERY = pytest.mark.parametrize("name", WRITERS)
OF_JSON = [name for name in WRITERS if name not in ("aider", "opencode, database")]
WITH_BOTH = [name for name in WRITERS if name not in ("opencode, the first form",)]


def made(path: Path) -> Conversation:
    """The newest conversation of a file whose form is told by itself."""
    [form, file], *_ = find_in_path(path)
    return next(talk for talk in form.read(file) if not talk.is_empty)


def drafted(name: str, folder: Path) -> ImportDraft:
    return draft_import(made(WRITERS[name][1](folder / "log")), Tree(folder / "claude"), "/home/ada/garden")


@EVERY
def test_its_form_is_told_by_what_it_says(name: str, tmp_path: Path) -> None:
    tool, writer = WRITERS[name]
    path = writer(tmp_path)
    assert detect(path).name == tool
    assert path in [file for _, file in find_in_path(tmp_path)] or path.name in ("logs.json", "export.json")


@EVERY
def test_it_becomes_a_session_that_can_be_resumed(name: str, tmp_path: Path) -> None:
    found = drafted(name, tmp_path)
    assert found.violations == ()
    session = Session(write_draft(found))
    prompts = [turn.text for turn in session.turns]
    assert prompts[0].split() == FIRST.split()
    assert SECOND in prompts or name not in WITH_BOTH
    for version in ("2.1.325", "2.1.45", "2.1.29", "2.0.76"):
        sent = request(session, version, "go on")
        assert not sent.refusal
        assert [told for told in lint(sent.messages) if told.is_refused] == []
    assert stat.S_IMODE(found.path.stat().st_mode) == 0o600


@EVERY
def test_it_is_one_chain_with_times_that_grow(name: str, tmp_path: Path) -> None:
    entries = drafted(name, tmp_path).session.entries
    chain = [entry for entry in entries if entry.uuid]
    assert [e.type for e in entries if not e.uuid and e.type != FOREIGN_TYPE] == [
        *("clew-origin", *(["custom-title"] if any(e.type == "custom-title" for e in entries) else [])),
        *("tag", "last-prompt"),
    ]
    cut = [index for index, e in enumerate(chain) if e.data.get("subtype") == "compact_boundary"]
    for index, (before, after) in enumerate(pairwise(chain), 1):
        assert after.parent == (None if index in cut else before.uuid)
        assert before.time and after.time and before.time < after.time


@EVERY
def test_the_same_conversation_gets_the_same_names(name: str, tmp_path: Path) -> None:
    found = drafted(name, tmp_path)
    again = draft_import(
        made(WRITERS[name][1](tmp_path / "log2") if name.startswith("codex") else Path(found.conversation.path)),
        Tree(tmp_path),
        "/",
    )
    if name != "opencode, exported":
        assert found.id == again.id
        assert [e.uuid for e in found.session.entries] == [e.uuid for e in again.session.entries]
    assert len({e.uuid for e in found.session.entries if e.uuid}) == sum(bool(e.uuid) for e in found.session.entries)


@EVERY
def test_it_says_where_it_came_from(name: str, tmp_path: Path) -> None:
    found = drafted(name, tmp_path)
    [origin] = [e.data for e in found.session.entries if e.type == "clew-origin"]
    told = origin["foreign"]
    assert (told["tool"], told["path"], told["id"]) == (
        WRITERS[name][0],
        found.conversation.path,
        found.conversation.id,
    )
    assert told["digest"] == found.conversation.digest


@EVERY
def test_it_is_there_once_it_was_written(name: str, tmp_path: Path) -> None:
    found = drafted(name, tmp_path)
    place = Tree(tmp_path / "claude")
    assert find_existing(found.conversation, place) is None
    write_draft(found)
    known = find_existing(found.conversation, place)
    assert known and known.file.path == found.path and not known.is_outdated
    with pytest.raises(FileExistsError):
        write_draft(found)


@pytest.mark.parametrize("name", OF_JSON)
def test_nothing_of_it_is_lost(name: str, tmp_path: Path) -> None:
    """Every word of the log is in the session, in what is said or in what is kept."""
    path = WRITERS[name][1](tmp_path / "log")
    form = detect(path)
    session = b"".join(
        encode(line)
        for talk in form.read(path)
        for line in build_lines(
            talk, ImportTarget(session_id(talk), "/", datetime(2026, 1, 1, tzinfo=UTC), datetime.now(UTC))
        )
    )
    words = {word for value in _loaded(path) for word in _texts(value)}
    missing = [word for word in words if json.dumps(word)[1:-1].encode() not in session]
    assert [word for word in missing if not _is_repeated(word)] == []


def _loaded(path: Path) -> list[object]:
    try:
        return [json.loads(path.read_text())]
    except ValueError:
        return [json.loads(line) for line in path.read_text().splitlines()]


def _texts(value: object) -> list[str]:
    """The texts of a value; one that is itself JSON, or wraps a thought or a call, is looked into."""
    if isinstance(value, str):
        if value.startswith("{"):
            try:
                return _texts(json.loads(value))
            except ValueError:
                return [value]
        return [line for line in value.splitlines() if line.strip()]
    if isinstance(value, dict):
        return [text for each in value.values() for text in _texts(each)]
    return [text for each in value for text in _texts(each)] if isinstance(value, list) else []


def _is_repeated(word: str) -> bool:
    """What says again in other words what is there: events of Codex, a picture's address, a call in gptme's own way."""
    known = ("said again", "user_message", "token_count", "AgentMessage", "item_completed", "state", "data:image")
    return word.startswith(known) or word.startswith(("@shell", "@save", "<think>", "</think>")) or word in _FORM


_FORM = {  # words of the form, which the session has its own for
    *(
        "message",
        "assistant",
        "user",
        "input_text",
        "output_text",
        "function_call",
        "custom_tool_call",
        "tool",
        "function",
    ),
    *("function_call_output", "custom_tool_call_output", "input_image", "response_item", "event_msg", "session_meta"),
    *(
        "token_usage_record",
        "turn_context",
        "world_state",
        "text",
        "bash",
        "-lc",
        "gemini",
        "completed",
        "gpt",
        "human",
    ),
    *("Success.", "image_url", "result", "tool-invocation", "step-start", "abc", "file", "update_plan", "Output:"),
    *(f"2026-03-01T09:00:{second:02}.000" for second in range(60)),
    *(f"2026-03-01T09:00:{second:02}.000Z" for second in range(60)),
}


# -- damage


@EVERY
def test_what_is_left_of_a_torn_file_is_imported(name: str, tmp_path: Path) -> None:
    tool, writer = WRITERS[name]
    path = writer(tmp_path / "log")
    whole = path.read_bytes()
    for part in (0.0, 0.3, 0.6, 0.9, 0.999):
        path.write_bytes(whole[: int(len(whole) * part)])
        for talk in FORMATS[tool].read(path):
            if not talk.is_empty:
                assert draft_import(talk, Tree(tmp_path / "claude"), "/home/ada").violations == ()


@pytest.mark.parametrize("name", ["gemini", "opencode, exported", "openai, functions"])
def test_what_is_whole_of_a_document_that_breaks_off_is_read(name: str, tmp_path: Path) -> None:
    tool, writer = WRITERS[name]
    path = writer(tmp_path)
    whole = path.read_text()
    path.write_text(whole[: whole.index(SECOND)])
    [talk] = FORMATS[tool].read(path)
    first = next(step.content for step in talk.steps if isinstance(step, ForeignPrompt) and not step.is_note)
    assert first in (FIRST, ({"type": "text", "text": FIRST},))
    assert talk.problems == (f"{path.name}: the file is incomplete or damaged; the readable part was imported",)


@pytest.mark.parametrize("tool", FORMATS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200) | st.text(alphabet='#> `@{}[]":,/\nab01', max_size=200).map(str.encode))
def test_no_bytes_break_a_reader(tool: str, data: bytes, tmp_path: Path) -> None:
    for name in ("rollout-x.jsonl", "x.json", "x.jsonl", "opencode.db", ".aider.chat.history.md", "conversation.jsonl"):
        path = tmp_path / name
        path.write_bytes(data)
        for talk in FORMATS[tool].read(path):
            if not talk.is_empty:
                assert draft_import(talk, Tree(tmp_path / "claude"), "/home/ada").violations == ()


def test_a_file_that_nobody_wrote_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("some words")
    with pytest.raises(Refused, match="has an unknown format"):
        detect(path)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def _places(value: object, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, each in inner for place in _places(each, (*at, key)))]


def _put(value: object, at: tuple[str | int, ...], new: object) -> object:
    if not at:
        return new
    if isinstance(value, dict):
        return {key: _put(each, at[1:], new) if key == at[0] else each for key, each in value.items()}
    assert isinstance(value, list)
    return [_put(each, at[1:], new) if index == at[0] else each for index, each in enumerate(value)]


@pytest.mark.parametrize("name", OF_JSON)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_value_in_any_place_breaks_a_reader(name: str, data: st.DataObject, tmp_path: Path) -> None:
    """Something else in the place of a value: what comes of it is still a sound session, or no conversation."""
    tool, writer = WRITERS[name]
    folder = tmp_path / "log"
    path = _existing(folder) or writer(folder)
    original = _existing(folder, ".kept") or path.rename(path.with_name(f"{path.name}.kept"))
    values = _loaded(original)
    line = data.draw(st.integers(0, len(values) - 1))
    place = data.draw(st.sampled_from(_places(values[line])))
    values[line] = _put(values[line], place, data.draw(VALUES))
    target = original.with_name(original.name.removesuffix(".kept"))
    target.write_text("\n".join(map(json.dumps, values)))
    for talk in FORMATS[tool].read(target):
        if not talk.is_empty:
            assert draft_import(talk, Tree(tmp_path / "claude"), "/home/ada").violations == ()


def _existing(folder: Path, mark: str = "") -> Path | None:
    found = list(folder.rglob("*.kept")) if folder.exists() else []
    if not found:
        return None
    return found[0] if mark else found[0].with_name(found[0].name.removesuffix(".kept"))
