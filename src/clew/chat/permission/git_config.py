"""Find the repository that git would use in a folder, and check whether its configuration is harmless.

A repository can come from a stranger, with settings that name programs (`core.fsmonitor`, filters, text converters)
or files elsewhere (`.git` as a file, alternates, links). In a folder that is not trusted, all of these prompt the
user.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from clew.chat.permission.command_options import split_names
from clew.chat.permission.path_scope import is_inside

_MAX_CONFIG_BYTES = 1 << 20  # maximum size of a configuration file
_MAX_INDEX_BYTES = 64 << 20
_MAX_FOLDERS = 2000
_SUBMODULE = b"\0\0\xe0\0"  # the mode of a submodule in the index
_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\\n]|\\.)*)")?\s*\]', re.ASCII)
_SETTING = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*(?:=.*)?", re.ASCII | re.DOTALL)
_HARMLESS_SETTINGS = split_names(
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
_MAX_HEAD_BYTES = 1000


def find_repository(cwd: Path) -> Path | None:
    """Return the folder of the repository that git uses from here; None if there is none. The folder can be a bare
    repository.
    """
    for folder in (cwd, *cwd.parents):
        if os.path.lexists(folder / ".git") or is_bare(folder):
            return folder
    return None


def is_bare(folder: Path) -> bool:
    """Return True if git treats the folder itself as a repository."""
    return os.path.lexists(folder / "HEAD") and os.path.lexists(folder / "objects")


def find_risk(cwd: Path, roots: tuple[Path, ...]) -> str:
    """Return why git may do more than read in a folder that is not trusted; empty if it does not."""
    top = find_repository(cwd)
    if top is None:
        return "there is no repository here"
    if not is_inside(top, roots):
        return f"the repository {top} is outside the working folders"
    store = top / ".git"
    if is_bare(top) or store.is_symlink() or not store.is_dir():
        return "the repository's data is not in its own .git folder"
    try:
        return _git_folder_risk(store)
    except (OSError, UnicodeDecodeError):
        return "the repository's settings cannot be read"


def _is_repository(store: Path) -> bool:
    """Return True if git certainly accepts a .git folder. If it does not, git uses the next repository above."""
    folders = (store, store / "refs", store / "objects")
    if not all(folder.is_dir() and os.access(folder, os.R_OK | os.X_OK) for folder in folders):
        return False
    head = store / "HEAD"
    return head.is_file() and head.stat().st_size <= _MAX_HEAD_BYTES and bool(_HEAD.fullmatch(head.read_bytes()))


def _git_folder_risk(store: Path) -> str:
    if not _is_repository(store):
        return "the .git folder is not a repository, and git uses one above it"
    for name in ("commondir", "config.worktree", "objects/info/alternates", "objects/info/http-alternates"):
        if os.path.lexists(store / name):
            return f"the repository has the file .git/{name}, which leads git elsewhere"
    link = next(_find_links(store), None)
    if link is not None:
        return f".git/{link} is a link"
    config = store / "config"
    if os.path.lexists(config):
        if config.stat().st_size > _MAX_CONFIG_BYTES:
            return "the repository's settings are too long"
        for name in _setting_names(config.read_bytes().decode("utf-8-sig")):
            if name not in _HARMLESS_SETTINGS:
                return f"the repository sets {name}, which may run programs"
    return _index_risk(store)


def _index_risk(store: Path) -> str:
    """Check for submodules: `git status` uses their separate configuration."""
    if any(name.startswith("sharedindex.") for name in os.listdir(store)):
        return "the repository's index is in several files"
    index = store / "index"
    if not os.path.lexists(index):
        return ""
    if index.stat().st_size > _MAX_INDEX_BYTES:
        return "the repository's index is too long"
    return "the repository may have submodules, whose settings git obeys" if _SUBMODULE in index.read_bytes() else ""


def _find_links(store: Path) -> Iterator[str]:
    """Yield symbolic links in the .git folder. Folders of loose objects (`objects/ab`) are skipped."""
    pending = [store]
    visited = 0
    while pending:
        folder = pending.pop()
        visited += 1
        for entry in list(os.scandir(folder)):
            if entry.is_symlink() or visited > _MAX_FOLDERS:
                yield os.path.relpath(entry.path, store)
            elif entry.is_dir() and not (folder.name == "objects" and len(entry.name) == 2):
                pending.append(Path(entry.path))


def _setting_names(text: str) -> Iterator[str]:
    """Yield the name of each setting in lower case, with `*` for a quoted part; `?` for a line that cannot be
    parsed.

    `[remote "origin"]` followed by `url = x` yields `remote.*.url`.
    """
    section = ""
    for line in text.split("\n"):
        remaining = line.strip(" \t\r\f\v")
        while remaining.startswith("["):
            header = _SECTION.match(remaining)
            if not header:
                yield "?"
                return
            section = header[1].lower() + ("" if header[2] is None else ".*")
            remaining = remaining[header.end() :].lstrip(" \t\r\f\v")
        if remaining and remaining[0] not in "#;":
            setting = _SETTING.fullmatch(remaining)
            yield f"{section}.{setting[1].lower()}" if setting else "?"
