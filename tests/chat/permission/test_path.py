"""Paths: no way out of the working folders unasked, and none to what is protected."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from clew.chat.config.permission_mode import Mode
from tests.chat.permission.workplace import Workplace

OUTSIDE = [
    "../outside",
    "src/../../outside",
    "./src/./../../outside",
    "{root}/outside",
    "{project}/../outside",
    "{project}//..//outside",
    "linked",
    "link/secret",
    "./link/../outside",
    "src/../link/file",
    "link",
    "/etc/passwd",
    "/proc/self/root/etc/passwd",
    "/proc/self/cwd/../../../../../../etc/passwd",
    "/dev/stdin",
    "~/notes",
    "~root/.bashrc",
    "..",
    "/",
    "//etc/passwd",
    "\\\\server\\share",
    "C:\\Windows\\win.ini",
    "src/a.py\x00",
    "src/\u202ea.py",
    "",
]
PROTECTED = [
    ".git/config",
    ".git/hooks/pre-commit",
    ".GIT/config",
    "src/../.git/HEAD",
    ".git",
    "nested/.git/config",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/commands/x.md",
    ".claude/worktrees",
    ".claude/worktrees/x/.git",
    ".claude/worktrees/x/.claude/settings.json",
    ".claude/worktrees/x/.claude/worktrees/../settings.json",
    ".claude/worktrees/x/../../settings.json",
    ".Claude/settings.json",
    ".claude./settings.json",
    ".claude::$DATA/settings.json",
    ".mcp.json",
    ".bashrc",
    "src/.zshrc",
    ".profile",
    ".gitconfig",
    ".gitmodules",
    ".npmrc",
    ".ssh/authorized_keys",
    ".vscode/tasks.json",
    ".husky/pre-commit",
    ".envrc",
    "ｇit/../.ｇit/config",
    ".git\u200c/config",
    ".g\u200dit/hooks/pre-commit",
    ".gi\ufefft/config",
    "GIT~1/config",
]


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    return Workplace(tmp_path_factory.mktemp("paths"), allow=["Edit", "Read"])


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    return Workplace(tmp_path_factory.mktemp("bare"))


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("tool", ["Read", "Write", "Edit", "MultiEdit"])
@pytest.mark.parametrize("mode", ["default", "acceptEdits"])
def test_no_path_leads_out_unasked(bare: Workplace, path: str, tool: str, mode: Mode) -> None:
    path = path.replace("{root}", str(bare.root)).replace("{project}", str(bare.project))
    assert bare.call(tool, mode, file_path=path).kind == "ask"


@pytest.mark.parametrize("path", PROTECTED)
@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions"])
def test_protected_places_are_asked_about_in_every_mode(workplace: Workplace, path: str, mode: Mode) -> None:
    assert workplace.call("Write", mode, file_path=path).kind == "ask"
    assert workplace.call("Edit", mode, file_path=str(workplace.project / path)).kind == "ask"


def test_a_worktree_is_an_ordinary_folder(workplace: Workplace) -> None:
    for path in (".claude/worktrees/x/src/a.py", ".claude/worktrees/x/.claude/worktrees/y/a.py"):
        assert workplace.call("Write", "acceptEdits", file_path=path).kind == "allow"


@pytest.mark.parametrize("path", [".git/x", ".claude/settings.json", "~/.bashrc", ".mcp.json", "src/.envrc"])
@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions"])
def test_redirects_to_protected_places_are_asked_about(tmp_path: Path, path: str, mode: Mode) -> None:
    place = Workplace(tmp_path, allow=["Bash"])
    assert place.bash(f"echo x > {path}", mode).kind == "ask"


def test_keys_are_asked_about_even_inside(workplace: Workplace) -> None:
    for path in (".ssh/id_ed25519", ".ssh/config", "src/id_rsa", "certs/key.pem", ".netrc", ".aws/credentials"):
        assert workplace.call("Read", file_path=path).kind == "ask"
    explicit = Workplace(workplace.root, allow=["Read(.ssh/config)"])
    assert explicit.call("Read", file_path=".ssh/config").kind == "allow"
    assert explicit.call("Read", file_path=".ssh/id_ed25519").kind == "ask"


def test_a_link_made_later_is_followed_at_the_time_of_the_call(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    assert place.call("Read", file_path="src/new").kind == "allow"
    (place.project / "src/new").symlink_to(place.root / "outside")
    assert place.call("Read", file_path="src/new").kind == "ask"
    (place.project / "loop").symlink_to("loop")
    assert place.call("Write", "acceptEdits", file_path="loop/x").kind in ("ask", "allow")
    (place.project / "hop").symlink_to(place.project / "src")
    assert place.call("Read", file_path="hop/a.py").kind == "allow"
    (place.project / "git").symlink_to(".git")
    assert place.call("Write", "acceptEdits", file_path="git/config").kind == "ask"


def test_a_rule_cannot_be_dodged_by_a_link_or_a_detour(tmp_path: Path) -> None:
    place = Workplace(tmp_path, deny=["Read(.env)", "Edit(src/**)"], mode="acceptEdits")
    (place.project / ".env").write_text("x")
    (place.project / "innocent").symlink_to(".env")
    assert Workplace(tmp_path, deny=["Read(~/.ssh/**)"]).call("Read", file_path="~/.ssh/id_rsa").kind == "deny"
    for path in (".env", "./.env", "src/../.env", "innocent", str(place.project / ".env"), "deep/.env"):
        assert place.call("Read", file_path=path).kind == "deny", path
    for command in ("cat .env", "cat innocent", "head -n1 ./.env", "grep x .env", "cat < .env", "timeout 1 cat .env"):
        assert place.bash(command).kind == "deny", command
    for path in ("src/a.py", "src/new/x", "nested/../src/a.py"):
        assert place.call("Write", file_path=path).kind == "deny", path
    for command in (
        "rm src/a.py",
        "echo x > src/a.py",
        "touch src/y",
        "mv x src/x",
        "cp x src/",
        "sed -i s/a/b/ src/a.py",
    ):
        assert place.bash(command).kind == "deny", command
    assert place.call("Write", file_path="other").kind == "allow"


def test_going_up_behind_a_link_is_inside_only_if_it_is_in_both_readings(tmp_path: Path) -> None:
    """The system and the tools read `deep/../..` differently; only one of the two leads out of the project here."""
    place = Workplace(tmp_path, mode="acceptEdits")
    (place.project / "src/one/two").mkdir(parents=True)
    (place.project / "deep").symlink_to("src/one/two")
    assert place.call("Read", file_path="deep/../../outside").kind == "ask"
    assert place.call("Write", file_path="deep/../../outside").kind == "ask"
    assert place.call("Write", file_path="deep/../.git/config").kind == "ask"
    assert place.call("Read", file_path="deep/../x").kind == "allow"


def test_an_allowed_pattern_does_not_reach_through_links(tmp_path: Path) -> None:
    place = Workplace(tmp_path, allow=["Read(//**/project/**)", "Edit(/link/**)", f"Read(/{tmp_path}/elsewhere/file)"])
    assert place.call("Read", file_path="linked").kind == "ask"
    assert place.call("Write", file_path="link/x").kind == "ask"
    assert place.call("Read", file_path="link/file").kind == "allow"
    assert place.call("Read", file_path="link/secret").kind == "ask"


@pytest.mark.parametrize(
    ("rule", "inside", "beyond"),
    [
        ("Edit(//{root}/elsewhere/**)", "{root}/elsewhere/a/b", "{root}/else"),
        ("Edit(~/notes/*.md)", "{home}/notes/x.md", "{home}/notes/x.txt"),
        ("Edit(/docs/**)", "{home}/.claude/docs/x", "{project}/docs/x"),
        ("Edit(./docs/**)", "{project}/docs/x", "{project}/src/docs/x"),
        ("Edit(docs/**)", "{project}/docs/x", "{project}/src/docs/x"),
        ("Edit(*.ts)", "{project}/a/b/x.ts", "{project}/x.tsx"),
        ("Edit(src/**/*.py)", "{project}/src/a/b.py", "{project}/b.py"),
    ],
)
def test_patterns_start_where_they_say(tmp_path: Path, rule: str, inside: str, beyond: str) -> None:
    names = {"root": str(tmp_path).lstrip("/"), "home": str(tmp_path / "home"), "project": str(tmp_path / "project")}
    place = Workplace(tmp_path, allow=[rule.replace("{root}", names["root"])])
    (place.home / ".claude").mkdir(exist_ok=True)
    names["root"] = str(tmp_path)
    expected = "ask" if "{home}/.claude" in inside else "allow"  # a protected folder, whatever the rule
    assert place.call("Write", file_path=inside.format(**names)).kind == expected
    assert place.call("Write", file_path=beyond.format(**names)).kind == "ask"


def test_searches_stay_inside_too(tmp_path: Path) -> None:
    place = Workplace(tmp_path, deny=["Read(/private/**)"])
    assert place.call("Grep", pattern="x").kind == "allow"
    assert place.call("Glob", pattern="**/*.py").kind == "allow"
    assert place.call("Glob", pattern="src/*.py").kind == "allow"
    for pattern in ("/etc/*", "../*", "src/../../*", "link/*", "{{project},..}/*", "/*"):
        assert place.call("Glob", pattern=pattern).kind == "ask", pattern
    assert place.call("Grep", pattern="x", path="/etc").kind == "ask"
    assert place.call("Grep", pattern="x", path="link").kind == "ask"


def test_further_folders_count_once_they_are_named(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    assert place.permissions.apply({"type": "addDirectories", "directories": [str(tmp_path / "elsewhere")]}) is None
    assert place.call("Read", file_path="link/secret").kind == "allow"
    assert place.call("Write", "acceptEdits", file_path=str(tmp_path / "elsewhere/new")).kind == "allow"
    assert place.call("Read", file_path="linked").kind == "ask"


def test_a_moved_current_folder_does_not_move_the_borders(tmp_path: Path) -> None:
    place = Workplace(tmp_path, deny=["Read(.env)"])
    assert place.call("Read", cwd=tmp_path / "elsewhere", file_path="secret").kind == "ask"
    assert place.call("Read", cwd=place.project / "src", file_path="../x").kind == "allow"
    assert place.call("Read", cwd=place.project / "src", file_path="../.env").kind == "deny"
    assert place.permissions.hides(place.project / ".env", place.project)
    assert not place.permissions.hides(place.project / "x", place.project)


def test_globs_of_commands_are_followed(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    assert place.bash("cat src/*.py").kind == "allow"
    (place.project / "src/c.py").symlink_to(place.root / "outside")
    assert place.bash("cat src/*.py").kind == "ask"
    assert place.bash("cat src/a*").kind == "allow"
    assert place.bash("wc -l src/?.py").kind == "ask"


def test_commands_that_read_whole_folders_are_asked_about_if_something_in_them_is_hidden(tmp_path: Path) -> None:
    commands = ("grep -r x .", "grep -rn x", "rg --hidden x", "rg -uu x", "grep --recursive x")
    for deny, file in (((), ".npmrc"), (("Read(.env)",), ".env"), (("Read(src/deep/**)",), "src/deep/y")):
        place = Workplace(tmp_path, deny=deny)
        shutil.rmtree(place.project / ".ssh")
        for command in commands:
            assert place.bash(command).kind == "allow", command
        (place.project / file).parent.mkdir(exist_ok=True)
        (place.project / file).write_text("x\n")
        for command in commands:
            assert place.bash(command).kind == "ask", command
        (place.project / file).unlink()
    assert place.bash("rg x").kind == "allow"
