"""Permissions: decides calls by the rules, the mode and the places that they touch.

The order: deny rules, ask rules, the mode, allow rules, and else the person is asked. Only what the person has written or
answered changes it: nothing that a model says or a tool returns comes in here.
"""

from __future__ import annotations

import copy
import glob
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from clew.chat.config.settings import Scope, Settings, settings_file, table, texts
from clew.chat.permission.command_options import names
from clew.chat.permission.decision import Decision, Kind, Mode, known_mode
from clew.chat.permission.folder_trust import Trust
from clew.chat.permission.permission_context import ALLOWED, PermissionContext, PermissionVerdict
from clew.chat.permission.permission_rules import (
    SHELL,
    PermissionRule,
    covers,
    family,
    names_tool,
    read_rule,
    read_rules,
)
from clew.chat.permission.refuse_control_characters import refusal
from clew.chat.permission.search_excludes import blind
from clew.errors import Refused
from clew.wire.json_codec import Json
from clew.wire.session_writer import replace

_QUIET = names(
    "TodoWrite Task Agent AskUserQuestion EnterPlanMode Skill BashOutput KillShell TaskOutput TaskStop ToolSearch"
    " TaskCreate TaskUpdate TaskList TaskGet ListMcpResources ReadMcpResource"
)
_ALWAYS_ASKED = names("ExitPlanMode")
_LOOKING = names("WebFetch WebSearch")
_PATH_OF = {
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
    """What may be done in one session. Nothing but the person's settings and answers changes it."""

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
        """`home` is the person's home folder (for `~`), `roots` are further working folders (--add-dir), `claude_home` is
        where the user's settings and plans are, `readable` may be read as well: the session's own long outputs."""
        self.project = _real(project)
        self.home = home
        self.claude_home = claude_home or home / ".claude"
        self.rules, notices = read_rules(settings)
        permissions = table(settings.merged.get("permissions"))
        further = [
            home / f[2:] if f.startswith("~/") else project / f for f in texts(permissions.get("additionalDirectories"))
        ]
        self.roots = list(dict.fromkeys(map(_real, (project, *roots, *further))))
        self.granted: tuple[PermissionRule, ...] = ()
        self.readable = tuple(map(_real, readable))
        self.is_trusted = settings.trusted
        self.may_bypass = permissions.get("disableBypassPermissionsMode") != "disable"
        self.mode, remark = known_mode(str(permissions.get("defaultMode") or "default"))
        self.notices = (*settings.notices, *notices, *filter(None, (remark,)))

    def decide(self, tool: str, input: Json, cwd: Path, mode: Mode) -> Decision:
        """Whether a call may be made. It reads names in the file system, and lets git and ripgrep list files."""
        if tool == SHELL and (unseen := refusal(input.get("command"))):
            return Decision("deny", "the command contains control characters", message=unseen)
        if mode == "bypassPermissions" and not self.may_bypass:
            mode = "default"
        plans = _real(self.claude_home / "plans")
        rules = (*self.rules, *self.granted)
        roots = tuple(self.roots)
        ground = PermissionContext(rules, roots, self.home, _real(cwd), mode, self.readable, plans, self.is_trusted)
        verdict, suggestions = self._judge(tool, input, ground)
        if verdict.kind == "ask" and mode == "dontAsk":
            verdict = PermissionVerdict(
                "deny", f"{verdict.reason}, and nothing is asked in this mode", verdict.rule, verdict.path
            )
        message = "" if verdict.kind == "allow" else _message(tool, input, verdict)
        return Decision(
            verdict.kind,
            verdict.reason,
            blind(input, ground) if tool == "Grep" and verdict.kind != "deny" else None,
            message,
            suggestions if verdict.kind == "ask" and verdict.rule is None else (),
            verdict.path,
            verdict.rule.text if verdict.rule else "",
        )

    def remember(self, rule: str, scope: Scope) -> None:
        """Allow by this rule from now on: in this session, or also in the settings file of the scope."""
        self._add([rule], "allow", scope)

    def apply(self, update: Json) -> Mode | None:
        """Take over one of the `updatedPermissions` that an SDK's callback answers with; the new mode if it sets one."""
        scope = _SCOPES.get(str(update.get("destination") or "session"), "session")
        kind, behavior = update.get("type"), update.get("behavior", "allow")
        rules = update.get("rules")
        stated = [_rule_text(table(rule)) for rule in rules] if isinstance(rules, list) else []
        folders = texts(update.get("directories"))
        if kind in ("addRules", "replaceRules", "removeRules") and behavior in ("allow", "deny", "ask"):
            if kind == "addRules":
                self._add(stated, behavior, scope)
            else:
                self._drop(None if kind == "replaceRules" else stated, behavior, scope)
                self._add(stated if kind == "replaceRules" else (), behavior, scope)
        elif kind == "addDirectories":
            added = (_real(self.project / folder) for folder in folders)
            self.roots += [folder for folder in dict.fromkeys(added) if folder not in self.roots]
            self._save(scope, "additionalDirectories", lambda known: known + [f for f in folders if f not in known])
        elif kind == "removeDirectories":
            gone = {_real(self.project / folder) for folder in folders} - {self.project}
            self.roots[:] = [folder for folder in self.roots if folder not in gone]
            self._save(scope, "additionalDirectories", lambda known: [f for f in known if f not in folders])
        elif kind == "setMode":
            return known_mode(str(update.get("mode")))[0]
        return None

    def granting(self, rules: Sequence[str]) -> Permissions:
        """The same permissions, and allowed by these rules as well: what a skill or command says in `allowed-tools`.

        What the person decides later holds in both."""
        wider = copy.copy(self)  # the lists of rules and folders are shared
        added = (read_rule(text, "allow", "session", self.project) for text in rules)
        wider.granted = (*self.granted, *(rule for rule in added if rule))
        return wider

    def denies_whole(self, tool: str) -> bool:
        """Whether a rule denies every call of a tool, so that it is not offered to the model."""
        return any(rule.kind == "deny" and rule.is_whole and names_tool(rule, tool) for rule in self.rules)

    def hides(self, path: Path, cwd: Path) -> bool:
        """Whether a deny rule keeps a file from being read, so that searches leave it out."""
        return PermissionContext(tuple(self.rules), tuple(self.roots), self.home, _real(cwd), "default").hides(
            str(path)
        )

    def _judge(self, tool: str, input: Json, ground: PermissionContext) -> tuple[PermissionVerdict, tuple[str, ...]]:
        from clew.chat.permission import bash_rules, suggest_rules  # nothing has to be read before the first call

        if tool == SHELL:
            verdict, script = bash_rules.judge(input, ground)
            return verdict, suggest_rules.for_command(script) if verdict.kind == "ask" else ()
        verdict = self._judge_call(tool, input, ground)
        return verdict, suggest_rules.for_call(tool, input, verdict, self.project) if verdict.kind == "ask" else ()

    def _judge_call(self, tool: str, input: Json, ground: PermissionContext) -> PermissionVerdict:
        kinds: tuple[Kind, ...] = ("deny", "ask")
        for kind in kinds:
            for rule in ground.rules:
                if rule.kind == kind and covers(rule, tool, input):
                    return PermissionVerdict(kind, f"the rule {rule.text}", rule)
        if family(tool) in ("Read", "Edit"):
            return _judge_file(tool, input, ground)
        if tool in _ALWAYS_ASKED:
            return PermissionVerdict("ask", "the plan needs your consent")
        if tool in _QUIET or ground.mode == "bypassPermissions":
            return ALLOWED
        if ground.mode == "plan" and tool not in _LOOKING:
            return PermissionVerdict("ask", f"plan mode is on, and {tool} may do more than look")
        for rule in ground.rules:
            if rule.kind == "allow" and covers(rule, tool, input):
                return PermissionVerdict("allow", "", rule)
        return PermissionVerdict("ask", f"{tool} is not allowed yet")

    def _add(self, stated: Sequence[str], kind: Kind, scope: Scope) -> None:
        read = [(text, read_rule(text, kind, scope, self._root(scope))) for text in stated]
        wrong = [text for text, rule in read if rule is None]
        if wrong:
            raise Refused([f"{wrong[0]!r} is not a rule"])
        self.rules += [rule for _, rule in read if rule]
        self._save(scope, kind, lambda known: known + [text for text in stated if text not in known])

    def _drop(self, stated: Sequence[str] | None, kind: Kind, scope: Scope) -> None:
        """Forget these rules of a scope, or all of the kind."""
        self.rules[:] = [
            r for r in self.rules if r.kind != kind or r.scope != scope or (stated is not None and r.text not in stated)
        ]
        self._save(scope, kind, lambda known: [text for text in known if stated is not None and text not in stated])

    def _save(self, scope: Scope, name: str, change: Callable[[list[str]], list[str]]) -> None:
        """Change a list in the settings file of a scope, if it has one and the list changes."""
        if scope not in ("local", "project", "user"):
            return
        with Trust().keeping(self.project):  # what the user adds here is no news to ask about
            _save(settings_file(scope, self.project, self.claude_home), name, change)

    def _root(self, scope: Scope) -> Path:
        return self.claude_home if scope == "user" else self.project


def _judge_file(tool: str, input: Json, ground: PermissionContext) -> PermissionVerdict:
    name = _PATH_OF.get(tool, "file_path")
    path = input.get(name)
    if path is None and name == "path":
        path = str(ground.cwd)
    if not isinstance(path, str):
        return PermissionVerdict("ask", f"{tool} names no file")
    if path == "~" or path.startswith("~/"):
        path = f"{ground.home}{path[1:]}"
    if family(tool) == "Edit":
        return ground.write(path, tool)
    verdict = ground.read(path)
    pattern = input.get("pattern")
    if tool != "Glob" or verdict.kind != "allow" or not isinstance(pattern, str):
        return verdict
    if ".." in pattern.split("/") or "{" in pattern.split("*")[0]:
        return PermissionVerdict("ask", f"{pattern} may lead out of the folder")
    fixed = pattern.split("/")
    while fixed and glob.has_magic(fixed[-1]):
        fixed.pop()
    plain = [part for part in fixed if not glob.has_magic(part)]
    return ground.read(os.path.join(ground.cwd, path, "/".join(plain) or ("/" if pattern.startswith("/") else ".")))


def _message(tool: str, input: Json, verdict: PermissionVerdict) -> str:
    """What the model is told if the call is not made: refused by a rule, or because nobody could be asked."""
    if verdict.kind == "ask":
        if family(tool) == "Edit" and verdict.path:
            return f"Claude requested permissions to write to {verdict.path}, but you haven't granted it yet."
        if family(tool) == "Read" and verdict.path:
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


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _save(path: Path, name: str, change: Callable[[list[str]], list[str]]) -> None:
    """Change a list of permissions in a settings file; all else in it stays. One that cannot be read is left alone."""
    if path.parent.is_symlink():
        raise Refused([f"{path.parent} is a link, and settings are not written through it"])
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig") or "{}")
    except FileNotFoundError:
        data = {}
    except ValueError:
        data = None
    if not isinstance(data, dict) or not isinstance(data.get("permissions", {}), dict):
        raise Refused([f"{path} is not the JSON of settings, and the rule holds for this session only"])
    known = texts(table(data.get("permissions")).get(name))
    changed = change(known)
    if changed == known:
        return
    data.setdefault("permissions", {})[name] = changed
    path.parent.mkdir(parents=True, exist_ok=True)
    replace(path, (json.dumps(data, ensure_ascii=False, indent=2) + "\n").encode("utf-8"))
