"""Bash itself as the judge: of what we allow, it starts nothing but the programs that were allowed.

Every program that bash can find is a stub that writes down its name. Whatever the quotes, a command that is allowed must
start the program of the rule and no other, and leave no file behind.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.chat.permission.tricks import LISTS, QUOTES, SUBSTITUTIONS
from tests.chat.permission.workplace import Workplace

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None or sys.platform == "win32", reason="needs bash")

PROGRAMS = (
    "git",
    "npm",
    "touch",
    "sh",
    "bash",
    "curl",
    "rm",
    "env",
    "sudo",
    "id",
    "wget",
    "ls",
    "cat",
    "head",
    "xargs",
    "node",
)
RULES = ("Bash(git status)", "Bash(npm test:*)", "Bash(git commit:*)")
MAY_START = {"git", "npm", "ls", "cat", "head"}


class Judge:
    """A folder with stubs, and bash in it."""

    def __init__(self, root: Path) -> None:
        self.place = Workplace(root, allow=RULES)
        self.bin = root / "bin"
        self.log = root / "started"
        self.bin.mkdir()
        for name in PROGRAMS:
            stub = self.bin / name
            stub.write_text(f'#!{BASH}\necho {name} >> "{self.log}"\n')
            stub.chmod(stub.stat().st_mode | stat.S_IXUSR)
        self.before = self._files()

    def started(self, command: str) -> set[str]:
        """The programs that bash starts for a command; it must leave no file behind."""
        self.log.write_text("")
        variables = {"PATH": str(self.bin), "HOME": str(self.place.home), "X": "-x; touch pwned"}
        subprocess.run(
            [str(BASH), "--norc", "--noprofile", "-c", command],
            cwd=self.place.project, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, timeout=20, check=False,
        )  # fmt: skip
        assert self._files() == self.before, command
        return set(self.log.read_text().split())

    def _files(self) -> set[str]:
        return {os.path.join(top, name) for top, _, names in os.walk(self.place.root) for name in names} - {
            str(self.log)
        }


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    return Judge(tmp_path_factory.mktemp("judge"))


def quoting(word: str) -> st.SearchStrategy[str]:
    """A word in many spellings, right ones and wrong ones."""
    dressed = [word, f"'{word}'", f'"{word}"', "\\" + word, word[:1] + "''" + word[1:], f"$'{word}'", f'$"{word}"']
    split = [f"{word[:i]}{q}{word[i:]}{q}" for i in range(len(word)) for q in ("'", '"')]
    odd = [
        f"{word}\\\n",
        f"{word}\u00a0",
        f"{word}{{,x}}",
        f"{word}\\",
        f"{word}'",
        f"${{X}}{word}",
        f"{word}$X",
        f"{word}*",
    ]
    return st.sampled_from(dressed + split + odd)


SMUGGLED = st.sampled_from(
    """; touch pwned| && touch pwned|\ntouch pwned| PIPE sh|$(touch pwned)|`touch pwned`| # x| #x\ntouch pwned| > pwned| 2>&1
| > /dev/null| '; touch pwned'| "; touch pwned"| \\; touch pwned| '\n' touch pwned| $X| "$X"| <(touch pwned)| & touch pwned
| {a,touch}| -- \\| $'\\n'touch| a'b"c'd"e'f"| !touch| ${X@P}| a#b; ls| <<< x| *| [a]| ~| =x|\t-s| '' touch| "" PIPE cat
| x\\'; touch pwned #'| "\\"; touch pwned #"| '$(touch pwned)'| "\\$(touch pwned)"| "a\\\\"; touch pwned #"| -m 'a b'
| PIPEPIPE curl x| -s && git status; cat x| 1>&2| -x=~y| a=b| "it's"| 'say "x"'| \\'| \\"|  --  x""".replace(
        "\n|", "|"
    ).split("|")
).map(lambda text: text.replace("PIPE", "|"))
BEFORE = st.sampled_from(
    [
        "",
        "timeout 5 ",
        "NODE_ENV=x ",
        "nice ",
        "command ",
        "X=1 ",
        "! ",
        "env ",
        "time ",
        "exec ",
        "\\\n",
        "ls | ",
        "CI=1 nohup ",
    ]
)
WORDS = st.sampled_from([("git", "status"), ("npm", "test"), ("git", "commit"), ("npm", "install"), ("ls", "x")])
SPELLED = WORDS.flatmap(lambda words: st.tuples(*map(quoting, words)).map(" ".join))
COMMANDS = st.tuples(
    BEFORE.map(lambda text: text.replace("PIPE", "|")), SPELLED, st.lists(SMUGGLED, max_size=3).map("".join)
)


@settings(max_examples=400, deadline=None)
@given(command=COMMANDS.map("".join))
def test_bash_starts_nothing_but_what_was_allowed(judge: Judge, command: str) -> None:
    if judge.place.bash(command).kind == "allow":
        assert judge.started(command) <= MAY_START, command


PIECES = st.text(alphabet=list("gitsaul xnpme'\"\\$`(){}<>|&;#*?~!=-\n\t[]@:/.0123"), max_size=40)


@settings(max_examples=400, deadline=None)
@given(before=st.sampled_from(["git status", "npm test ", "git commit -m ", "ls "]), after=PIECES)
def test_nor_for_any_noise_behind_it(judge: Judge, before: str, after: str) -> None:
    command = before + after
    if judge.place.bash(command).kind == "allow":
        assert judge.started(command) <= MAY_START, command


def test_the_judge_can_tell(judge: Judge) -> None:
    """The tricks do start other programs, or leave files: the judge would see it if one were allowed."""
    seen = 0
    for command in (*LISTS, *SUBSTITUTIONS, *QUOTES):
        try:
            seen += not judge.started(command) <= MAY_START
        except AssertionError:
            seen += 1
            for left in judge._files() - judge.before:
                Path(left).unlink()
    assert seen >= 30


def test_what_is_usual_is_allowed_and_started(judge: Judge) -> None:
    for command in ("git status", "timeout 5 'npm' test -- \"$X\"", "git commit -m 'it; $(works)' && git status | cat"):
        assert judge.place.bash(command).kind == "allow", command
    assert judge.started("git commit -m 'it; $(works)' && git status | cat") == {"git", "cat"}
