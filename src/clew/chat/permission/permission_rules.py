"""Parse permission rules, `Tool` or `Tool(spec)`, and match them against calls."""

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
_RULE_SYNTAX = re.compile(r"\s*([^\s()]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
_FAMILY = {
    **dict.fromkeys(("Read", "Glob", "Grep", "LS", "NotebookRead"), "Read"),
    **dict.fromkeys(("Edit", "Write", "MultiEdit", "NotebookEdit"), "Edit"),
    "Task": "Agent",
}
_SPEC_FIELDS = {"Agent": "subagent_type", "Skill": "skill"}
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")


class PermissionRule(Struct, frozen=True):
    """One rule. `spec` is None if the rule applies to the whole tool."""

    text: str
    tool: str
    spec: str | None
    kind: Kind
    scope: Scope
    root: Path

    @property
    def is_whole(self) -> bool:
        return self.spec is None


def tool_family(tool: str) -> str:
    """Return the tool name that rules use: Read for all tools that read files, Edit for all that write them."""
    return _FAMILY.get(tool, tool)


def parse_rule(text: str, kind: Kind, scope: Scope, root: Path) -> PermissionRule | None:
    """Parse a rule such as `Bash(git status:*)`; return None if the text is not a rule."""
    match = _RULE_SYNTAX.fullmatch(text)
    if not match or (match[2] is None and "(" in text):
        return None
    spec = match[2]
    if spec is not None and spec.strip() in ("", "*"):
        spec = None
    name = match[1]
    return PermissionRule(text, "Agent" if name == "Task" else name, spec, kind, scope, root)


def load_rules(settings: Settings) -> tuple[list[PermissionRule], list[str]]:
    """Return all rules of the settings, and a notice for each one that has no effect."""
    rules: list[PermissionRule] = []
    notices: list[str] = []
    kinds: tuple[Kind, ...] = ("deny", "ask", "allow")
    for kind in kinds:
        for text, source in settings.rules(kind):
            where = source.path or f"the {source.scope} settings"
            rule = parse_rule(text, kind, source.scope, source.root)
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


def matches_tool(rule: PermissionRule, tool: str) -> bool:
    """Return True if a rule is about a tool. A rule can name a whole MCP server; only deny and ask rules can use a
    wider `*`.

    As in Claude Code, `Read` applies to every tool that reads files, but `Edit` without a path to no other tool that
    writes: to allow or deny creating files, name `Write`. (MultiEdit, which Claude Code no longer has, is an Edit.)
    """
    rule_name = {"Task": "Agent", "MultiEdit": "Edit"}.get(tool, tool)
    if rule.tool in (tool, rule_name) or (rule.tool == "Read" and tool_family(tool) == "Read"):
        return True
    if rule.tool.startswith("mcp__"):
        server, _, mcp_tool = rule.tool[len("mcp__") :].partition("__")
        if rule.kind == "allow" and (not server or "*" in server):
            return False
        pattern = rule.tool if mcp_tool else f"mcp__{server}__*"
        return fnmatch.fnmatchcase(rule_name, pattern)
    return rule.kind != "allow" and "*" in rule.tool and fnmatch.fnmatchcase(rule_name, rule.tool)


def matches_call(rule: PermissionRule, tool: str, input: Json) -> bool:
    """Return True if a rule is about this call. For tools that use files or run commands, only rules without a spec
    are checked.
    """
    if rule.is_whole or rule.tool != tool_family(tool):
        return matches_tool(rule, tool) and (rule.is_whole or _matches_input(rule, tool, input))
    return _matches_input(rule, tool, input)


def _matches_input(rule: PermissionRule, tool: str, input: Json) -> bool:
    spec = rule.spec or ""
    family = tool_family(tool)
    if family == "WebFetch" and spec.startswith("domain:"):
        return _matches_domain(spec.removeprefix("domain:"), input.get("url"), widely=rule.kind != "allow")
    if family in _SPEC_FIELDS and str(input.get(_SPEC_FIELDS[family], "")) == spec:
        return True
    return rule.kind != "allow" and has_parameter(spec, input)


def has_parameter(spec: str, input: Json) -> bool:
    """Return True if `name:value` matches a field of the input; the value can contain `*`."""
    name, colon, value = spec.partition(":")
    if not colon or name not in input:
        return False
    actual: Any = input[name]
    actual_text = str(actual).lower() if isinstance(actual, bool) else str(actual)
    return fnmatch.fnmatchcase(actual_text, value.strip())


def _matches_domain(domain: str, url: object, *, widely: bool) -> bool:
    host = unambiguous_host(url)
    domain = domain.strip().lower().rstrip(".")
    if host is None:
        return widely and isinstance(url, str) and domain in url.lower()
    if domain.startswith("*."):
        return host.endswith(domain[1:])
    return host == domain or (widely and host.endswith("." + domain))


def unambiguous_host(url: object) -> str | None:
    r"""Return the host of a URL that every program parses in the same way; None for others (`http://a@b`, `\`,
    non-ASCII).
    """
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
    """Return True if a Bash pattern covers a command: `*` is any text, a final ` *` or `:*` is any arguments or
    none.

    `git log:*` matches `git log` and `git log -p`, but not `git logs`.
    """
    return bool(_command_pattern(spec).fullmatch(text))


@lru_cache(maxsize=1024)
def _command_pattern(spec: str) -> re.Pattern[str]:
    spec = spec.strip()
    tail = ""
    if spec.endswith((":*", " *")):
        spec, tail = spec[:-2].rstrip(), r"(?:[ \t\n].*)?"
    return re.compile(".*".join(re.escape(part) for part in spec.split("*")) + tail, re.DOTALL)
