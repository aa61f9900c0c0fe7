"""The way of a search is light: it loads nothing that takes long to load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import clew.errors
from tests.index.helper import Claude, call, prompt, reply, result

HEAVY = {
    *("msgspec", "json", "re", "dataclasses", "typing", "argparse", "pathlib", "subprocess", "hashlib", "_hashlib"),
    *("enum", "datetime", "contextlib", "inspect", "logging", "functools", "rich", "sqlite3", "tempfile", "random"),
}
SCRIPT = """
clew = sys.modules["clew"] = type(sys)("clew")  # the package without what its front door loads
clew.__path__ = [folder]
from clew.index.session_index import Index
with Index.open(sys.argv[1], sys.argv[2]) as index:
    assert index.refresh().is_complete
    found = index.search(sys.argv[3])
    assert found, "nothing was found"
    assert all(p.text for r in found for p in r.passages)
print(" ".join(sorted(name.partition(".")[0] if not name.startswith("clew") else name for name in sys.modules)))
"""


@pytest.mark.parametrize(
    "query", ["apple", "app*", '"apple pie" -pear', "apple pear", "is:error", "tool:Bash", "日本", ""]
)
def test_a_search_loads_nothing_heavy(claude: Claude, query: str) -> None:
    claude.write(
        *("a", prompt("an apple pie, 日本語"), reply("a pear, apple pie"), call("Bash", command="ls apple")),
        result("no apple", failed=True),
    )
    claude.refreshed().close()
    start = f"import sys; sys.path += {sys.path!r}; folder = {str(Path(clew.errors.__file__).parent)!r}"
    command = [sys.executable, "-S", "-c", f"{start}\n{SCRIPT}"]
    done = subprocess.run(
        [*command, str(claude.root), str(claude.cache), query], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert "clew.index.session_index" in loaded
    assert not loaded & HEAVY


def test_passages_are_the_same_without_the_fast_decoder(claude: Claude, monkeypatch: pytest.MonkeyPatch) -> None:
    claude.write("a", prompt('an "apple"\n日本'), reply("x"))
    with claude.refreshed() as index:
        fast = [p.text for p in index.search("apple")[0].passages]
        monkeypatch.setitem(sys.modules, "_json", None)
        monkeypatch.setattr("clew.index.entry_text._scanner", [])
        assert [p.text for p in index.search("apple")[0].passages] == fast


def test_nothing_is_made_by_importing(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-c",
        "import clew.index.session_index, clew.index.parallel_build, clew.index.byte_scan, clew.index.surrounding_turns",
    ]
    subprocess.run(command, cwd=tmp_path, env={"HOME": str(tmp_path), "PATH": ""}, check=True)
    assert not list(tmp_path.iterdir())
