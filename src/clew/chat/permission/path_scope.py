"""Resolve paths, and decide which are inside the working folders, protected, or secret."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from clew.chat.permission.command_options import split_names
from clew.errors import ClewError
from clew.system.extras import install_hint

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

# Files that other programs run or trust: a change there changes what happens later.
_PROTECTED_FOLDERS = split_names(
    ".git .claude .ssh .gnupg .aws .kube .docker .vscode .idea .husky .devcontainer .direnv .hg .svn .terraform.d"
)
_PROTECTED_FILES = split_names(
    ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zprofile .zshenv .zlogin .zlogout"
    " .kshrc .cshrc .tcshrc .login .logout .inputrc .envrc .netrc .npmrc .yarnrc .yarnrc.yml .pypirc .pgpass .gitconfig"
    " .gitmodules .gitattributes .git-credentials .ripgreprc .mcp.json .claude.json .xprofile .xinitrc .xsessionrc"
    " .vimrc .exrc .nvimrc .tmux.conf .screenrc .lesskey .wgetrc .curlrc .gdbinit .pre-commit-config.yaml bunfig.toml"
    " authorized_keys known_hosts crontab"
)
_PROTECTED_SEQUENCES = (
    (".config", "git"), (".config", "fish"), (".config", "autostart"), (".config", "systemd"), (".config", "clew"),
    (".local", "share", "clew"), (".local", "bin"), ("etc",), ("system32",), (".cargo", "config.toml"),
)  # fmt: skip
_SECRET_FOLDERS = frozenset((".ssh", ".gnupg", ".aws", ".kube"))
_SECRET_FILES = split_names(".netrc .pgpass .git-credentials .credentials.json .pypirc .npmrc")
_SECRET_KEY = re.compile(r"id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|.*\.(?:pem|p12|pfx|kdbx)")
_SECRET_KEYS = split_names("id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk *.pem *.p12 *.pfx *.kdbx")


class ResolvedPath(Struct, frozen=True):
    """A path as written (made absolute) and with links resolved.

    `reals` has two members if `..` follows a link: for `link/../x` the kernel goes up from the target of the link,
    while other programs remove `link/..` from the text first.
    """

    written: Path
    reals: tuple[Path, ...]

    @property
    def real(self) -> Path:
        return self.reals[0]

    @property
    def all(self) -> tuple[Path, ...]:
        return (self.written, *self.reals)

    def is_inside(self, folders: Iterable[Path]) -> bool:
        """Return True if the path is inside one of these folders under every interpretation."""
        folder_list = tuple(folders)
        return all(is_inside(real, folder_list) for real in self.reals)


def resolve_path(text: str, cwd: Path) -> ResolvedPath | None:
    """Resolve a path from a folder; None if it contains `~`, a backslash or a control character. The file need not
    exist.
    """
    if not text or text.startswith("~") or "\\" in text or any(unicodedata.category(c)[0] == "C" for c in text):
        return None
    joined = os.path.join(cwd, text)
    written = os.path.normpath(joined)
    try:
        reals = dict.fromkeys((os.path.realpath(joined), os.path.realpath(written)))
    except (OSError, ValueError):
        return None
    return ResolvedPath(Path(written), tuple(map(Path, reals)))


def is_inside(path: Path, folders: Iterable[Path]) -> bool:
    """Return True if a path is one of these folders or below one."""
    return any(path == folder or folder in path.parents for folder in folders)


def is_protected(resolved: ResolvedPath) -> bool:
    """Return True if a write to the path always prompts the user."""
    return any(
        _has_listed_part(path, _PROTECTED_FOLDERS, _PROTECTED_FILES) or _contains_protected_tail(path)
        for path in resolved.all
    )


def is_secret(resolved: ResolvedPath) -> bool:
    """Return True if even reading the path prompts the user: keys and passwords."""
    return any(
        _has_listed_part(path, _SECRET_FOLDERS, _SECRET_FILES)
        or bool(_SECRET_KEY.fullmatch(_normalize_name(path.name)))
        for path in resolved.all
    )


def secret_patterns() -> list[str]:
    """Return ripgrep globs for the same files, in upper and lower case."""
    plain = sorted(_SECRET_FOLDERS | _SECRET_FILES | _SECRET_KEYS)
    return ["".join(f"[{c}{c.upper()}]" if c.isalpha() else c for c in name) for name in plain]


def may_be_secret(path: str) -> bool:
    """Do the same as `is_secret` for a path as written; fast."""
    parts = [_normalize_name(part) for part in path.split("/")]
    last = parts[-1]
    return last in _SECRET_FILES or bool(_SECRET_KEY.fullmatch(last)) or not _SECRET_FOLDERS.isdisjoint(parts)


def _normalize_name(name: str) -> str:
    """Return a name as a lenient file system may see it: case folded, compatibility forms unified, invisible
    characters (HFS+), streams (`.git::$INDEX_ALLOCATION`) and final dots removed; `git~1`, the short name on
    Windows, becomes `.git`.
    """
    visible = name if name.isascii() else "".join(letter for letter in name if unicodedata.category(letter) != "Cf")
    plain = unicodedata.normalize("NFKC", visible).casefold().split(":")[0].rstrip(". ")
    return ".git" if plain == "git~1" else plain or name


def _has_listed_part(path: Path, folders: frozenset[str], files: frozenset[str]) -> bool:
    parts = _outside_worktrees([_normalize_name(part) for part in path.parts])
    return not folders.isdisjoint(parts) or (bool(parts) and parts[-1] in files)


def _outside_worktrees(parts: list[str]) -> list[str]:
    """Remove `.claude/worktrees/NAME` from the parts of a path: a worktree is an ordinary checkout."""
    for start in range(len(parts) - 2):
        if parts[start : start + 2] == [".claude", "worktrees"]:
            return [*parts[:start], *_outside_worktrees(parts[start + 3 :])]
    return parts


def _contains_protected_tail(path: Path) -> bool:
    parts = tuple(_normalize_name(part) for part in path.parts)
    return any(
        parts[start : start + len(tail)] == tail
        for tail in _PROTECTED_SEQUENCES
        for start in ((1,) if len(tail) == 1 else range(len(parts)))
    )


# -- patterns of rules


class Anchors(Struct, frozen=True):
    """The folders that rule patterns start from: `/` at the folder of the rule, `~` at home, other patterns at the
    current folder.
    """

    source: Path
    home: Path
    cwd: Path


def matches_pattern(pattern: str, resolved: ResolvedPath, anchors: Anchors, *, widely: bool) -> bool:
    """Return True if a gitignore pattern of a rule covers a path.

    Deny and ask rules match `widely`: as written or resolved. An allow rule must match every resolved form.
    """
    root, inside = split_anchor(pattern, anchors)
    spec = _compile_spec(inside)
    roots = {root, Path(os.path.realpath(root))}
    candidates = resolved.all if widely else resolved.reals
    results = [any(_matches_below(spec, path, base) for base in roots) for path in candidates]
    return any(results) if widely else all(results)


def compile_matcher(pattern: str, anchors: Anchors) -> Callable[[str], bool]:
    """Return `matches_pattern` as a fast function for many absolute, normalized paths without links."""
    root, inside = split_anchor(pattern, anchors)
    spec = _compile_spec(inside)
    starts = {f"{str(base).rstrip('/')}/" for base in (root, os.path.realpath(root))}

    def covers(path: str) -> bool:
        return any(path.startswith(start) and spec.match_file(path[len(start) :]) for start in starts)

    return covers


def split_anchor(pattern: str, anchors: Anchors) -> tuple[Path, str]:
    """Return the folder that a pattern starts from, and the gitignore pattern below it.

    `//etc/x` starts at `/`, `~/x` at home, `/x` at the folder of the rule, `./x` and `x` at the current folder.
    """
    if pattern.startswith("//"):
        return Path("/"), pattern[1:]
    if pattern.startswith("~/"):
        return anchors.home, pattern[1:]
    if pattern.startswith("/"):
        return anchors.source, pattern
    if pattern.startswith("./"):
        return anchors.cwd, pattern[1:]
    return anchors.cwd, "\\" + pattern if pattern[:1] in ("!", "#") else pattern


def _matches_below(spec: GitIgnoreSpec, path: Path, root: Path) -> bool:
    try:
        inside = path.relative_to(root)
    except ValueError:
        return False
    return bool(inside.parts) and bool(spec.match_file(inside.as_posix()))


@lru_cache(maxsize=512)
def _compile_spec(pattern: str) -> GitIgnoreSpec:
    try:
        from pathspec import GitIgnoreSpec
    except ImportError:
        raise ClewError(
            "Path rules cannot be checked: pathspec is not installed.",
            hint=install_hint("chat"),
        ) from None
    return GitIgnoreSpec.from_lines([pattern])
