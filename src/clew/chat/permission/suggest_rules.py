"""Suggest rules that would allow a call without a prompt next time, no wider than the call."""

from __future__ import annotations

from pathlib import Path

from clew.chat.permission import wrappers
from clew.chat.permission.command_options import split_names
from clew.chat.permission.permission_context import PermissionVerdict
from clew.chat.permission.permission_rules import tool_family, unambiguous_host
from clew.chat.permission.shell_lexer import SimpleCommand, UncertainCommand
from clew.chat.permission.shell_parse import ParsedShell
from clew.wire.json_codec import Json

_MAX_LENGTH = 200
# Programs whose second (and third) word states what they do, so that allowing any arguments after it is limited.
_WITH_SUBCOMMANDS = split_names(
    "git npm pnpm yarn bun cargo go docker kubectl gh uv pip poetry make gradle mvn dotnet terraform pytest ruff mypy tox"
)
_TWO_WORDS = {("npm", "run"), ("pnpm", "run"), ("yarn", "run"), ("bun", "run"), ("uv", "pip"), ("docker", "compose")}


def suggest_for_command(script: ParsedShell) -> tuple[str, ...]:
    """Return rules for a shell command: one for each part, or one for exactly this text."""
    text = script.text.strip()
    if script.doubt or not script.commands:
        is_plain = text.isprintable() and text.isascii() and "*" not in text and 0 < len(text) <= _MAX_LENGTH
        return (f"Bash({text})",) if is_plain else ()
    rules = dict.fromkeys(filter(None, map(_rule_for_part, script.commands)))
    return tuple(rules) if len(rules) <= 5 else ()


def _rule_for_part(command: SimpleCommand) -> str:
    try:
        plain = wrappers.unwrap(command)
    except UncertainCommand:
        return ""
    values = [word.value or "" for word in plain.words]
    if plain.name in _WITH_SUBCOMMANDS and len(values) > 1 and values[1].isidentifier():
        length = 3 if tuple(values[:2]) in _TWO_WORDS and len(values) > 2 else 2
        head = " ".join(values[:length])
        if all(value and not value.startswith("-") for value in values[:length]) and "*" not in head:
            return f"Bash({head}:*)"
    exact = plain.source
    return f"Bash({exact})" if "*" not in exact and len(exact) <= _MAX_LENGTH and exact.isprintable() else ""


def suggest_for_call(tool: str, input: Json, verdict: PermissionVerdict, project: Path) -> tuple[str, ...]:
    """Return rules for a call of any other tool."""
    kind = tool_family(tool)
    if kind in ("Read", "Edit"):
        return (_rule_for_path(kind, verdict.path, project),) if verdict.path and verdict.rule is None else ()
    if kind == "WebFetch":
        host = unambiguous_host(input.get("url"))
        return (f"WebFetch(domain:{host})",) if host else ()
    if kind == "ExitPlanMode":
        return ()
    return (tool,)


def _rule_for_path(kind: str, path: str, project: Path) -> str:
    file = Path(path)
    folder = file if file.is_dir() else file.parent
    inside = (
        f"/{folder.relative_to(project).as_posix()}/" if folder.is_relative_to(project) else f"/{folder.as_posix()}/"
    )
    return f"{kind}({inside.replace('/./', '/').rstrip('/')}/**)"


def as_permission_updates(rules: tuple[str, ...], scope: str = "localSettings") -> list[Json]:
    """Return the suggestions in the form that SDK callbacks receive (`permission_suggestions`)."""
    if not rules:
        return []
    parts = [rule.removesuffix(")").partition("(") if rule.endswith(")") else (rule, "", "") for rule in rules]
    entries = [{"toolName": name, **({"ruleContent": spec} if spec else {})} for name, _, spec in parts]
    return [{"type": "addRules", "rules": entries, "behavior": "allow", "destination": scope}]
