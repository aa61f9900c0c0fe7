"""Translate Read deny rules and secret files into ripgrep excludes, so that a search does not show them."""

from __future__ import annotations

import os
from pathlib import Path

from clew.chat.permission.path_scope import Anchors, is_secret, resolve_path, secret_patterns, split_anchor
from clew.chat.permission.permission_context import PermissionContext
from clew.wire.json_codec import Json


def add_excludes(input: Json, context: PermissionContext) -> Json | None:
    """Return the input of a search with globs that exclude unreadable files; None if nothing must be excluded."""
    globs: list[str] = []
    for rule in context.of("deny", "Read"):
        for cwd in dict.fromkeys((context.cwd, context.roots[0])):
            root, pattern = split_anchor(rule.spec or "**", Anchors(rule.root, context.home, cwd))
            globs += _relative_globs(context.cwd, Path(os.path.realpath(root)), pattern)
    glob_text = input.get("glob")
    requested = glob_text.split() if isinstance(glob_text, str) else []
    if _would_read_secrets(input.get("path"), (*requested, *globs), context):
        globs += (f"!{pattern}" for pattern in secret_patterns())
    return {**input, "glob": " ".join((*requested, *dict.fromkeys(globs)))} if globs else None


def _would_read_secrets(path: object, globs: tuple[str, ...], context: PermissionContext) -> bool:
    """Return True if a search would read files that may contain keys. A search that names such a file was decided
    before.
    """
    from clew.chat.permission.secret_exposure import check_search  # loaded at the first search

    target = resolve_path(path if isinstance(path, str) else ".", context.cwd)
    if target is None or is_secret(target):
        return False
    return check_search([str(target.written)], ("--hidden", *(f"--glob={glob}" for glob in globs)), context) is not None


def _relative_globs(cwd: Path, root: Path, pattern: str) -> list[str]:
    """Translate a pattern below `root` into ripgrep globs for a search in `cwd`. A space becomes `?`, since globs
    are space-separated.

    With cwd=/p, the pattern `/keys/*` below /p/sub becomes `!/sub/keys/*`; below /other it becomes nothing.
    """
    pattern = pattern.replace(" ", "?")
    is_anchored = "/" in pattern.rstrip("/")
    inside = pattern.lstrip("/")
    if root == cwd:
        glob = f"/{inside}" if is_anchored else inside
    elif cwd in root.parents:
        glob = f"/{root.relative_to(cwd).as_posix()}/{'' if is_anchored else '**/'}{inside}".replace(" ", "?")
    elif root in cwd.parents and is_anchored:
        return _strip_folders(inside.split("/"), cwd.relative_to(root).parts)
    elif root in cwd.parents:
        glob = inside
    else:
        return []
    return [f"!{glob}"]


def _strip_folders(pattern: list[str], folders: tuple[str, ...]) -> list[str]:
    """Return the rest of an anchored pattern for a search some folders below its root; `**` in that part excludes
    more.

    The pattern `a/b/*.key` seen from the folder `a` is `!/b/*.key`; seen from the folder `c` it is nothing.
    """
    for index, folder in enumerate(folders):
        if index >= len(pattern) or pattern[index] in ("", "**"):
            return ["!" + "/".join(("**", *pattern[index + 1 :]))] if index < len(pattern) else ["!**"]
        if "*" not in pattern[index] and "?" not in pattern[index] and pattern[index] != folder:
            return []
    remaining = pattern[len(folders) :]
    return ["!/" + "/".join(remaining)] if remaining else ["!**"]
