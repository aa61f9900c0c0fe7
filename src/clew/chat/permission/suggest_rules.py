"""Suggestions: the rules that would spare a question next time, no wider than what was asked about."""

from __future__ import annotations

from pathlib import Path

from clew.chat.permission import wrappers
from clew.chat.permission.command_options import names
from clew.chat.permission.permission_context import PermissionVerdict
from clew.chat.permission.permission_rules import family, plain_host
from clew.chat.permission.shell_lexer import Doubt, SimpleCommand
from clew.chat.permission.shell_parse import ParsedShell
from clew.wire.json_codec import Json

_LONGEST = 200
# Programs whose second (and third) word says what they do, so that "any arguments" behind it is no blank cheque.
_WITH_SUBCOMMANDS = names(
    "git npm pnpm yarn bun cargo go docker kubectl gh uv pip poetry make gradle mvn dotnet terraform pytest ruff mypy tox"
)
_TWO_WORDS = {("npm", "run"), ("pnpm", "run"), ("yarn", "run"), ("bun", "run"), ("uv", "pip"), ("docker", "compose")}


def for_command(script: ParsedShell) -> tuple[str, ...]:
    """Rules for a shell command: one for each part, or for exactly this text."""
    text = script.text.strip()
    if script.doubt or not script.commands:
        is_plain = text.isprintable() and text.isascii() and "*" not in text and 0 < len(text) <= _LONGEST
        return (f"Bash({text})",) if is_plain else ()
    found = dict.fromkeys(filter(None, map(_for_part, script.commands)))
    return tuple(found) if len(found) <= 5 else ()


def _for_part(command: SimpleCommand) -> str:
    try:
        plain = wrappers.unwrapped(command)
    except Doubt:
        return ""
    values = [word.value or "" for word in plain.words]
    if plain.name in _WITH_SUBCOMMANDS and len(values) > 1 and values[1].isidentifier():
        length = 3 if tuple(values[:2]) in _TWO_WORDS and len(values) > 2 else 2
        head = " ".join(values[:length])
        if all(value and not value.startswith("-") for value in values[:length]) and "*" not in head:
            return f"Bash({head}:*)"
    exact = plain.source
    return f"Bash({exact})" if "*" not in exact and len(exact) <= _LONGEST and exact.isprintable() else ""


def for_call(tool: str, input: Json, verdict: PermissionVerdict, project: Path) -> tuple[str, ...]:
    """Rules for any other call."""
    kind = family(tool)
    if kind in ("Read", "Edit"):
        return (_for_path(kind, verdict.path, project),) if verdict.path and verdict.rule is None else ()
    if kind == "WebFetch":
        host = plain_host(input.get("url"))
        return (f"WebFetch(domain:{host})",) if host else ()
    if kind == "ExitPlanMode":
        return ()
    return (tool,)


def _for_path(kind: str, path: str, project: Path) -> str:
    place = Path(path)
    folder = place if place.is_dir() else place.parent
    inside = (
        f"/{folder.relative_to(project).as_posix()}/" if folder.is_relative_to(project) else f"/{folder.as_posix()}/"
    )
    return f"{kind}({inside.replace('/./', '/').rstrip('/')}/**)"


def as_update(rules: tuple[str, ...], scope: str = "localSettings") -> list[Json]:
    """The suggestions as an SDK's callback is told of them (`permission_suggestions`)."""
    if not rules:
        return []
    parts = [rule.removesuffix(")").partition("(") if rule.endswith(")") else (rule, "", "") for rule in rules]
    shown = [{"toolName": name, **({"ruleContent": spec} if spec else {})} for name, _, spec in parts]
    return [{"type": "addRules", "rules": shown, "behavior": "allow", "destination": scope}]
