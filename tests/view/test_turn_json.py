"""Export: a session as JSON values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clew.conversation.session import Session
from clew.demo.talk import DENSE, Talk, bash, edit, read, talk, task
from clew.view.turn_json import session_document, session_json, turn_json
from clew.wire.json_codec import encode
from clew.wire.layout import session_at

TOKEN = "ghp_" + "Ab3dEf6hIj" * 3 + "KLMNOP"


def exported(told: Talk, **wish: Any) -> list[dict[str, Any]]:
    return list(session_document(Session(told.bytes()), **wish))


@pytest.mark.req("R237")
def test_a_turn_is_exported_whole() -> None:
    told = talk(step=DENSE).user("go").reply("Looking.", thinking="hm", call=bash("ls")).result("x\ny")
    told = told.reply(call=bash("make")).result("boom", error=True).reply("ok").turn_duration(9000)
    _, turn = exported(told)
    first, second, last = turn.pop("replies")
    assert {k: turn[k] for k in ("kind", "number", "prompt", "state", "seconds", "images", "is_queued", "time")} == {
        "kind": "turn",
        "number": 1,
        "prompt": "go",
        "state": "complete",
        "seconds": 9.0,
        "images": 0,
        "is_queued": False,
        "time": "2026-01-05T09:00:00.000Z",
    }
    assert (first["text"], first["thinking"], first["stop_reason"]) == ("Looking.", "hm", "tool_use")
    assert first["model"] == "claude-opus-5" and first["output_tokens"] > 0 and not first["error"]
    (call,) = first["calls"]
    assert {k: call[k] for k in ("tool", "label", "output", "failed", "open", "seconds", "diff", "agents")} == {
        "tool": "Bash",
        "label": "Bash ls",
        "output": "x\ny",
        "failed": False,
        "open": False,
        "seconds": 1.0,
        "diff": None,
        "agents": [],
    }
    assert call["input"] == {"command": "ls", "description": "Run ls"}
    assert second["calls"][0]["failed"] and last["text"] == "ok" and last["calls"] == []


@pytest.mark.req("R237")
def test_the_session_comes_first_with_its_facts() -> None:
    told = talk(step=DENSE).user("go").reply("a").compact("s", trigger="manual", pre_tokens=900).user("on").reply("b")
    told = told.rewind(to=2).user("other").reply("c").pr_link(7, "ada/garden").title("Beds").raw(b"oops\n")
    head, *turns = exported(told)
    assert (head["kind"], head["title"], head["cwd"], head["branch"]) == ("session", "Beds", "/home/ada/garden", "main")
    assert (head["turns"], head["branches"], head["damaged_lines"]) == (2, 2, 1)
    assert [(c["trigger"], c["before"]) for c in head["compactions"]] == [("manual", 900)]
    assert head["pull_requests"] == ["https://github.com/ada/garden/pull/7"]
    assert head["versions"] and head["models"] == {"claude-opus-5": 3}
    assert set(head["tokens"]) == {"input", "output", "cache_write", "cache_read"}
    assert [t["prompt"] for t in turns] == ["go", "other"]


@pytest.mark.req("R196")
@pytest.mark.req("R237")
def test_agents_are_nested_at_their_calls(tmp_path: Path) -> None:
    grand = talk(seed=3, step=DENSE).user("deeper").reply("deepest")
    child = talk(seed=2, step=DENSE).user("count").reply(call=task("Deeper", "deeper")).agent(0, grand).reply("four")
    path = (
        talk(step=DENSE)
        .user("go")
        .reply(call=task("Count", "count", "Explore"))
        .agent(0, child)
        .reply("ok")
        .write(tmp_path)
    )
    _, turn = session_document(Session(path, file=session_at(path)))
    (agent,) = turn["replies"][0]["calls"][0]["agents"]
    assert (agent["type"], agent["description"], agent["turns"][0]["prompt"]) == ("Explore", "Count", "count")
    assert agent["totals"]["status"] == "completed" and agent["totals"]["totalToolUseCount"] == 1
    (inner,) = agent["turns"][0]["replies"][0]["calls"][0]["agents"]
    assert inner["turns"][0]["replies"][0]["text"] == "deepest"


def test_what_was_queued_is_exported_as_a_turn() -> None:
    told = talk(step=DENSE).user("go").reply(call=bash("ls")).result("x")
    told = told.attachment("queued_command", prompt="also water", commandMode="prompt").reply("ok")
    first, second = exported(told)[1:]
    assert (first["prompt"], first["is_queued"]) == ("go", False)
    assert (second["prompt"], second["is_queued"]) == ("also water", True)


def test_replies_before_the_first_prompt_are_exported_as_turn_nought() -> None:
    _, early, turn = exported(talk(step=DENSE).reply("early").user("go").reply("late"))
    assert (early["number"], early["prompt"], early["replies"][0]["text"]) == (0, "", "early")
    assert turn["number"] == 1
    assert [v["kind"] for v in exported(talk(step=DENSE).compact("s").user("go"))] == ["session", "turn"]


def test_an_edit_is_exported_with_its_diff() -> None:
    told = (
        talk(step=DENSE).user("go").reply(call=read("/g/x", "a\n")).result().reply(call=edit("/g/x", "a", "b")).result()
    )
    assert "-a\n+b" in exported(told)[1]["replies"][1]["calls"][0]["diff"]


@pytest.mark.req("R235")
def test_secrets_are_masked_in_every_field_unless_revealed() -> None:
    told = talk(branch=f"fix/{TOKEN}").user(f"use {TOKEN}").title(f"the key {TOKEN}")
    told = told.reply(f"I see {TOKEN}", thinking=TOKEN, call=bash(f"curl -H {TOKEN}")).result(f"got {TOKEN}")
    told = told.attachment("queued_command", prompt=f"or {TOKEN}", commandMode="prompt").reply("ok")
    told = told.reply(call=edit("/g/x", "a", TOKEN)).result()
    assert TOKEN.encode() not in encode(exported(told))
    assert encode(exported(told)).count(b"[REDACTED:github-token]") >= 9
    assert encode(exported(told, mask=False)).count(TOKEN.encode()) >= 9


def test_parts_can_be_exported_alone_and_any_letter_is_json() -> None:
    session = Session(talk(step=DENSE).user("half \ud83d of a pair\x00\x1b[0m").reply("日本語").bytes())
    made = encode([session_json(session), turn_json(session, session.turns[0])])
    assert json.loads(made)[1]["prompt"] == "half \ufffd of a pair\x00\x1b[0m"  # the raw line keeps the half
    assert "日本語".encode() in made and b"\x1b" not in made


def test_an_empty_session_is_exported_as_such() -> None:
    (only,) = session_document(Session(b""))
    assert (only["turns"], only["started"], only["title"]) == (0, None, "")
