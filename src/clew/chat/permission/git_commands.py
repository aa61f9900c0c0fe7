"""Recognize git commands that only read. Global options of git are rejected: `-c` and others can run any program."""

from __future__ import annotations

import re

from msgspec import Struct

from clew.chat.permission.command_options import Glob, Grammar, ParsedArguments, Words, parse_arguments, split_names

_OUTPUT_OPTIONS = (
    "stat stat= shortstat numstat name-only name-status summary patch no-patch oneline graph decorate all no-color cached"
    " staged word-diff unified= ignore-all-space ignore-space-change no-merges merges first-parent reverse abbrev-commit"
    " follow patch-with-stat diff-filter= format= pretty= pretty max-count= since= until= after= before= author= grep="
    " skip= date= relative no-renames find-renames histogram minimal no-prefix raw color= no-decorate topo-order"
    " date-order left-right cherry-pick"
)


def _grammar(flags: str = "", valued: str = "", long: str = "", *, takes_numbers: bool = False) -> Grammar:
    return Grammar(flags, valued, split_names(long), takes_numbers=takes_numbers, mixes=True)


_LOG = _grammar("pusbwaizqE", "nLGSU", _OUTPUT_OPTIONS, takes_numbers=True)
READ_ONLY: dict[str, Grammar] = {
    "status": _grammar("sbuz", "", "short branch porcelain porcelain= long ignored show-stash untracked-files="),
    "diff": _grammar("pusbwRaz", "UGS", _OUTPUT_OPTIONS),
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
LISTING_FORMS: dict[str, frozenset[Words]] = {
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
_SUMMARY_OPTIONS = split_names("stat shortstat numstat name-only name-status summary no-patch raw s")
_PATCH_OPTIONS = split_names("p u U L patch patch-with-stat unified word-diff")
_FORMAT_OPTIONS = (
    _SUMMARY_OPTIONS
    | _PATCH_OPTIONS
    | split_names("oneline graph format pretty z q color no-color decorate no-decorate")
)
_MAGIC = re.compile(r":(?:\([^)]*\)|[!^/]+:?|[0-3]:)?")


class GitQuery(Struct, frozen=True):
    """A git command that only reads: its subcommand, and the words that may be paths or objects.

    `shows_content`: it prints lines of files, not only their names. `listing` are the arguments that make git list
    these files; if empty, the files are among `paths`.
    """

    name: str = ""
    paths: Words = ()
    shows_content: bool = False
    listing: Words = ()


def parse_query(arguments: Words) -> GitQuery | None:
    """Return what a git command reads; None if it may do more than read."""
    remaining = arguments[1:] if arguments[:1] == ("--no-pager",) else arguments
    if not remaining:
        return None
    if remaining == ("--version",):
        return GitQuery()
    name, words = remaining[0], remaining[1:]
    if name in LISTING_FORMS:
        return GitQuery(name) if words in LISTING_FORMS[name] else None
    grammar = READ_ONLY.get(name)
    parsed = parse_arguments(grammar, words) if grammar else None
    if parsed is None or any(
        _runs_programs(value) for option, value in parsed.options if option in ("format", "pretty")
    ):
        return None
    if any(isinstance(word, Glob) for word in words):
        return None
    # `git log -L 3,9:src/a.py` reads src/a.py: the path is part of an option.
    traced = [value.rpartition(":")[2] for option, value in parsed.options if option == "L" and name != "blame"]
    listing = _listing_arguments(name, words, parsed) if name in ("diff", "log", "show") and not traced else ()
    return None if listing is None else GitQuery(name, (*parsed.paths, *traced), _shows_content(name, parsed), listing)


def _listing_arguments(name: str, words: Words, parsed: ParsedArguments) -> Words | None:
    """Return the git arguments that list the files of a diff; None if it is not certain which words come after `--`.

    `log -p -n2 main -- src` becomes `log -n2 --name-only -z --no-ext-diff --format= main -- src`.
    """
    after = words[words.index("--") + 1 :] if "--" in words else ()
    count = len(parsed.words) - len(after)
    if tuple(parsed.words[count:]) != after:
        return None
    options = [
        f"-{option}{value}" if len(option) == 1 or option.isdecimal() else f"--{option}{'=' if value else ''}{value}"
        for option, value in parsed.options
        if option not in _FORMAT_OPTIONS
    ]
    options += ["--name-only", "-z", "--no-ext-diff", *(["--format="] if name != "diff" else [])]
    return (name, *options, *parsed.words[:count], *(("--", *after) if "--" in words else ()))


def _runs_programs(format: str) -> bool:
    """Return True if a format runs programs: `%G?` makes git run gpg to check signatures."""
    return "%G" in format or "%(" in format


def _shows_content(name: str, parsed: ParsedArguments) -> bool:
    """Return True if a git command prints the content of files, not only names and statistics."""
    if name in ("diff", "show"):
        return bool(parsed.used & _PATCH_OPTIONS) or not parsed.used & _SUMMARY_OPTIONS
    if name == "log":
        return bool(parsed.used & _PATCH_OPTIONS)
    return name == "blame" or (
        name == "cat-file" and not parsed.used & set("tes")
    )  # `cat-file blob ID` prints it as -p does


def possible_files(word: str) -> tuple[str, ...]:
    """Return the files that a word of a git command may name: a path, a pattern (`:(icase)x`), a file in a commit
    (`HEAD:x`).
    """
    plain = _MAGIC.sub("", word, count=1) if word.startswith(":") else word
    after = word.partition(":")[2]
    return tuple(dict.fromkeys(name for name in (plain, after, after.partition(":")[2]) if name))
