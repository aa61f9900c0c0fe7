"""Skills, slash commands and agents: found, read, filled in, listed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from clew.chat.agents.agent_files import BUILT_IN, load_agent_kinds
from clew.chat.agents.agent_files import describe_kinds as list_agents
from clew.chat.config.frontmatter import bool_field, list_field, split_header
from clew.chat.config.settings import Settings
from clew.chat.config.skill_files import MAX_LISTING_LINE, describe_skills, load_skills
from clew.chat.input.input_line import InputLine, parse_line
from clew.chat.input.slash_commands import Expansion, SkillExpander, command_tags
from clew.chat.permission.decide import Permissions
from clew.chat.tools.builtin.use_skill import Skills


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def workshop(root: Path, allow: tuple[str, ...] = ()) -> SkillExpander:
    project = root / "project"
    found, _ = load_skills(project, root / "home", trusted=True)

    async def run(command: str) -> str:
        return f"<{command}>"

    permissions = Permissions(Settings(), project, root).with_granted_rules(allow)
    return SkillExpander(found, permissions, lambda: project, lambda: "default", run, "s1")


def expand(root: Path, body: str, arguments: str = "", header: str = "") -> Expansion:
    write(root / "project/.claude/skills/x/SKILL.md", f"---\ndescription: d\n{header}\n---\n{body}")
    shop = workshop(root)
    return asyncio.run(shop.expand(shop.skills["x"], arguments))


@pytest.mark.parametrize(
    ("body", "arguments", "text"),
    [
        ("Fix $ARGUMENTS now", "a b", "Fix a b now"),
        ("$0 then $1, not $2.", "'a b' c", "a b then c, not ."),
        ("$ARGUMENTS[1]-$ARGUMENTS[0]", "a b", "b-a"),
        ("Cost $5.00 for $PATH and $name", "", "Cost .00 for $PATH and $name"),
        ("Plain", "x y", "Plain\n\nARGUMENTS: x y"),
        ("Plain", "", "Plain"),
        ("Say it's $0", "it's \"odd", "Say it's it's"),
        ("In ${CLAUDE_SESSION_ID}", "", "In s1"),
    ],
)
def test_arguments_are_put_in_once(tmp_path: Path, body: str, arguments: str, text: str) -> None:
    assert expand(tmp_path, body, arguments).text == text


def test_named_arguments_folders_and_files(tmp_path: Path) -> None:
    came = expand(
        tmp_path, "$who in ${CLAUDE_SKILL_DIR} reads @$file and `@not.this`", "me a.py", "arguments: [who, file]"
    )
    folder = tmp_path / "project/.claude/skills/x"
    assert came.text == f"me in {folder} reads @a.py and `@not.this`"
    assert came.files == ("a.py",) and came.skill.hint == "[who] [file]"


def test_commands_in_a_skill_run_if_they_are_allowed(tmp_path: Path) -> None:
    header = "allowed-tools: Bash(git log:*), Read"
    came = expand(tmp_path, "Log: !`git log -3 $0`\n```!\ngit log -1\n```\nnot!`this` `!x`", "main", header)
    assert came.text == "Log: <git log -3 main>\n<git log -1>\nnot!`this` `!x`"
    assert came.skill.allowed_tools == ("Bash(git log:*)", "Read")


def test_the_users_own_come_before_the_projects(tmp_path: Path) -> None:
    write(tmp_path / "home/commands/x.md", "mine")
    write(tmp_path / "project/.claude/commands/x.md", "theirs")
    write(tmp_path / "project/.claude/skills/x/SKILL.md", "theirs as well")
    write(tmp_path / "project/.claude/commands/git/fix.md", "# Fix it\n\nnow")
    write(tmp_path / "project/.claude/skills/bad name/SKILL.md", "x")
    (tmp_path / "project/.claude/commands/broken.md").write_bytes(b"\xff")
    found, notices = load_skills(tmp_path / "project", tmp_path / "home", trusted=True)
    assert found["x"].body == "mine" and found["x"].scope == "user"
    assert found["git:fix"].description == "Fix it"
    assert sorted(found) == ["git:fix", "x"] and len(notices) == 2
    assert sorted(load_skills(tmp_path / "project", tmp_path / "home", True, ("user",))[0]) == ["x"]


def test_the_list_for_the_model_is_short_and_leaves_out_what_is_not_for_it(tmp_path: Path) -> None:
    write(tmp_path / "project/.claude/skills/a/SKILL.md", f"---\ndescription: {'long ' * 1000}\n---\nx")
    write(
        tmp_path / "project/.claude/skills/b/SKILL.md",
        "---\ndescription: secret\ndisable-model-invocation: true\n---\nx",
    )
    write(
        tmp_path / "project/.claude/skills/c/SKILL.md",
        "---\ndescription: |\n  two\n  lines\nuser-invocable: no\n---\nx",
    )
    shop = workshop(tmp_path)
    lines = describe_skills(list(shop.skills.values())).splitlines()
    assert len(lines) == 3 and len(lines[1]) == MAX_LISTING_LINE and lines[2] == "- c: two lines"
    assert list(shop.names()) == ["a", "c"] and not shop.skills["c"].for_user
    assert describe_skills([]) == ""


def test_it_serves_the_skill_tool(tmp_path: Path) -> None:
    folder = write(tmp_path / "project/.claude/skills/x/SKILL.md", "Hello $0").parent
    skills: Skills = workshop(tmp_path)
    body = asyncio.run(skills.body("x", "you"))
    assert body is not None and (body.text, body.folder) == ("Hello you", folder)
    assert asyncio.run(skills.body("y", "")) is None


def test_lines_that_begin_with_a_slash() -> None:
    assert parse_line("/git:fix a  b ") == InputLine("/git:fix a  b ", "git:fix", "a  b")
    assert parse_line("/help") == InputLine("/help", "help")
    for text in ("/usr/bin/env", "hello /x", "/"):
        assert parse_line(text) == InputLine(text)
    assert command_tags("x", "a").endswith("<command-args>a</command-args>")


def test_headers() -> None:
    assert split_header("---\na: 1\n---\nrest") == ({"a": 1}, "rest")
    assert split_header("no header\n---\n") == ({}, "no header\n---\n")
    assert split_header("---\ndescription: Use when: it is odd\nname: x\n---\nb") == (
        {"description": "Use when: it is odd", "name": "x"},
        "b",
    )
    assert split_header("---\r\na: b\r\n---\r\nrest") == ({"a": "b"}, "rest")
    assert split_header("---\n- list\n---\nrest") == ({}, "rest")
    assert split_header("---\na: !!python/object/apply:os.system [id]\n---\nx")[1] == "x"
    assert split_header("---\nnever closed") == ({}, "---\nnever closed")
    assert list_field({"t": "Bash(git add:*, x), Read , "}, "t") == ("Bash(git add:*, x)", "Read")
    assert list_field({"t": ["a", 1, None]}, "t") == ("a", "1") and list_field({}, "t") == ()
    assert bool_field({"a": "Yes"}, "a") and not bool_field({"a": "false"}, "a") and bool_field({}, "a", default=True)


def test_agents_of_files_and_of_an_sdk(tmp_path: Path) -> None:
    header = "name: judge\ndescription: Judges.\ntools: Read, Bash(git log:*)\nmodel: inherit\nmaxTurns: 5"
    header += "\npermissionMode: plan"
    write(tmp_path / "project/.claude/agents/j.md", f"---\n{header}\n---\nYou judge.")
    write(tmp_path / "home/agents/judge.md", "---\ndescription: Mine.\npermissionMode: acceptEdits\n---\nI judge.")
    write(
        tmp_path / "home/agents/all.md",
        "---\ndescription: All.\ntools: '*'\ndisallowedTools: [Bash]\nmodel: haiku\n---\nAll.",
    )
    write(tmp_path / "home/agents/nothing.md", "no agent")
    kinds, notices = load_agent_kinds(
        tmp_path / "project", tmp_path / "home", True, extra={"sdk": {"description": "S", "prompt": "P"}}
    )
    judge = kinds["judge"]
    assert (judge.prompt, judge.tools, judge.model, judge.turns, judge.mode) == (
        "You judge.",
        ("Read", "Bash"),
        "",
        5,
        "plan",
    )
    assert kinds["all"].may_use("Read") and not kinds["all"].may_use("Bash") and kinds["all"].model == "haiku"
    assert kinds["sdk"].prompt == "P" and len(notices) == 1
    assert load_agent_kinds(tmp_path / "none", tmp_path / "home", False)[0]["judge"].mode == "acceptEdits"
    assert {kind.name for kind in BUILT_IN} == {"general-purpose", "Explore", "Plan"} <= set(kinds)
    assert not any(
        kinds[name].may_use(tool) for name in ("Explore", "Plan") for tool in ("Write", "Edit", "Task", "Agent")
    )
    assert "- judge: Judges. (Tools: Read, Bash)" in list_agents(kinds)
