"""No trick runs unasked: smuggling past rules, in every way that we know of."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.chat.config.permission_mode import Mode
from clew.chat.permission import shell_lexer, shell_parse
from tests.chat.permission.tricks import REDIRECTS, RULES, TRICKS
from tests.chat.permission.workplace import Workplace


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    return Workplace(tmp_path_factory.mktemp("tricks"), allow=RULES)


def test_there_are_enough_tricks() -> None:
    assert len(set(TRICKS)) == len(TRICKS) >= 100


@pytest.mark.parametrize("command", TRICKS, ids=lambda c: repr(c)[:50])
def test_a_trick_is_asked_about(workplace: Workplace, command: str) -> None:
    decision = workplace.bash(command)
    is_hidden = any(
        (character < " " and character not in "\t\n") or "\x7f" <= character < "\xa0" for character in command
    )
    assert decision.kind == ("deny" if is_hidden else "ask"), decision
    assert decision.reason and "\n" not in decision.reason


@pytest.mark.parametrize("mode", ["acceptEdits", "plan", "dontAsk"])
def test_no_mode_lets_a_trick_through(workplace: Workplace, mode: Mode) -> None:
    """But for those that only write in the project, in the mode that is for that: so they change a mode instead here."""
    edits = {*REDIRECTS, "mkdir x", "cp x y", "ls && rm x", "sed -i s/a/b/ x", "git status --short; id > x"}
    tricks = [c for c in TRICKS if mode != "acceptEdits" or c not in edits]
    through = [
        c for c in tricks if workplace.bash(c.replace("touch", "chmod").replace("to", "ch"), mode).kind == "allow"
    ]
    assert through == []


def test_the_rules_still_allow_what_they_name(workplace: Workplace) -> None:
    for command in (
        "git status",
        "git  status",
        "'git' status",
        'git "status"',
        "npm test",
        "npm test -- --watch=false",
        "npm test 2>&1 | tail -5",
        "ls -la /etc",
        "ls -la && git status",
        "(ls; git status) | cat",
        "timeout 60 npm test",
        "NODE_ENV=test npm test",
        "CI=1 nice npm test > /dev/null 2>&1",
        "git commit -m 'One; two && three $(four)'",
        'git commit -m "it\'s fine"',
        "python -m pytest tests -k 'a or b'",
        "echo $HOME",
        "! git status",
        "git status # and why",
        "git diff HEAD~1",
        "echo füße",
        "ls 'a'\\''; touch pwned; '",
    ):
        assert workplace.bash(command).kind == "allow", (command, workplace.bash(command))


@pytest.mark.parametrize("text", ["export A=1", "unset A", "declare A=1", "readonly A"])
def test_where_the_two_readers_differ_there_is_a_doubt(text: str) -> None:
    assert shell_lexer.parse_commands(text)
    assert shell_parse.parse(text).doubt and not shell_parse.parse(text).commands


@pytest.mark.parametrize(
    "text",
    [
        "((x))",
        "(ls",
        "ls)",
        "a=1",
        "> x",
        "ls $(x)",
        "ls `x`",
        "ls <<E\nE",
        "ls \\\nx",
        "ls {a,b}",
        "ls 'x",
        "if x",
        "l*",
        "ls (x)",
        "a[0]=1 ls",
    ],
)
def test_the_lexer_doubts_by_itself(text: str) -> None:
    with pytest.raises(shell_lexer.UncertainCommand):
        shell_lexer.parse_commands(text)


@pytest.mark.parametrize(
    "text", ["f() { ls; }", "if ls; then ls; fi", "[[ a ]]", "ls <(x)", "ls $((1))", "case x in esac", "ls <<E\nE"]
)
def test_and_so_does_the_parser(text: str) -> None:
    """With the lexer out of the way: a node that is not plain is enough."""
    assert "holds" in str(_doubt(text)) or "ambiguous" in str(_doubt(text))


def _doubt(text: str) -> shell_lexer.UncertainCommand:
    with pytest.raises(shell_lexer.UncertainCommand) as raised:
        shell_parse.check_agreement(text, ())
    return raised.value


def test_a_shell_that_was_changed_is_not_the_one_that_was_allowed(tmp_path: Path) -> None:
    rules = [
        "Bash(alias *)",
        "Bash(hash *)",
        "Bash(source *)",
        "Bash(trap *)",
        "Bash(set *)",
        "Bash(git status)",
        "Bash(set -e)",
    ]
    place = Workplace(tmp_path, allow=rules)
    for command in ("alias git=x", "hash -p ./x git", "source ./x", "trap 'x' EXIT", "set -x"):
        assert place.bash(command).kind == "allow"
        assert place.bash(f"{command}; git status").kind == "ask", command
    assert place.bash("set -e && git status").kind == "allow"


def test_git_does_not_obey_a_repository_within_the_project(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    assert place.call("Bash", command="git log").kind == "allow"
    assert place.call("Bash", cwd=place.project / "src", command="git log").kind == "allow"
    assert place.call("Bash", cwd=place.project / "nested", command="git log").kind == "ask"
    for name in ("HEAD", "objects"):
        (place.project / name).mkdir()
    assert place.call("Bash", command="git log").kind == "ask"
