"""The repository that git would obey in a folder: where it is, and whether its own settings are known to be harmless.

A repository can come from a stranger, with settings that name programs (`core.fsmonitor`, filters, text converters) and
files elsewhere (`.git` as a file, alternates, links). In a folder that is not trusted all of that is asked about.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from clew.chat.permission.command_options import names
from clew.chat.permission.path_scope import is_inside

_LARGEST = 1 << 20  # bytes of a file of settings
_LARGEST_INDEX = 64 << 20
_MOST_FOLDERS = 2000
_SUBMODULE = b"\0\0\xe0\0"  # the mode of a submodule in the index
_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\\n]|\\.)*)")?\s*\]', re.ASCII)
_SETTING = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*(?:=.*)?", re.ASCII | re.DOTALL)
_HARMLESS = names(
    "core.repositoryformatversion core.filemode core.bare core.logallrefupdates core.ignorecase core.precomposeunicode"
    " core.symlinks core.autocrlf core.eol core.safecrlf core.abbrev core.quotepath core.untrackedcache core.preloadindex"
    " core.longpaths core.fscache core.sharedrepository core.commitgraph core.multipackindex core.trustctime"
    " core.checkstat core.whitespace core.commentchar core.protecthfs core.protectntfs core.hidedotfiles"
    " extensions.objectformat remote.*.url remote.*.fetch remote.*.pushurl remote.*.tagopt remote.*.prune remote.*.push"
    " remote.*.gh-resolved remote.*.mirror remote.pushdefault branch.*.remote branch.*.merge branch.*.rebase"
    " branch.*.description branch.*.pushremote branch.*.vscode-merge-base branch.*.github-pr-owner-number"
    " branch.*.gh-merge-base branch.autosetuprebase branch.autosetupmerge branch.sort user.name user.email"
    " user.signingkey user.useconfigonly init.defaultbranch pull.rebase pull.ff push.default push.autosetupremote"
    " push.followtags fetch.prune fetch.prunetags rebase.autostash rebase.autosquash merge.ff merge.conflictstyle"
    " merge.renames rerere.enabled commit.gpgsign tag.gpgsign tag.sort color.ui diff.renames diff.algorithm"
    " diff.mnemonicprefix diff.noprefix diff.colormoved log.date log.decorate log.abbrevcommit status.short status.branch"
    " status.showuntrackedfiles status.showstash advice.detachedhead advice.statushints gc.auto gc.autodetach"
    " maintenance.auto maintenance.strategy lfs.repositoryformatversion lfs.*.access gui.wmstate gui.geometry"
    " submodule.active index.version pack.usesparse feature.manyfiles"
)
_HEAD = re.compile(rb"ref: refs/[!-~]+\n|[0-9a-f]{40}(?:[0-9a-f]{24})?\n")
_LONGEST_HEAD = 1000


def find(cwd: Path) -> Path | None:
    """The folder whose repository git finds from here; None if there is none. A folder can be a repository itself."""
    for folder in (cwd, *cwd.parents):
        if os.path.lexists(folder / ".git") or is_bare(folder):
            return folder
    return None


def is_bare(folder: Path) -> bool:
    """Whether git takes the folder itself for a repository."""
    return os.path.lexists(folder / "HEAD") and os.path.lexists(folder / "objects")


def doubt(cwd: Path, roots: tuple[Path, ...]) -> str:
    """Why git may do more than look in a folder that is not trusted; empty if it does not."""
    top = find(cwd)
    if top is None:
        return "there is no repository here"
    if not is_inside(top, roots):
        return f"the repository {top} is outside the working folders"
    store = top / ".git"
    if is_bare(top) or store.is_symlink() or not store.is_dir():
        return "the repository's data is not in its own .git folder"
    try:
        return _store_doubt(store)
    except (OSError, UnicodeDecodeError):
        return "the repository's settings cannot be read"


def _is_repository(store: Path) -> bool:
    """Whether git surely accepts a .git folder. If it does not, it uses the next repository above."""
    folders = (store, store / "refs", store / "objects")
    if not all(folder.is_dir() and os.access(folder, os.R_OK | os.X_OK) for folder in folders):
        return False
    head = store / "HEAD"
    return head.is_file() and head.stat().st_size <= _LONGEST_HEAD and bool(_HEAD.fullmatch(head.read_bytes()))


def _store_doubt(store: Path) -> str:
    if not _is_repository(store):
        return "the .git folder is not a repository, and git uses one above it"
    for name in ("commondir", "config.worktree", "objects/info/alternates", "objects/info/http-alternates"):
        if os.path.lexists(store / name):
            return f"the repository has the file .git/{name}, which leads git elsewhere"
    link = next(_links(store), None)
    if link is not None:
        return f".git/{link} is a link"
    config = store / "config"
    if os.path.lexists(config):
        if config.stat().st_size > _LARGEST:
            return "the repository's settings are too long"
        for name in _settings(config.read_bytes().decode("utf-8-sig")):
            if name not in _HARMLESS:
                return f"the repository sets {name}, which may run programs"
    return _index_doubt(store)


def _index_doubt(store: Path) -> str:
    """Submodules have settings of their own, which `git status` obeys."""
    if any(name.startswith("sharedindex.") for name in os.listdir(store)):
        return "the repository's index is in several files"
    index = store / "index"
    if not os.path.lexists(index):
        return ""
    if index.stat().st_size > _LARGEST_INDEX:
        return "the repository's index is too long"
    return "the repository may have submodules, whose settings git obeys" if _SUBMODULE in index.read_bytes() else ""


def _links(store: Path) -> Iterator[str]:
    """The links in a repository's data, down to where its names and lists of objects are."""
    waiting = [store]
    seen = 0
    while waiting:
        folder = waiting.pop()
        seen += 1
        for entry in list(os.scandir(folder)):
            if entry.is_symlink() or seen > _MOST_FOLDERS:
                yield os.path.relpath(entry.path, store)
            elif entry.is_dir() and not (folder.name == "objects" and len(entry.name) == 2):
                waiting.append(Path(entry.path))


def _settings(text: str) -> Iterator[str]:
    """The name of each setting, in small letters and with `*` for a quoted part; `?` for a line that we cannot read."""
    section = ""
    for line in text.split("\n"):
        rest = line.strip(" \t\r\f\v")
        while rest.startswith("["):
            found = _SECTION.match(rest)
            if not found:
                yield "?"
                return
            section = found[1].lower() + ("" if found[2] is None else ".*")
            rest = rest[found.end() :].lstrip(" \t\r\f\v")
        if rest and rest[0] not in "#;":
            setting = _SETTING.fullmatch(rest)
            yield f"{section}.{setting[1].lower()}" if setting else "?"
