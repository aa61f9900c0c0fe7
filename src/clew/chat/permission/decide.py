"""Decide tool calls by rules, permission mode and the paths that they use.

The order is: deny rules, ask rules, the mode, allow rules; otherwise the user is prompted. Only settings and answers
of the user change a decision. Nothing that a model writes or a tool returns is used here.
"""

from __future__ import annotations

import copy
import glob
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from clew.chat.config.permission_mode import Mode, parse_mode
from clew.chat.config.settings import Scope, Settings, as_object, as_strings, settings_file
from clew.chat.permission.command_options import split_names
from clew.chat.permission.decision import Decision, Kind
from clew.chat.permission.folder_trust import Trust
from clew.chat.permission.permission_context import ALLOWED, PermissionContext, PermissionVerdict
from clew.chat.permission.permission_rules import (
    SHELL,
    PermissionRule,
    load_rules,
    matches_call,
    matches_tool,
    parse_rule,
    tool_family,
)
from clew.chat.permission.refuse_control_characters import refusal
from clew.chat.permission.search_excludes import add_excludes
from clew.errors import Refused
from clew.wire.json_codec import Json
from clew.wire.session_writer import replace

_NEVER_ASKED = split_names(
    "TodoWrite Task Agent AskUserQuestion EnterPlanMode Skill BashOutput KillShell TaskOutput TaskStop ToolSearch"
    " TaskCreate TaskUpdate TaskList TaskGet ListMcpResources ReadMcpResource StructuredOutput"
    " ListMcpResourcesTool ReadMcpResourceTool"
)
_ALWAYS_ASKED = split_names("ExitPlanMode")
_READ_ONLY_TOOLS = split_names("WebFetch WebSearch")
_PATH_FIELDS = {
    "NotebookEdit": "notebook_path",
    "NotebookRead": "notebook_path",
    "Glob": "path",
    "Grep": "path",
    "LS": "path",
}
_SCOPES: dict[str, Scope] = {
    "session": "session",
    "localSettings": "local",
    "projectSettings": "project",
    "userSettings": "user",
    "cliArg": "session",
}


class Permissions:
    """The permissions of one session. Only settings and answers of the user change them."""

    def __init__(
        self,
        settings: Settings,
        project: Path,
        home: Path,
        roots: Sequence[Path] = (),
        *,
        claude_home: Path | None = None,
        readable: Sequence[Path] = (),
    ) -> None:
        """`home` is the user's home folder (for `~`), `roots` are additional working folders (--add-dir),
        `claude_home` has the user's settings and plans, `readable` are folders that can also be read: the long
        outputs of the session.
        """
        self.project = _real_path(project)
        self.home = home
        self.claude_home = claude_home or home / ".claude"
        self.rules, notices = load_rules(settings)
        permissions = as_object(settings.merged.get("permissions"))
        configured = [
            home / f[2:] if f.startswith("~/") else project / f
            for f in as_strings(permissions.get("additionalDirectories"))
        ]
        self.roots = list(dict.fromkeys(map(_real_path, (project, *roots, *configured))))
        self.granted: tuple[PermissionRule, ...] = ()
        self.readable = tuple(map(_real_path, readable))
        self.is_trusted = settings.trusted
        self.may_bypass = permissions.get("disableBypassPermissionsMode") != "disable"
        self.asked_servers: set[str] = set()  # MCP servers whose calls are asked for in every mode
        self.mode, notice = parse_mode(str(permissions.get("defaultMode") or "default"))
        self.notices = (*settings.notices, *notices, *filter(None, (notice,)))

    def decide(self, tool: str, input: Json, cwd: Path, mode: Mode) -> Decision:
        """Decide whether a call is allowed. This reads names in the file system, and lets git and ripgrep list
        files.
        """
        if tool == SHELL and (refusal_text := refusal(input.get("command"))):
            return Decision("deny", "the command contains control characters", message=refusal_text)
        if mode == "bypassPermissions" and (not self.may_bypass or self._is_of_asked_server(tool)):
            mode = "default"
        plans = _real_path(self.claude_home / "plans")
        rules = (*self.rules, *self.granted)
        roots = tuple(self.roots)
        context = PermissionContext(
            rules, roots, self.home, _real_path(cwd), mode, self.readable, plans, self.is_trusted
        )
        verdict, suggestions = self._decide(tool, input, context)
        if verdict.kind == "ask" and mode == "dontAsk":
            verdict = PermissionVerdict(
                "deny", f"{verdict.reason}, and this mode does not prompt", verdict.rule, verdict.path
            )
        message = "" if verdict.kind == "allow" else _denial_message(tool, input, verdict)
        return Decision(
            verdict.kind,
            verdict.reason,
            add_excludes(input, context) if tool == "Grep" and verdict.kind != "deny" else None,
            message,
            suggestions if verdict.kind == "ask" and verdict.rule is None else (),
            verdict.path,
            verdict.rule.text if verdict.rule else "",
        )

    def _is_of_asked_server(self, tool: str) -> bool:
        return any(tool.startswith(f"mcp__{name}__") for name in self.asked_servers)

    def remember(self, rule: str, scope: Scope) -> None:
        """Allow by this rule from now on: in this session, or also in the settings file of the scope."""
        self._add([rule], "allow", scope)

    def apply(self, update: Json) -> Mode | None:
        """Apply one of the `updatedPermissions` returned by an SDK callback; return the new mode if it sets one."""
        scope = _SCOPES.get(str(update.get("destination") or "session"), "session")
        kind, behavior = update.get("type"), update.get("behavior", "allow")
        rules = update.get("rules")
        rule_texts = [_rule_text(as_object(rule)) for rule in rules] if isinstance(rules, list) else []
        folders = as_strings(update.get("directories"))
        if kind in ("addRules", "replaceRules", "removeRules") and behavior in ("allow", "deny", "ask"):
            if kind == "addRules":
                self._add(rule_texts, behavior, scope)
            else:
                self._remove(None if kind == "replaceRules" else rule_texts, behavior, scope)
                self._add(rule_texts if kind == "replaceRules" else (), behavior, scope)
        elif kind == "addDirectories":
            added = (_real_path(self.project / folder) for folder in folders)
            self.roots += [folder for folder in dict.fromkeys(added) if folder not in self.roots]
            self._save(scope, "additionalDirectories", lambda known: known + [f for f in folders if f not in known])
        elif kind == "removeDirectories":
            removed = {_real_path(self.project / folder) for folder in folders} - {self.project}
            self.roots[:] = [folder for folder in self.roots if folder not in removed]
            self._save(scope, "additionalDirectories", lambda known: [f for f in known if f not in folders])
        elif kind == "setMode":
            return parse_mode(str(update.get("mode")))[0]
        return None

    def with_granted_rules(self, rules: Sequence[str]) -> Permissions:
        """Return the same permissions plus these allow rules (`allowed-tools` of a skill or command).

        Later decisions of the user apply to both objects.
        """
        extended = copy.copy(self)  # a shallow copy: both share the lists of rules and folders
        added = (parse_rule(text, "allow", "session", self.project) for text in rules)
        extended.granted = (*self.granted, *(rule for rule in added if rule))
        return extended

    def denies_tool(self, tool: str) -> bool:
        """Return True if a rule denies every call of a tool, so that it is not offered to the model."""
        return any(rule.kind == "deny" and rule.is_whole and matches_tool(rule, tool) for rule in self.rules)

    def hides(self, path: Path, cwd: Path) -> bool:
        """Return True if a deny rule prevents reading a file, so that searches leave it out."""
        return PermissionContext(tuple(self.rules), tuple(self.roots), self.home, _real_path(cwd), "default").hides(
            str(path)
        )

    def _decide(self, tool: str, input: Json, context: PermissionContext) -> tuple[PermissionVerdict, tuple[str, ...]]:
        from clew.chat.permission import bash_rules, suggest_rules  # loaded at the first call

        if tool == SHELL:
            verdict, script = bash_rules.decide_command(input, context)
            return verdict, suggest_rules.suggest_for_command(script) if verdict.kind == "ask" else ()
        verdict = self._decide_call(tool, input, context)
        return verdict, suggest_rules.suggest_for_call(
            tool, input, verdict, self.project
        ) if verdict.kind == "ask" else ()

    def _decide_call(self, tool: str, input: Json, context: PermissionContext) -> PermissionVerdict:
        kinds: tuple[Kind, ...] = ("deny", "ask")
        for kind in kinds:
            for rule in context.rules:
                if rule.kind == kind and matches_call(rule, tool, input):
                    return PermissionVerdict(kind, f"the rule {rule.text}", rule)
        if tool_family(tool) in ("Read", "Edit"):
            return _decide_file(tool, input, context)
        if tool in _ALWAYS_ASKED:
            return PermissionVerdict("ask", "the plan needs your consent")
        if tool in _NEVER_ASKED or context.mode == "bypassPermissions":
            return ALLOWED
        if context.mode == "plan" and tool not in _READ_ONLY_TOOLS:
            return PermissionVerdict("ask", f"plan mode is on, and {tool} may do more than read")
        for rule in context.rules:
            if rule.kind == "allow" and matches_call(rule, tool, input):
                return PermissionVerdict("allow", "", rule)
        return PermissionVerdict("ask", f"{tool} is not allowed yet")

    def _add(self, rule_texts: Sequence[str], kind: Kind, scope: Scope) -> None:
        parsed = [(text, parse_rule(text, kind, scope, self._root(scope))) for text in rule_texts]
        invalid = [text for text, rule in parsed if rule is None]
        if invalid:
            raise Refused([f"{invalid[0]!r} is not a rule"])
        self.rules += [rule for _, rule in parsed if rule]
        self._save(scope, kind, lambda known: known + [text for text in rule_texts if text not in known])

    def _remove(self, rule_texts: Sequence[str] | None, kind: Kind, scope: Scope) -> None:
        """Remove these rules of a scope, or all of the kind if `rule_texts` is None."""
        self.rules[:] = [
            r
            for r in self.rules
            if r.kind != kind or r.scope != scope or (rule_texts is not None and r.text not in rule_texts)
        ]
        self._save(
            scope, kind, lambda known: [text for text in known if rule_texts is not None and text not in rule_texts]
        )

    def _save(self, scope: Scope, name: str, change: Callable[[list[str]], list[str]]) -> None:
        """Change a list in the settings file of a scope, if the scope has a file and the list changes."""
        if scope not in ("local", "project", "user"):
            return
        with Trust().keeping(self.project):  # a rule that the user adds here must not make the folder untrusted
            _update_settings_list(settings_file(scope, self.project, self.claude_home), name, change)

    def _root(self, scope: Scope) -> Path:
        return self.claude_home if scope == "user" else self.project


def _decide_file(tool: str, input: Json, context: PermissionContext) -> PermissionVerdict:
    """Decide about a tool that reads or writes one path. For Glob, the fixed start of the pattern is checked as
    well.
    """
    name = _PATH_FIELDS.get(tool, "file_path")
    path = input.get(name)
    if path is None and name == "path":
        path = str(context.cwd)
    if not isinstance(path, str):
        return PermissionVerdict("ask", f"{tool} names no file")
    if path == "~" or path.startswith("~/"):
        path = f"{context.home}{path[1:]}"
    if tool_family(tool) == "Edit":
        return context.write(path, tool)
    verdict = context.read(path)
    pattern = input.get("pattern")
    if tool != "Glob" or verdict.kind != "allow" or not isinstance(pattern, str):
        return verdict
    if ".." in pattern.split("/") or "{" in pattern.split("*")[0]:
        return PermissionVerdict("ask", f"{pattern} may lead out of the folder")
    fixed = pattern.split("/")
    while fixed and glob.has_magic(fixed[-1]):
        fixed.pop()
    plain = [part for part in fixed if not glob.has_magic(part)]
    return context.read(os.path.join(context.cwd, path, "/".join(plain) or ("/" if pattern.startswith("/") else ".")))


def _denial_message(tool: str, input: Json, verdict: PermissionVerdict) -> str:
    """Return the text for the model if the call is not made: denied by a rule, or because the user could not be
    prompted.
    """
    if verdict.kind == "ask":
        if tool_family(tool) == "Edit" and verdict.path:
            return f"Claude requested permissions to write to {verdict.path}, but you haven't granted it yet."
        if tool_family(tool) == "Read" and verdict.path:
            return f"Claude requested permissions to read from {verdict.path}, but you haven't granted it yet."
        return f"Claude requested permissions to use {tool}, but you haven't granted it yet."
    if verdict.rule is None:
        return f"Permission to use {tool} has been denied: {verdict.reason}."
    if tool == SHELL:
        return f"Permission to use Bash with command {input.get('command')} has been denied."
    return f"Permission to use {tool}{f' on {verdict.path}' if verdict.path else ''} has been denied."


def _rule_text(rule: Json) -> str:
    content = rule.get("ruleContent")
    return f"{rule.get('toolName')}({content})" if content else str(rule.get("toolName"))


def _real_path(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _update_settings_list(path: Path, name: str, change: Callable[[list[str]], list[str]]) -> None:
    """Change a list of permissions in a settings file and keep everything else. Raises Refused if the file is not
    valid JSON.
    """
    if path.parent.is_symlink():
        raise Refused([f"{path.parent} is a link, and settings are not written through it"])
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig") or "{}")
    except FileNotFoundError:
        data = {}
    except ValueError:
        data = None
    if not isinstance(data, dict) or not isinstance(data.get("permissions", {}), dict):
        raise Refused([f"{path} is not a JSON settings file; the rule applies to this session only"])
    known = as_strings(as_object(data.get("permissions")).get(name))
    changed = change(known)
    if changed == known:
        return
    data.setdefault("permissions", {})[name] = changed
    path.parent.mkdir(parents=True, exist_ok=True)
    replace(path, (json.dumps(data, ensure_ascii=False, indent=2) + "\n").encode("utf-8"))
