"""Find the command inside wrappers such as `timeout 5 CMD`: strictly for allow rules, broadly for deny and ask
rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from clew.chat.permission import shell_parse
from clew.chat.permission.command_options import split_names
from clew.chat.permission.shell_lexer import SimpleCommand, UncertainCommand, Word, WordSpan

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
UNKNOWN_WORDS = Word("…", None, True, WordSpan(0, 0))  # the arguments that xargs adds, which are not known

# Variables that do not change which program runs.
_SAFE_VARIABLES = split_names(
    "LANG LC_ALL LC_CTYPE LC_COLLATE LC_MESSAGES LC_NUMERIC LC_TIME TZ NO_COLOR FORCE_COLOR CLICOLOR"
    " CLICOLOR_FORCE TERM COLUMNS LINES CI NODE_ENV RAILS_ENV RUST_BACKTRACE RUST_LOG PYTHONUNBUFFERED"
    " PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONUTF8 GOOS GOARCH CGO_ENABLED DEBIAN_FRONTEND"
)
_SAFE_VALUE = re.compile(r"[A-Za-z0-9_.@,:=+-]*")
_MAX_WORDS = 100  # words after a launcher; beyond them only the beginning of a command is checked
_LAUNCHERS = split_names(
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
_EXEC_WORDS = split_names("run exec dlx foreach -x --exec")
_WITH_SCRIPTS = split_names("npm pnpm yarn bun cargo go composer")  # `npm run NAME` names a script, not a command
_OPTION = re.compile(r"(?:--?[A-Za-z][A-Za-z-]*=|-[A-Za-z](?=.))?(?:[A-Za-z]+[=:])?")


_EXPANDED = re.compile(r"[$`*?\[{]|<\(")
_SHELLS = split_names("sh bash dash zsh ksh fish ash rbash eval")
_SETTING = re.compile(r"([A-Za-z]+)\.[^=]*=(.*)", re.DOTALL)
_WITH_SUBCOMMANDS = split_names(
    "git npm pnpm yarn bun cargo go docker podman kubectl helm gh glab uv pip pip3 poetry dotnet terraform systemctl brew"
    " apt apt-get dnf yum apk aws gcloud az svn hg jj conda gem bundle composer heroku vercel fly flyctl twine hatch"
)


def is_safe_variable(name: str, word: Word) -> bool:
    """Return True if setting the variable does not change which program runs. A value with a slash may be a path to
    a file.
    """
    return name in _SAFE_VARIABLES and word.value is not None and bool(_SAFE_VALUE.fullmatch(word.value))


def unwrap(command: SimpleCommand) -> SimpleCommand:
    """Return the command that finally runs. Raises UncertainCommand if a wrapper has unknown options.

    `timeout 5 nice -n3 git log` becomes `git log`; `xargs rm` becomes `rm …`, because xargs adds unknown arguments.
    """
    words = command.words
    has_unknown_words = False
    for _ in range(10):
        name = words[0].value or ""
        if name not in _FLAGS or len(words) == 1 or (name == "command" and words[1].value in ("-v", "-V")):
            break
        words = _strip_wrapper(name, words)
        has_unknown_words = has_unknown_words or name == "xargs"
    if words[0].value is None or words[0].has_glob:
        raise UncertainCommand(f"{words[0].source} is not a plain command name")
    return replace(command, words=(*words, UNKNOWN_WORDS) if has_unknown_words else words)


def _strip_wrapper(name: str, words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return the words after a wrapper and its options. Raises UncertainCommand."""
    # `timeout -k 5 30s make test` gives `make test`: -k has a value, and the duration is not an option.
    index = 1
    while index < len(words) and (words[index].source or "").startswith("-"):
        value = words[index].value or ""
        if value in _WITH_VALUE.get(name, ()):
            index += 1
        elif not _FLAGS[name].fullmatch(value):
            raise UncertainCommand(f"{name} {words[index].source} is not known")
        index += 1
    if name == "timeout":
        if index >= len(words) or not _DURATION.fullmatch(words[index].value or ""):
            raise UncertainCommand("timeout has no plain duration")
        index += 1
    if index >= len(words):
        raise UncertainCommand(f"{name} runs nothing")
    if "=" in (words[index].value or ""):
        raise UncertainCommand(f"{words[index].source} is not a plain command name")
    return words[index:]


def possible_commands(words: tuple[str, ...], depth: int = 3) -> Iterator[str]:
    """Yield every text that deny and ask rules are matched against: the command itself, and everything that it may
    run.

    `sudo -u me /bin/rm x` yields `sudo -u me /bin/rm x`, `-u me /bin/rm x`, `me /bin/rm x`, `/bin/rm x` and `rm x`:
    which words are options is not known, so every suffix counts.
    """
    program = _program_name(words[0])
    yield " ".join(words)
    if program != words[0]:
        yield " ".join((program, *words[1:]))
    if program.startswith("git-"):
        yield " ".join(("git", program[4:], *words[1:]))
    if program in _WITH_SUBCOMMANDS:
        yield from _without_global_options(program, words[1:], depth)
        running = _EXEC_WORDS - {"run"} if program in _WITH_SCRIPTS else _EXEC_WORDS
        starts = [at for at, word in enumerate(words[:_MAX_WORDS], 1) if word in running] if depth else []
        if starts and words[starts[0] :]:
            yield from possible_commands(("exec", *words[starts[0] :]), depth - 1)
    if depth == 0 or (program not in _LAUNCHERS and not _LOADER.fullmatch(program)):
        return
    if program == "alias":
        for inner in (
            parsed_command for word in words[1:] for parsed_command in shell_parse.parse(word.partition("=")[2]).loose
        ):
            yield from possible_commands(inner, depth - 1)
    for start in range(1, len(words)):
        suffix = words[start:] if start <= _MAX_WORDS else words[start : start + _MAX_WORDS]
        yield " ".join(suffix)
        name = _program_name(suffix[0])
        if name != suffix[0]:
            yield " ".join((name, *suffix[1:]))
        if name in _WITH_SUBCOMMANDS:
            yield from _without_global_options(name, suffix[1:], depth)
        value = _OPTION.sub("", words[start], count=1)  # `env -S'rm x'`, `tar --to-command=rm`
        texts = [words[start]] if " " in words[start] or ";" in words[start] else []
        for text in [*texts, *([value] if value and value != words[start] else [])]:
            for inner in shell_parse.parse(text.lstrip(":!")).loose:
                yield from possible_commands(inner, depth - 1)
    if program == "eval":
        for inner in shell_parse.parse(" ".join(words[1:])).loose:
            yield from possible_commands(inner, depth - 1)


def _program_name(word: str) -> str:
    """Return the program name without its folder, in lower case and without `.exe`, as a case-insensitive file
    system finds it.
    """
    return word.rsplit("/", 1)[-1].lower().removesuffix(".exe")


def _without_global_options(name: str, arguments: tuple[str, ...], depth: int) -> Iterator[str]:
    """Yield the command without the options before its subcommand: `git -C x push` gives `git push`.

    A word after an option may be its value or the subcommand, so it counts as both. A value of `git -c` may name a
    command (`core.pager`), and an alias stands for its definition.
    """
    for index, word in enumerate(arguments):
        if word.startswith("-"):
            continue
        yield " ".join((name, *arguments[index:]))
        if index == 0 or not arguments[index - 1].startswith("-"):
            break
    for setting in (_SETTING.fullmatch(word) for word in arguments if name == "git" and depth):
        if setting and setting[1].lower() == "alias" and not setting[2].startswith("!"):
            yield f"git {setting[2]}"
        elif setting:
            for inner in shell_parse.parse(setting[2].removeprefix("!")).loose:
                yield from possible_commands(inner, depth - 1)


def has_computed_name(words: tuple[str, ...]) -> bool:
    """Return True if only the shell can tell which program runs: `$X a`, `sudo $X`, `bash -c "$X"`, `… | sh`."""
    for index, word in enumerate(words):
        name = _program_name(word)
        if index > 0 and (word.startswith("-") or "=" in word or _DURATION.fullmatch(word)):
            continue
        if _EXPANDED.search(word) and word not in ("[", "[["):
            return True
        if name in _SHELLS:
            return _runs_unknown_script(words[index + 1 :])
        if name not in _LAUNCHERS:
            return False
    return False


def has_computed_subcommand(words: tuple[str, ...], name: str) -> bool:
    """Return True if only the shell can tell the subcommand of a program: `git $X`, but not `git -C $X status`."""
    starts = [
        at
        for at, word in enumerate(words)
        if _program_name(word) == name and (at == 0 or _program_name(words[0]) in _LAUNCHERS)
    ]
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


def _runs_unknown_script(arguments: tuple[str, ...]) -> bool:
    """Return True if a shell runs its stdin, or a script text that contains expansions."""
    words = [word for word in arguments if not word.startswith("-")]
    return not words or any(_EXPANDED.search(word) for word in words)
