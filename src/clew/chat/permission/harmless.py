"""Harmless commands: they only look, and run unasked. The table lists what is known; everything else is asked about."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from clew.chat.permission import git
from clew.chat.permission.lexer import Command
from clew.chat.permission.option import Grammar, Words, names, take


class Look(Struct, frozen=True):
    """What a harmless command looks at: these paths (and below them, if `recursive`); `changes_folder` for cd."""

    paths: tuple[str, ...] = ()
    recursive: bool = False
    changes_folder: bool = False
    is_git: bool = False


_SUM = Grammar("bt", long=names("binary text tag zero"))
_GREP = Grammar(
    "EFGPivwxycLlnHhsoqabUTZzrI",
    "emABCf",
    names(
        "extended-regexp fixed-strings perl-regexp ignore-case invert-match word-regexp line-regexp count colour color"
        " files-with-matches files-without-match line-number with-filename no-filename no-messages only-matching quiet"
        " byte-offset text null recursive include= exclude= exclude-dir= context= after-context= before-context="
        " max-count= color= colour="
    ),
    skip=1,
    pattern_letters="ef",
    file_letters="f",
    recursive="r",
    takes_numbers=True,
)
TABLE: dict[str, Grammar] = {
    "ls": Grammar(
        "aAbBcCdfFgGhHikLlmnNopqQrRsStTuUvwxXZ1",
        "I",
        names(
            "all almost-all human-readable recursive reverse size color color= sort= time= format= time-style= full-time"
        ),
    ),
    "cat": Grammar("AbeEnstTuv", long=names("number show-all show-ends number-nonblank squeeze-blank show-tabs")),
    "head": Grammar("qvz", "nc", names("lines= bytes= quiet verbose"), takes_numbers=True),
    "tail": Grammar("qvz", "nc", names("lines= bytes= quiet verbose"), takes_numbers=True, takes_plus=True),
    "wc": Grammar("clmwL", long=names("bytes chars lines words max-line-length")),
    "nl": Grammar("p", "bdfhilnsvw"),
    "tac": Grammar("br", "s"),
    "rev": Grammar(),
    "fold": Grammar("bs", "w"),
    "expand": Grammar("i", "t"),
    "unexpand": Grammar("a", "t"),
    "paste": Grammar("sz", "d"),
    "join": Grammar("iz", "aev12jot"),
    "comm": Grammar("123z", long=names("check-order nocheck-order")),
    "cut": Grammar("snz", "bcdf", names("bytes= characters= delimiter= fields= complement only-delimited")),
    "uniq": Grammar("cdDiuz", "fsw", names("count repeated unique ignore-case"), most=1),
    "sort": Grammar(
        "bcCdfghiMmnRrsuVz",
        "kt",
        names("reverse numeric-sort unique key= field-separator= human-numeric-sort version-sort"),
    ),
    "grep": _GREP,
    "egrep": _GREP,
    "fgrep": _GREP,
    "rg": Grammar(
        "cFiHhIlnNopsSUuvwxP0",
        "egtTABCmMdjr",
        names(
            "count count-matches files fixed-strings glob= hidden ignore-case files-with-matches files-without-match"
            " line-number no-line-number max-count= max-depth= multiline no-heading heading no-ignore only-matching"
            " smart-case sort= type= type-not= word-regexp context= after-context= before-context= color= json stats"
            " type-list version vimgrep with-filename no-filename invert-match column"
        ),
        skip=1,
        pattern_letters="e",
    ),
    "diff": Grammar(
        "abBcdeEinpqstTuwWyZ", "UC", names("brief unified unified= side-by-side ignore-all-space color= color"), most=2
    ),
    "cmp": Grammar("bls", "in", most=2),
    "stat": Grammar("ftL", "c", names("format= printf= terse file-system dereference")),
    "file": Grammar("bhiLNrsk", "F", names("brief mime mime-type mime-encoding")),
    "du": Grammar("0abchHkmsSx", "dt", names("all apparent-size bytes human-readable summarize max-depth= total")),
    "df": Grammar("ahHiklPT", "tx", names("human-readable")),
    "tree": Grammar("adfgDhipsuCFnrtv", "LPI", names("noreport dirsfirst gitignore")),
    "md5sum": _SUM,
    "sha1sum": _SUM,
    "sha256sum": _SUM,
    "sha512sum": _SUM,
    "cksum": Grammar(),
    "od": Grammar("abcdfiloxv", "AjNtSw"),
    "strings": Grammar("af", "nt"),
    "realpath": Grammar("eLmPqsz"),
    "readlink": Grammar("efmnqsvz"),
    "basename": Grammar("az", "s", has_paths=False),
    "dirname": Grammar("z", has_paths=False),
    "pwd": Grammar("LP", has_paths=False, most=0),
    "echo": Grammar("", has_paths=False, any_words=True),
    "true": Grammar(has_paths=False, most=0),
    "false": Grammar(has_paths=False, most=0),
    ":": Grammar(has_paths=False, most=0),
    "tr": Grammar("cCdst", has_paths=False, most=2),
    "seq": Grammar("w", "fs", has_paths=False, takes_numbers=True),
    "which": Grammar("a", has_paths=False),
    "type": Grammar("aptP", has_paths=False),
    "whoami": Grammar(has_paths=False, most=0),
    "id": Grammar("ugGnrz", has_paths=False, most=1),
    "groups": Grammar(has_paths=False, most=1),
    "uname": Grammar("asnrvmpio", has_paths=False, most=0),
    "arch": Grammar(has_paths=False, most=0),
    "nproc": Grammar(long=names("all"), has_paths=False, most=0),
    "hostname": Grammar("fs", has_paths=False, most=0),
    "uptime": Grammar("ps", has_paths=False, most=0),
    "cal": Grammar("3jmy", has_paths=False),
    "free": Grammar("bkmgh", has_paths=False, most=0),
    "cd": Grammar("LP", most=1),
}
_VERSIONS = names("node npm python python3 pip pip3 gcc clang make cmake git rg jq bash")
_SED_SCRIPT = re.compile(r"(?:[0-9]+|\$)?(?:,(?:[0-9]+|\$))?[pdq=]|[0-9]+,\+[0-9]+p")
_FIND_PLAIN = names(
    "-print -print0 -ls -empty -true -false -not ! ( ) -o -a -or -and , -depth -mount -xdev -prune -daystart -readable"
    " -writable -executable -quit"
)
_FIND_VALUED = names(
    "-name -iname -path -ipath -wholename -regex -iregex -type -size -mtime -atime -ctime -mmin -amin -cmin -newer -maxdepth"
    " -mindepth -user -group -perm -links -inum -printf -regextype"
)


def look(command: Command) -> Look | None:
    """What a command looks at; None if it may do more than look, as far as we can tell."""
    arguments = command.words[1:]
    grammar = TABLE.get(command.name)
    if command.assignments and command.name in ("git", "cd"):
        return None
    if grammar and grammar.any_words:
        return None if any(word.has_glob for word in arguments) else Look()
    fixed = tuple(word.value for word in arguments if word.value is not None)
    if len(fixed) != len(arguments) or any(word.has_glob and word.source[0] in "*?[" for word in arguments):
        return None
    found = _looked(command.name, fixed, grammar)
    globs = {word.value for word in arguments if word.has_glob}
    return found if found and globs <= set(found.paths) else None


def _looked(name: str, arguments: Words, grammar: Grammar | None) -> Look | None:
    if name in _VERSIONS and arguments in (("--version",), ("-V",)):
        return Look()
    if name == "command" and arguments[:1] in (("-v",), ("-V",)):
        return Look()
    if name in _SPECIAL:
        return _SPECIAL[name](arguments)
    taken = take(grammar, arguments) if grammar else None
    if grammar is None or taken is None:
        return None
    if name == "cd":
        return Look((taken.words[0],), changes_folder=True) if taken.words and taken.words[0] != "-" else None
    recursive = name == "rg" or bool(taken.letters & set(grammar.recursive)) or "--recursive" in arguments
    paths = taken.words if name == "rg" and "--files" in arguments else taken.paths
    paths = [path for path in paths if path != "-"]
    return Look(tuple(paths) or ((".",) if recursive else ()), recursive)


def _find(arguments: Words) -> Look | None:
    paths: list[str] = []
    at = 0
    while at < len(arguments) and not arguments[at].startswith(("-", "(", "!", ",")):
        paths.append(arguments[at])
        at += 1
    while at < len(arguments):
        word = arguments[at]
        if word in _FIND_VALUED:
            if word == "-newer" and at + 1 < len(arguments):
                paths.append(arguments[at + 1])
            at += 1
        elif word not in _FIND_PLAIN:
            return None
        at += 1
    return Look(tuple(paths) or (".",))


def _sed(arguments: Words) -> Look | None:
    rest = [word for word in arguments if word not in ("-n", "-E", "-r", "--quiet", "--silent")]
    if not rest or rest[0].startswith("-") or not _SED_SCRIPT.fullmatch(rest[0]):
        return None
    if any(word.startswith("-") for word in rest):
        return None
    return Look(tuple(rest[1:]))


def _date(arguments: Words) -> Look | None:
    rest = [word for word in arguments if word not in ("-u", "-I", "-Iseconds", "-R", "--utc", "--iso-8601=seconds")]
    return Look() if all(word.startswith("+") for word in rest) and len(rest) <= 1 else None


def _printf(arguments: Words) -> Look | None:
    return Look() if arguments and not arguments[0].startswith("-") else None


def _test(arguments: Words) -> Look | None:
    if len(arguments) == 2 and arguments[0] in ("-e", "-f", "-d", "-s", "-r", "-w", "-x", "-L", "-h"):
        return Look((arguments[1],))
    return None


def _git(arguments: Words) -> Look | None:
    paths = git.looked_at(arguments)
    return None if paths is None else Look(paths, is_git=True)


_SPECIAL: dict[str, Callable[[Words], Look | None]] = {
    "find": _find,
    "sed": _sed,
    "date": _date,
    "printf": _printf,
    "test": _test,
    "git": _git,
}
NAMES = frozenset({*TABLE, *_SPECIAL, *_VERSIONS, "command"})
