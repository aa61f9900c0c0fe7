"""Sessions that clew exported to Codex: the real Codex lists them, continues them, and sends every message."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clew.cli import main
from clew.conversation.load import request, sessions
from clew.demo.demo_tree import write_demo
from clew.foreign.codex import read
from clew.foreign.write_import import draft_import
from clew.wire.layout import Tree
from tests.oracle.codex import ANSWER, VERSION, CodexBox
from tests.oracle.npm import Unavailable

pytestmark = pytest.mark.oracle

SOAKS = os.environ.get("CLEW_SOAK") == "1"
SAMPLE = ("a922", "82d8", "3ff1")  # calls and an image, agents, a compaction


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CodexBox]:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    try:
        opened = CodexBox()
    except Unavailable as why:
        reason = f"Codex {VERSION} cannot be run: {why}"
        if os.environ.get("CI") or os.environ.get("CLEW_REQUIRE_ORACLE") == "1":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    with opened:
        monkeypatch.setenv("CODEX_HOME", str(opened.codex_home))
        yield opened


def test_codex_continues_exported_sessions_with_every_message(
    box: CodexBox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write_demo(tmp_path / "claude", datetime.now(UTC)).root
    chosen = [s.id for s in sessions(claude=root) if SOAKS or s.id.startswith(SAMPLE)]
    assert main(["export", *chosen, "--to", "codex", "--reveal", "--json", "--quiet", "--claude-dir", str(root)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["session"] for row in rows] == chosen
    for row in rows:
        lines = [json.loads(line) for line in Path(row["path"]).read_text().splitlines()]
        run = box.resume(row["id"])
        sent = [{key: value for key, value in item.items() if key != "id"} for item in run.items]
        assert sent[:-1] == [line["payload"] for line in lines if line["type"] == "response_item"], row["session"]
        assert sent[-1]["content"] == [{"type": "input_text", "text": "NEXT"}]
        assert ANSWER in run.stdout
        _check_way_back(Path(row["path"]), root)
    print(f"\n{VERSION}: {len(rows)} of {len(rows)} exported sessions are continued with every message")


def _check_way_back(path: Path, root: Path) -> None:
    """What Codex added to the exported conversation comes back with it."""
    [conversation] = read(path)
    draft = draft_import(conversation, Tree(root), "/home/ada")
    assert draft.violations == ()
    *_, asked, answered = request(draft.session).messages
    assert asked["content"][-1]["text"] == "NEXT"
    assert answered["content"][-1]["text"] == ANSWER
