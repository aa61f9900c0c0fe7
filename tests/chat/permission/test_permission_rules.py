"""Rules: what each form covers, and in which order they count."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.chat.permission.permission_rules import matches_command
from tests.chat.permission.workplace import Workplace


@pytest.mark.parametrize(
    ("spec", "text", "covered"),
    [
        ("git status", "git status", True),
        ("git status", "git status -s", False),
        ("npm run *", "npm run build", True),
        ("npm run *", "npm run", True),
        ("npm run *", "npm running", False),
        ("npm run:*", "npm run build --x", True),
        ("npm run:*", "npm run", True),
        ("npm run:*", "npm runx", False),
        ("npm run*", "npm runx", True),
        ("git * main", "git push origin main", True),
        ("git * main", "git push origin mainly", False),
        ("* --version", "node --version", True),
        ("ls", "ls", True),
        ("l?", "ls", False),
        ("a.b", "axb", False),
    ],
)
def test_a_pattern_for_commands(spec: str, text: str, covered: bool) -> None:
    assert matches_command(spec, text) is covered


def test_deny_comes_before_ask_before_allow_however_special(tmp_path: Path) -> None:
    place = Workplace(
        tmp_path,
        allow=["Bash(git push origin main)", "Bash(git:*)"],
        ask=["Bash(git push *)"],
        deny=["Bash(git push -f *)"],
    )
    assert place.bash("git push -f x").kind == "deny"
    assert place.bash("git push origin main").kind == "ask"
    assert place.bash("git pull").kind == "allow"
    assert place.bash("git push -f x", "bypassPermissions").kind == "deny"
    assert place.bash("git push origin main", "bypassPermissions").kind == "ask"
    assert place.bash("rm -rf /", "bypassPermissions").kind == "allow"
    decision = place.bash("git push -f x")
    assert decision.message == "Permission to use Bash with command git push -f x has been denied."
    assert decision.rule == "Bash(git push -f *)"


@pytest.mark.parametrize(
    "command",
    [
        "rm x",
        "ls; rm x",
        "ls && rm -rf x",
        "/bin/rm x",
        "\\rm x",
        "'rm' x",
        'r"m" x',
        "$'rm' x",
        "$'\\x72m' x",
        "X=1 rm x",
        "PATH=. rm x",
        "timeout 5 rm x",
        "env rm x",
        "env -i X=1 rm x",
        "sudo rm x",
        "sudo -u root /bin/rm x",
        "xargs rm",
        "ls | xargs -0 -n1 rm -f",
        "find . -exec rm {} \\;",
        "bash -c 'rm x'",
        'sh -c "ls; rm x"',
        "eval 'rm x'",
        "eval rm x",
        "bash -c \"bash -c 'rm x'\"",
        "echo $(rm x)",
        "echo `rm x`",
        "ls <(rm x)",
        "if true; then rm x; fi",
        "f() { rm x; }; f",
        "(rm x)",
        "{ rm x; }",
        "rm\tx",
        "rm \\\n x",
        "ls\nrm x",
        "while true; do rm x; done",
        "! rm x",
        "nohup nice rm x &",
        "ls || rm x",
        "cat <<EOF\n$(rm x)\nEOF",
        "command rm x",
        "exec rm x",
        "python -c 'import os' ; rm x",
        "rm x " + "y" * 10_001,
        "(( unbalanced ; rm x",
        "env -S'rm x'",
        "env --split-string='rm x'",
        "tar --to-command='rm x' -xf a",
        "tar --checkpoint-action=exec=rm -cf a x",
        "ssh -o ProxyCommand='rm x' host",
        "runuser -u root -- rm x",
        "setarch -R rm x",
        "fakeroot rm x",
        "/lib64/ld-linux-x86-64.so.2 /bin/rm x",
        "tmux new -d 'rm x'",
        "vim -c '!rm x'",
        "npm exec rm x",
        "uv run rm x",
        "docker run image rm x",
        "git submodule foreach 'rm x'",
        "git bisect run rm x",
        "git rebase -x 'rm x' HEAD~1",
        "git -c core.pager='rm x' -p log",
    ],
)
def test_a_forbidden_command_is_found_wherever_it_hides(tmp_path: Path, command: str) -> None:
    place = Workplace(tmp_path, allow=["Bash"], deny=["Bash(rm *)"])
    assert place.bash(command).kind == "deny"
    assert place.bash(command, "bypassPermissions").kind == "deny"


@pytest.mark.parametrize("command", ["git-push", "/usr/lib/git-core/git-push origin", "git submodule foreach git push"])
def test_a_forbidden_subcommand_is_found_under_its_other_names(tmp_path: Path, command: str) -> None:
    assert Workplace(tmp_path, allow=["Bash"], deny=["Bash(git push:*)"]).bash(command).kind == "deny"


@pytest.mark.parametrize(
    "command",
    ["dd if=.env", 'cat "$(pwd)/.env"', "cat `pwd`/.env", "ed .env", "xargs -a .env", "sh ./.env",
     "docker run --env-file .env x", "docker run --env-file=.env x", "gh gist create .env"],
)  # fmt: skip
def test_a_rule_about_a_file_holds_for_all_programs_that_read(tmp_path: Path, command: str) -> None:
    place = Workplace(tmp_path, allow=["Bash"], deny=["Read(./.env)"])
    (place.project / ".env").write_text("x")
    assert place.bash(command, "bypassPermissions").kind == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "git rm x",
        "ls rm",
        "npm run rm",
        "echo rm x",
        "cat 'rm x'",
        "rmdir x",
        "perform x",
        "npm install rm",
        "uv add rm",
        "git -c a.b=c rm x",
    ],
)
def test_but_not_where_it_is_only_a_word(tmp_path: Path, command: str) -> None:
    assert Workplace(tmp_path, allow=["Bash"], deny=["Bash(rm *)"]).bash(command).kind == "allow"


def test_rules_for_other_tools(tmp_path: Path) -> None:
    place = Workplace(
        tmp_path,
        allow=["mcp__files__read", "mcp__notes", "mcp__calc__*"],
        deny=["Agent(Explore)", "Skill(deploy)", "mcp__calc__erase", "Agent(model:opus)"],
        ask=["Bash(run_in_background:true)"],
    )  # fmt: skip
    for tool, input, kind in (
        ("mcp__files__read", {}, "allow"),
        ("mcp__files__write", {}, "ask"),
        ("mcp__notes__anything", {}, "allow"),
        ("mcp__notesx__anything", {}, "ask"),
        ("mcp__calc__add", {}, "allow"),
        ("mcp__calc__erase", {}, "deny"),
        ("Task", {"subagent_type": "Explore"}, "deny"),
        ("Agent", {"subagent_type": "Explore"}, "deny"),
        ("Agent", {"subagent_type": "Plan", "model": "opus"}, "deny"),
        ("Agent", {"subagent_type": "Plan"}, "allow"),
        ("Skill", {"skill": "deploy"}, "deny"),
        ("Skill", {"skill": "hello"}, "allow"),
        ("Bash", {"command": "ls", "run_in_background": True}, "ask"),
        ("Bash", {"command": "ls"}, "allow"),
        ("TodoWrite", {}, "allow"),
        ("ExitPlanMode", {}, "ask"),
        ("NoSuchTool", {}, "ask"),
    ):
        assert place.call(tool, **input).kind == kind, (tool, input)


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("https://docs.example.com/x", "allow"),
        ("https://DOCS.example.com./x", "allow"),
        ("https://a.wiki.example", "allow"),
        ("https://docs.example.com.evil.net/", "ask"),
        ("https://docs.example.com@other.net/", "ask"),
        ("https://other.net#docs.example.com", "ask"),
        ("https://other.net\\@docs.example.com", "ask"),
        ("https://docs.example.com:99999999/", "ask"),
        ("https://docs.example.com\t.other.net/", "ask"),
        ("https://dоcs.example.com/", "ask"),
        ("file:///docs.example.com", "ask"),
        ("docs.example.com", "ask"),
        ("https://xdocs.example.com", "ask"),
        ("https://wiki.example", "ask"),
        ("https://evil.example", "deny"),
        ("https://deep.evil.example", "deny"),
        ("https://x@evil.example", "deny"),
    ],
)
def test_a_domain_is_read_in_one_way(tmp_path: Path, url: str, kind: str) -> None:
    allow = ["WebFetch(domain:docs.example.com)", "WebFetch(domain:*.wiki.example)"]
    assert (
        Workplace(tmp_path, allow=allow, deny=["WebFetch(domain:evil.example)"]).call("WebFetch", url=url).kind == kind
    )


def test_a_rule_for_a_program_is_not_one_for_a_parameter(tmp_path: Path) -> None:
    place = Workplace(tmp_path, allow=["Bash(npm test)"], deny=["Bash(timeout:*)", "Bash(command:*)"])
    assert place.call("Bash", command="npm test", timeout=5).kind == "allow"
    assert place.call("Bash", command="timeout 5 npm test").kind == "deny"


def test_long_nonsense_is_judged_soon(tmp_path: Path) -> None:
    """No timing is asserted: it is the time limit of the tests that would break."""
    place = Workplace(tmp_path, allow=["Bash(ls *)"], deny=["Bash(rm *)", "Bash(* --force)", "Bash(a*b*c)"])
    for piece in (
        "(",
        "((",
        "$(",
        "{ ",
        "[[ ",
        "a ",
        "a;",
        "sudo ",
        "'",
        '"',
        "\\",
        "`",
        "<<E\n",
        "x=(",
        "if ",
        "a b ",
    ):
        assert place.bash(piece * (9_999 // len(piece))).kind in ("ask", "deny")
        assert place.bash("sudo " + piece * (9_900 // len(piece)) + "; rm x").kind in ("ask", "deny")


def test_what_is_no_rule_is_named(tmp_path: Path) -> None:
    place = Workplace(tmp_path, allow=["Bash(", "", "Write(src/**)", "*", "mcp__*"])
    assert len(place.permissions.notices) == 4
    assert place.call("Write", file_path="src/a.py").kind == "ask"
    assert place.call("mcp__any__thing").kind == "ask"
    assert place.bash("rm x").kind == "ask"
