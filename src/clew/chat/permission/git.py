"""Git commands that only look. Options of git itself are not among them: `-c` and its kin can run anything."""

from __future__ import annotations

from clew.chat.permission.option import Grammar, Words, names, take

_SHOWN = (
    "stat stat= shortstat numstat name-only name-status summary patch no-patch oneline graph decorate all no-color cached"
    " staged word-diff unified= ignore-all-space ignore-space-change no-merges merges first-parent reverse abbrev-commit"
    " follow patch-with-stat diff-filter= format= pretty= pretty max-count= since= until= after= before= author= grep="
    " skip= date= relative no-renames find-renames histogram minimal no-prefix raw color= no-decorate topo-order"
    " date-order left-right cherry-pick"
)
_DIFF = Grammar("pusbwRaz", "UGS", names(_SHOWN))
_LOG = Grammar("pusbwaizqE", "nLGSU", names(_SHOWN), takes_numbers=True)
_LOOKING: dict[str, Grammar] = {
    "status": Grammar("sbuvz", "", names("short branch porcelain porcelain= long ignored show-stash untracked-files=")),
    "diff": _DIFF,
    "log": _LOG,
    "show": _LOG,
    "shortlog": Grammar("nsec", "", names("numbered summary email all since= until=")),
    "rev-parse": Grammar(
        "", "", names("show-toplevel abbrev-ref abbrev-ref= short short= verify is-inside-work-tree git-dir show-prefix"
        " is-bare-repository show-cdup quiet"),
    ),
    "ls-files": Grammar("cdmoikstuvz", "", names("others cached modified deleted exclude-standard stage")),
    "ls-tree": Grammar("drtlz", "", names("name-only full-tree long full-name")),
    "blame": Grammar("bclsteaw", "L", names("porcelain line-porcelain date=")),
    "rev-list": Grammar("", "n", names("count all max-count= since= until= no-merges first-parent")),
    "merge-base": Grammar("a", "", names("all is-ancestor fork-point")),
    "describe": Grammar("", "", names("tags all always long abbrev= dirty exact-match match=")),
    "cat-file": Grammar("ptes"),
    "count-objects": Grammar("vH"),
    "check-ignore": Grammar("vnq"),
}  # fmt: skip
_LISTING: dict[str, frozenset[Words]] = {
    "branch": frozenset(
        ((), ("-a",), ("-r",), ("-v",), ("-vv",), ("-av",), ("-avv",), ("--list",), ("--show-current",), ("--all",))
    ),
    "remote": frozenset(((), ("-v",), ("--verbose",))),
    "tag": frozenset(((), ("-l",), ("--list",))),
    "stash": frozenset((("list",),)),
    "worktree": frozenset((("list",),)),
    "reflog": frozenset(((), ("show",))),
    "version": frozenset(((),)),
}  # fmt: skip


def looked_at(arguments: Words) -> tuple[str, ...] | None:
    """The words of a git command that may be paths; None if it may do more than look."""
    rest = arguments[1:] if arguments[:1] == ("--no-pager",) else arguments
    if not rest:
        return None
    if rest == ("--version",):
        return ()
    name, words = rest[0], rest[1:]
    if name in _LISTING:
        return () if words in _LISTING[name] else None
    grammar = _LOOKING.get(name)
    taken = take(grammar, words) if grammar else None
    if taken is None:
        return None
    return tuple(path for path in taken.paths if path.startswith(("/", "~", "..")) or "/../" in path)
