"""Blindness: a search must not show what a deny rule keeps from being read, nor keys and logins; it leaves them out."""

from __future__ import annotations

import os
from pathlib import Path

from clew.chat.permission.path_scope import Anchors, is_secret, locate, rooted, secret_patterns
from clew.chat.permission.permission_context import PermissionContext
from clew.wire.json_codec import Json


def blind(input: Json, ground: PermissionContext) -> Json | None:
    """The input of a search with what it must leave out; None if that is nothing."""
    globs: list[str] = []
    for rule in ground.of("deny", "Read"):
        for cwd in dict.fromkeys((ground.cwd, ground.roots[0])):
            root, pattern = rooted(rule.spec or "**", Anchors(rule.root, ground.home, cwd))
            globs += _seen_from(ground.cwd, Path(os.path.realpath(root)), pattern)
    given = input.get("glob")
    kept = given.split() if isinstance(given, str) else []
    if _meets_secrets(input.get("path"), (*kept, *globs), ground):
        globs += (f"!{pattern}" for pattern in secret_patterns())
    return {**input, "glob": " ".join((*kept, *dict.fromkeys(globs)))} if globs else None


def _meets_secrets(path: object, globs: tuple[str, ...], ground: PermissionContext) -> bool:
    """Whether a search would read files that may hold keys or logins. One that names such a file was asked about."""
    from clew.chat.permission.secret_exposure import in_search  # it is not needed before the first search

    target = locate(path if isinstance(path, str) else ".", ground.cwd)
    if target is None or is_secret(target):
        return False
    return in_search([str(target.written)], ("--hidden", *(f"--glob={glob}" for glob in globs)), ground) is not None


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
