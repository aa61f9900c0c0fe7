"""Git commands that only look. Options of git itself are not among them: `-c` and its kin can run anything."""

from __future__ import annotations

import re

from msgspec import Struct

from clew.chat.permission.command_options import Glob, Grammar, Taken, Words, names, take

_SHOWN = (
    "stat stat= shortstat numstat name-only name-status summary patch no-patch oneline graph decorate all no-color cached"
    " staged word-diff unified= ignore-all-space ignore-space-change no-merges merges first-parent reverse abbrev-commit"
    " follow patch-with-stat diff-filter= format= pretty= pretty max-count= since= until= after= before= author= grep="
    " skip= date= relative no-renames find-renames histogram minimal no-prefix raw color= no-decorate topo-order"
    " date-order left-right cherry-pick"
)


def _grammar(flags: str = "", valued: str = "", long: str = "", *, takes_numbers: bool = False) -> Grammar:
    return Grammar(flags, valued, names(long), takes_numbers=takes_numbers, mixes=True)


_LOG = _grammar("pusbwaizqE", "nLGSU", _SHOWN, takes_numbers=True)
LOOKING: dict[str, Grammar] = {
    "status": _grammar("sbuz", "", "short branch porcelain porcelain= long ignored show-stash untracked-files="),
    "diff": _grammar("pusbwRaz", "UGS", _SHOWN),
    "log": _LOG,
    "show": _LOG,
    "shortlog": _grammar("nsec", "", "numbered summary email all since= until="),
    "rev-parse": _grammar(
        "", "", "show-toplevel abbrev-ref abbrev-ref= short short= verify is-inside-work-tree git-dir show-prefix"
        " is-bare-repository show-cdup quiet",
    ),
    "ls-files": _grammar("cdmoikstuvz", "", "others cached modified deleted exclude-standard stage"),
    "ls-tree": _grammar("drtlz", "", "name-only full-tree long full-name"),
    "blame": _grammar("bclsteaw", "L", "porcelain line-porcelain date="),
    "rev-list": _grammar("", "n", "count all max-count= since= until= no-merges first-parent"),
    "merge-base": _grammar("a", "", "all is-ancestor fork-point"),
    "describe": _grammar("", "", "tags all always long abbrev= exact-match match="),
    "cat-file": _grammar("ptes"),
    "count-objects": _grammar("vH"),
    "check-ignore": _grammar("vnq"),
}  # fmt: skip
LISTING: dict[str, frozenset[Words]] = {
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
_SUMMARIES = names("stat shortstat numstat name-only name-status summary no-patch raw s")
_PATCHES = names("p u U L patch patch-with-stat unified word-diff")
_FORM = _SUMMARIES | _PATCHES | names("oneline graph format pretty z q color no-color decorate no-decorate")
_MAGIC = re.compile(r":(?:\([^)]*\)|[!^/]+:?|[0-3]:)?")


class GitQuery(Struct, frozen=True):
    """A git command that looks: its name, and the words that may be paths or name objects.

    `shows_content`: it prints lines of files, not only their names. `listing` are the arguments with which git tells the
    names of those files; without them the files are among `paths`.
    """

    name: str = ""
    paths: Words = ()
    shows_content: bool = False
    listing: Words = ()


def read(arguments: Words) -> GitQuery | None:
    """What a git command looks at; None if it may do more than look."""
    rest = arguments[1:] if arguments[:1] == ("--no-pager",) else arguments
    if not rest:
        return None
    if rest == ("--version",):
        return GitQuery()
    name, words = rest[0], rest[1:]
    if name in LISTING:
        return GitQuery(name) if words in LISTING[name] else None
    grammar = LOOKING.get(name)
    taken = take(grammar, words) if grammar else None
    if taken is None or any(_runs_programs(value) for option, value in taken.options if option in ("format", "pretty")):
        return None
    if any(isinstance(word, Glob) for word in words):
        return None
    traced = [value.rpartition(":")[2] for option, value in taken.options if option == "L" and name != "blame"]
    listing = _listing(name, words, taken) if name in ("diff", "log", "show") and not traced else ()
    return None if listing is None else GitQuery(name, (*taken.paths, *traced), _shows_content(name, taken), listing)


def _listing(name: str, words: Words, taken: Taken) -> Words | None:
    """The arguments that list the files of a diff; None if it is not certain which words come after `--`."""
    after = words[words.index("--") + 1 :] if "--" in words else ()
    count = len(taken.words) - len(after)
    if tuple(taken.words[count:]) != after:
        return None
    options = [
        f"-{option}{value}" if len(option) == 1 or option.isdecimal() else f"--{option}{'=' if value else ''}{value}"
        for option, value in taken.options
        if option not in _FORM
    ]
    options += ["--name-only", "-z", "--no-ext-diff", *(["--format="] if name != "diff" else [])]
    return (name, *options, *taken.words[:count], *(("--", *after) if "--" in words else ()))


def _runs_programs(format: str) -> bool:
    """`%G?` lets gpg check signatures."""
    return "%G" in format or "%(" in format


def _shows_content(name: str, taken: Taken) -> bool:
    if name in ("diff", "show"):
        return bool(taken.used & _PATCHES) or not taken.used & _SUMMARIES
    if name == "log":
        return bool(taken.used & _PATCHES)
    return name == "blame" or (
        name == "cat-file" and not taken.used & set("tes")
    )  # `cat-file blob ID` prints it as -p does


def named_files(word: str) -> tuple[str, ...]:
    """The files that a word of a git command may name: a path, a pattern (`:(icase)x`), a file in a commit (`HEAD:x`)."""
    plain = _MAGIC.sub("", word, count=1) if word.startswith(":") else word
    after = word.partition(":")[2]
    return tuple(dict.fromkeys(name for name in (plain, after, after.partition(":")[2]) if name))
