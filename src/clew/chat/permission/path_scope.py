"""Places: where a path leads once links are followed, which places are the project's own, and which are protected."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from clew.chat.permission.command_options import names
from clew.errors import ClewError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

# What is run, or trusted, by other programs: a change there is a change of what happens later.
_PROTECTED_FOLDERS = names(
    ".git .claude .ssh .gnupg .aws .kube .docker .vscode .idea .husky .devcontainer .direnv .hg .svn .terraform.d"
)
_PROTECTED_FILES = names(
    ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zprofile .zshenv .zlogin .zlogout"
    " .kshrc .cshrc .tcshrc .login .logout .inputrc .envrc .netrc .npmrc .yarnrc .yarnrc.yml .pypirc .pgpass .gitconfig"
    " .gitmodules .gitattributes .git-credentials .ripgreprc .mcp.json .claude.json .xprofile .xinitrc .xsessionrc"
    " .vimrc .exrc .nvimrc .tmux.conf .screenrc .lesskey .wgetrc .curlrc .gdbinit .pre-commit-config.yaml bunfig.toml"
    " authorized_keys known_hosts crontab"
)
_PROTECTED_TAILS = (
    (".config", "git"), (".config", "fish"), (".config", "autostart"), (".config", "systemd"), (".config", "clew"),
    (".local", "share", "clew"), (".local", "bin"), ("etc",), ("system32",), (".cargo", "config.toml"),
)  # fmt: skip
_SECRET_FOLDERS = frozenset((".ssh", ".gnupg", ".aws", ".kube"))
_SECRET_FILES = names(".netrc .pgpass .git-credentials .credentials.json .pypirc .npmrc")
_SECRET_KEY = re.compile(r"id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|.*\.(?:pem|p12|pfx|kdbx)")
_SECRET_KEYS = names("id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk *.pem *.p12 *.pfx *.kdbx")


class ResolvedPath(Struct, frozen=True):
    """A path as it is written (made absolute) and as it really is. `reals` are two where `..` stands behind a link: the
    system goes up from where the link leads, other programs strike out the link itself."""

    written: Path
    reals: tuple[Path, ...]

    @property
    def real(self) -> Path:
        return self.reals[0]

    @property
    def all(self) -> tuple[Path, ...]:
        return (self.written, *self.reals)

    def is_inside(self, folders: Iterable[Path]) -> bool:
        """Whether it leads into one of these folders, however it is read."""
        known = tuple(folders)
        return all(is_inside(real, known) for real in self.reals)


def locate(text: str, cwd: Path) -> ResolvedPath | None:
    """Where a path leads from a folder; None if it is no plain path. The file itself need not exist."""
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
    """Whether a path is one of these folders or below it."""
    return any(path == folder or folder in path.parents for folder in folders)


def is_protected(place: ResolvedPath) -> bool:
    """Whether a change there is never made without asking."""
    return any(_touches(path, _PROTECTED_FOLDERS, _PROTECTED_FILES) or _ends_up_in_system(path) for path in place.all)


def is_secret(place: ResolvedPath) -> bool:
    """Whether even reading there is never done without asking: keys and logins."""
    return any(
        _touches(path, _SECRET_FOLDERS, _SECRET_FILES) or bool(_SECRET_KEY.fullmatch(_plain(path.name)))
        for path in place.all
    )


def secret_patterns() -> list[str]:
    """Patterns of ripgrep for the same files, in upper and lower case."""
    plain = sorted(_SECRET_FOLDERS | _SECRET_FILES | _SECRET_KEYS)
    return ["".join(f"[{c}{c.upper()}]" if c.isalpha() else c for c in name) for name in plain]


def may_be_secret(path: str) -> bool:
    """The same for a path as it is written, in little time."""
    parts = [_plain(part) for part in path.split("/")]
    last = parts[-1]
    return last in _SECRET_FILES or bool(_SECRET_KEY.fullmatch(last)) or not _SECRET_FOLDERS.isdisjoint(parts)


def _plain(name: str) -> str:
    """A name as a lenient file system may see it: without case, letter forms, invisible characters (HFS+), streams, final
    dots; the short name of `.git` on Windows is `git~1`."""
    seen = name if name.isascii() else "".join(letter for letter in name if unicodedata.category(letter) != "Cf")
    plain = unicodedata.normalize("NFKC", seen).casefold().split(":")[0].rstrip(". ")
    return ".git" if plain == "git~1" else plain or name


def _touches(path: Path, folders: frozenset[str], files: frozenset[str]) -> bool:
    parts = [_plain(part) for part in path.parts]
    return not folders.isdisjoint(parts) or (bool(parts) and parts[-1] in files)


def _ends_up_in_system(path: Path) -> bool:
    parts = tuple(_plain(part) for part in path.parts)
    return any(
        parts[start : start + len(tail)] == tail
        for tail in _PROTECTED_TAILS
        for start in ((1,) if len(tail) == 1 else range(len(parts)))
    )


# -- patterns of rules


class Anchors(Struct, frozen=True):
    """The folders that patterns start from: `/` at the rule's source, `~` at home, a bare one at the current folder."""

    source: Path
    home: Path
    cwd: Path


def matches(pattern: str, place: ResolvedPath, anchors: Anchors, *, widely: bool) -> bool:
    """Whether a gitignore pattern of a rule covers a place. `widely`: as written or as it really is, else the latter."""
    root, inside = rooted(pattern, anchors)
    spec = _spec(inside)
    roots = {root, Path(os.path.realpath(root))}
    asked = place.all if widely else place.reals
    found = [any(_covers(spec, path, one) for one in roots) for path in asked]
    return any(found) if widely else all(found)


def matcher(pattern: str, anchors: Anchors) -> Callable[[str], bool]:
    """The same for many paths that are absolute, normal and without links."""
    root, inside = rooted(pattern, anchors)
    spec = _spec(inside)
    starts = {f"{str(one).rstrip('/')}/" for one in (root, os.path.realpath(root))}

    def covers(path: str) -> bool:
        return any(path.startswith(start) and spec.match_file(path[len(start) :]) for start in starts)

    return covers


def rooted(pattern: str, anchors: Anchors) -> tuple[Path, str]:
    """The folder that a pattern starts from, and the gitignore pattern below it."""
    if pattern.startswith("//"):
        return Path("/"), pattern[1:]
    if pattern.startswith("~/"):
        return anchors.home, pattern[1:]
    if pattern.startswith("/"):
        return anchors.source, pattern
    if pattern.startswith("./"):
        return anchors.cwd, pattern[1:]
    return anchors.cwd, "\\" + pattern if pattern[:1] in ("!", "#") else pattern


def _covers(spec: GitIgnoreSpec, path: Path, root: Path) -> bool:
    try:
        inside = path.relative_to(root)
    except ValueError:
        return False
    return bool(inside.parts) and bool(spec.match_file(inside.as_posix()))


@lru_cache(maxsize=512)
def _spec(pattern: str) -> GitIgnoreSpec:
    try:
        from pathspec import GitIgnoreSpec
    except ImportError:
        raise ClewError(
            "Rules for paths cannot be judged: pathspec is not installed.",
            hint="Install it with: pip install 'clew[chat]'",
        ) from None
    return GitIgnoreSpec.from_lines([pattern])
