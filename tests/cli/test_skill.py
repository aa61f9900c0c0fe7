"""`clew skill`: a page that teaches Claude Code to use clew, and that is never written over unasked."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from clew.cli.commands import COMMANDS
from clew.cli.run_command import build_parser
from clew.cli.serve import skill
from clew.index.query_pieces import FILTER_NAMES
from clew.index.query_syntax import parse_query
from clew.index.results import LOOSENESS

Run = Callable[..., tuple[int, str, str]]


def test_install_twice(clew: Run, claude: Path) -> None:
    path = claude / "skills" / "clew" / "SKILL.md"
    assert clew("skill", "install", "--dry-run") == (0, f"Would write: {path}\n", "")
    assert not path.exists()
    assert clew("skill", "install") == (0, f"Wrote: {path}\n", "")
    assert clew("skill", "install", "--user") == (0, f"Already there: {path}\n", "")
    assert clew("skill", "show") == (0, path.read_text(), "")


def test_install_for_a_project(clew: Run, claude: Path, tmp_path: Path) -> None:
    code, out, _ = clew("skill", "install", "--project", str(tmp_path), "--json")
    made = json.loads(out)
    path = tmp_path / ".claude" / "skills" / "clew" / "SKILL.md"
    assert code == 0 and (made["path"], made["was"], made["written"]) == (str(path), "none", True)
    assert path.is_file() and not claude.exists()
    assert clew("skill", "install", "--project", str(tmp_path / "nowhere"))[0] == 2
    assert clew("skill", "install", "--project", str(tmp_path), "--user")[0] == 2


def test_a_changed_skill_is_kept_unless_forced(clew: Run, claude: Path) -> None:
    clew("skill", "install")
    path = claude / "skills" / "clew" / "SKILL.md"
    path.write_text("My own words.\n")
    code, out, err = clew("skill", "install")
    assert (code, out) == (2, "") and "has been changed" in err and "--force" in err
    assert path.read_text() == "My own words.\n"
    code, out, _ = clew("skill", "install", "--force")
    assert code == 0 and "The old one is" in out
    assert path.read_text() == skill.sealed()
    assert path.with_name("SKILL.md.bak-1").read_text() == "My own words.\n"


def test_an_older_one_that_nobody_changed_gives_way(clew: Run, claude: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as older:
        older.setattr(skill, "SKILL", "Other words.\n")
        older.setattr(skill, "__version__", "0.0.1")
        clew("skill", "install")
    path = claude / "skills" / "clew" / "SKILL.md"
    assert "clew 0.0.1" in path.read_text()
    assert clew("skill", "install")[0] == 0
    assert path.read_text() == skill.sealed()


def test_the_skill_is_true() -> None:
    """Its head is what Claude Code reads, its commands and options exist, and its queries can be understood."""
    _, head, body = skill.SKILL.split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    assert fields["name"] == "clew" and 50 < len(fields["description"]) <= 1024
    commands = {name: each for name, each in _parsers().items() if name in COMMANDS}
    for name, rest in re.findall(r"(?:^    |`)clew (\w+)([^\n`]*)", body, re.MULTILINE):
        assert name in commands, name
        options = {flag for action in commands[name]._actions for flag in action.option_strings}
        assert set(re.findall(r"--[\w-]+", rest)) <= options, rest
    language = body.split("Query language:\n\n", 1)[1].split("\n\n", 1)[0].splitlines()
    assert len(language) == 17
    queries = [re.split(r"\s{3,}", line.strip())[0] for line in language]
    assert all(parse_query(f"x {query}") for query in queries)
    assert set(re.findall(r"(\w+):", " ".join(queries))) <= set(FILTER_NAMES)
    assert "claude -r ID" in body and "data" in body
    assert "--substring" in body and all(
        LOOSENESS[grade] in body for grade in ("endings", "parts", "session", "scattered")
    )


def test_the_skill_allows_the_commands_that_it_names_and_that_only_read() -> None:
    _, head, body = skill.SKILL.split("---\n", 2)
    allowed = re.findall(r"Bash\(clew ([\w ]+):\*\)", head)
    assert allowed == ["search", "show", "ls", "files", "recall list", "recall load"]
    for named in re.findall(r"(?:^    |`)clew ([^\n`]*)", body, re.MULTILINE):
        assert named.startswith((*allowed, "recall save", "blame")), named


def _parsers() -> dict[str, argparse.ArgumentParser]:
    subs = (a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    return {name: each for sub in subs for name, each in sub.choices.items()}
