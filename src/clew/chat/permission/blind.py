"""Blindness: a search must not show what a deny rule keeps from being read, so it is told to leave that out."""

from __future__ import annotations

import os
from pathlib import Path

from clew.chat.permission.decision import Json
from clew.chat.permission.ground import Ground
from clew.chat.permission.place import Anchors, rooted


def blind(input: Json, ground: Ground) -> Json | None:
    """The input of a search with what it must leave out; None if that is nothing."""
    globs: list[str] = []
    for rule in ground.of("deny", "Read"):
        for cwd in dict.fromkeys((ground.cwd, ground.roots[0])):
            root, pattern = rooted(rule.spec or "**", Anchors(rule.root, ground.home, cwd))
            globs += _seen_from(ground.cwd, Path(os.path.realpath(root)), pattern)
    given = input.get("glob")
    kept = [given] if isinstance(given, str) and given else []
    return {**input, "glob": " ".join((*kept, *dict.fromkeys(globs)))} if globs else None


def _seen_from(cwd: Path, root: Path, pattern: str) -> list[str]:
    """A pattern below a folder as ripgrep knows it from another one. Blanks part globs, so they become any character."""
    pattern = pattern.replace(" ", "?")
    is_anchored = "/" in pattern.rstrip("/")
    inside = pattern.lstrip("/")
    if root == cwd:
        found = f"/{inside}" if is_anchored else inside
    elif cwd in root.parents:
        found = f"/{root.relative_to(cwd).as_posix()}/{'' if is_anchored else '**/'}{inside}".replace(" ", "?")
    elif root in cwd.parents and is_anchored:
        return _below(inside.split("/"), cwd.relative_to(root).parts)
    elif root in cwd.parents:
        found = inside
    else:
        return []
    return [f"!{found}"]


def _below(pattern: list[str], folders: tuple[str, ...]) -> list[str]:
    """What is left of an anchored pattern once one stands some folders below its root. Wildcards on the way: all of it."""
    for index, folder in enumerate(folders):
        if index >= len(pattern) or pattern[index] in ("", "**"):
            return ["!" + "/".join(("**", *pattern[index + 1 :]))] if index < len(pattern) else ["!**"]
        if "*" not in pattern[index] and "?" not in pattern[index] and pattern[index] != folder:
            return []
    rest = pattern[len(folders) :]
    return ["!/" + "/".join(rest)] if rest else ["!**"]
