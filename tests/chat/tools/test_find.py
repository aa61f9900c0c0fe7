"""Glob and Grep, with find and ripgrep as judges."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from clew.chat.tools.builtin.glob_files import GLOB
from clew.chat.tools.builtin.grep_files import GREP
from clew.chat.tools.tool import ToolContext
from clew.facts.tool_catalog import result_kind
from tests.chat.tools.tool_fixture import call_with, good, misuse, run, stage, trouble

TREE = {
    "README.md": "hello\n",
    "src/main.py": "import os\nhello = 1\nprint(hello)\n",
    "src/deep/er/main.py": "x\n",
    "src/main.ts": "const Hello = 1\n",
    "src/a b.tsx": "hello\n",
    ".hidden/note.py": "hello\n",
    "build/out.py": "hello hello\n",
    ".gitignore": "build/\n",
    ".git/hooks/hook.py": "hello\n",
    "-dash.py": "no\n",
    "we[ir]d.py": "no\n",
}


@pytest.fixture
def scene(tmp_path: Path) -> ToolContext:
    scene = stage(tmp_path)
    for number, (name, text) in enumerate(TREE.items()):
        path = scene.state.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (1000 + number, 1000 + number))
    return scene


def found(scene: ToolContext, pattern: str, **more: str) -> list[str]:
    detail = run(GLOB, scene, pattern=pattern, **more).detail
    return [os.path.relpath(name, scene.state.cwd) for name in detail["filenames"]]


def test_files_are_told_newest_first_whatever_git_ignores(scene: ToolContext) -> None:
    result = run(GLOB, scene, pattern="**/*.py")
    names = ["we[ir]d.py", "-dash.py", "build/out.py", ".hidden/note.py", "src/deep/er/main.py", "src/main.py"]
    paths = [str(scene.state.cwd / name) for name in names]
    assert result.content == "\n".join(paths)
    assert result.detail["filenames"] == paths
    assert result.detail["numFiles"] == 6
    assert result.detail["truncated"] is False
    assert isinstance(result.detail["durationMs"], int)
    assert result_kind(result.detail) == "Glob"


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.md", ["README.md"]),
        ("src/*.{ts,tsx}", ["src/a b.tsx", "src/main.ts"]),
        ("src/**/*.py", ["src/deep/er/main.py", "src/main.py"]),
        ("src/**", ["src/a b.tsx", "src/main.ts", "src/deep/er/main.py", "src/main.py"]),
        ("**/main.??", ["src/main.ts", "src/deep/er/main.py", "src/main.py"]),
        ("we[[]ir[]]d.py", ["we[ir]d.py"]),
        ("[!a-z]*.py", ["-dash.py"]),
        ("./src/main.py", ["src/main.py"]),
        (".git/**/*.py", [".git/hooks/hook.py"]),
        ("{src/main.py,build/{out,in}.py}", ["build/out.py", "src/main.py"]),
        ("*.nothing", []),
        ("src", []),
    ],
)
def test_patterns(scene: ToolContext, pattern: str, names: list[str]) -> None:
    assert found(scene, pattern) == names


def test_where_to_look(scene: ToolContext) -> None:
    assert found(scene, "*.ts", path="src") == ["src/main.ts"]
    assert found(scene, f"{scene.state.cwd}/src/*.ts") == ["src/main.ts"]
    assert good(run(GLOB, scene, pattern="*.nothing")) == "No files found"
    assert misuse(run(GLOB, scene, pattern="*", path="nowhere")).startswith("Directory does not exist: ")
    assert misuse(run(GLOB, scene, pattern="*", path="README.md")).startswith("Path is not a directory: ")
    assert "leads out" in misuse(run(GLOB, scene, pattern="/etc/*"))
    assert "`..`" in misuse(run(GLOB, scene, pattern="../*"))
    assert "more than 200" in misuse(run(GLOB, scene, pattern="{a,b}" * 9))


def test_links_to_folders_are_not_followed(scene: ToolContext) -> None:
    (scene.state.cwd / "src" / "loop").symlink_to("..")
    (scene.state.cwd / "link.ts").symlink_to("src/main.ts")
    assert sorted(found(scene, "**/*.ts")) == ["link.ts", "src/main.ts"]


def test_the_hundred_newest_are_told(scene: ToolContext) -> None:
    for number in range(130):
        path = scene.state.cwd / f"{number}.x"
        path.touch()
        os.utime(path, (number, number))
    result = run(GLOB, scene, pattern="*.x")
    assert [Path(name).name for name in result.detail["filenames"]] == [f"{n}.x" for n in range(129, 29, -1)]
    assert result.detail["truncated"] is True
    assert good(result).splitlines()[-1].startswith("(Results are truncated")


PARTS = st.sampled_from(["a", "b", "ab", "*", "?", "a*", "*b", "**", "[ab]", "[!a]", "{a,ab}"])


@given(st.lists(PARTS, min_size=1, max_size=4).map("/".join))
def test_patterns_mean_what_bash_means(tmp_path_factory: pytest.TempPathFactory, pattern: str) -> None:
    base = tmp_path_factory.getbasetemp() / "letters"
    scene = stage(_letters(base))
    script = "shopt -s globstar nullglob dotglob; printf '%s\\n' " + pattern
    told = subprocess.run(["bash", "-c", script], cwd=scene.state.cwd, capture_output=True, text=True, check=True)
    expected = {name for name in told.stdout.split("\n") if name and (scene.state.cwd / name).is_file()}
    assert set(found(scene, pattern)) == expected


def _letters(base: Path) -> Path:
    """A small tree of every path of up to three of the letters, made once."""
    if not base.exists():
        for one in "abc":
            for two in ("a", "b", "ab"):
                folder = base / "project" / one / two
                folder.mkdir(parents=True)
                for name in ("a", "b", "ab", "c"):
                    (folder / f"{name}.f").touch()
                    (folder / name).touch()
            (base / "project" / one / "x").touch()
    return base


needs_ripgrep = pytest.mark.skipif(shutil.which("rg") is None, reason="there is no ripgrep")


def grep(scene: ToolContext, pattern: str, **more: Any) -> Any:
    return run(GREP, scene, **{"pattern": pattern, **more})


@needs_ripgrep
def test_files_with_matches(scene: ToolContext) -> None:
    result = grep(scene, "hello")
    names = [".hidden/note.py", "src/a b.tsx", "src/main.py", "README.md"]  # what git ignores is left out
    assert result.content == "Found 4 files\n" + "\n".join(names)
    assert result.detail == {"mode": "files_with_matches", "filenames": names, "numFiles": 4}
    assert result_kind(result.detail) == "Grep"
    assert grep(scene, "HELLO").content == "No files found"
    assert grep(scene, "HELLO", **{"-i": "true"}).detail["numFiles"] == 5
    assert grep(scene, "const").content == "Found 1 file\nsrc/main.ts"


@needs_ripgrep
def test_lines_with_matches(scene: ToolContext) -> None:
    result = grep(scene, "hello", path="src/main.py", output_mode="content")
    text = "src/main.py:2:hello = 1\nsrc/main.py:3:print(hello)"
    assert result.content == text
    assert result.detail == {"mode": "content", "numFiles": 0, "filenames": [], "content": text, "numLines": 2}
    plain = grep(scene, "print", path="src", glob="*.py", output_mode="content", **{"-n": False, "-B": 1})
    assert plain.content == "src/main.py-hello = 1\nsrc/main.py:print(hello)"
    around = grep(scene, "^hello", path="src", type="py", output_mode="content", **{"-C": "1"})
    assert around.content == "src/main.py-1-import os\nsrc/main.py:2:hello = 1\nsrc/main.py-3-print(hello)"
    after = grep(scene, "import", output_mode="content", **{"-A": 1})
    assert after.content == "src/main.py:1:import os\nsrc/main.py-2-hello = 1"
    assert grep(scene, "nothing at all", output_mode="content").content == "No matches found"
    several = grep(scene, r"os\nhello", output_mode="content", multiline=True)
    assert several.content == "src/main.py:1:import os\nsrc/main.py:2:hello = 1"
    (scene.state.cwd / "long").write_text("needle" + "x" * 2000)
    assert len(grep(scene, "needle", output_mode="content").content) < 600


@needs_ripgrep
def test_counts(scene: ToolContext) -> None:
    result = grep(scene, "hello", path="src", output_mode="count")
    assert result.content.split("\n\n")[0] == "src/a b.tsx:1\nsrc/main.py:2"
    assert result.content.split("\n\n")[1] == "Found 3 total occurrences across 2 files."
    assert result.detail["numMatches"] == 3
    assert result.detail["numFiles"] == 2
    one = grep(scene, "const", output_mode="count")
    assert one.content == "src/main.ts:1\n\nFound 1 total occurrence across 1 file."
    nothing = grep(scene, "nothing at all", output_mode="count")
    assert nothing.content == "No matches found\n\nFound 0 total occurrences across 0 files."


@needs_ripgrep
def test_some_of_many_results(scene: ToolContext) -> None:
    (scene.state.cwd / "many").write_text("".join(f"needle {n}\n" for n in range(400)))
    result = grep(scene, "needle", output_mode="content")
    assert result.detail["numLines"] == 250
    assert result.detail["appliedLimit"] == 250
    assert result.content.endswith("\n\n[Not all results: limit 250]")
    assert grep(scene, "needle", output_mode="content", head_limit=0).detail["numLines"] == 400
    part = grep(scene, "needle", output_mode="content", head_limit=2, offset=398)
    assert part.detail["content"] == "many:399:needle 398\nmany:400:needle 399"
    assert part.detail["appliedOffset"] == 398
    assert "appliedLimit" not in part.detail
    assert grep(scene, "hello", head_limit=1).detail["filenames"] == [".hidden/note.py"]


@needs_ripgrep
def test_what_cannot_be_looked_for(scene: ToolContext) -> None:
    assert "regex parse error" in trouble(grep(scene, "("))
    assert "unrecognized file type" in trouble(grep(scene, "a", type="nosuch"))
    assert misuse(grep(scene, "a", path="nowhere")).startswith("Path does not exist: ")
    assert "must be one of" in misuse(grep(scene, "a", output_mode="loud"))


@needs_ripgrep
def test_odd_words_are_words_and_not_options(scene: ToolContext) -> None:
    assert grep(scene, "--files").content == "No files found"
    assert grep(scene, "no", path="-dash.py").content == "Found 1 file\n-dash.py"
    outside = scene.state.project.parent / "outside"
    outside.mkdir()
    (outside / "a").write_text("needle")
    assert grep(scene, "needle", path="../outside").detail["filenames"] == [str(outside / "a")]


@needs_ripgrep
@given(st.sampled_from(["hello", "^x", "o$", "[a-z]+", "p.*t", "zzz"]), st.sampled_from([[], ["-i"], ["-C", "-i"]]))
def test_lines_are_those_of_ripgrep(
    tmp_path_factory: pytest.TempPathFactory, pattern: str, flags: Sequence[str]
) -> None:
    base = tmp_path_factory.getbasetemp() / "texts"
    if not base.exists():
        for name, text in TREE.items():
            (base / "project" / name).parent.mkdir(parents=True, exist_ok=True)
            (base / "project" / name).write_text(text)
    scene = stage(base)
    options = {"-i": True, "-C": 1}
    result = grep(scene, pattern, output_mode="content", path="src", **{flag: options[flag] for flag in flags})
    args = ["rg", "--no-heading", "-nH", *("-C1" if flag == "-C" else flag for flag in flags), pattern, "src"]
    told = subprocess.run(args, cwd=scene.state.cwd, capture_output=True, text=True, check=False).stdout
    assert sorted(result.detail["content"].split("\n")) == sorted(told.removesuffix("\n").split("\n"))


def test_without_ripgrep_it_is_told_how_to_get_it(scene: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr("sys.executable", "/nonexistent/python")
    text = trouble(grep(scene, "a"))
    assert text.startswith("Grep needs ripgrep, and there is no `rg` on this machine. Install ripgrep: apt install")


@needs_ripgrep
def test_a_search_that_is_broken_off_ends(scene: ToolContext) -> None:
    os.mkfifo(scene.state.cwd / "pipe")

    async def story() -> Any:
        here = replace(scene, stopped=asyncio.Event())
        running = asyncio.ensure_future(call_with(GREP, here, {"pattern": "a", "path": "pipe"}))
        with await asyncio.to_thread((scene.state.cwd / "pipe").open, "w"):  # ripgrep has opened the other end
            here.stopped.set()
            return await running

    assert trouble(asyncio.run(story())).startswith("The search was broken off.")


def test_no_pattern_takes_long(scene: ToolContext) -> None:
    (scene.state.cwd / ("a" * 200)).touch()
    assert found(scene, "*a" * 40 + "b") == []
    assert found(scene, "*a" * 40) == ["a" * 200]
    assert found(scene, "**/" * 30 + "*.ts") == ["src/main.ts"]
