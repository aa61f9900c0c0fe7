"""Bash: whether a shell command may be run. Every part of it must be allowed; a single doubt is asked about."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from clew.chat.permission import file_commands, git_commands, git_config, safe_commands, secret_exposure, wrappers
from clew.chat.permission.command_options import Glob, names
from clew.chat.permission.decision import Kind
from clew.chat.permission.path_scope import is_inside, is_protected, locate
from clew.chat.permission.permission_context import ALLOWED, PermissionContext, PermissionVerdict
from clew.chat.permission.permission_rules import SHELL, PermissionRule, has_parameter, matches_command
from clew.chat.permission.shell_globs import expand, widened
from clew.chat.permission.shell_lexer import LONGEST, Doubt, Redirect, SimpleCommand
from clew.chat.permission.shell_parse import ParsedShell, parse
from clew.system.subprocesses import find_program
from clew.wire.json_codec import Json

_FORBIDDING: tuple[Kind, ...] = ("deny", "ask")
_MOST_FOLDERS = 20
_FOLDER_VARIABLE = re.compile(r"\$(?:PWD|HOME)\b|\$\{(?:PWD|HOME)\}", re.ASCII)
_VARIABLE = re.compile(r"\$\{?[A-Za-z_][A-Za-z0-9_]*\}?|\$\([^()]*\)|`[^`]*`")
_DESCRIPTOR = re.compile(r"[0-2]-?|-")
_SINKS = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr"))
_SHELL_CHANGING = names(
    "alias unalias export declare typeset local readonly set unset shopt enable hash trap eval source . exec read mapfile"
    " readarray let getopts bind complete compopt fc history pushd popd ulimit umask exit return"
)
_READERS = safe_commands.NAMES | names(
    "awk gawk mawk less more most bat batcat view vi vim nvim nano emacs xxd hexdump hd base64 base32 basenc openssl gpg tar"
    " zip gzip zcat bzcat xzcat cp mv ln install scp rsync dd source . jq yq python python3 node perl ruby php split csplit"
    " iconv pr fmt column look curl wget tee ed ex sh bash dash zsh ksh xargs docker podman rclone http gh aws sqlite3 7z"
    " lz4 zstd xz bzip2 brotli sftp nc ncat socat mapfile readarray shuf ptx hexyl glow mdcat pandoc"
)


def judge(input: Json, ground: PermissionContext) -> tuple[PermissionVerdict, ParsedShell]:
    """Decide about a command by rules, mode and the places that it touches."""
    command = input.get("command")
    text = command if isinstance(command, str) else ""
    script = parse(text)
    settled = _forbidden(script, input, ground)
    if settled:
        return settled, script
    verdict = ALLOWED
    if ground.mode != "bypassPermissions":
        verdict = _judge_parts(script, ground)
    if verdict.kind == "allow" and _may_be_forbidden(script, ground):
        return PermissionVerdict(
            "ask", "it computes the name of a command, and a rule forbids commands by their names"
        ), script
    if ground.mode == "bypassPermissions" and any(
        _is_protected(redirect, ground) for part in script.commands for redirect in part.redirects
    ):
        verdict = PermissionVerdict("ask", "it would write to a protected place")
    return verdict, script


def _forbidden(script: ParsedShell, input: Json, ground: PermissionContext) -> PermissionVerdict | None:
    """What a deny or ask rule says; deny first."""
    texts = {script.text.strip(), *(form for words in script.loose for form in wrappers.forms(words))}
    touched = list(_file_verdicts(script, ground))
    for kind in _FORBIDDING:
        for rule in ground.of(kind, SHELL):
            spec = rule.spec
            if spec is None or _names_parameter(spec, input) or any(matches_command(spec, text) for text in texts):
                return PermissionVerdict(kind, f"the rule {rule.text}", rule)
        for verdict in touched:
            if verdict.kind == kind and verdict.rule:
                return verdict
    return None


def _names_parameter(spec: str, input: Json) -> bool:
    """Whether `name:value` is about the call; `timeout:*` is about the program of that name."""
    return not spec.endswith(":*") and not spec.startswith("command:") and has_parameter(spec, input)


def _may_be_forbidden(script: ParsedShell, ground: PermissionContext) -> bool:
    """Whether a command could be one that a rule forbids or asks about, but its name is not known before it runs."""
    specs = [rule.spec.split() for kind in _FORBIDDING for rule in ground.of(kind, SHELL) if rule.spec]
    if specs and any(map(wrappers.is_computed, script.parsed)):
        return True
    names = {spec[0] for spec in specs if len(spec) > 1}
    return any(wrappers.has_computed_subcommand(words, name) for words in script.parsed for name in names)


def _file_verdicts(script: ParsedShell, ground: PermissionContext) -> Iterator[PermissionVerdict]:
    """What rules say about the files that a command names: rather too many files than too few."""
    for target in script.targets:
        yield from (ground.read(target), ground.write(target))
    grounds = [ground, *(ground.at(folder) for folder in _named_folders(script, ground))]
    for words in script.loose if any(rule.tool == "Read" for rule in ground.rules) else ():
        readers = [at for at, word in enumerate(words) if word.rsplit("/", 1)[-1] in _READERS]
        for word in words[readers[0] + 1 :] if readers else ():
            yield from (each.read(path) for each in grounds for path in _paths_in(word, each))
    for command in script.commands:
        try:
            plain = wrappers.unwrapped(command)
        except Doubt:
            continue
        yield from (ground.write(path) for path in file_commands.changed(plain) or ())


def _named_folders(script: ParsedShell, ground: PermissionContext) -> list[Path]:
    """The folders that a command may enter, by cd or an option such as `git -C`."""
    words = {word for each in script.loose if {"cd", "pushd", "-C"} & {*each} for word in each[1 : 1 + _MOST_FOLDERS]}
    places = [locate(word, ground.cwd) for word in sorted(words)[:_MOST_FOLDERS]]
    return [place.real for place in places if place and place.real.is_dir()]


def _paths_in(word: str, ground: PermissionContext) -> Iterator[str]:
    """The paths that a word may name: the word, the value of an option, a file in a commit, what a pattern stands for."""
    value = word.partition("=")[2] if word.startswith(("-", "if=")) else word
    value = _FOLDER_VARIABLE.sub(lambda found: str(ground.cwd if "P" in found[0] else ground.home), value)
    tail = _VARIABLE.split(value)[-1].lstrip("/")
    for path in dict.fromkeys((value, tail, value.removeprefix("@"), *git_commands.named_files(value))):
        if path.startswith("~/"):
            path = str(ground.home) + path[1:]
        if path:
            pattern = widened(path)
            yield from expand(pattern, ground.cwd) or () if "*" in pattern or "?" in pattern else (path,)


def _judge_parts(script: ParsedShell, ground: PermissionContext) -> PermissionVerdict:
    """Whether every part is allowed by itself."""
    whole = _whole_rule(script, ground)
    if whole and ground.mode != "plan":
        if any(_is_protected(redirect, ground) for part in script.commands for redirect in part.redirects):
            return PermissionVerdict("ask", "it would write to a protected place")
        return PermissionVerdict("allow", "", whole)
    if script.doubt:
        return PermissionVerdict("ask", script.doubt)
    if not script.commands:
        return PermissionVerdict("ask", "there is no command in it")
    grounds = [ground]
    for command in script.commands:
        verdict, entered = _judge_part(command, script.commands, grounds)
        if verdict.kind != "allow":
            return verdict
        grounds += [ground.at(folder) for folder in entered]
    programs = {_name(command) for command in script.commands}
    if "git" in programs and any(g.cwd != ground.cwd for g in grounds):
        return PermissionVerdict("ask", "git would run in another folder, whose settings it obeys")
    return ALLOWED


def _whole_rule(script: ParsedShell, ground: PermissionContext) -> PermissionRule | None:
    """An allow rule for all of Bash, or for exactly this text."""
    text = script.text.strip()
    is_plain = text.isprintable() and len(script.text) <= LONGEST
    for rule in ground.of("allow", SHELL):
        if rule.spec is None or (is_plain and "*" not in rule.spec and rule.spec.strip() == text):
            return rule
    return None


def _judge_part(
    command: SimpleCommand, all_: Sequence[SimpleCommand], grounds: Sequence[PermissionContext]
) -> tuple[PermissionVerdict, list[Path]]:
    """Whether one command is allowed from wherever it may run, and the folders that it enters."""
    here = grounds[0]
    try:
        plain = wrappers.unwrapped(command)
    except Doubt as doubt:
        return PermissionVerdict("ask", str(doubt)), []
    for redirect in command.redirects:
        verdict = _redirected(redirect, grounds)
        if verdict.kind != "allow":
            return verdict, []
    unsafe = [name for name, word in plain.assignments if not wrappers.is_safe_variable(name, word)]
    if unsafe and not _allowed_with_variables(plain, here):
        return PermissionVerdict("ask", f"{unsafe[0]} may change what is run"), []
    seen = safe_commands.look(plain) if not unsafe else None
    looked = (
        _looked(plain.name, seen, grounds) if seen else PermissionVerdict("ask", f"{plain.name} is not allowed yet")
    )
    if looked.kind == "allow" and seen:
        return ALLOWED, [f for g in grounds for f in _entered(seen.paths[0], g)] if seen.changes_folder else []
    if here.mode == "plan":
        return PermissionVerdict("ask", f"plan mode is on, and {plain.name} may do more than look"), []
    rule = _allowing(command, plain, here)
    is_relative = "/" in plain.name and not plain.name.startswith("/")
    if rule and is_relative and any(ground.cwd != here.roots[0] for ground in grounds):
        return PermissionVerdict("ask", f"{plain.name} is another program in another folder"), []
    if rule and plain.name in _SHELL_CHANGING and len(all_) > 1 and "*" in (rule.spec or ""):
        return PermissionVerdict("ask", f"{plain.name} changes what the commands after it do"), []
    if rule or (unsafe and _allowed_with_variables(plain, here)):
        return PermissionVerdict("allow", "", rule), _entered_by_rule(plain, grounds)
    if here.mode == "acceptEdits":
        return _judge_change(plain, grounds, looked), []
    return looked, []


def _judge_change(
    plain: SimpleCommand, grounds: Sequence[PermissionContext], otherwise: PermissionVerdict
) -> PermissionVerdict:
    paths = file_commands.changed(plain)
    if paths is None:
        return otherwise
    for ground in grounds:
        for path in paths:
            verdict = ground.write(path)
            place = locate(path, ground.cwd)
            if verdict.kind != "allow":
                return verdict
            if place is None or not place.is_inside(ground.roots) or any(_is_a_root(p, ground) for p in place.all):
                return PermissionVerdict("ask", f"{path} is a working folder itself or outside of them")
        sources = file_commands.copied(plain)
        for refused in (*map(ground.read, sources), secret_exposure.in_folders(sources, frozenset(), ground)):
            if refused and refused.kind != "allow":
                return refused
    return ALLOWED


def _is_a_root(path: Path, ground: PermissionContext) -> bool:
    return any(path == root or path in root.parents for root in (*ground.roots, ground.cwd))


def _allowing(command: SimpleCommand, plain: SimpleCommand, ground: PermissionContext) -> PermissionRule | None:
    """The rule that allows a command, rather an exact one than a pattern."""
    texts = {command.text, command.source, plain.text, plain.source}
    if plain.words[-1] is wrappers.UNKNOWN:
        texts -= {command.text, command.source}
    rules = [rule for rule in ground.of("allow", SHELL) if rule.spec is not None]
    found = [rule for rule in rules if any(matches_command(rule.spec or "", text) for text in texts)]
    return min(found, key=lambda rule: "*" in (rule.spec or ""), default=None)


def _allowed_with_variables(command: SimpleCommand, ground: PermissionContext) -> PermissionRule | None:
    """A rule that names the variables as well."""
    text = " ".join((*(word.source for _, word in command.assignments), command.source))
    count = len(command.assignments)
    for rule in ground.of("allow", SHELL):
        head = (rule.spec or "").split()[:count]
        if head == [word.source for _, word in command.assignments] and matches_command(rule.spec or "", text):
            return rule
    return None


def _looked(name: str, seen: safe_commands.Look, grounds: Sequence[PermissionContext]) -> PermissionVerdict:
    """Whether a command that only looks may look there, from wherever it may run."""
    for ground in grounds:
        if _is_own_program(name, ground):
            return PermissionVerdict("ask", f"{name} is a program of the project")
        if seen.needs_trust and not ground.is_trusted:
            return PermissionVerdict(
                "ask", f"files of the folder may choose which {name} is run, and it is not trusted"
            )
        refused = _git_verdict(seen.git, ground) if seen.git else None
        if refused:
            return refused
        for path in seen.paths:
            for match in _expanded(path, ground):
                verdict = ground.read(match)
                if verdict.kind != "allow":
                    return verdict
                if seen.files_only and os.path.isdir(os.path.join(ground.cwd, match)):
                    return PermissionVerdict("ask", f"{match} is a folder, and files in it would be read")
        refused = _exposed(seen, ground)
        if refused:
            return refused
    return ALLOWED


def _exposed(seen: safe_commands.Look, ground: PermissionContext) -> PermissionVerdict | None:
    if seen.git:
        return secret_exposure.in_repository(seen.git, ground)
    if not seen.recursive:
        return None
    paths = [match for path in seen.paths for match in _expanded(path, ground)]
    if seen.listing is None:
        return secret_exposure.in_folders(paths, seen.skipped, ground)
    return secret_exposure.in_search(paths, seen.listing, ground)


def _git_verdict(query: git_commands.GitQuery, ground: PermissionContext) -> PermissionVerdict | None:
    if not query.name:  # git --version
        return None
    if _is_foreign_repository(ground):
        return PermissionVerdict("ask", "another repository's settings would be obeyed")
    if not ground.is_trusted:
        why = git_config.doubt(ground.cwd, ground.roots)
        return PermissionVerdict("ask", f"{why}, and the folder is not trusted") if why else None
    if query.name == "diff" and git_config.find(ground.cwd) is None:
        return PermissionVerdict("ask", "there is no repository here, and git compares any files then")
    return None


def _is_own_program(name: str, ground: PermissionContext) -> bool:
    """Whether PATH leads to a program in the working folders."""
    found = find_program(name)
    return found is not None and is_inside(Path(found), ground.roots)


def _expanded(path: str, ground: PermissionContext) -> Sequence[str]:
    """A path as the shell sees it, and all files that it stands for."""
    if path == "~" or path.startswith("~/"):
        return (str(ground.home) + path[1:],)
    if isinstance(path, Glob):
        return expand(path, ground.cwd) or ("~too many files",)
    return (path,)


def _is_foreign_repository(ground: PermissionContext) -> bool:
    """Whether git would find a repository between the current folder and the project's own."""
    root = ground.roots[0]
    for folder in (ground.cwd, *ground.cwd.parents):
        if folder == root:
            return git_config.is_bare(folder)
        if (folder / ".git").exists() or (folder / "HEAD").exists():
            return True
    return False


def _entered(path: str, ground: PermissionContext) -> tuple[Path, ...]:
    place = locate(_expanded(path, ground)[0], ground.cwd)
    return place.reals if place else (Path("/"),)


def _entered_by_rule(plain: SimpleCommand, grounds: Sequence[PermissionContext]) -> list[Path]:
    """The folders that a cd or pushd leads to if a rule allowed it; somewhere unknown is the root of all."""
    if plain.name not in ("cd", "pushd", "popd"):
        return []
    target = plain.words[1].value if len(plain.words) == 2 and plain.name != "popd" else None
    if not target or target == "-":
        return [Path("/")]
    return [folder for ground in grounds for folder in _entered(target, ground)]


def _redirected(redirect: Redirect, grounds: Sequence[PermissionContext]) -> PermissionVerdict:
    target = redirect.target.value
    if redirect.operator == "<<<":
        is_shown = safe_commands.is_printable(redirect.target)
        return ALLOWED if is_shown else PermissionVerdict("ask", f"{redirect.target.source} may hold a secret")
    if target is None:
        return PermissionVerdict("ask", f"{redirect.target.source} may be any file")
    if redirect.operator in (">&", "<&") and _DESCRIPTOR.fullmatch(target):
        return ALLOWED
    if target in _SINKS:
        return ALLOWED
    for ground in grounds:
        path = _expanded(target, ground)[0] if redirect.target.source.startswith("~") else target
        verdict = ground.read(path) if redirect.operator in ("<", "<&") else ground.write(path)
        if verdict.kind != "allow":
            return verdict if verdict.kind == "deny" and verdict.rule else replace(verdict, kind="ask")
    return ALLOWED


def _is_protected(redirect: Redirect, ground: PermissionContext) -> bool:
    if redirect.operator in ("<", "<&", "<<<"):
        return False
    target = redirect.target.value or ""
    path = _expanded(target, ground)[0] if redirect.target.source.startswith("~") else target
    place = locate(path, ground.cwd)
    return place is not None and is_protected(place)


def _name(command: SimpleCommand) -> str:
    try:
        return wrappers.unwrapped(command).name
    except Doubt:
        return command.name
