"""The ground that decisions stand on: rules, folders and mode at the moment of a call. Decides about files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from clew.chat.permission.decision import Kind, Mode
from clew.chat.permission.path_scope import (
    Anchors,
    ResolvedPath,
    is_protected,
    is_secret,
    locate,
    matcher,
    matches,
    may_be_secret,
)
from clew.chat.permission.permission_rules import PermissionRule, family, names_tool


class PermissionVerdict(Struct, frozen=True):
    """A kind and why; the rule that settled it, if one did; the file that it is about."""

    kind: Kind
    reason: str
    rule: PermissionRule | None = None
    path: str | None = None


ALLOWED = PermissionVerdict("allow", "")


class PermissionContext(Struct, frozen=True):
    """What holds at the moment of a call. All folders have their links followed."""

    rules: Sequence[PermissionRule]
    roots: tuple[Path, ...]  # the working folders
    home: Path
    cwd: Path
    mode: Mode
    readable: tuple[Path, ...] = ()  # further folders that may be read: the session's own outputs
    plans: Path | None = None  # where plans are written in plan mode
    is_trusted: bool = True  # whether the person trusts the project

    def at(self, cwd: Path) -> PermissionContext:
        """The same, from another folder."""
        return replace(self, cwd=cwd)

    def of(self, kind: Kind, tool: str) -> Iterator[PermissionRule]:
        """The rules of a kind that speak of a tool: Edit(path) of every tool that writes, Edit alone of Edit only."""
        return (
            rule
            for rule in self.rules
            if rule.kind == kind and (names_tool(rule, tool) if rule.is_whole else rule.tool == family(tool))
        )

    def read(self, text: str) -> PermissionVerdict:
        """Whether a file or folder may be read."""
        place = locate(text, self.cwd)
        if place is None:
            return PermissionVerdict("ask", f"{text!r} is not a plain path", path=text)
        settled = self._settled("Read", place)
        if settled:
            return settled
        allowing = self._covering("allow", "Read", place)
        if self._is_secret(place, allowing):
            return PermissionVerdict("ask", f"{place.real} may hold keys or logins", path=str(place.real))
        if self.mode == "bypassPermissions" or place.is_inside(self.roots + self.readable):
            return ALLOWED
        if allowing:
            return PermissionVerdict("allow", "", allowing)
        return PermissionVerdict("ask", f"{place.real} is outside the working folders", path=str(place.real))

    def guarded(self, text: str) -> PermissionVerdict | None:
        """What keeps a file from being read wherever it is: a rule, or that it may hold keys. None if nothing does."""
        place = locate(text, self.cwd)
        if place is None:
            return None
        settled = self._settled("Read", place)
        if settled:
            return settled
        if self._is_secret(place, self._covering("allow", "Read", place)):
            return PermissionVerdict("ask", f"{place.written} may hold keys or logins", path=str(place.written))
        return None

    def guard(self) -> Callable[[str], PermissionVerdict | None]:
        """The same for many files, by absolute paths that are normal and without links."""
        rules = [*self.of("deny", "Read"), *self.of("ask", "Read")]
        anchors = [Anchors(rule.root, self.home, cwd) for rule in rules for cwd in (self.cwd, self.roots[0])]
        specs = [rule.spec or "**" for rule in rules for _ in range(2)]
        covering = [matcher(spec, anchor) for spec, anchor in dict.fromkeys(zip(specs, anchors, strict=True))]

        def check(path: str) -> PermissionVerdict | None:
            is_doubtful = may_be_secret(path) or any(covers(path) for covers in covering)
            return self.guarded(path) if is_doubtful else None

        return check

    def _is_secret(self, place: ResolvedPath, allowing: PermissionRule | None) -> bool:
        return is_secret(place) and self.mode != "bypassPermissions" and (allowing is None or allowing.is_whole)

    def write(self, text: str, tool: str = "Edit") -> PermissionVerdict:
        """Whether a file may be written, by a tool of this name."""
        place = locate(text, self.cwd)
        if place is None:
            return PermissionVerdict("ask", f"{text!r} is not a plain path", path=text)
        settled = self._settled(tool, place)
        if settled:
            return settled
        if self.mode == "plan":
            if self.plans and all(real.suffix == ".md" and real.parent == self.plans for real in place.reals):
                return ALLOWED
            return PermissionVerdict("deny", "plan mode is on, and nothing is written in it", path=str(place.real))
        if is_protected(place):
            return PermissionVerdict("ask", f"{place.real} is protected", path=str(place.real))
        inside = place.is_inside(self.roots)
        if self.mode == "bypassPermissions" or (self.mode == "acceptEdits" and inside):
            return ALLOWED
        allowing = self._covering("allow", tool, place)
        if allowing and (inside or not allowing.is_whole or "(" not in allowing.text):  # Edit(*) stays inside
            return PermissionVerdict("allow", "", allowing)
        where = "" if inside else ", outside the working folders"
        return PermissionVerdict("ask", f"{place.real} would be written{where}", path=str(place.real))

    def hides(self, text: str) -> bool:
        """Whether a deny rule keeps a file from being read: it is not listed either."""
        place = locate(text, self.cwd)
        return place is not None and self._covering("deny", "Read", place) is not None

    def _settled(self, tool: str, place: ResolvedPath) -> PermissionVerdict | None:
        kinds: tuple[Kind, ...] = ("deny", "ask")
        for kind in kinds:
            rule = self._covering(kind, tool, place)
            if rule:
                return PermissionVerdict(kind, f"the rule {rule.text}", rule, str(place.real))
        return None

    def _covering(self, kind: Kind, tool: str, place: ResolvedPath) -> PermissionRule | None:
        for rule in self.of(kind, tool):
            if rule.spec is None:
                return rule
            for cwd in dict.fromkeys((self.cwd, self.roots[0])):
                if matches(rule.spec, place, Anchors(rule.root, self.home, cwd), widely=kind != "allow"):
                    return rule
        return None
