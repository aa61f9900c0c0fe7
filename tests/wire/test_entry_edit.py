"""Revised entries: what was asked for changes, and no other byte."""

from __future__ import annotations

import json

import pytest

from clew.wire.entry import Entry, read
from clew.wire.entry_edit import block_bytes, revise, with_parent

OLD, NEW = "a" * 8, "b" * 8


def entry(raw: str) -> Entry:
    [found] = read(raw.encode())
    assert isinstance(found, Entry)
    return found


@pytest.mark.parametrize(
    "raw",
    [
        f'{{"type":"user","parentUuid":"{OLD}","uuid":"u"}}\n',
        f'{{"type":"user","parentUuid": "{OLD}","uuid":"u"}}\n',
        f'{{"type":"user","x":{{"parentUuid":"{OLD}"}},"parentUuid":"{OLD}","uuid":"u"}}\n',
        f'{{"type":"user","message":{{"content":"\\"parentUuid\\":\\"{OLD}\\""}},"parentUuid":"{OLD}"}}\n',
    ],
)
@pytest.mark.parametrize("parent", [NEW, None])
def test_an_entry_hangs_below_another(raw: str, parent: str | None) -> None:
    made = with_parent(entry(raw), parent)
    assert made.parent == parent
    wanted = json.loads(raw) | {"parentUuid": parent}
    assert json.loads(made.raw) == wanted
    assert entry(made.raw.decode()).parent == parent
    assert (made.type, made.uuid, made.offset) == (entry(raw).type, entry(raw).uuid, 0)


def test_an_entry_without_a_parent_gets_one() -> None:
    assert with_parent(
        entry('{"type":"user","uuid":"u"}\n'), NEW
    ).raw == b'{"type":"user","uuid":"u","parentUuid":"%b"}\n' % (NEW.encode())
    assert with_parent(entry('{"type":"user","parentUuid":null}\n'), NEW).parent == NEW


def test_blocks_keep_their_bytes() -> None:
    raw = '{"type":"user","message":{"content":[{"type":"text", "text":"\\u0041"},{"x":1.50}]}}\n'
    assert block_bytes(entry(raw)) == [b'{"type":"text", "text":"\\u0041"}', b'{"x":1.50}']


def test_blocks_of_a_line_that_is_read_leniently() -> None:
    raw = '{"type":"user","uuid":5,"message":{"content":["no block",{"type":"text","text":"a\\ud800"}]}}\n'
    assert [json.loads(part) for part in block_bytes(entry(raw))] == ["no block", {"type": "text", "text": "a\ud800"}]


def test_a_field_that_follows_spaces_is_changed_in_place() -> None:
    made = revise(entry('{ "type" : "user" , "cwd" : "/a" , "uuid":"u"}\n'), {"cwd": b'"/b"'})
    assert made.raw == b'{ "type" : "user" , "cwd" : "/b" , "uuid":"u"}\n'
