"""Decide whether a file may be read or written, given rules, folders and mode at the moment of a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from clew.chat.config.permission_mode import Mode
from clew.chat.permission.decision import Kind
from clew.chat.permission.path_scope import (
    Anchors,
    ResolvedPath,
    compile_matcher,
    is_protected,
    is_secret,
    matches_pattern,
    may_be_secret,
    resolve_path,
)
from clew.chat.permission.permission_rules import PermissionRule, matches_tool, tool_family


class PermissionVerdict(Struct, frozen=True):
    """The kind of decision and its reason; the rule that decided, if any; the file it is about."""

    kind: Kind
    reason: str
    rule: PermissionRule | None = None
    path: str | None = None


ALLOWED = PermissionVerdict("allow", "")


class PermissionContext(Struct, frozen=True):
    """Rules, folders and mode at the moment of a call. Symbolic links in all folders are resolved."""

    rules: Sequence[PermissionRule]
    roots: tuple[Path, ...]  # the working folders
    home: Path
    cwd: Path
    mode: Mode
    readable: tuple[Path, ...] = ()  # additional readable folders: long outputs of the session
    plans: Path | None = None  # where plans are written in plan mode
    is_trusted: bool = True  # whether the user trusts the project

    def at(self, cwd: Path) -> PermissionContext:
        """Return the same context with another current folder."""
        return replace(self, cwd=cwd)

    def of(self, kind: Kind, tool: str) -> Iterator[PermissionRule]:
        """Return the rules of a kind for a tool. `Edit(path)` applies to every tool that writes, `Edit` alone only
        to Edit.
        """
        return (
            rule
            for rule in self.rules
            if rule.kind == kind and (matches_tool(rule, tool) if rule.is_whole else rule.tool == tool_family(tool))
        )

    def read(self, text: str) -> PermissionVerdict:
        """Decide whether a file or folder may be read."""
        resolved = resolve_path(text, self.cwd)
        if resolved is None:
            return PermissionVerdict("ask", f"{text!r} is not a plain path", path=text)
        forbidden = self._forbidding_verdict("Read", resolved)
        if forbidden:
            return forbidden
        allowing = self._matching_rule("allow", "Read", resolved)
        if self._is_secret(resolved, allowing):
            return PermissionVerdict("ask", f"{resolved.real} may contain keys or passwords", path=str(resolved.real))
        if self.mode == "bypassPermissions" or resolved.is_inside(self.roots + self.readable):
            return ALLOWED
        if allowing:
            return PermissionVerdict("allow", "", allowing)
        return PermissionVerdict("ask", f"{resolved.real} is outside the working folders", path=str(resolved.real))

    def read_restriction(self, text: str) -> PermissionVerdict | None:
        """Return what restricts reading a file anywhere: a deny or ask rule, or that it may contain keys. None if
        nothing does.
        """
        resolved = resolve_path(text, self.cwd)
        if resolved is None:
            return None
        forbidden = self._forbidding_verdict("Read", resolved)
        if forbidden:
            return forbidden
        if self._is_secret(resolved, self._matching_rule("allow", "Read", resolved)):
            return PermissionVerdict(
                "ask", f"{resolved.written} may contain keys or passwords", path=str(resolved.written)
            )
        return None

    def read_restriction_checker(self) -> Callable[[str], PermissionVerdict | None]:
        """Return `read_restriction` as a fast function for many absolute, normalized paths without links."""
        rules = [*self.of("deny", "Read"), *self.of("ask", "Read")]
        anchors = [Anchors(rule.root, self.home, cwd) for rule in rules for cwd in (self.cwd, self.roots[0])]
        specs = [rule.spec or "**" for rule in rules for _ in range(2)]
        matchers = [compile_matcher(spec, anchor) for spec, anchor in dict.fromkeys(zip(specs, anchors, strict=True))]

        def check(path: str) -> PermissionVerdict | None:
            needs_check = may_be_secret(path) or any(covers(path) for covers in matchers)
            return self.read_restriction(path) if needs_check else None

        return check

    def _is_secret(self, resolved: ResolvedPath, allowing: PermissionRule | None) -> bool:
        return is_secret(resolved) and self.mode != "bypassPermissions" and (allowing is None or allowing.is_whole)

    def write(self, text: str, tool: str = "Edit") -> PermissionVerdict:
        """Decide whether a tool may write a file."""
        resolved = resolve_path(text, self.cwd)
        if resolved is None:
            return PermissionVerdict("ask", f"{text!r} is not a plain path", path=text)
        forbidden = self._forbidding_verdict(tool, resolved)
        if forbidden:
            return forbidden
        if self.mode == "plan":
            if self.plans and all(real.suffix == ".md" and real.parent == self.plans for real in resolved.reals):
                return ALLOWED
            return PermissionVerdict("deny", "plan mode is on, and nothing is written in it", path=str(resolved.real))
        if is_protected(resolved):
            return PermissionVerdict("ask", f"{resolved.real} is protected", path=str(resolved.real))
        inside = resolved.is_inside(self.roots)
        if self.mode == "bypassPermissions" or (self.mode == "acceptEdits" and inside):
            return ALLOWED
        allowing = self._matching_rule("allow", tool, resolved)
        if allowing and (inside or not allowing.is_whole or "(" not in allowing.text):  # Edit(*) stays inside
            return PermissionVerdict("allow", "", allowing)
        where = "" if inside else ", outside the working folders"
        return PermissionVerdict("ask", f"{resolved.real} would be written{where}", path=str(resolved.real))

    def hides(self, text: str) -> bool:
        """Return True if a deny rule prevents reading a file; it is not listed either."""
        resolved = resolve_path(text, self.cwd)
        return resolved is not None and self._matching_rule("deny", "Read", resolved) is not None

    def _forbidding_verdict(self, tool: str, resolved: ResolvedPath) -> PermissionVerdict | None:
        kinds: tuple[Kind, ...] = ("deny", "ask")
        for kind in kinds:
            rule = self._matching_rule(kind, tool, resolved)
            if rule:
                return PermissionVerdict(kind, f"the rule {rule.text}", rule, str(resolved.real))
        return None

    def _matching_rule(self, kind: Kind, tool: str, resolved: ResolvedPath) -> PermissionRule | None:
        for rule in self.of(kind, tool):
            if rule.spec is None:
                return rule
            for cwd in dict.fromkeys((self.cwd, self.roots[0])):
                if matches_pattern(rule.spec, resolved, Anchors(rule.root, self.home, cwd), widely=kind != "allow"):
                    return rule
        return None
