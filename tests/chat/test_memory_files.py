"""Memory: which files are told to the model, in which order, and how far imports reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.chat.input.file_mentions import find_mentions
from clew.chat.input.memory_files import MAX_CHARACTERS, Memories, format_memories


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def memories(root: Path, reads_agents_md: bool = False) -> Memories:
    home = root / "home"
    (home / "code/project").mkdir(parents=True, exist_ok=True)
    return Memories(
        home / "code/project", home / ".claude", home, reads_agents_md=reads_agents_md, managed=root / "managed"
    )


def names(found: Memories) -> list[str]:
    return [memory.text for memory in found.first()]


def test_from_the_machine_down_to_the_folder(tmp_path: Path) -> None:
    write(
        tmp_path,
        **{
            "managed/CLAUDE.md": "managed",
            "home/.claude/CLAUDE.md": "user",
            "home/.claude/rules/style.md": "user rule",
            "home/CLAUDE.md": "not in a home folder itself",
            "home/code/CLAUDE.md": "above",
            "home/code/project/CLAUDE.md": "project",
            "home/code/project/.claude/CLAUDE.md": "project too",
            "home/code/project/.claude/rules/deep/b.md": "rule b",
            "home/code/project/.claude/rules/a.md": "rule a",
            "home/code/project/CLAUDE.local.md": "local",
            "home/code/project/sub/CLAUDE.md": "nested",
            "home/code/project/AGENTS.md": "agents",
        },
    )
    told = ["managed", "user", "user rule", "above", "project", "project too", "rule a", "rule b", "local"]
    assert names(memories(tmp_path)) == told
    assert memories(tmp_path).first()[-1].scope == "local"


def test_nested_files_count_once_a_file_there_is_read(tmp_path: Path) -> None:
    found = memories(tmp_path)
    write(
        found.project,
        **{"CLAUDE.md": "top", "sub/CLAUDE.md": "sub", "sub/deep/CLAUDE.md": "deep", "other/CLAUDE.md": "o"},
    )
    assert names(found) == ["top"]
    assert [m.text for m in found.near(found.project / "sub/deep/x.py")] == ["sub", "deep"]
    assert found.near(found.project / "sub/deep/y.py") == []
    assert found.near(tmp_path / "elsewhere/x") == []
    assert [m.text for m in found.near(found.project / "other/x")] == ["o"]


def test_rules_for_some_files_wait_for_them(tmp_path: Path) -> None:
    found = memories(tmp_path)
    write(
        found.project,
        **{
            ".claude/rules/py.md": "---\npaths:\n  - src/**/*.py\n---\nfor python @more.md",
            ".claude/rules/more.md": "more",
        },
    )
    assert [m.text for m in found.first()] == ["more"]
    assert found.near(found.project / "src/x.ts") == []
    assert [m.text for m in found.near(found.project / "src/a/x.py")] == ["for python @more.md"]
    assert found.near(found.project / "src/a/y.py") == []


def test_imports_go_four_hops_and_never_in_circles(tmp_path: Path) -> None:
    found = memories(tmp_path)
    write(found.project, **{f"{i}.md": f"file {i} @{i + 1}.md" for i in range(1, 8)})
    write(
        found.project, **{"CLAUDE.md": "see @1.md and @./CLAUDE.md and @nothing.md", "4.md": "file 4 @5.md @CLAUDE.md"}
    )
    assert [m.path.name for m in found.first()] == ["CLAUDE.md", "1.md", "2.md", "3.md", "4.md"]


def test_instead_of_claude_md_agents_md_if_wished(tmp_path: Path) -> None:
    write(memories(tmp_path).project, **{"AGENTS.md": "agents"})
    assert names(memories(tmp_path)) == []
    assert names(memories(tmp_path, reads_agents_md=True)) == ["agents"]
    write(memories(tmp_path).project, **{"CLAUDE.md": "claude"})
    assert names(memories(tmp_path, reads_agents_md=True)) == ["claude"]


def test_what_is_too_long_is_cut_and_what_is_no_text_is_named(tmp_path: Path) -> None:
    found = memories(tmp_path)
    write(
        found.project,
        **{"CLAUDE.md": "x" * (MAX_CHARACTERS + 5) + " @big.md @binary.md", "big.md": "x" * (1 << 20) + "x"},
    )
    (found.project / "binary.md").write_bytes(b"\xff\x00")
    (memory,) = found.first()
    assert memory.text.endswith("more characters]") and len(memory.text) < MAX_CHARACTERS + 50
    assert len(found.notices) == 2


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see @a.md", ["a.md"]),
        ("@~/x/y.md, @./z and (@../w).", ["~/x/y.md", "./z", "../w"]),
        ("mail me@example.com or x@y", []),
        ("`@a.md` and ``@b.md`` but @c.md", ["c.md"]),
        ("```\n@a.md\n```\n@b.md", ["b.md"]),
        ("~~~py\n@a.md\n```\n@b.md\n~~~\n@c.md", ["c.md"]),
        ('@"with space.md" @with\\ space2.md', ["with space.md", "with space2.md"]),
        ("@a.md @a.md", ["a.md"]),
        ("@@x @ @- @{y}", []),
        ("```\n@never closed", []),
    ],
)
def test_mentions(text: str, found: list[str]) -> None:
    assert list(find_mentions(text)) == found


def test_the_text_for_the_model(tmp_path: Path) -> None:
    found = memories(tmp_path)
    assert format_memories(found.first()) == ""
    write(found.project, **{"CLAUDE.md": "Be kind."})
    assert "Be kind." in format_memories(found.first()) and str(found.project / "CLAUDE.md") in format_memories(
        found.known
    )
