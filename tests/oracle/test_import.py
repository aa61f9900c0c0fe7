"""Conversations of other programs that clew imported: the real Claude Code goes on with them, and sends what clew says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from clew.foreign.formats import find_in_path
from clew.foreign.write_import import ImportDraft, draft_import
from clew.wire.layout import Tree
from tests.foreign.logs import FIRST, WRITERS
from tests.oracle.claude import LATEST
from tests.oracle.conftest import Claude
from tests.oracle.judge import bench

pytestmark = pytest.mark.oracle

SOAKS = os.environ.get("CLEW_SOAK") == "1"
SAME = ("codex, the first form", "opencode, files", "opencode, exported", "gemini", "sharegpt", "openai, functions")
CHOSEN = {  # those in SAME say what another form says; all of them where there is time
    LATEST: tuple(name for name in WRITERS if SOAKS or name not in SAME),
    "2.1.29": tuple(WRITERS)
    if SOAKS
    else ("codex, compacted", "opencode, database", "gemini, lines", "aider", "gptme"),
}


def imported(folder: Path, names: tuple[str, ...]) -> dict[str, ImportDraft]:
    found = {}
    for name in names:
        [form, path], *_ = find_in_path(WRITERS[name][1](folder / name))
        for number, talk in enumerate(form.read(path)):
            found[f"{name} {number}"] = draft_import(talk, Tree(folder / "claude"), "/home/ada/garden")
    return found


@pytest.mark.parametrize("version", CHOSEN)
def test_imported_sessions_are_resumed_as_clew_says(claude: Claude, version: str, tmp_path: Path) -> None:
    found = imported(tmp_path, CHOSEN[version])
    wrong = {}
    with bench(claude, version) as boxes:
        judged = {
            name: boxes.judge(b"".join(item.raw for item in made.session.items), made.id, f"import/{name}")
            for name, made in found.items()
        }
        for name, future in judged.items():
            verdict = future.result()
            try:
                verdict.check()
                assert verdict.theirs and verdict.theirs.messages, "nothing was sent"
            except AssertionError as difference:
                wrong[name] = str(difference)
            if name.endswith(" 0") and "compacted" not in name:
                assert FIRST.split()[0] in str(verdict.theirs), name
    print(f"\n{version}: {len(found) - len(wrong)} of {len(found)} imported sessions resume as clew says")
    assert wrong == {}
