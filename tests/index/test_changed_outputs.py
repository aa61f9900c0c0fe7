"""A long output that appears, grows or disappears after its session was indexed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.index.helper import Claude, append, call, contents, fresh, ident, prompt, reply, result

SAVED = "Output too large. Full output saved to: /home/mira/tool-results/{}"


def output(claude: Claude, session: str, name: str, text: str) -> Path:
    path = claude.path(session).with_suffix("") / "tool-results" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def files_read(claude: Claude) -> int:
    with claude.open() as index:
        return index.refresh().files


@pytest.mark.req("R008")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("toolu_1.txt", "saved elsewhere"),
        ("mcp-plates-toolu_1.json", "saved elsewhere"),
        ("b4c1d2.txt", SAVED.format("b4c1d2.txt")),
        ("Ausgabe é.txt", SAVED.format("Ausgabe")),
    ],
)
def test_an_output_that_appears_later_is_found(claude: Claude, tmp_path: Path, name: str, text: str) -> None:
    claude.write("plates", prompt("list"), call("Bash"), result(text))
    assert claude.search("echidna") == []
    output(claude, "plates", name, "plate of the echidna")
    found = claude.search("echidna")
    assert found == ([ident("plates")] if name.isascii() else [])
    with claude.refreshed() as index:
        assert contents(index) == fresh(claude, tmp_path / "fresh")


def test_an_output_that_grows_is_read_again_and_one_that_is_deleted_is_forgotten(claude: Claude) -> None:
    claude.write("plates", prompt("list"), call("Bash"), result("see the file"))
    path = output(claude, "plates", "toolu_1.txt", "plate of the lynx\n")
    assert claude.search("lynx") == [ident("plates")]
    with path.open("a", encoding="utf-8") as file:
        file.write("plate of the echidna\n")
    assert claude.search("echidna") == [ident("plates")]
    path.unlink()
    assert claude.search("lynx") == claude.search("echidna") == []


@pytest.mark.parametrize("place", ["{}/subagents/agent-abc.jsonl", "agent-abc.jsonl", "subagents/agent-abc.jsonl"])
def test_an_output_of_an_agent_that_appears_later_is_found(claude: Claude, place: str) -> None:
    claude.write("plates", prompt("list"), reply("done"))
    more: dict[str, Any] = {"sessionId": ident("plates"), "isSidechain": True, "agentId": "abc"}
    path = claude.path("plates").parent / place.format(ident("plates"))
    claude.put(path, prompt("list", **more), call("Bash"), result("see the file", **more))
    assert claude.search("echidna") == []
    output(claude, "plates", "toolu_1.txt", "plate of the echidna")
    assert claude.search("echidna") == [ident("plates")]


def test_only_transcripts_that_name_a_changed_output_are_read_again(claude: Claude) -> None:
    claude.write("plates", prompt("list"), call("Bash"), result("see the file"))
    claude.put(claude.agent_path("plates", "abc"), prompt("other work", isSidechain=True))
    claude.write("other", prompt("list"), call("Bash"), result("see the file"))
    assert files_read(claude) == 3
    output(claude, "plates", "toolu_1.txt", "plate of the echidna")
    assert (files_read(claude), files_read(claude)) == (1, 0)
    output(claude, "plates", "toolu_9.txt", "named by no line")
    assert (files_read(claude), files_read(claude)) == (0, 0)


def test_a_transcript_that_grows_together_with_its_outputs_is_read_from_where_it_stood(claude: Claude) -> None:
    path = claude.write("plates", prompt("the first words"), call("Bash"), result("see the file"))
    output(claude, "plates", "toolu_1.txt", "plate of the lynx")
    claude.refreshed().close()
    with claude.open() as index:
        before = sum(int(shard.execute("SELECT count(*) FROM piece").get or 0) for shard in index.shards)
    append(path, call("Bash", "toolu_2"), result("see the file", "toolu_2"))
    output(claude, "plates", "toolu_2.txt", "plate of the echidna")
    with claude.open() as index:
        assert index.refresh().pieces == 2 < before
        assert [found.session for found in index.search("echidna")] == [ident("plates")]


def test_an_output_behind_a_link_is_not_read(claude: Claude, tmp_path: Path) -> None:
    claude.write("plates", prompt("list"), call("Bash"), result("see the file"))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "toolu_1.txt").write_text("plate of the echidna", encoding="utf-8")
    claude.refreshed().close()
    folder = claude.path("plates").with_suffix("")
    folder.mkdir()
    (folder / "tool-results").symlink_to(tmp_path / "elsewhere")
    assert claude.search("echidna") == []
    assert files_read(claude) == 0
