"""Secrets that are masked on the way in: no byte of them is anywhere."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.collect.masking import Policy, json_shape
from clew.collect.sinks.outbox import Delivery, SequenceCursor
from tests.collect.cases import Shelf
from tests.collect.collect_fixture import KEY, World, session

ONE = session(1)
TOKEN = "Qz7XkV9wLm2Rt5Yb8Nc4Hd6Jf1Gs3Pa0"
CANARIES = {
    "anthropic": "sk-ant-api03-" + TOKEN,
    "openai": "sk-proj-" + TOKEN,
    "aws": "AKIA" + "Q7XKV9WLM2RT5YB8",
    "github": "ghp_" + TOKEN + "abcd",
    "github-fine": "github_pat_" + TOKEN,
    "gitlab": "glpat-" + TOKEN[:20],
    "slack": "xoxb-" + "1234567890-" + TOKEN,
    "google": "AIza" + TOKEN + "Xyz",
    "stripe": "sk_live_" + TOKEN[:24],
    "npm": "npm_" + TOKEN + "Ab12",
    "pem": "-----BEGIN RSA PRIVATE KEY-----\n" + (TOKEN * 2 + "\n") * 4 + "-----END RSA PRIVATE KEY-----",
    "password": "DB_PASSWORD=" + TOKEN,
    "bearer": "Authorization: Bearer " + TOKEN + TOKEN,
    "url": f"postgres://admin:{TOKEN}@db.example.com/shop",
    "jwt": "eyJhbGciOiJIUzI1NiJ9." + TOKEN + "." + TOKEN,
}
PLACES: dict[str, Any] = {
    "plain": lambda secret: json.dumps({"type": "user", "text": secret}),
    "escaped": lambda secret: '{"type":"user","text":"' + "".join(f"\\u{ord(letter):04x}" for letter in secret) + '"}',
    "nested": lambda secret: json.dumps({"type": "user", "toolUseResult": {"stdout": ["a", {"b": f"x {secret} y"}]}}),
    "key": lambda secret: json.dumps({"type": "user", "env": {secret: 1}}),
    "quoted": lambda secret: json.dumps({"type": "user", "text": json.dumps({"a": secret})}),
}
STANDING_ALONE = ("password", "bearer", "url")  # told by what stands before them, so not as a key of their own


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.close()


def bytes_of(world: World) -> bytes:
    """Every byte of the archive and of what lies beside it."""
    return b"".join(path.read_bytes() for path in sorted(Path(world.path).parent.iterdir()))


def _cases() -> Iterator[Any]:
    for kind, secret in CANARIES.items():
        for place in PLACES:
            if place != "key" or kind not in (*STANDING_ALONE, "pem"):
                yield pytest.param(secret, place, id=f"{kind}-{place}")


@pytest.mark.req("R326")
def test_no_byte_of_a_secret_is_in_the_archive(world: World) -> None:
    cases = [case.values for case in _cases()]
    world.write(ONE, b"".join(PLACES[place](secret).encode() + b"\n" for secret, place in cases))
    world.poll(policy=Policy(KEY))
    world.connection.wal_checkpoint()
    assert TOKEN.encode() not in world.kept()[ONE]
    assert TOKEN[:16].encode() not in world.kept()[ONE]
    assert TOKEN.encode() not in bytes_of(world)
    lines = world.kept()[ONE].splitlines()
    assert len(lines) == len(cases)
    for line, (secret, place) in zip(lines, cases, strict=True):
        assert b"[REDACTED:" in line, f"{secret[:12]} in {place}"
        assert json_shape(json.loads(line)) == json_shape(json.loads(PLACES[place](secret)))


def test_a_secret_in_base64_is_masked(world: World) -> None:
    hidden = base64.b64encode(f"key = {CANARIES['anthropic']} and more text".encode()).decode()
    world.write(ONE, json.dumps({"type": "user", "text": hidden}).encode() + b"\n")
    world.poll(policy=Policy(KEY))
    assert hidden.encode() not in world.kept()[ONE]
    assert b"[REDACTED:base64-secret:" in world.kept()[ONE]


@pytest.mark.parametrize("at", [1, 12, 13, 20, 44])
@pytest.mark.parametrize("kind", ["anthropic", "github", "stripe"])
def test_a_secret_that_is_split_over_blocks_is_masked_in_both(world: World, kind: str, at: int) -> None:
    secret = CANARIES[kind]
    blocks = [{"type": "text", "text": text} for text in ("Use " + secret[:at], secret[at:] + " for it.", "And more.")]
    line = json.dumps({"type": "user", "message": {"role": "user", "content": blocks}}).encode()
    world.write(ONE, line + b"\n")
    world.poll(policy=Policy(KEY))
    kept = world.kept()[ONE]
    assert secret[:at].encode() not in kept or at < 13
    assert TOKEN[8:16].encode() not in kept
    assert json_shape(json.loads(kept)) == json_shape(json.loads(line))
    assert kept.count(b"[REDACTED:") == 1
    assert json.loads(kept)["message"]["content"][2]["text"] == "And more."


def test_equal_secrets_have_equal_marks_and_other_keys_give_others() -> None:
    data = json.dumps({"a": CANARIES["github"], "b": f"and {CANARIES['github']}"}).encode()
    first = json.loads(Policy(KEY).mask_line(data).data)
    assert first["a"] in first["b"]
    assert json.loads(Policy(b"another key").mask_line(data).data)["a"] != first["a"]


LINES = st.one_of(
    st.sampled_from([*CANARIES.values(), "", "plain words", "İ", "\ud800"]).flatmap(
        lambda secret: st.sampled_from([make(secret).encode() for make in PLACES.values()])
    ),
    st.sampled_from([b"", b" \r", b"{}\r", b'{"broken', b"\xff", b"[" * 3000, b'{"n":NaN}', b"null"]),
    st.integers(1, 30).map(lambda at: _split(CANARIES["github"], at)),
)


def _split(secret: str, at: int) -> bytes:
    blocks = [{"type": "text", "text": text} for text in ("Use " + secret[:at], secret[at:] + " for it.", "And more.")]
    return json.dumps({"type": "user", "message": {"content": blocks}}).encode()


@given(st.lists(LINES, max_size=12), st.sampled_from([None, KEY]))
@settings(max_examples=200)
def test_many_lines_are_kept_as_each_by_itself(lines: list[bytes], key: bytes | None) -> None:
    policy = Policy(key)
    assert list(policy.mask_lines(lines)) == list(map(policy.mask_line, lines))


def test_what_holds_no_secret_is_kept_to_the_byte(world: World) -> None:
    plain = b'{"b" : 1.10, "a":"\\u00e9", "n":12345678901234567890, "b":2}\r\n\n{"x":[]}\n'
    world.write(ONE, plain)
    world.poll(policy=Policy(KEY))
    assert world.kept()[ONE] == plain


def test_a_line_that_cannot_be_looked_through_is_withheld(world: World) -> None:
    secret = CANARIES["anthropic"].encode()
    world.write(ONE, b'{"ok":1}\n{"broken ' + secret + b"\n" + b'{"ok":2}\n{"unfinished ' + secret)
    report = world.poll(policy=Policy(KEY))
    assert report.damaged == 1
    kept = world.kept()[ONE].splitlines()
    assert kept[0::2] == [b'{"ok":1}', b'{"ok":2}']
    assert kept[1].startswith(b"[REDACTED:withheld-line:")
    assert kept[3].startswith(b"[REDACTED:withheld-line:")
    assert [row.kind for row in world.archive.quarantine()] == ["unreadable"]
    assert secret not in bytes_of(world)
    world.append(ONE, b'"}\n')
    assert world.poll(policy=Policy(KEY)).lines == 1, "it goes on where it was, though the bytes are not known"


def test_side_files_are_masked_too(world: World) -> None:
    secret = CANARIES["github"]
    world.write(f"{ONE.removesuffix('.jsonl')}/tool-results/toolu_1.txt", f"token {secret}\n".encode())
    world.write("file-history/x/a@v1", b"\xff\xfe binary " + secret.encode())
    world.write("todos/x-agent-x.json", json.dumps([{"content": secret}]).encode())
    world.poll(policy=Policy(KEY))
    assert len(world.kept()) == 3
    assert secret.encode() not in b"".join(world.kept().values())
    assert secret.encode() not in bytes_of(world)


def test_long_lines_are_withheld_when_secrets_are_masked() -> None:
    world = World(block=100, stream_above=1000)
    try:
        data = json.dumps({"type": "user", "text": "x" * 3000 + CANARIES["anthropic"]}).encode() + b"\n"
        world.write(ONE, b'{"a":1}\n' + data + b'{"b":1}\n')
        assert world.poll(policy=Policy(KEY)).lines == 3
        assert TOKEN.encode() not in bytes_of(world)
        assert [row.reason for row in world.archive.quarantine()] == ["it is too long to be looked through"]
        assert world.poll(policy=Policy(KEY)).resets == []
    finally:
        world.close()


def test_what_was_masked_in_the_archive_reaches_no_sink_in_clear(world: World) -> None:
    world.write(ONE, PLACES["plain"](CANARIES["stripe"]).encode() + b"\n")
    world.poll(policy=Policy(KEY))
    shelf = Shelf({})
    Delivery(shelf, SequenceCursor(world.connection, shelf.name), world.connection, Policy()).run(0.0)
    assert TOKEN[:16].encode() not in shelf.taken[0]
