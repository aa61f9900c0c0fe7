"""Every reference gets its new name in its field, and nothing else changes."""

from __future__ import annotations

from typing import Any

import pytest

from clew.wire.entry import Entry
from clew.wire.entry_edit import new_entry
from clew.wire.json_codec import encode
from clew.wire.rename_ids import UUID_FIELDS, IdMapping, new_uuid, rename_references

OLD, OTHER, STRANGE = "aaaaaaaa-0000-4000-8000-00000000000a", "bbbbbbbb-0000-4000-8000-00000000000b", "not-here"
NAMES = IdMapping("new-session", {OLD, OTHER}, "old-session", ("/home/ada/garden", "/srv/garden"), ("/p/old", "/p/new"))
NEW = new_uuid("new-session", OLD)


def entry(**fields: Any) -> Entry:
    return new_entry({"type": "user", **fields})


def told(**fields: Any) -> dict[str, Any]:
    given = entry(**fields)
    return {k: v for k, v in entry_data(rename_references(given, NAMES).json).items() if k != "type"}


def entry_data(json: bytes) -> dict[str, Any]:
    from clew.wire.json_codec import decode

    found = decode(json)
    assert isinstance(found, dict)
    return found


@pytest.mark.req("R280", "R281", "R282", "R283", "R284")
@pytest.mark.parametrize("name", UUID_FIELDS)
def test_each_place(name: str) -> None:
    assert told(**{name: OLD}) == {name: NEW}
    assert told(**{name: STRANGE}) == {name: STRANGE}
    assert told(**{name: None}) == {name: None}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"sessionId": "old-session"}, {"sessionId": "new-session"}),
        ({"sessionId": "another"}, {"sessionId": "new-session"}),
        ({"session_id": "old-session"}, {"session_id": "new-session"}),
        ({"snapshot": {"messageId": OLD, "x": 1}}, {"snapshot": {"messageId": NEW, "x": 1}}),
        ({"compactMetadata": {"preservedSegment": {"headUuid": OLD, "tailUuid": STRANGE}}},
         {"compactMetadata": {"preservedSegment": {"headUuid": NEW, "tailUuid": STRANGE}}}),
        ({"compactMetadata": {"preservedMessages": {"anchorUuid": OLD, "uuids": [OLD, STRANGE], "allUuids": [OLD]}}},
         {"compactMetadata": {"preservedMessages": {"anchorUuid": NEW, "uuids": [NEW, STRANGE], "allUuids": [NEW]}}}),
        ({"forkedFrom": {"sessionId": "ancestor", "messageUuid": OLD}},
         {"forkedFrom": {"sessionId": "ancestor", "messageUuid": OLD}}),
        ({"forkedFrom": {"sessionId": "old-session", "messageUuid": OLD}},
         {"forkedFrom": {"sessionId": "new-session", "messageUuid": NEW}}),
        ({"type": "worktree-state", "worktreeSession": {"sessionId": "old-session", "worktreePath": "/w"}},
         {"worktreeSession": {"sessionId": "new-session", "worktreePath": "/w"}}),
        ({"type": "progress", "data": {"message": {"uuid": OLD}}}, {"data": {"message": {"uuid": NEW}}}),
        ({"toolUseResult": {"persistedOutputPath": "/p/old/tool-results/x.txt"}},
         {"toolUseResult": {"persistedOutputPath": "/p/new/tool-results/x.txt"}}),
        ({"cwd": "/home/ada/garden"}, {"cwd": "/srv/garden"}),
        ({"cwd": "/home/ada/garden/src"}, {"cwd": "/srv/garden/src"}),
        ({"cwd": "/home/ada/gardener"}, {"cwd": "/home/ada/gardener"}),
    ],
)  # fmt: skip
def test_each_deeper_place(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert told(**before) == after


@pytest.mark.req("R281")
def test_what_is_said_is_not_touched_though_it_looks_like_a_reference() -> None:
    said = {"role": "user", "content": f'"uuid":"{OLD}" and "sessionId":"old-session"'}
    result = {"uuid": OLD, "sessionId": "old-session", "stdout": OLD}
    found = told(uuid=OLD, sessionId="old-session", message=said, toolUseResult=result)
    assert found["message"] == said
    assert found["toolUseResult"] == result
    assert (found["uuid"], found["sessionId"]) == (NEW, "new-session")


def test_other_bytes_stay_as_they_are() -> None:
    line = b'{ "uuid" : "' + OLD.encode() + b'", "n": 1.50, "type":"user","text":"\\u0041", "parentUuid":null }'
    from clew.wire.entry import parse_line
    from clew.wire.line import Line

    given = parse_line(Line(1, 0, line, 0, len(line)))
    assert isinstance(given, Entry)
    assert rename_references(given, NAMES).json == line.replace(OLD.encode(), NEW.encode())


def test_names_are_new_uuids_and_the_same_each_time() -> None:
    import uuid

    assert uuid.UUID(NEW).version == 4
    assert new_uuid("new-session", OLD) == NEW
    assert new_uuid("another", OLD) != NEW
    assert encode(NEW) == f'"{NEW}"'.encode()
