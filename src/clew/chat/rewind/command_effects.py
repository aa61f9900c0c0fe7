"""Compute what commands did to a project, from two snapshots or from the records of several commands."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from clew.chat.rewind.file_birth import birth_time
from clew.chat.rewind.path_state import ABSENT, PathState, read_path_state
from clew.chat.rewind.project_inventory import (
    IGNORED,
    Facts,
    ProjectInventory,
    Unkept,
    digest_file,
    digest_folder,
    facts_of,
    skipped_in,
)

_SLACK = 0.02  # seconds by which the times of files may lag behind the clock

Folder = tuple[int | None, int | None]  # the mode of a folder before and after; None if there was none


class ProjectTree(Struct, frozen=True, eq=False):
    """The files of a project at one time: a tree of the store, the full modes, and what the store lacks."""

    id: str
    modes: Mapping[str, int] = field(default_factory=dict)
    inventory: ProjectInventory = field(default_factory=ProjectInventory)
    time: float = 0.0

    def __eq__(self, other: object) -> bool:
        """Return whether the files are the same, whenever they were looked at."""
        if not isinstance(other, ProjectTree):
            return NotImplemented
        return (self.id, self.modes, self.inventory) == (other.id, other.modes, other.inventory)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Return what is not stored although git does not ignore it."""
        known = self.inventory.unkept.items()
        return tuple(sorted(name for name, unkept in known if unkept.why != IGNORED and name not in (".git", ".git/")))


class PathEffect(Struct, frozen=True):
    """The effect of a command on one path. `is_ignored`: git ignores the path."""

    name: str
    before: PathState
    after: PathState
    is_ignored: bool = False


class Effect(Struct):
    """The changes between two snapshots."""

    done: list[PathEffect] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)  # appeared, but may have existed before
    moved: list[str] = field(default_factory=list)  # appeared, but were made before the command began: moved here
    older: list[str] = field(default_factory=list)  # appeared, and were written before the command began
    modes: dict[str, tuple[int, int]] = field(default_factory=dict)  # of files whose content stayed
    folders: dict[str, Folder] = field(default_factory=dict)
    unkept: list[tuple[str, str, str]] = field(default_factory=list)  # name, why it is not kept, what happened
    unchecked: list[tuple[str, str]] = field(default_factory=list)  # too large to notice a change

    @property
    def is_none(self) -> bool:
        return not (self.done or self.unknown or self.modes or self.folders or self.unkept)


def compare(before: ProjectTree, after: ProjectTree, listed: Iterable[PathEffect], project: Path) -> Effect:
    """Return the changes between two snapshots. `listed` are the differences of the two trees in the store."""
    was, now = before.inventory, after.inventory
    effect = Effect()
    for done in listed:
        if done.before.kind != "none":
            if done.name in now.unkept:  # it exists, but the store does not keep it any more
                current = read_path_state(project / done.name)
                if current.kind == "other" and _is_same_content(was.files.get(done.name), project / done.name):
                    effect.modes[done.name] = (done.before.mode, current.mode)
                    continue
                done = PathEffect(done.name, done.before, current)
            effect.done.append(done)
        elif not was.is_absent(done.name):
            _appeared(done, was, now, effect)
        else:
            effect.done.append(done)
    _compare_unkept(was, now, project, effect)
    _find_moved(before, now, project, effect)
    _compare_folders(was, now, effect)
    known = {done.name for done in effect.done}
    for name, mode in before.modes.items():
        changed = after.modes.get(name, mode)
        if changed != mode and name not in known:
            effect.modes[name] = (mode, changed)
    effect.unchecked = sorted({(n, u.why) for each in (was, now) for n, u in each.unkept.items() if not u.is_whole})
    return effect


def _is_same_content(before: Facts | None, path: Path) -> bool:
    """Return True if an unreadable file is the same as before except for its mode."""
    now = facts_of(os.lstat(path))
    return before is not None and stat.S_ISREG(now[0]) and (before[1:3], before[-1]) == (now[1:3], now[-1])


def _find_moved(before: ProjectTree, now: ProjectInventory, project: Path, effect: Effect) -> None:
    """Distinguish files that a command created from those it moved here, which may be the only copy.

    A renamed file of the project is not among them: it is restored under its old name.
    """
    contents = {done.before.digest for done in effect.done if done.before.kind == "file"}
    known = {facts[-1] for facts in before.inventory.files.values()}
    for done in list(effect.done):
        facts = now.files.get(done.name)
        if done.before.kind != "none" or facts is None or not stat.S_ISREG(facts[0]) or facts[-1] in known:
            continue
        if done.after.digest in contents:
            continue
        born, since = birth_time(os.path.join(project, done.name)), before.time - _SLACK
        if born is None:
            effect.older += [done.name] if facts[2] / 1e9 < since else []
        elif born < since:
            effect.done.remove(done)
            effect.unknown.append(done.name)
            effect.moved.append(done.name)


def _appeared(done: PathEffect, was: ProjectInventory, now: ProjectInventory, effect: Effect) -> None:
    """Record a file that existed but was not kept before, or lies in a folder whose content was not listed."""
    small = was.small.get(done.name)
    if small is not None:
        if not small.is_like(done.after):
            effect.done.append(PathEffect(done.name, small, done.after))
        return
    root = was.root_of(done.name)
    if root is not None:
        return  # reported with the folder
    exact = was.unkept.get(done.name)
    if exact is None or done.name not in now.files or digest_file(done.name, now.files[done.name]) != exact.digest:
        effect.unknown.append(done.name)


def _compare_unkept(was: ProjectInventory, now: ProjectInventory, project: Path, effect: Effect) -> None:
    known = {done.name for done in effect.done} | set(effect.unknown)
    for name in sorted(was.unkept.keys() | now.unkept.keys()):
        old, new = was.unkept.get(name), now.unkept.get(name)
        if name in known or (old and new and old.digest == new.digest):
            continue
        if old is None:
            bare = name.removesuffix("/")
            if new is not None and bare not in was.files and was.root_of(name.rstrip("/")) is None:
                effect.unkept.append((name, new.why, "created" if bare not in was.folders else "changed"))
            continue
        small = was.small.get(name)
        if small is not None:
            current = read_path_state(project / name)
            if not small.is_like(current):
                effect.done.append(PathEffect(name, small, current, is_ignored=True))
            continue
        what = _describe_change(name, old, project)
        if what:
            effect.unkept.append((name, old.why, what))


def _describe_change(name: str, old: Unkept, project: Path) -> str:
    """Return how something that is not stored changed; empty if it did not."""
    path = os.path.join(project, name.rstrip("/"))
    try:
        facts = os.lstat(path)
    except OSError:
        return "deleted"
    if name.endswith("/"):
        same = stat.S_ISDIR(facts.st_mode) and digest_folder(path, old.why, skip=skipped_in(name, old.why))[0] == old
    else:
        same = digest_file(name, facts_of(facts)) == old.digest
    return "" if same else "changed"


def _compare_folders(was: ProjectInventory, now: ProjectInventory, effect: Effect) -> None:
    for name in sorted(was.folders.keys() | now.folders.keys()):
        old, new = was.folders.get(name), now.folders.get(name)
        if old == new:
            continue
        if new is None and not now.is_absent(name):
            continue  # it exists, and holds only what is not kept
        if old is None and not was.is_absent(name):
            continue
        effect.folders[name] = (old, new)


# -- several commands


class Effects(Struct):
    """The combined effects of the commands after some prompts: states before the first and after the last."""

    files: dict[str, tuple[PathState, str | None]] = field(default_factory=dict)  # and the digest after; None if unsure
    modes: dict[str, tuple[int, int]] = field(default_factory=dict)
    folders: dict[str, Folder] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)  # names and commands
    doubts: dict[str, str] = field(default_factory=dict)  # why a name is unknown
    older: set[str] = field(default_factory=set)
    ignored: set[str] = field(default_factory=set)  # of the files
    running: dict[str, str] = field(default_factory=dict)  # calls whose command went on in the background
    unkept: dict[str, tuple[str, str, str]] = field(default_factory=dict)  # why, what happened, by which command
    unchecked: dict[str, str] = field(default_factory=dict)
    unseen: dict[str, str] = field(default_factory=dict)  # calls that could not be watched, and why
    calls: set[str] = field(default_factory=set)  # that were watched
    placed: set[str] = field(default_factory=set)  # files of file tools, whose new folders are known

    def add(self, row: Mapping[str, Any], done: Iterable[PathEffect], kept: Mapping[str, PathState]) -> None:
        """Add the record of one command: the differences of its trees, and the ignored files that it changed."""
        command = str(row.get("command") or "a command")
        unknown = set(row.get("unknown", ()))
        self.older |= set(row.get("older", ()))
        afters = {name: str(facts["after"]) for name, facts in row.get("kept", {}).items()} | row.get("afters", {})
        listed = {each.name: (each.before, each.after.digest) for each in done}
        listed |= {name: (before, afters[name]) for name, before in kept.items()}
        for name, (before, after) in listed.items():
            if before == ABSENT and "unknown" not in row:
                unknown.add(name)  # recorded by a version that did not check
            if name in row.get("dropped", ()) or name in unknown or name in self.unknown:
                continue
            first = self.files[name][0] if name in self.files else before
            if name in self.modes and first.kind == "file":
                first = PathState(first.kind, first.data, self.modes.pop(name)[0])
            self.files[name] = (first, afters.get(name, after) if row.get("sure") else None)
        for name in unknown - self.files.keys():
            self.unknown.setdefault(name, command)
        self.doubts |= dict.fromkeys(row.get("moved", ()), "it was moved here from elsewhere by")
        self.ignored |= {name for name, facts in row.get("kept", {}).items() if facts.get("ignored")}
        self.running.pop(str(row.get("call")), None)
        if row.get("running"):
            self.running[str(row.get("call"))] = command
        for name, (old, new) in row.get("modes_only", {}).items():
            if name in self.files:
                continue
            self.modes[name] = (self.modes[name][0] if name in self.modes else old, new)
        for name, (old, new) in row.get("folders", {}).items():
            self.folders[name] = (self.folders[name][0] if name in self.folders else old, new)
        for name, why, what in row.get("unkept", ()):
            was = self.unkept.pop(name, ("", "", ""))[1]
            if (was, what) != ("created", "deleted"):
                joined = {("created", "changed"): "created", ("deleted", "created"): "changed"}.get((was, what), what)
                self.unkept[name] = (why, joined, command)
        self.placed |= {str(row["file"])} if "file" in row else set()
        self.unchecked |= dict(row.get("unchecked", ()))
