"""Decide whether a shell command may run: every part must be allowed, and any uncertainty prompts the user."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from clew.chat.permission import file_commands, git_commands, git_config, safe_commands, secret_exposure, wrappers
from clew.chat.permission.command_options import Glob, split_names
from clew.chat.permission.decision import Kind
from clew.chat.permission.path_scope import is_inside, is_protected, resolve_path
from clew.chat.permission.permission_context import ALLOWED, PermissionContext, PermissionVerdict
from clew.chat.permission.permission_rules import SHELL, PermissionRule, has_parameter, matches_command
from clew.chat.permission.shell_globs import expand, widen
from clew.chat.permission.shell_lexer import MAX_LENGTH, Redirect, SimpleCommand, UncertainCommand
from clew.chat.permission.shell_parse import ParsedShell, parse
from clew.system.subprocesses import find_program
from clew.wire.json_codec import Json

_FORBIDDING_KINDS: tuple[Kind, ...] = ("deny", "ask")
_MAX_FOLDERS = 20
_FOLDER_VARIABLE = re.compile(r"\$(?:PWD|HOME)\b|\$\{(?:PWD|HOME)\}", re.ASCII)
_VARIABLE = re.compile(r"\$\{?[A-Za-z_][A-Za-z0-9_]*\}?|\$\([^()]*\)|`[^`]*`")
_DESCRIPTOR = re.compile(r"[0-2]-?|-")
_HARMLESS_TARGETS = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr"))
_SHELL_STATE_COMMANDS = split_names(
    "alias unalias export declare typeset local readonly set unset shopt enable hash trap eval source . exec read mapfile"
    " readarray let getopts bind complete compopt fc history pushd popd ulimit umask exit return"
)
_READING_PROGRAMS = safe_commands.NAMES | split_names(
    "awk gawk mawk less more most bat batcat view vi vim nvim nano emacs xxd hexdump hd base64 base32 basenc openssl gpg tar"
    " zip gzip zcat bzcat xzcat cp mv ln install scp rsync dd source . jq yq python python3 node perl ruby php split csplit"
    " iconv pr fmt column look curl wget tee ed ex sh bash dash zsh ksh xargs docker podman rclone http gh aws sqlite3 7z"
    " lz4 zstd xz bzip2 brotli sftp nc ncat socat mapfile readarray shuf ptx hexyl glow mdcat pandoc"
)


def decide_command(input: Json, context: PermissionContext) -> tuple[PermissionVerdict, ParsedShell]:
    """Decide about a Bash call by rules, mode and the paths that the command uses; also return the parsed command."""
    command = input.get("command")
    text = command if isinstance(command, str) else ""
    script = parse(text)
    forbidden = _find_forbidding_rule(script, input, context)
    if forbidden:
        return forbidden, script
    verdict = ALLOWED
    if context.mode != "bypassPermissions":
        verdict = _decide_parts(script, context)
    if verdict.kind == "allow" and _may_match_forbidding_rule(script, context):
        return PermissionVerdict(
            "ask", "it computes the name of a command, and a rule forbids commands by their names"
        ), script
    if context.mode == "bypassPermissions" and any(
        _writes_protected_path(redirect, context) for part in script.commands for redirect in part.redirects
    ):
        verdict = PermissionVerdict("ask", "it would write to a protected path")
    return verdict, script


def _find_forbidding_rule(script: ParsedShell, input: Json, context: PermissionContext) -> PermissionVerdict | None:
    """Return the verdict of the first deny or ask rule that matches the command or a file that it names; deny first."""
    texts = {script.text.strip(), *(form for words in script.loose for form in wrappers.possible_commands(words))}
    touched = list(_file_verdicts(script, context))
    for kind in _FORBIDDING_KINDS:
        for rule in context.of(kind, SHELL):
            spec = rule.spec
            if spec is None or _matches_parameter(spec, input) or any(matches_command(spec, text) for text in texts):
                return PermissionVerdict(kind, f"the rule {rule.text}", rule)
        for verdict in touched:
            if verdict.kind == kind and verdict.rule:
                return verdict
    return None


def _matches_parameter(spec: str, input: Json) -> bool:
    """Return True if `name:value` describes the call. `timeout:*` is about the program of that name instead."""
    return not spec.endswith(":*") and not spec.startswith("command:") and has_parameter(spec, input)


def _may_match_forbidding_rule(script: ParsedShell, context: PermissionContext) -> bool:
    """Return True if the program name is computed at run time, so that a deny or ask rule could match it: `$X push`."""
    specs = [rule.spec.split() for kind in _FORBIDDING_KINDS for rule in context.of(kind, SHELL) if rule.spec]
    if specs and any(map(wrappers.has_computed_name, script.parsed)):
        return True
    names = {spec[0] for spec in specs if len(spec) > 1}
    return any(wrappers.has_computed_subcommand(words, name) for words in script.parsed for name in names)


def _file_verdicts(script: ParsedShell, context: PermissionContext) -> Iterator[PermissionVerdict]:
    """Yield the verdicts about all files that a command may name. It errs on the side of too many files."""
    for target in script.targets:
        yield from (context.read(target), context.write(target))
    contexts = [context, *(context.at(folder) for folder in _folders_named(script, context))]
    for words in script.loose if any(rule.tool == "Read" for rule in context.rules) else ():
        readers = [index for index, word in enumerate(words) if word.rsplit("/", 1)[-1] in _READING_PROGRAMS]
        for word in words[readers[0] + 1 :] if readers else ():
            yield from (origin.read(path) for origin in contexts for path in _possible_paths(word, origin))
    for command in script.commands:
        try:
            plain = wrappers.unwrap(command)
        except UncertainCommand:
            continue
        yield from (context.write(path) for path in file_commands.changed_paths(plain) or ())


def _folders_named(script: ParsedShell, context: PermissionContext) -> list[Path]:
    """Return the folders that a command may enter, with `cd` or an option such as `git -C`."""
    words = {
        word
        for command_words in script.loose
        if {"cd", "pushd", "-C"} & {*command_words}
        for word in command_words[1 : 1 + _MAX_FOLDERS]
    }
    resolved_paths = [resolve_path(word, context.cwd) for word in sorted(words)[:_MAX_FOLDERS]]
    return [resolved.real for resolved in resolved_paths if resolved and resolved.real.is_dir()]


def _possible_paths(word: str, context: PermissionContext) -> Iterator[str]:
    """Yield the paths that a word may name: the word itself, the value of an option, a file in a commit, matches of
    a glob.

    `--file=~/.ssh/id_rsa` yields the path after `=` below the home folder, `HEAD:.env` yields `.env`.
    """
    value = word.partition("=")[2] if word.startswith(("-", "if=")) else word
    value = _FOLDER_VARIABLE.sub(lambda match: str(context.cwd if "P" in match[0] else context.home), value)
    tail = _VARIABLE.split(value)[-1].lstrip("/")
    for path in dict.fromkeys((value, tail, value.removeprefix("@"), *git_commands.possible_files(value))):
        if path.startswith("~/"):
            path = str(context.home) + path[1:]
        if path:
            pattern = widen(path)
            yield from expand(pattern, context.cwd) or () if "*" in pattern or "?" in pattern else (path,)


def _decide_parts(script: ParsedShell, context: PermissionContext) -> PermissionVerdict:
    """Decide about each part of a command list; the command is allowed only if every part is."""
    rule = _rule_for_entire_command(script, context)
    if rule and context.mode != "plan":
        if any(_writes_protected_path(redirect, context) for part in script.commands for redirect in part.redirects):
            return PermissionVerdict("ask", "it would write to a protected path")
        return PermissionVerdict("allow", "", rule)
    if script.doubt:
        return PermissionVerdict("ask", script.doubt)
    if not script.commands:
        return PermissionVerdict("ask", "it contains no command")
    contexts = [context]
    for command in script.commands:
        verdict, entered = _decide_part(command, script.commands, contexts)
        if verdict.kind != "allow":
            return verdict
        contexts += [context.at(folder) for folder in entered]
    programs = {_program_name(command) for command in script.commands}
    if "git" in programs and any(g.cwd != context.cwd for g in contexts):
        return PermissionVerdict("ask", "git would run in another folder and use its configuration")
    return ALLOWED


def _rule_for_entire_command(script: ParsedShell, context: PermissionContext) -> PermissionRule | None:
    """Return an allow rule for all of Bash, or for exactly this text."""
    text = script.text.strip()
    is_plain = text.isprintable() and len(script.text) <= MAX_LENGTH
    for rule in context.of("allow", SHELL):
        if rule.spec is None or (is_plain and "*" not in rule.spec and rule.spec.strip() == text):
            return rule
    return None


def _decide_part(
    command: SimpleCommand, all_: Sequence[SimpleCommand], contexts: Sequence[PermissionContext]
) -> tuple[PermissionVerdict, list[Path]]:
    """Decide about one simple command, from every folder it may run in; also return the folders that it enters."""
    first_context = contexts[0]
    try:
        plain = wrappers.unwrap(command)
    except UncertainCommand as doubt:
        return PermissionVerdict("ask", str(doubt)), []
    for redirect in command.redirects:
        verdict = _decide_redirect(redirect, contexts)
        if verdict.kind != "allow":
            return verdict, []
    unsafe = [name for name, word in plain.assignments if not wrappers.is_safe_variable(name, word)]
    if unsafe and not _find_rule_with_variables(plain, first_context):
        return PermissionVerdict("ask", f"{unsafe[0]} may change what is run"), []
    access = safe_commands.read_access(plain) if not unsafe else None
    read_verdict = (
        _decide_read(plain.name, access, contexts)
        if access
        else PermissionVerdict("ask", f"{plain.name} is not allowed yet")
    )
    if read_verdict.kind == "allow" and access:
        return ALLOWED, [
            f for g in contexts for f in _resolve_folder(access.paths[0], g)
        ] if access.changes_folder else []
    if first_context.mode == "plan":
        return PermissionVerdict("ask", f"plan mode is on, and {plain.name} may do more than read"), []
    rule = _find_allow_rule(command, plain, first_context)
    is_relative = "/" in plain.name and not plain.name.startswith("/")
    if rule and is_relative and any(context.cwd != first_context.roots[0] for context in contexts):
        return PermissionVerdict("ask", f"{plain.name} is another program in another folder"), []
    if rule and plain.name in _SHELL_STATE_COMMANDS and len(all_) > 1 and "*" in (rule.spec or ""):
        return PermissionVerdict("ask", f"{plain.name} changes what the commands after it do"), []
    if rule or (unsafe and _find_rule_with_variables(plain, first_context)):
        return PermissionVerdict("allow", "", rule), _folders_after_cd(plain, contexts)
    if first_context.mode == "acceptEdits":
        return _decide_file_change(plain, contexts, read_verdict), []
    return read_verdict, []


def _decide_file_change(
    plain: SimpleCommand, contexts: Sequence[PermissionContext], otherwise: PermissionVerdict
) -> PermissionVerdict:
    """Decide about a command that changes files (mode acceptEdits): all paths must be inside the working folders."""
    paths = file_commands.changed_paths(plain)
    if paths is None:
        return otherwise
    for context in contexts:
        for path in paths:
            verdict = context.write(path)
            resolved = resolve_path(path, context.cwd)
            if verdict.kind != "allow":
                return verdict
            if (
                resolved is None
                or not resolved.is_inside(context.roots)
                or any(_contains_root(p, context) for p in resolved.all)
            ):
                return PermissionVerdict("ask", f"{path} is a working folder itself or outside of them")
        sources = file_commands.copied_paths(plain)
        for refusal in (*map(context.read, sources), secret_exposure.check_folders(sources, frozenset(), context)):
            if refusal and refusal.kind != "allow":
                return refusal
    return ALLOWED


def _contains_root(path: Path, context: PermissionContext) -> bool:
    """Return True if the path is a working folder or the current folder, or contains one."""
    return any(path == root or path in root.parents for root in (*context.roots, context.cwd))


def _find_allow_rule(command: SimpleCommand, plain: SimpleCommand, context: PermissionContext) -> PermissionRule | None:
    """Return the rule that allows a command; an exact rule takes precedence over a pattern."""
    texts = {command.text, command.source, plain.text, plain.source}
    if plain.words[-1] is wrappers.UNKNOWN_WORDS:
        texts -= {command.text, command.source}
    rules = [rule for rule in context.of("allow", SHELL) if rule.spec is not None]
    matching = [rule for rule in rules if any(matches_command(rule.spec or "", text) for text in texts)]
    return min(matching, key=lambda rule: "*" in (rule.spec or ""), default=None)


def _find_rule_with_variables(command: SimpleCommand, context: PermissionContext) -> PermissionRule | None:
    """Return an allow rule that also names the variables that the command sets: `Bash(FOO=1 make:*)`."""
    text = " ".join((*(word.source for _, word in command.assignments), command.source))
    count = len(command.assignments)
    for rule in context.of("allow", SHELL):
        head = (rule.spec or "").split()[:count]
        if head == [word.source for _, word in command.assignments] and matches_command(rule.spec or "", text):
            return rule
    return None


def _decide_read(
    name: str, access: safe_commands.ReadAccess, contexts: Sequence[PermissionContext]
) -> PermissionVerdict:
    """Decide whether a read-only command may read its paths, from every folder it may run in."""
    for context in contexts:
        if _is_project_program(name, context):
            return PermissionVerdict("ask", f"{name} is a program of the project")
        if access.needs_trust and not context.is_trusted:
            return PermissionVerdict(
                "ask", f"files in the folder can choose which {name} runs, and the folder is not trusted"
            )
        refusal = _git_verdict(access.git, context) if access.git else None
        if refusal:
            return refusal
        for path in access.paths:
            for match in _expand_path(path, context):
                verdict = context.read(match)
                if verdict.kind != "allow":
                    return verdict
                if access.files_only and os.path.isdir(os.path.join(context.cwd, match)):
                    return PermissionVerdict("ask", f"{match} is a folder, and files in it would be read")
        refusal = _secret_verdict(access, context)
        if refusal:
            return refusal
    return ALLOWED


def _secret_verdict(access: safe_commands.ReadAccess, context: PermissionContext) -> PermissionVerdict | None:
    """Return the verdict about files that a recursive command or git would show although reading them alone prompts
    the user.
    """
    if access.git:
        return secret_exposure.check_repository(access.git, context)
    if not access.recursive:
        return None
    paths = [match for path in access.paths for match in _expand_path(path, context)]
    if access.listing is None:
        return secret_exposure.check_folders(paths, access.skipped, context)
    return secret_exposure.check_search(paths, access.listing, context)


def _git_verdict(query: git_commands.GitQuery, context: PermissionContext) -> PermissionVerdict | None:
    """Return a verdict if git could run programs that the repository configures; None if it only reads."""
    if not query.name:  # git --version
        return None
    if _is_foreign_repository(context):
        return PermissionVerdict("ask", "git would use the configuration of another repository")
    if not context.is_trusted:
        why = git_config.find_risk(context.cwd, context.roots)
        return PermissionVerdict("ask", f"{why}, and the folder is not trusted") if why else None
    if query.name == "diff" and git_config.find_repository(context.cwd) is None:
        return PermissionVerdict("ask", "there is no repository here, so git diff can compare any files")
    return None


def _is_project_program(name: str, context: PermissionContext) -> bool:
    """Return True if PATH resolves the name to a program inside the working folders."""
    program = find_program(name)
    return program is not None and is_inside(Path(program), context.roots)


def _expand_path(path: str, context: PermissionContext) -> Sequence[str]:
    """Return the paths that the shell makes of a word: `~` expanded, and all matches of a glob."""
    if path == "~" or path.startswith("~/"):
        return (str(context.home) + path[1:],)
    if isinstance(path, Glob):
        return expand(path, context.cwd) or ("~too many files",)
    return (path,)


def _is_foreign_repository(context: PermissionContext) -> bool:
    """Return True if git would find a repository between the current folder and the project folder."""
    root = context.roots[0]
    for folder in (context.cwd, *context.cwd.parents):
        if folder == root:
            return git_config.is_bare(folder)
        if (folder / ".git").exists() or (folder / "HEAD").exists():
            return True
    return False


def _resolve_folder(path: str, context: PermissionContext) -> tuple[Path, ...]:
    """Return where a `cd` argument leads; `/` if it cannot be resolved, so that nothing counts as inside the
    project.
    """
    resolved = resolve_path(_expand_path(path, context)[0], context.cwd)
    return resolved.reals if resolved else (Path("/"),)


def _folders_after_cd(plain: SimpleCommand, contexts: Sequence[PermissionContext]) -> list[Path]:
    """Return the folders that an allowed `cd` or `pushd` leads to; `/` if the target is not known."""
    if plain.name not in ("cd", "pushd", "popd"):
        return []
    target = plain.words[1].value if len(plain.words) == 2 and plain.name != "popd" else None
    if not target or target == "-":
        return [Path("/")]
    return [folder for context in contexts for folder in _resolve_folder(target, context)]


def _decide_redirect(redirect: Redirect, contexts: Sequence[PermissionContext]) -> PermissionVerdict:
    """Decide about one redirect: `2>&1` and /dev/null are allowed, files need read or write permission."""
    target = redirect.target.value
    if redirect.operator == "<<<":
        is_shown = safe_commands.is_printable(redirect.target)
        return ALLOWED if is_shown else PermissionVerdict("ask", f"{redirect.target.source} may hold a secret")
    if target is None:
        return PermissionVerdict("ask", f"{redirect.target.source} may be any file")
    if redirect.operator in (">&", "<&") and _DESCRIPTOR.fullmatch(target):
        return ALLOWED
    if target in _HARMLESS_TARGETS:
        return ALLOWED
    for context in contexts:
        path = _expand_path(target, context)[0] if redirect.target.source.startswith("~") else target
        verdict = context.read(path) if redirect.operator in ("<", "<&") else context.write(path)
        if verdict.kind != "allow":
            return verdict if verdict.kind == "deny" and verdict.rule else replace(verdict, kind="ask")
    return ALLOWED


def _writes_protected_path(redirect: Redirect, context: PermissionContext) -> bool:
    """Return True if a redirect writes to a protected path."""
    if redirect.operator in ("<", "<&", "<<<"):
        return False
    target = redirect.target.value or ""
    path = _expand_path(target, context)[0] if redirect.target.source.startswith("~") else target
    resolved = resolve_path(path, context.cwd)
    return resolved is not None and is_protected(resolved)


def _program_name(command: SimpleCommand) -> str:
    """Return the program that a command runs, without wrappers such as `timeout 5`."""
    try:
        return wrappers.unwrap(command).name
    except UncertainCommand:
        return command.name
