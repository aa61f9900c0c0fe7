"""No trick runs unasked: smuggling past rules, in every way that we know of."""

from __future__ import annotations

import pytest

from clew.chat.permission.decision import Mode
from tests.chat.permission.place_to_work import Workplace
from tests.chat.permission.tricks import REDIRECTS, RULES, TRICKS


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    return Workplace(tmp_path_factory.mktemp("tricks"), allow=RULES)


def test_there_are_enough_tricks() -> None:
    assert len(set(TRICKS)) == len(TRICKS) >= 100


@pytest.mark.parametrize("command", TRICKS, ids=lambda c: repr(c)[:50])
def test_a_trick_is_asked_about(workplace: Workplace, command: str) -> None:
    decision = workplace.bash(command)
    assert decision.kind == "ask", decision
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
