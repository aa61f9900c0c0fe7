"""Commands that run without a question: what they may not be able to do. Bash, git and ripgrep are the judges."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from clew.chat.config.settings import Settings
from clew.chat.permission import git_config, shell_lexer
from clew.chat.permission.decide import Permissions
from clew.chat.permission.shell_globs import expand, is_predictable
from clew.chat.tools.command_environment import command_environment
from tests.chat.permission.trap import EVIL_CONFIG, Trap
from tests.chat.permission.workplace import Workplace

BASH = shutil.which("bash") or "bash"


def asked(place: Workplace | Trap, *commands: str) -> None:
    for command in commands:
        decision = place.decide(command) if isinstance(place, Trap) else place.bash(command)
        assert decision.kind == "ask", command


def allowed(place: Workplace | Trap, *commands: str) -> None:
    for command in commands:
        decision = place.decide(command) if isinstance(place, Trap) else place.bash(command)
        assert decision.kind == "allow", (command, decision.reason)


# -- patterns for file names


@pytest.mark.parametrize("program", ["rg q", "sed -n 1p", "sort", "file", "cat", "head", "wc", "ls"])
def test_a_pattern_that_a_file_name_can_turn_into_an_option_asks(tmp_path: Path, program: str) -> None:
    patterns = (
        "''*",
        '""*',
        '""??*',
        "''[-z]*",
        "*",
        "?",
        "[-a]*",
        "''-*",
        "\\-*",
        "-*",
        "'-'*",
        "$X*",
        '"$X"*',
        "~/*",
        "{a,-}*",
    )
    place = Workplace(tmp_path)
    for name in ("link", "linked"):  # which lead out of the project, and are asked about anyway
        (place.project / name).unlink()
    (place.project / "--pre=sh").write_text("")
    asked(place, *(f"{program} {pattern}" for pattern in patterns))


def test_a_pattern_that_bash_reads_otherwise_asks(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    (place.project / "ink").write_text("x\n")
    patterns = (
        "./[^a]ink*", "./[[:alpha:]]ink", '"./[ab]"*', "./.[^x]pmrc", "./[!a]*", "./a\\**", "./'a*'*", "./@(a|b)*",
        "./**", "./+(a)",
        "./~*x", "./a=*",
    )  # fmt: skip
    asked(
        place,
        *(f"cat {pattern}" for pattern in patterns),
        "cd ./s* && cat a.py",
        "cd ./[^a]rc && ls",
        "cat ./l*",
        "cat ./.s*/*",
    )
    allowed(place, "cat src/*", "cat ./src/?.py", "wc -l src/*.py", "ls s*")


def test_bash_expands_patterns_as_predicted(tmp_path: Path) -> None:
    names = (
        "a",
        "ab",
        "a b",
        "aé",
        ".hid",
        "-n",
        "a*",
        "[a]",
        "B",
        "a.py",
        "sub/a",
        "sub/.x",
        "sub/deep/a",
        "ä",
        "a\\",
        "A",
        "a\nb",
    )
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "link").symlink_to("sub")
    patterns = (
        "a*",
        "a?",
        "./*",
        "./?",
        "sub/*",
        "s*/a",
        "./*/*",
        "./.*",
        "link/*",
        "nomatch*",
        "./*/",
        "s?b/*/a",
        "./a*y",
        "./-*",
        "sub/../a*",
    )
    for pattern in patterns:
        [command] = shell_lexer.parse_commands(f"x {pattern}")
        assert is_predictable(command.words[1]), pattern
        for locale in ("C", "C.UTF-8"):
            done = subprocess.run(
                [BASH, "-c", f"printf '%s\\0' {pattern}"],
                cwd=tmp_path, env=command_environment({**os.environ, "LC_ALL": locale}, is_trusted=False),
                capture_output=True, check=True,
            )  # fmt: skip
            found = {os.fsdecode(name) for name in done.stdout.split(b"\0") if name}
            assert found <= set(expand(pattern, tmp_path) or ()), pattern
            assert pattern == "./-*" or not any(name.startswith("-") for name in found)


def test_a_pattern_counts_as_any_number_of_words(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    for name in ("d1", "d2"):
        (place.project / name).write_text("x\n")
    asked(
        place,
        "uniq ./d*",
        "uniq d?",
        "uniq x d1",
        "uniq -c x d1",
        "uniq x -c",
        "diff ./d*",
        "cmp d*",
        "cd s*",
        "test -f d*",
        "tr ./d* a",
    )
    allowed(place, "uniq d1", "uniq -c d1", "sort ./d* | uniq -c")


# -- variables and descriptors


@pytest.mark.parametrize(
    "command",
    ["printf %n PATH", "printf 'aaaaaaa%n' PATH", "printf %ln HOME", "printf '%5n' CDPATH", "printf '%-n' IFS",
    "printf -v PATH x",
     "printf '%(%s)T' -1", "printf '%*d' 1 2", "printf '%s%n' a PATH", "printf -- %n PATH", "printf '%hhn' PATH",
     "printf '%1$n' PATH"],
)  # fmt: skip
def test_printf_that_may_set_a_variable_asks(tmp_path: Path, command: str) -> None:
    asked(Workplace(tmp_path), command, f"{command}; ls", f"ls && {command}")


def test_printf_that_prints_is_allowed(tmp_path: Path) -> None:
    allowed(
        Workplace(tmp_path),
        "printf '%s\\n' a b",
        "printf hello",
        "printf '%d%%\\n' 5",
        "printf '%5.2f|%-8s|%c' 1 a b",
        "printf '%%n' PATH",
    )


@pytest.mark.parametrize("digit", ["٣", "３", "³", "߃", "०", "12x", "3x", "-1", "99", "d1"])
def test_only_a_descriptor_in_ascii_is_one(tmp_path: Path, digit: str) -> None:
    asked(Workplace(tmp_path), f"printf evil >&{digit}", f"echo x >& {digit}", f"ls 2>&{digit}")


def test_numbers_of_options_are_ascii(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    asked(place, "head -٣ x", "tail -³ x", "grep -٣ a x", "git log -٣", "seq -٣")
    allowed(place, "head -3 x", "tail -5 x", "grep -2 a x", "ls 2>&1", "ls 1>&2", "ls 2>&-", "git log -3")
    (place.project / "+5").symlink_to(place.root / "outside")
    for name in ("-n", "-"):
        (place.project / name).symlink_to(place.root / "outside")
    asked(place, "rev -", "cat -", "tail +5 x", "cat x -n", "head x -n 5")


# -- secrets


def test_a_variable_that_may_hold_a_secret_asks(tmp_path: Path) -> None:
    names = ("ANTHROPIC_API_KEY", "GITHUB_TOKEN", "X", "PATH", "AWS_SECRET_ACCESS_KEY", "_", "LS_COLORS")
    asked(
        Workplace(tmp_path),
        *(form for name in names for form in (f"echo ${name}", f'echo "a ${{{name}}}"', f"cat <<< ${name}")),
    )
    asked(
        Workplace(tmp_path),
        "echo ${!A*}",
        "echo ${A:-x}",
        "printenv",
        "env",
        "set",
        "export -p",
        "declare -p",
        "cat /proc/self/environ",
    )
    asked(
        Workplace(tmp_path),
        "ps e",
        "echo ${A@Q}",
        'grep x <<< "$GITHUB_TOKEN"',
        "wc -c <<< $X",
        "printf %s $X",
        "compgen -v",
    )
    allowed(Workplace(tmp_path), "echo $HOME", 'echo "$PWD and $USER"', "echo '$GITHUB_TOKEN'", "echo \\$X")


@pytest.fixture(scope="module")
def trap(tmp_path_factory: pytest.TempPathFactory) -> Trap:
    return Trap(tmp_path_factory.mktemp("trap"))


@pytest.mark.parametrize(
    "command",
    ["cat .npmrc", "head ./.n*", "grep -r '' .", "grep -r x", "grep -rn x keys",
     "grep x -r", "grep x -rI --exclude-dir=keys", "grep -rI x --exclude-dir=keys", "grep -rf x", "grep x -r --",
     "grep -r -e x --color",  "rg -uu .", "rg --hidden x",
    "rg -g .npmrc x",
     "rg -g'.n*' x", "rg --no-ignore x", "rg --glob=.npmrc --files", "rg x keys", "git show HEAD:.npmrc",
     "git show v1:.npmrc", "git show :.npmrc",
     "git log -p .npmrc", "git log -p", "git log -p -- '.np*'", "git show v1", "git diff v1 HEAD~1 -- .npmrc",
     "git cat-file -p HEAD:.npmrc",
     "git blame .npmrc", "git log -L1,1:.npmrc", "git log -L 1,1:.npmrc", "git show v1:./.npmrc",
     "git show HEAD:src/../.npmrc", "sort .npmrc",
     "diff x .npmrc", "strings .npmrc", "od -c .npmrc", "git grep x", "find . -exec cat {} +",
     "git diff --no-index x .npmrc",
     "git log -p -- ':(icase).NPMRC'", "git log -p :/", "git show HEAD:.NPMRC",
     "git diff 4b825dc642cb6eb9a060e54bf8d69288fbee4904 HEAD"],
)  # fmt: skip
def test_what_is_asked_about_by_itself_is_not_shown_by_other_means(trap: Trap, command: str) -> None:
    asked(trap, command)


def test_a_file_is_not_shown_by_the_id_of_its_content(trap: Trap) -> None:
    done = subprocess.run(
        ["git", "rev-parse", "HEAD:.npmrc"], cwd=trap.project, capture_output=True, text=True, check=True
    )
    blob = done.stdout.strip()
    asked(
        trap,
        *(f"git {name} {blob}" for name in ("show", "cat-file -p", "cat-file blob", "show --stat", "diff HEAD:x")),
        f"git diff {blob}..{blob}",
    )
    allowed(trap, f"git cat-file -t {blob}", "git cat-file -p HEAD:x", "git show HEAD:a.txt", "git cat-file -p HEAD")


def test_what_shows_no_secret_is_allowed(trap: Trap) -> None:
    allowed(
        trap,
        "git diff",
        "git show",
        "git show HEAD",
        "git log -p -1",
        "git log --oneline",
        "git diff HEAD~1",
        "git log -p -- x",
        "rg x",
    )
    allowed(
        trap,
        "git diff --stat",
        "git status",
        "git show --stat v1",
        "grep -rn x src/deep",
        "git blame a.txt",
        "rg x src",
        "git ls-files -m",
    )


def test_rules_about_files_hold_for_commits_and_path_patterns(tmp_path: Path) -> None:
    trap = Trap(tmp_path, rules={"allow": ["Bash"], "deny": ["Read(./a.txt)", "Read(src/**)"]})
    denied = (
        "git show HEAD:a.txt", "git show v1:a.txt", "git show :a.txt", "git log -p a.txt", "git log -p -- a.txt",
        "git diff HEAD -- a.txt",
        "git blame a.txt", "git cat-file -p HEAD:a.txt", "git log -p ':(icase)a.txt'",
        "git --no-pager show HEAD:a.txt", "cat ./a.*",
        "cat [a].txt", "head a.t?t", "xxd a.txt", "base64 a.txt", "cp a.txt z", "cat < a.txt", "x=$(cat a.txt)",
        "tar cf - a.txt",
        "cat src/a.py", "git show HEAD:src/a.py", "grep -f a.txt x", "grep --file=a.txt x", "timeout 5 cat a.txt",
        "cd sub && cat ../a.txt", "cat $PWD/a.txt",
        'cat "${PWD}/a.txt"', 'cat "$X/a.txt"', "cd src; cat a.py", "cd src && head ./*.py",
        "git -C src show HEAD:./a.py", "cd sub; cat ../src/a.py",
        "if true; then cat a.txt; fi",
    )  # fmt: skip
    for command in denied:
        for mode in ("default", "bypassPermissions"):
            decision = trap.permissions.decide("Bash", {"command": command}, trap.project, mode)
            assert decision.kind == "deny", (command, mode, decision)


@pytest.mark.parametrize("name", [".ignore", ".rgignore", ".gitignore"])
def test_an_ignore_file_that_brings_keys_back_into_a_search_is_seen(tmp_path: Path, name: str) -> None:
    place = Workplace(tmp_path)
    subprocess.run(["git", "init", "-q"], cwd=place.project, check=True)
    (place.project / "sub").mkdir()
    (place.project / "sub/.npmrc").write_text("x\n")
    allowed(place, "rg x", "rg x sub")
    (place.project / "sub" / name).write_text("!.npmrc\n")
    asked(place, "rg x", "rg x sub", "rg --files-with-matches x")


# -- what a program takes from files and from the environment


def test_a_program_that_reads_options_from_a_file_asks(tmp_path: Path) -> None:
    asked(
        Workplace(tmp_path), "strings @x", "strings @../outside", "strings -n @x src/a.py", "strings ./@x @x",
        "od -w ../outside", "od -w x",
        "wc --files0-from=x", "du --files0-from=x", "sort --files0-from=x", "grep --exclude-from=x a .", "file -f x",
        "file -m x src", "rg -f x",
        "find -files0-from x", "sed -f x", "ls -I ../outside", "grep --context x ../outside", "diff src src",
        "diff x src", "cmp src src",
        "git log --format=%G?", "git log --pretty=format:%GG", "git describe --dirty", "git status -v", "hostname -f",
        "make -V", "npm -V",
    )  # fmt: skip
    allowed(
        Workplace(tmp_path),
        "strings x",
        "od -c x",
        "diff x src/a.py",
        "git log --format=%H",
        "hostname",
        "make --version",
    )


def test_variables_that_change_what_commands_mean_do_not_reach_them() -> None:
    hostile = {
        "BASH_ENV": "x", "ENV": "x", "BASHOPTS": "nullglob", "SHELLOPTS": "xtrace", "PS4": "$(x)", "GLOBIGNORE": "x",
        "CDPATH": "/",
        "BASH_FUNC_ls%%": "() { x; }", "RIPGREP_CONFIG_PATH": "x", "GREP_OPTIONS": "-r", "MAGIC": "x",
        "POSIXLY_CORRECT": "1",
    }  # fmt: skip
    kept = {"HOME": "/h", "LANG": "C", "ANTHROPIC_API_KEY": "k"}
    for is_trusted in (True, False):
        made = command_environment({**hostile, **kept}, is_trusted=is_trusted)
        assert hostile.keys().isdisjoint(made) and kept.items() <= made.items()
    own = {
        "GIT_DIR": "x",
        "GIT_EXTERNAL_DIFF": "x",
        "GIT_AUTHOR_NAME": "A",
        "GIT_TRACE": "/x",
    }
    made = command_environment(own, is_trusted=False)
    assert made["GIT_AUTHOR_NAME"] == "A"
    assert {"GIT_DIR", "GIT_EXTERNAL_DIFF", "GIT_TRACE"}.isdisjoint(made)
    assert own.items() <= command_environment(own, is_trusted=True).items()


def test_a_program_of_the_project_is_not_the_one_that_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Workplace(tmp_path)
    program = place.project / "bin" / "ls"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    allowed(place, "ls")
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    asked(place, "ls", "timeout 5 ls")
    allowed(place, "cat x")


# -- git in a folder that is not trusted

PROGRAM_KEYS = [
    "core.fsmonitor",
    "core.hookspath",
    "core.sshcommand",
    "core.pager",
    "core.editor",
    "core.gitproxy",
    "core.askpass",
    "diff.external",
    "diff.x.command",
    "diff.x.textconv",
    "filter.x.clean",
    "filter.x.smudge",
    "filter.x.process",
    "gpg.program",
    "gpg.ssh.program",
    "credential.helper",
    "log.showsignature",
    "alias.st",
    "include.path",
    "includeif.x.path",
    "core.attributesfile",
    "core.worktree",
    "extensions.worktreeconfig",
    "extensions.partialclone",
    "remote.origin.promisor",
    "remote.origin.uploadpack",
    "merge.x.driver",
    "sequence.editor",
    "core.excludesfile",
    "submodule.x.update",
    "submodule.x.ignore",
    "url.x.insteadof",
    "protocol.ext.allow",
    "uploadpack.packobjectshook",
    "pager.log",
    "mailmap.file",
    "blame.ignorerevsfile",
    "interactive.difffilter",
    "man.x.cmd",
    "difftool.x.cmd",
    "status.submodulesummary",
    "diff.submodule",
]


@pytest.mark.parametrize("key", PROGRAM_KEYS)
def test_git_asks_where_the_repository_sets_what_may_run_programs(tmp_path: Path, key: str) -> None:
    trap = Trap(tmp_path)
    allowed(trap, "git status", "git log", "git diff")
    subprocess.run(["git", "config", key, str(trap.trip)], cwd=trap.project, check=True)
    asked(
        trap,
        "git status",
        "git log -p",
        "git diff",
        "git blame x",
        "git ls-files -m",
        "git check-ignore x",
        "git branch",
    )
    allowed(trap, "git --version", "ls")


@pytest.mark.parametrize(
    "config",
    ["[core] fsmonitor = x", "[core]fsmonitor=x", "[CORE]\nFSMonitor = x", "[core]\n\tfsmonitor",
    "[core]\n a = \\\nfsmonitor = x", "[ core ] fsmonitor=x",
     '[diff "a\\"b"] command = x', "[diff.a]\ncommand=x", "[include]\npath = /x", "[core] ; x\nfsmonitor = x",
     "[core][diff] external = x", "\ufeff[core]\nfsmonitor=x",
     "[core]\r\nfsmonitor = x\r\n", "[core\nfsmonitor = x", "garbage = ="],
)  # fmt: skip
def test_settings_are_found_however_they_are_written(tmp_path: Path, config: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").write_bytes(config.encode())
    assert git_config.find_risk(tmp_path, (tmp_path,))


def test_git_asks_where_the_repository_lies_elsewhere(tmp_path: Path) -> None:
    def fresh(name: str) -> Trap:
        trap = Trap(tmp_path / name)
        allowed(trap, "git status")
        return trap

    for name in ("commondir", "objects/info/alternates", "config.worktree"):
        trap = fresh(name.replace("/", "-"))
        (trap.project / ".git" / name).write_text("x\n")
        asked(trap, "git status", "git log")
    for name in ("config", "refs", "objects", "HEAD", "info"):
        trap = fresh(f"link-{name}")
        (trap.project / ".git" / name).rename(trap.outside / name)
        (trap.project / ".git" / name).symlink_to(trap.outside / name)
        asked(trap, "git status", "git log")
    trap = fresh("file")
    (trap.project / ".git").rename(trap.outside / "git")
    (trap.project / ".git").write_text(f"gitdir: {trap.outside}/git\n")
    asked(trap, "git status", "git show")
    trap = fresh("bare")
    for name in ("HEAD", "objects"):
        (trap.project / name).mkdir()
    asked(trap, "git status")
    trap = fresh("none")
    shutil.rmtree(trap.project / ".git")
    asked(trap, "git status", "git diff x link", "git diff a.txt x")


def test_git_asks_where_there_are_submodules(tmp_path: Path) -> None:
    """`git status` runs in them as well, and obeys their settings."""
    trap = Trap(tmp_path)
    nested = trap.project / "nested"
    for words in (
        ("init", "-q", "nested"),
        ("-C", "nested", "commit", "-q", "--allow-empty", "-m", "x"),
        ("add", "nested"),
    ):
        subprocess.run(
            ["git", "-c", "user.name=A", "-c", "user.email=a@b", *words],
            cwd=trap.project,
            check=True,
            capture_output=True,
        )
    (nested / ".git/config").write_text(EVIL_CONFIG.replace("{trip}", str(trap.trip)))
    asked(trap, "git status", "git diff")
    trap.before = trap.files()
    variables = {n: v for n, v in trap.variables.items() if not n.startswith("GIT_CONFIG")}
    trap.variables = variables
    assert any("tripped" in wrong for wrong in trap.run(["git status"]))


def test_in_a_trusted_folder_git_looks_as_ever(tmp_path: Path) -> None:
    allowed(
        Trap(tmp_path, is_trusted=True, config=EVIL_CONFIG),
        "git status",
        "git log --oneline",
        "git branch -a",
        "python --version",
    )


@pytest.mark.parametrize(
    "command", ["git status", "git diff", "git log -p -2", "git show HEAD", "git blame a.txt", "git ls-files -m"]
)
def test_the_environment_of_an_untrusted_folder_keeps_git_from_its_hooks(tmp_path: Path, command: str) -> None:
    """Even if a question was answered with yes."""
    hooks = "[core]\n\tfsmonitor = {trip}\n\thooksPath = evil-hooks\n"
    hooks += "[log]\n\tshowSignature = true\n[gpg]\n\tprogram = {trip}\n"
    assert not any("tripped" in wrong for wrong in Trap(tmp_path, config=hooks).run([command]))


# -- rules that forbid


@pytest.mark.parametrize(
    "command",
    ["git push", "git -C . push", "git --no-pager push", "git -c a=b push", "git -c a=b -C . --no-pager push origin",
    "command git push",
     "/usr/bin/git push", "env git push", "{git,} push", "git {push,origin}", "git --git-dir=.git push",
     "git --git-dir .git push", "git -p push",
     "sudo git -C x push", "timeout 5 git -c a=b push", "git -c alias.p=push p", "git -c 'alias.p=!git push' p",
     "bash -c 'git -C . push'",
     "g''it -C . p\"\"ush", "\\git --bare push", "git --exec-path=x push", "xargs git -C . push",
     "if true; then git -C . push; fi", "$'git' -C . push", "GIT push", "git.exe push",
     "alias g='git push'\ng", "hash -p /usr/bin/git x; git push"],
)  # fmt: skip
def test_a_forbidden_subcommand_is_found_behind_options(tmp_path: Path, command: str) -> None:
    place = Workplace(tmp_path, allow=["Bash"], deny=["Bash(git push:*)"])
    for mode in ("default", "bypassPermissions"):
        assert place.bash(command, mode).kind == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "{rm,x}",
        "{rm,-rf,x}",
        "r{m,} x",
        "\\rm x",
        "'rm' x",
        "r''m x",
        "$'rm' x",
        "busybox rm x",
        "xargs rm",
        "{,/bin/}rm x",
        "sudo {rm,x}",
    ],
)
def test_a_forbidden_command_is_found_in_braces_and_quotes(tmp_path: Path, command: str) -> None:
    place = Workplace(tmp_path, allow=["Bash"], deny=["Bash(rm:*)"])
    for mode in ("default", "bypassPermissions"):
        assert place.bash(command, mode).kind == "deny"


COMPUTED = [
    "$X x", "${X} x", "r$X x", "$(echo rm) x", "`echo rm` x", "/bin/r? x", "/bin/[r]m x", "env $X", "sudo $X y",
    "timeout 5 $X", 'bash -c "$X"',
    'eval "$X"', "echo rm x | sh", "base64 -d x | bash", "bash -s < x", "ls; $X", "if true; then $X; fi",
    "a=rm; $a x", "${X:-rm} y", "xargs $X", ". <(echo rm x)", "source <(cat x)", "{r..r}m x", "rm$X y", "cu{r..r}l",
]  # fmt: skip


@pytest.mark.parametrize(
    "command", ["git $X", "git -C . $X", "git --no-pager $(echo push)", "sudo git $X", "git pu?h", 'git -c "$X"']
)
def test_a_subcommand_that_is_computed_asks_where_a_rule_forbids_subcommands(tmp_path: Path, command: str) -> None:
    place = Workplace(tmp_path, allow=["Bash"], deny=["Bash(git push:*)"])
    assert place.bash(command, "bypassPermissions").kind == "ask"
    for plain in ("git -C $X status", "git commit -m $X", "git log -- *.py", "npm $X"):
        assert place.bash(plain, "bypassPermissions").kind == "allow", plain


@pytest.mark.parametrize("command", COMPUTED)
def test_a_name_that_is_computed_asks_where_a_rule_forbids_names(tmp_path: Path, command: str) -> None:
    place = Workplace(tmp_path, allow=["Bash"], deny=["Bash(rm:*)"])
    assert place.bash(command).kind in ("ask", "deny")
    assert place.bash(command, "bypassPermissions").kind in ("ask", "deny")
    assert Workplace(tmp_path).bash(command, "bypassPermissions").kind == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "git commit -m push",
        "git log push",
        "echo git push",
        "npm run push",
        "git status; echo $X",
        "[ -f x ]",
        "test $X",
    ],
)
def test_other_commands_are_not_forbidden(tmp_path: Path, command: str) -> None:
    place = Workplace(tmp_path, allow=["Bash"], deny=["Bash(git push:*)"])
    assert place.bash(command, "bypassPermissions").kind == "allow"


@pytest.mark.parametrize(
    "broken", ["empty", "HEAD missing", "HEAD unreadable as a name", "refs missing", "objects missing"]
)
def test_a_git_folder_that_git_passes_over_for_one_above_asks(tmp_path: Path, broken: str) -> None:
    """The repository above names a program, and git runs it."""
    above, below = tmp_path / "above", tmp_path / "above/below"
    below.mkdir(parents=True)
    clean = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}

    def git(folder: Path, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=folder, env=clean, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git(above, "init", "-q")
    git(above, "config", "filter.evil.clean", "touch pwned; cat")
    git(below, "init", "-q")
    store = below / ".git"
    permissions = Permissions(Settings((), trusted=False), below, tmp_path / "home")
    commands = [{"command": f"git {name}"} for name in ("status", "diff", "log -p", "show")]
    assert permissions.decide("Bash", commands[0], below, "default").kind == "allow"
    if broken == "HEAD unreadable as a name":
        (store / "HEAD").write_text("x")
    elif broken == "HEAD missing":
        (store / "HEAD").unlink()
    else:
        shutil.rmtree(store if broken == "empty" else store / broken.split()[0])
        store.mkdir(exist_ok=True)
    assert git(below, "rev-parse", "--show-toplevel") == str(above)
    for command in commands:
        assert permissions.decide("Bash", command, below, "default").kind == "ask", command
