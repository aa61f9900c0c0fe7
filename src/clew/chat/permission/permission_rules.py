"""Rules: `Tool` or `Tool(spec)`, as the settings hold them, each with where it stands."""

from __future__ import annotations

import fnmatch
import re
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from clew.chat.config.settings import Scope, Settings
from clew.chat.permission.decision import Kind
from clew.wire.json_codec import Json

SHELL = "Bash"
_SHAPE = re.compile(r"\s*([^\s()]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
_FAMILY = {
    **dict.fromkeys(("Read", "Glob", "Grep", "LS", "NotebookRead"), "Read"),
    **dict.fromkeys(("Edit", "Write", "MultiEdit", "NotebookEdit"), "Edit"),
    "Task": "Agent",
}
_NAMED = {"Agent": "subagent_type", "Skill": "skill"}
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")


class PermissionRule(Struct, frozen=True):
    """One rule. `spec` is None if it stands for the whole tool."""

    text: str
    tool: str
    spec: str | None
    kind: Kind
    scope: Scope
    root: Path

    @property
    def is_whole(self) -> bool:
        return self.spec is None


def family(tool: str) -> str:
    """The name under which rules speak of a tool: Read for all that read files, Edit for all that write them."""
    return _FAMILY.get(tool, tool)


def read_rule(text: str, kind: Kind, scope: Scope, root: Path) -> PermissionRule | None:
    """The rule that a text states; None if it states none."""
    found = _SHAPE.fullmatch(text)
    if not found or (found[2] is None and "(" in text):
        return None
    spec = found[2]
    if spec is not None and spec.strip() in ("", "*"):
        spec = None
    name = found[1]
    return PermissionRule(text, "Agent" if name == "Task" else name, spec, kind, scope, root)


def read_rules(settings: Settings) -> tuple[list[PermissionRule], list[str]]:
    """All rules of the settings, and a sentence for each that means nothing."""
    rules: list[PermissionRule] = []
    notices: list[str] = []
    kinds: tuple[Kind, ...] = ("deny", "ask", "allow")
    for kind in kinds:
        for text, source in settings.rules(kind):
            where = source.path or f"the {source.scope} settings"
            rule = read_rule(text, kind, source.scope, source.root)
            if rule is None:
                notices.append(f"{where}: {text!r} is not a rule and is ignored.")
                continue
            if rule.tool in ("Write", "MultiEdit", "NotebookEdit") and rule.spec is not None:
                notices.append(f"{where}: {text!r} matches nothing; Edit({rule.spec}) covers all tools that write.")
            if kind == "allow" and rule.tool.startswith("*"):
                notices.append(f"{where}: {text!r} would allow every tool and is ignored.")
                continue
            rules.append(rule)
    return rules, notices


def names_tool(rule: PermissionRule, tool: str) -> bool:
    """Whether a rule is about a tool. Servers of MCP may be named as a whole; only forbidding rules may use wider `*`.

    As in Claude Code, `Read` stands for every tool that reads files, but `Edit` without a path for no other tool that
    writes: to allow or deny creating files, name `Write`. (MultiEdit, which Claude Code no longer has, is an Edit.)
    """
    ours = {"Task": "Agent", "MultiEdit": "Edit"}.get(tool, tool)
    if rule.tool in (tool, ours) or (rule.tool == "Read" and family(tool) == "Read"):
        return True
    if rule.tool.startswith("mcp__"):
        server, _, rest = rule.tool[len("mcp__") :].partition("__")
        if rule.kind == "allow" and (not server or "*" in server):
            return False
        pattern = rule.tool if rest else f"mcp__{server}__*"
        return fnmatch.fnmatchcase(ours, pattern)
    return rule.kind != "allow" and "*" in rule.tool and fnmatch.fnmatchcase(ours, rule.tool)


def covers(rule: PermissionRule, tool: str, input: Json) -> bool:
    """Whether a rule is about this call. For tools that touch files or run commands only the whole-tool rules."""
    if rule.is_whole or rule.tool != family(tool):
        return names_tool(rule, tool) and (rule.is_whole or _covers_input(rule, tool, input))
    return _covers_input(rule, tool, input)


def _covers_input(rule: PermissionRule, tool: str, input: Json) -> bool:
    spec = rule.spec or ""
    ours = family(tool)
    if ours == "WebFetch" and spec.startswith("domain:"):
        return _is_domain(spec.removeprefix("domain:"), input.get("url"), widely=rule.kind != "allow")
    if ours in _NAMED and str(input.get(_NAMED[ours], "")) == spec:
        return True
    return rule.kind != "allow" and has_parameter(spec, input)


def has_parameter(spec: str, input: Json) -> bool:
    """Whether `name:value` says what the input holds."""
    name, colon, value = spec.partition(":")
    if not colon or name not in input:
        return False
    held: Any = input[name]
    shown = str(held).lower() if isinstance(held, bool) else str(held)
    return fnmatch.fnmatchcase(shown, value.strip())


def _is_domain(domain: str, url: object, *, widely: bool) -> bool:
    host = plain_host(url)
    domain = domain.strip().lower().rstrip(".")
    if host is None:
        return widely and isinstance(url, str) and domain in url.lower()
    if domain.startswith("*."):
        return host.endswith(domain[1:])
    return host == domain or (widely and host.endswith("." + domain))


def plain_host(url: object) -> str | None:
    """The host of a web address that can be read in one way only."""
    if not isinstance(url, str) or not url.isascii() or re.search(r"[\s\\@\x00-\x20\x7f]", url):
        return None
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
        _ = parts.port
    except ValueError:
        return None
    return host if parts.scheme in ("http", "https") and _HOST.fullmatch(host) else None


# -- patterns for commands


def matches_command(spec: str, text: str) -> bool:
    """Whether a pattern for Bash covers a command: `*` is anything, a last ` *` or `:*` any arguments or none."""
    return bool(_command_pattern(spec).fullmatch(text))


@lru_cache(maxsize=1024)
def _command_pattern(spec: str) -> re.Pattern[str]:
    spec = spec.strip()
    tail = ""
    if spec.endswith((":*", " *")):
        spec, tail = spec[:-2].rstrip(), r"(?:[ \t\n].*)?"
    return re.compile(".*".join(re.escape(part) for part in spec.split("*")) + tail, re.DOTALL)
