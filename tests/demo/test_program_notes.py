"""The builder: where a conversation goes on, and what the program notes in and beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clew.demo.talk import NIL, Talk, bash, talk
from clew.wire.entry import Damaged, Entry
from clew.wire.entry import read as read_items
from clew.wire.entry_types import Compaction, FileHistorySnapshot


def blocks(entry: dict[str, Any]) -> list[dict[str, Any]]:
    content = entry["message"]["content"]
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def sample() -> Talk:
    return talk().user("hi").reply("hello", thinking="hm", call=bash("ls")).result("a").reply("done")


# -- the graph


def test_rewind_makes_a_sibling() -> None:
    told = talk().user("1").reply("a").user("2").reply("b").rewind(to=2).user("other 2").reply("c")
    second, other = (e for e in told.data() if e["message"]["content"] in ("2", "other 2"))
    assert second["parentUuid"] == other["parentUuid"]
    third = told.user("3").rewind(to=2).user("yet another").data()[-1]
    assert third["parentUuid"] == other["parentUuid"]
    with pytest.raises(ValueError, match="no turn 9"):
        told.rewind(to=9)


def test_at_goes_on_below_any_entry() -> None:
    told = talk().user("1").reply("a").user("2")
    first = told.data()[0]["uuid"]
    assert told.at(0).reply("x").data()[-1]["parentUuid"] == first
    assert told.at(first).reply("x").data()[-1]["parentUuid"] == first


def test_compaction_is_a_boundary_and_a_summary() -> None:
    told = talk().user("1").reply("a").user("2").reply("b").compact("short", keep=2, pre_tokens=5).user("3")
    data = told.data()
    boundary, summary, prompt = data[-3:]
    assert (boundary["parentUuid"], boundary["logicalParentUuid"]) == (None, data[3]["uuid"])
    assert (summary["parentUuid"], prompt["parentUuid"]) == (boundary["uuid"], summary["uuid"])
    assert summary["isCompactSummary"] is True
    found = Compaction.of(told.entries[-3])
    assert (found.cause, found.pre_tokens) == ("auto", 5)
    assert found.messages and found.messages.uuids == [data[2]["uuid"], data[3]["uuid"]]
    assert found.segment and found.segment.anchor == summary["uuid"]
    assert "preservedSegment" not in talk(version="2.1.29").user("1").compact("s", keep=1).data()[1]["compactMetadata"]


def test_progress_stands_in_the_chain_or_aside() -> None:
    told = talk(version="2.1.29").progress("hook_progress", hookEvent="SessionStart").user("go")
    told = told.reply(call=bash("x")).progress("bash_progress", output="1").result("2")
    hook, prompt, call, sign, result = told.data()
    assert prompt["parentUuid"] == hook["uuid"]
    assert (sign["parentUuid"], result["parentUuid"]) == (call["uuid"], call["uuid"])
    assert sign["toolUseID"] == blocks(call)[0]["id"]


def test_attachments_and_system_notes_are_links() -> None:
    told = (
        talk()
        .user("go")
        .attachment("hook_success", hookName="Stop")
        .system("informational", content="x")
        .turn_duration(5)
    )
    data = told.data()
    assert [e["parentUuid"] for e in data[1:]] == [e["uuid"] for e in data[:-1]]
    assert (data[1]["attachment"]["type"], data[3]["durationMs"]) == ("hook_success", 5)


# -- beside the conversation


def test_a_snapshot_names_the_next_prompt_and_keeps_the_file(tmp_path: Path) -> None:
    told = talk().snapshot({"a.py": "x\n", "new.py": None}).user("go")
    found = FileHistorySnapshot.of(told.entries[0])
    assert found.message_id == found.inner_message_id == told.data()[1]["uuid"]
    assert found.backups["new.py"].name is None
    told.write(tmp_path)
    saved = tmp_path / "file-history" / told.session_id / str(found.backups["a.py"].name)
    assert saved.read_bytes() == b"x\n"


def test_notes() -> None:
    told = talk().user("go").queue("enqueue", "more").queue("dequeue").title("T").ai_title("A").last_prompt()
    told = told.summary_line("S").pr_link(7, "a/b").last_prompt(leaf=NIL, explicit=True).line({"type": "own"})
    prompt, more, less, title, ai, pin, summary, link, void, own = told.data()
    assert (more["content"], "content" in less) == ("more", False)
    assert (title["customTitle"], ai["aiTitle"]) == ("T", "A")
    assert (pin["leafUuid"], pin["lastPrompt"]) == (prompt["uuid"], "go")
    assert (summary["summary"], link["prNumber"]) == ("S", 7)
    assert (void["leafUuid"], void["explicit"]) == (NIL, True)
    assert own == {"type": "own"}
    assert told.reply("x").data()[-1]["parentUuid"] == prompt["uuid"]


def test_raw_bytes_are_damage() -> None:
    told = talk().user("a").raw(b'{"half').user("b").raw(b"torn")
    items = list(read_items(told.bytes()))
    assert [type(item) for item in items] == [Entry, Damaged, Damaged]
    assert told.lines()[-1] == b"torn"
    assert len(told.data()) == 2


def test_fork_keeps_the_uuids() -> None:
    base = sample()
    other = base.fork()
    assert [e["uuid"] for e in other.data()] == [e["uuid"] for e in base.data()]
    assert {e["sessionId"] for e in other.data()} == {other.session_id} != {base.session_id}
    assert other.user("x").data()[-1]["uuid"] != base.user("x").data()[-1]["uuid"]


def test_change_affects_what_follows() -> None:
    told = talk(version="2.1.29").user("a").reply("b").change(cwd="/other", version="2.1.325", branch="x").user("c")
    assert [e["cwd"] for e in told.data()] == ["/home/ada/garden"] * 2 + ["/other"]
    assert next(path for path, _ in told.contents()).startswith("projects/-home-ada-garden/")
