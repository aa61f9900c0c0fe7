"""Wrappers: commands that run another one. Stripped strictly where it is about allowing, widely where about forbidding."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from clew.chat.permission import shell_parse
from clew.chat.permission.command_options import names
from clew.chat.permission.shell_lexer import Doubt, SimpleCommand, Word, WordSpan

_DURATION = re.compile(r"[0-9]+(?:\.[0-9]+)?[smhd]?")
_FLAGS: dict[str, re.Pattern[str]] = {
    "timeout": re.compile(
        r"--preserve-status|--foreground|-v|--verbose|-k[0-9.]+[smhd]?|-s[A-Z0-9]+|--signal=[A-Z0-9]+"
    ),
    "time": re.compile(r"-p"),
    "nice": re.compile(r"-n-?[0-9]+|-[0-9]+|--adjustment=-?[0-9]+"),
    "nohup": re.compile(r"(?!)"),
    "stdbuf": re.compile(r"-[ioe](?:[0L]|[0-9]+[KMG]?)|--(?:input|output|error)=(?:[0L]|[0-9]+[KMG]?)"),
    "command": re.compile(r"--"),
    "builtin": re.compile(r"--"),
    "xargs": re.compile(r"(?!)"),
}
NAMES = frozenset(_FLAGS)
_WITH_VALUE = {"timeout": ("-s", "-k"), "nice": ("-n",), "stdbuf": ("-i", "-o", "-e")}
UNKNOWN = Word("…", None, True, WordSpan(0, 0))  # what xargs adds: any words at all

# Set by hand or by programs without consequence for what is run.
_SAFE_VARIABLES = names(
    "LANG LC_ALL LC_CTYPE LC_COLLATE LC_MESSAGES LC_NUMERIC LC_TIME TZ NO_COLOR FORCE_COLOR CLICOLOR"
    " CLICOLOR_FORCE TERM COLUMNS LINES CI NODE_ENV RAILS_ENV RUST_BACKTRACE RUST_LOG PYTHONUNBUFFERED"
    " PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONUTF8 GOOS GOARCH CGO_ENABLED DEBIAN_FRONTEND"
)
_SAFE_VALUE = re.compile(r"[A-Za-z0-9_.@,:=+-]*")
_MANY = 100  # words of a launcher; behind them only the beginning of a command is looked at
_LAUNCHERS = names(
    "sudo doas su env exec eval source . xargs parallel find fd watch bash sh dash zsh ksh fish ash busybox ssh strace"
    " ltrace gdb setsid script expect chroot unshare nsenter flock ionice taskset chrt numactl coproc then do else if"
    " while until ! { ( trap entr npx bunx pnpx uvx pipx rbash systemd-run run-parts awk gawk mawk perl python python3"
    " ruby node php lua tclsh tar rsync alias hash pushd runuser pkexec sg newgrp dbus-run-session dbus-launch xvfb-run"
    " catchsegv linux32 linux64 setarch i386 x86_64 prlimit cgexec firejail bwrap proot fakeroot faketime torsocks torify"
    " proxychains proxychains4 caffeinate choom uclampset toybox start-stop-daemon tmux screen direnv dotenv nix-shell"
    " mise asdf pyenv rbenv nodenv aws-vault op sshpass at batch socat ncat nc vim nvim vi ed man"
) | set(_FLAGS)
_LOADER = re.compile(r"ld(?:-linux[a-z0-9_.-]*|-musl[a-z0-9_.-]*)?\.so(?:\.[0-9]+)?")
# Words after which a program with subcommands names a command to run: `npm exec`, `git rebase -x`, `git bisect run`.
_RUNNING = names("run exec dlx foreach -x --exec")
_WITH_SCRIPTS = names("npm pnpm yarn bun cargo go composer")  # `npm run NAME` names a script, not a command
_OPTION = re.compile(r"(?:--?[A-Za-z][A-Za-z-]*=|-[A-Za-z](?=.))?(?:[A-Za-z]+[=:])?")


_EXPANDED = re.compile(r"[$`*?\[{]|<\(")
_SHELLS = names("sh bash dash zsh ksh fish ash rbash eval")
_SETTING = re.compile(r"([A-Za-z]+)\.[^=]*=(.*)", re.DOTALL)
_WITH_SUBCOMMANDS = names(
    "git npm pnpm yarn bun cargo go docker podman kubectl helm gh glab uv pip pip3 poetry dotnet terraform systemctl brew"
    " apt apt-get dnf yum apk aws gcloud az svn hg jj conda gem bundle composer heroku vercel fly flyctl twine hatch"
)


def is_safe_variable(name: str, word: Word) -> bool:
    """Whether setting it changes nothing of what is run. A value with a slash might lead to a file."""
    return name in _SAFE_VARIABLES and word.value is not None and bool(_SAFE_VALUE.fullmatch(word.value))


def unwrapped(command: SimpleCommand) -> SimpleCommand:
    """The command that is run in the end. Raises Doubt if a wrapper has options that we do not know."""
    words = command.words
    added = False
    for _ in range(10):
        name = words[0].value or ""
        if name not in _FLAGS or len(words) == 1 or (name == "command" and words[1].value in ("-v", "-V")):
            break
        words = _behind(name, words)
        added = added or name == "xargs"
    if words[0].value is None or words[0].has_glob:
        raise Doubt(f"{words[0].source} is not the plain name of a command")
    return replace(command, words=(*words, UNKNOWN) if added else words)


def _behind(name: str, words: tuple[Word, ...]) -> tuple[Word, ...]:
    at = 1
    while at < len(words) and (words[at].source or "").startswith("-"):
        value = words[at].value or ""
        if value in _WITH_VALUE.get(name, ()):
            at += 1
        elif not _FLAGS[name].fullmatch(value):
            raise Doubt(f"{name} {words[at].source} is not known")
        at += 1
    if name == "timeout":
        if at >= len(words) or not _DURATION.fullmatch(words[at].value or ""):
            raise Doubt("timeout has no plain duration")
        at += 1
    if at >= len(words):
        raise Doubt(f"{name} runs nothing")
    if "=" in (words[at].value or ""):
        raise Doubt(f"{words[at].source} is not the plain name of a command")
    return words[at:]


def forms(words: tuple[str, ...], depth: int = 3) -> Iterator[str]:
    """Every text that a forbidding rule is held against: the command itself, and what it may run."""
    bare = _bare(words[0])
    yield " ".join(words)
    if bare != words[0]:
        yield " ".join((bare, *words[1:]))
    if bare.startswith("git-"):
        yield " ".join(("git", bare[4:], *words[1:]))
    if bare in _WITH_SUBCOMMANDS:
        yield from _subcommands(bare, words[1:], depth)
        running = _RUNNING - {"run"} if bare in _WITH_SCRIPTS else _RUNNING
        starts = [at for at, word in enumerate(words[:_MANY], 1) if word in running] if depth else []
        if starts and words[starts[0] :]:
            yield from forms(("exec", *words[starts[0] :]), depth - 1)
    if depth == 0 or (bare not in _LAUNCHERS and not _LOADER.fullmatch(bare)):
        return
    if bare == "alias":
        for inner in (each for word in words[1:] for each in shell_parse.parse(word.partition("=")[2]).loose):
            yield from forms(inner, depth - 1)
    for start in range(1, len(words)):
        rest = words[start:] if start <= _MANY else words[start : start + _MANY]
        yield " ".join(rest)
        name = _bare(rest[0])
        if name != rest[0]:
            yield " ".join((name, *rest[1:]))
        if name in _WITH_SUBCOMMANDS:
            yield from _subcommands(name, rest[1:], depth)
        value = _OPTION.sub("", words[start], count=1)  # `env -S'rm x'`, `tar --to-command=rm`
        texts = [words[start]] if " " in words[start] or ";" in words[start] else []
        for text in [*texts, *([value] if value and value != words[start] else [])]:
            for inner in shell_parse.parse(text.lstrip(":!")).loose:
                yield from forms(inner, depth - 1)
    if bare == "eval":
        for inner in shell_parse.parse(" ".join(words[1:])).loose:
            yield from forms(inner, depth - 1)


def _bare(word: str) -> str:
    """The name of a program without its folder, as a file system that is not strict finds it."""
    return word.rsplit("/", 1)[-1].lower().removesuffix(".exe")


def _subcommands(name: str, arguments: tuple[str, ...], depth: int) -> Iterator[str]:
    """The command without the options before its subcommand: `git -C x push` is `git push`. A word after an option may be
    the option's value or the subcommand, so it is taken for both. A setting given by `-c` may name a
    command (`core.pager`), and an alias stands for what it is set to."""
    for at, word in enumerate(arguments):
        if word.startswith("-"):
            continue
        yield " ".join((name, *arguments[at:]))
        if at == 0 or not arguments[at - 1].startswith("-"):
            break
    for found in (_SETTING.fullmatch(word) for word in arguments if name == "git" and depth):
        if found and found[1].lower() == "alias" and not found[2].startswith("!"):
            yield f"git {found[2]}"
        elif found:
            for inner in shell_parse.parse(found[2].removeprefix("!")).loose:
                yield from forms(inner, depth - 1)


def is_computed(words: tuple[str, ...]) -> bool:
    """Whether only the shell can tell which program a command runs: its name is an expansion, or a shell runs a text that
    is one or that it reads."""
    for at, word in enumerate(words):
        name = _bare(word)
        if at > 0 and (word.startswith("-") or "=" in word or _DURATION.fullmatch(word)):
            continue
        if _EXPANDED.search(word) and word not in ("[", "[["):
            return True
        if name in _SHELLS:
            return _runs_what_it_reads(words[at + 1 :])
        if name not in _LAUNCHERS:
            return False
    return False


def has_computed_subcommand(words: tuple[str, ...], name: str) -> bool:
    """Whether only the shell can tell what a program of this name is told to do: `git $X`, but not `git -C $X status`."""
    starts = [at for at, word in enumerate(words) if _bare(word) == name and (at == 0 or _bare(words[0]) in _LAUNCHERS)]
    is_open = False
    for before, word in zip(words[starts[0] :], words[starts[0] + 1 :], strict=False) if starts else ():
        is_value = before.startswith("-")
        if _EXPANDED.search(word):
            is_open = True
        elif not word.startswith("-") and not is_value:
            return False
        if is_open and not is_value:
            return True
    return is_open


def _runs_what_it_reads(arguments: tuple[str, ...]) -> bool:
    """Whether a shell runs what it reads, or a text that is put together."""
    words = [word for word in arguments if not word.startswith("-")]
    return not words or any(_EXPANDED.search(word) for word in words)
