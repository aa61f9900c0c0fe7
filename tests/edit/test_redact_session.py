"""A session without its secrets: none is left in any file, and nothing else is changed."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections import deque
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.conversation.entry_graph import Dangling
from clew.conversation.session import Session
from clew.demo.demo_tree import write_demo
from clew.demo.talk import Talk, bash, talk, task, tool
from clew.demo.tool_results import image_block
from clew.edit import write_plan
from clew.edit.plan import plan
from clew.edit.redact_lines import redact_lines
from clew.edit.redact_session import has_leak, redact
from clew.edit.redactor import Redactor, has_repeated_names, make_redactor
from clew.errors import BadQuery, Refused
from clew.facts.secrets.mask_secrets import mask
from clew.system.worker_processes import WorkerKilled
from clew.wire.entry import Entry, Item
from clew.wire.json_codec import encode
from clew.wire.json_splice import REMOVED
from tests.cli.conftest import NOW

KEY = "ghp_" + "Zk3fQ9xLm2Vt8RbW5nYc7HsJ1dPg4TuA6eKo"
NAME = "Wilhelmina"


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "claude"


def odd(word: str) -> dict[str, Any]:
    """What a tool may report: names of the format that mean something else here."""
    inner = {"id": word, "hash": word, "mode": word, "uuid": word, "version": word}
    return {**inner, "message": inner, "data": {"message": inner}, "content": [inner], "snapshot": inner}


def everywhere(word: str) -> Talk:
    """A session with a word wherever somebody could have put one."""
    child = talk().user(f"Find {word}.").reply(call=bash(f"grep {word}")).result(word).reply(f"Found {word}.")
    told = talk(cwd="/home/ada/garden", branch=f"for/{word}").snapshot({f"/home/ada/{word}.py": f"key = '{word}'\n"})
    told = told.queue("enqueue", f"and {word}").user(f"Use {word}.", note={"deep": [{word: [word]}]})
    told = told.reply(f"I take {word}.", thinking=f"So it is {word}.", call=bash(f"curl -H {word}", word)).result(word)
    told = told.attachment(
        "file", filename=f"{word}.txt", content={"text": word}, data=odd(word), rendered=f"It says {word}"
    )
    told = told.reply(thinking=f"Only {word}.").reply(call=tool("mcp__x__y", **{word: {"id": word, "type": word}}))
    told = told.result([{"type": "text", "text": word}], detail=odd(word))
    told = told.reply(call=task(f"Look for {word}", f"Find {word}.")).agent(0, child).reply("done")
    told = told.system("local_command", content=f"<command-name>/x {word}</command-name>").title(f"On {word}")
    told = told.summary_line(f"All of {word}").ai_title(word).agent_name(word).last_prompt(f"Use {word}.")
    told = told.line({"type": "novelty", "sessionId": told.session_id, "what": {"it": [word]}})
    told = told.raw(f'{{"type":"mode","mode":"normal","said":"{word}","said":"nothing"}}\n'.encode())
    told = told.file("{project}/{session}/tool-results/b1.txt", f"long\nand {word}\n".encode())
    told = told.file("{project}/{session}/tool-results/b2.txt", f"\ufeff{word} 修".encode("utf-16-le"))
    told = told.file("{project}/{session}/tool-results/b3.txt", b"\xff\xfe bad \xff " + word.encode())
    told = told.file("file-history/{session}/0123456789abcdef@v1", b"\x89PNG\0\0" + word.encode() + b"\0")
    return told.raw(f'{{"type":"user","message":{{"content":"{word}'.encode())


def shown(paths: tuple[Path, ...], word: str) -> list[str]:
    """The files that hold a word, in any encoding."""
    found = [p for p in paths if word.encode() in p.read_bytes() or word.encode("utf-16-le") in p.read_bytes()]
    return [path.name for path in found]


@pytest.mark.req("R285", "R301", "R303")
@pytest.mark.parametrize(("word", "asked"), [(KEY, make_redactor()), (NAME, make_redactor(False, ["Wil[a-z]+mina"]))])
def test_nothing_is_left_in_any_file(root: Path, word: str, asked: Redactor) -> None:
    path = everywhere(word).write(root)
    before = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in root.rglob("*") if p.is_file()}
    assert len(shown(tuple(before), word)) >= 7
    made, tally = redact(plan(clew.read(path)), asked)
    written = made.write()
    assert shown(written.files, word) == []
    assert {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in before} == before
    assert (tally.thinking, tally.unreadable, tally.left_out) == (2, 1, ("0123456789abcdef@v1",))
    places = {place.split(":")[0] for place in tally.places}
    assert places >= {"user message", "user toolUseResult", "assistant message", "attachment attachment"}
    assert places >= {"attachment rendered", "queue-operation content", "custom-title customTitle", "novelty what"}
    assert places >= {"last-prompt lastPrompt", "user note", "agents", "agents' meta files", "tool-results"}
    copy = clew.read(written.path)
    assert [p for p in copy.graph.problems if isinstance(p, Dangling)] == []
    assert [e.type for e in copy.entries if e.type in ("novelty", "mode")] == ["novelty", "mode"]
    assert len(copy.turns) == 1 and len(copy.agents) == 1 and copy.agents[0].call is not None
    assert redact(plan(copy), asked)[1].total == 0


def test_what_holds_nothing_keeps_its_bytes(root: Path) -> None:
    told = talk().user("hi \\u00e9 ").raw(b'{"type" : "mode", "mode":"normal"}\n').user(f"take {KEY}", x="\u2028")
    told = told.reply("so", thinking="Hm.", call=bash("ls")).result("a")
    source = Session(told.bytes())
    made = plan(source).redact()
    pairs = list(zip(source.items, made.session.items, strict=True))
    changed = [old.line.number for old, new in pairs if old.raw != new.raw]
    assert changed == [3]
    assert made.session.items[2].raw == source.items[2].raw.replace(KEY.encode(), b"[REDACTED:github-token]")


@pytest.mark.req("R292", "R293")
def test_kept_thinking_keeps_its_signature_and_goes_whole_where_it_tells(root: Path) -> None:
    said = [{"type": "thinking", "thinking": f"It is {KEY}.", "signature": "c2ln"}, {"type": "text", "text": "Yes."}]
    told = talk().user("a").reply("b", thinking="Harmless.").user("c").reply(blocks=said, joined=True).user("d")
    made, tally = redact(plan(Session(told.bytes())), make_redactor())
    assert tally.thinking == 1 and tally.kinds == {}
    blocks = [b.type for e in made.session.entries for b in e.blocks if e.type == "assistant"]
    assert blocks == ["thinking", "text", "text"]
    kept = next(e for e in made.session.entries if e.blocks[0].type == "thinking")
    assert kept.raw in told.bytes()


def test_ids_and_pictures_stay_whatever_they_look_like() -> None:
    image = image_block(b"\x89PNG\r\n\x1a\n" + KEY.encode() * 4)
    entry = {
        "type": "user",
        "uuid": KEY,
        "parentUuid": KEY,
        "message": {"role": "user", "content": [image, {"type": "tool_result", "tool_use_id": KEY, "content": KEY}]},
    }
    veiled = make_redactor().entry(entry)
    assert veiled["uuid"] == veiled["parentUuid"] == KEY
    kept, result = veiled["message"]["content"]
    assert kept is image and result["tool_use_id"] == KEY and result["content"] == "[REDACTED:github-token]"


def test_a_pattern_neither_renames_the_format_nor_eats_marks() -> None:
    asked = make_redactor(True, ["message", "RED", "user"])
    entry = {"type": "user", "message": {"role": "user", "content": f"a message RED {KEY}"}, "x": {"message": 1}}
    veiled = asked.entry(entry)
    assert veiled == {
        "type": "user",
        "message": {
            "role": "user",
            "content": "a [REDACTED:pattern] [REDACTED:pattern] [REDACTED:github-token]",
        },
        "x": {"[REDACTED:pattern]": 1},
    }
    assert asked.entry(veiled) is veiled
    assert str(asked) == "secrets and 3 patterns"


def test_the_pattern_itself_is_written_nowhere(root: Path, tmp_path: Path) -> None:
    path = talk().user(f"I am {NAME}.").reply("hello").write(root)
    written = plan(clew.read(path)).redact(secrets=False, patterns=[NAME]).write()
    assert shown(written.files, NAME) == []
    assert shown(tuple((tmp_path / "data").rglob("*.jsonl")), NAME) == []


def test_a_bad_pattern_is_told_where() -> None:
    with pytest.raises(BadQuery, match="position 3"):
        make_redactor(False, ["ab("])


def test_what_is_nested_too_deeply_is_refused() -> None:
    deep: Any = KEY
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(Refused, match="deeply"):
        make_redactor().entry({"type": "user", "x": deep})


def test_a_field_that_is_there_twice_is_seen() -> None:
    assert has_repeated_names(b'{"a":{"b":1,"b":2}}', {"a": {"b": 2}})
    assert not has_repeated_names(b'{ "a": {"b":2} }', {"a": {"b": 2}})


TEXTS = st.sampled_from(["", "plain", f"x {KEY}", "http://u:hunter22xyz@example.org/", "password: 'kq83hHs2!x'"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS | st.sampled_from(["id", "type"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(
    st.fixed_dictionaries({"toolUseResult": VALUES, "message": st.fixed_dictionaries({"content": VALUES}), "n": VALUES})
)
def test_no_shape_of_json_hides_a_secret(value: dict[str, Any]) -> None:
    entry = {"type": "user", "uuid": "u", **value}
    veiled = make_redactor().entry(entry)
    assert make_redactor().entry(veiled) is veiled or REMOVED in veiled["message"]["content"]
    if veiled is not entry:
        return
    assert mask(encode(value["n"]).decode())[0].count("[REDACTED:github") == 0


def test_every_session_of_the_demo_is_redacted_and_sound(root: Path) -> None:
    write_demo(root, NOW)
    hidden = {}
    for path in sorted(root.glob("projects/*/*.jsonl")):
        source = clew.read(path)
        made, tally = redact(plan(source), make_redactor())
        assert made.violations == ()
        if tally.total:
            hidden[path.stem[:4]] = tally.total
            assert json.loads(made.write().path.read_bytes().splitlines()[-1])["source"] == path.stem
    assert hidden == {"8abb": 8}


def test_what_a_later_step_writes_is_searched_again(root: Path) -> None:
    told = talk().user("Look.").reply("I look.").user(f"Use {KEY}.").reply(f"I used {KEY}.")
    session = clew.read(told.write(root))
    redacted = plan(session).redact()
    undone = redacted.then(session.items, "put the secrets back")
    before = sorted(root.rglob("*"))
    with pytest.raises(Refused, match="would still contain"):
        undone.write()
    assert [path for path in sorted(root.rglob("*")) if path not in before and path.is_file()] == []


def test_lines_that_were_changed_are_searched_in_batches(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = talk()
    for number in range(12):
        told = told.user(f"{number} {KEY}").reply("ok", call=bash("ls")).result("word " * 50_000 + KEY)
    batches: list[int] = []

    def count_bytes(items: Iterable[Item], redactor: Redactor) -> bool:
        batch = list(items)
        batches.append(sum(item.line.size for item in batch))
        return has_leak(batch, redactor)

    monkeypatch.setattr(write_plan, "has_leak", count_bytes)
    made = plan(clew.read(told.write(root))).redact().write()
    assert KEY.encode() not in made.path.read_bytes()
    assert sum(batches) > 3_000_000
    assert max(batches) < 1_500_000  # not all lines at once


def large(word: str) -> Talk:
    """A session of 14 MB with a word here and there, in the lines of an agent too, and with damaged lines between."""
    chance = random.Random(7)
    told = everywhere(word)
    for number in range(28):
        noise = chance.randbytes(60_000).hex()
        told = told.user(f"{number} {noise}", note={"noise": [noise[:50]]}).reply("ok", call=bash(f"echo {number}"))
        told = told.result(f"{noise} {word}" if number % 7 == 3 else noise)
        told = told.raw(b'{"type":"user","broken\n') if number % 9 == 5 else told
        told = told.raw(f'{{"type":"mode","mode":"{noise}","said":1,"said":"{word}"}}\n'.encode())
    child = talk().user(f"Find {word}.").reply(f"Found {word}.")
    return told.reply(call=task("Look", f"Find {word}.")).agent(0, child)


@pytest.mark.parametrize(
    "asked", [make_redactor(), make_redactor(False, ["(?i)ZK3FQ"]), make_redactor(True, ["echo [0-9]+", "a7[0-9]b"])]
)
def test_the_result_does_not_depend_on_the_number_of_processes(root: Path, asked: Redactor) -> None:
    session = clew.read(large(KEY).write(root))
    answers = []
    for jobs in (1, 2, 3):
        made, tally = redact(plan(session), asked, jobs=jobs, min_bytes=0)
        agents = {name: [item.raw for item in agent.items] for name, agent in made.agents.items()}
        unchanged = [item.line.number for item in made.searched]
        answers.append(([item.raw for item in made.session.items], agents, unchanged, tally, made.steps))
    assert answers[0] == answers[1] == answers[2]
    lines, agents, *_ = answers[0]
    assert len(agents) == 2 and not any(
        KEY.encode() in line for line in chain(lines, *agents.values()) if asked.secrets
    )


@pytest.mark.skipif(sys.platform != "linux", reason="workers are found in /proc")
def test_lines_are_searched_by_workers_and_a_worker_that_is_killed_ends_the_work(root: Path) -> None:
    session = clew.read(large(KEY).write(root))
    entries = 3 * [item for item in session.items if isinstance(item, Entry)]  # more than both can answer until then
    changes = redact_lines(entries, make_redactor(), jobs=2, min_bytes=0)
    assert next(changes) is not None
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    workers = [int(child) for child in children if b"--worker" in Path(f"/proc/{child}/cmdline").read_bytes()]
    assert len(workers) == 2
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    with pytest.raises(WorkerKilled, match="signal 9"):
        deque(changes, maxlen=0)


def test_a_line_that_cannot_be_searched_is_refused_by_any_number_of_processes(root: Path) -> None:
    path = (
        large(KEY).raw(b'{"type":"x","a":' + b"[" * 900 + b'"' + KEY.encode() + b'"' + b"]" * 900 + b"}\n").write(root)
    )
    for jobs in (1, 2):
        with pytest.raises(Refused, match="nested too deeply"):
            redact(plan(clew.read(path)), make_redactor(), jobs=jobs, min_bytes=0)
