"""Harmless commands: they only look, and run unasked. The table lists what is known; everything else is asked about."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from clew.chat.permission import git_commands
from clew.chat.permission.command_options import Glob, Grammar, Taken, Words, names, take
from clew.chat.permission.shell_globs import is_predictable
from clew.chat.permission.shell_lexer import SimpleCommand, Word


class Look(Struct, frozen=True):
    """What a harmless command looks at: these paths (and all files below them, if `recursive`)."""

    paths: tuple[str, ...] = ()
    recursive: bool = False
    changes_folder: bool = False  # cd
    files_only: bool = False  # a folder among the paths would be read as a whole
    needs_trust: bool = False  # files of the current folder can choose the program that runs
    git: git_commands.GitQuery | None = None
    listing: Words | None = None  # the options by which ripgrep chooses files
    skipped: frozenset[str] = frozenset()  # the names of folders that grep leaves out


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
        "",
        names(
            "all almost-all human-readable recursive reverse size color color= sort= time= format= time-style= full-time"
        ),
    ),
    "cat": Grammar("AbeEnstTuv", long=names("number show-all show-ends number-nonblank squeeze-blank show-tabs")),
    "head": Grammar("qvz", "nc", names("lines= bytes= quiet verbose"), takes_numbers=True),
    "tail": Grammar("qvz", "nc", names("lines= bytes= quiet verbose"), takes_numbers=True),
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
    "uniq": Grammar("cdDiuz", "fsw", names("count repeated unique ignore-case"), most=1, options_first=True),
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
        mixes=True,
    ),
    "diff": Grammar(
        "abBcdeEinpqstTuwWyZ",
        "UC",
        names("brief unified unified= side-by-side ignore-all-space color= color"),
        most=2,
        files_only=True,
    ),
    "cmp": Grammar("bls", "in", most=2, files_only=True),
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
    "od": Grammar("abcdfiloxv", "AjNt"),
    "strings": Grammar("af", "nt", reads_lists=True),
    "realpath": Grammar("eLmPqsz"),
    "readlink": Grammar("efmnqsvz"),
    "basename": Grammar("az", "s", has_paths=False),
    "dirname": Grammar("z", has_paths=False),
    "pwd": Grammar("LP", has_paths=False, most=0),
    "true": Grammar(has_paths=False, most=0),
    "false": Grammar(has_paths=False, most=0),
    ":": Grammar(has_paths=False, most=0),
    "tr": Grammar("cCdst", has_paths=False, most=2),
    "seq": Grammar("w", "fs", has_paths=False, takes_numbers=True),
    "which": Grammar("a", has_paths=False),
    "type": Grammar("aptP", has_paths=False),
    "whoami": Grammar(has_paths=False, most=0),
    "id": Grammar("ugGnrz", has_paths=False, most=0),
    "groups": Grammar(has_paths=False, most=0),
    "uname": Grammar("asnrvmpio", has_paths=False, most=0),
    "arch": Grammar(has_paths=False, most=0),
    "nproc": Grammar(long=names("all"), has_paths=False, most=0),
    "hostname": Grammar("s", has_paths=False, most=0),
    "uptime": Grammar("ps", has_paths=False, most=0),
    "cal": Grammar("3jmy", has_paths=False),
    "free": Grammar("bkmgh", has_paths=False, most=0),
    "cd": Grammar("LP", most=1),
}
VERSIONS = names("node npm python python3 pip pip3 gcc clang make cmake git rg jq bash")
# Version managers put a program of their own in the place of these, which obeys files of the current folder; npm and pip
# read settings there as well.
_CHOSEN_BY_FOLDER = names("node npm python python3 pip pip3")
_SHORT_VERSION = names("python python3 rg jq")
# Variables that hold no secret, and that nothing harmless can set.
_PRINTABLE = names("HOME PWD OLDPWD USER LOGNAME SHELL HOSTNAME LANG TERM UID EUID PPID RANDOM SECONDS LINENO SHLVL")
_SED_SCRIPT = re.compile(r"(?:[0-9]+|\$)?(?:,(?:[0-9]+|\$))?[pdq=]|[0-9]+,\+[0-9]+p")
_PRINTF_FORMAT = re.compile(r"%%|%[-+ #0]*[0-9]*(?:\.[0-9]+)?[diouxXeEfFgGaAscbq]")
_FOLDER_NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]*")
_FIND_PLAIN = names(
    "-print -print0 -ls -empty -true -false -not ! ( ) -o -a -or -and , -depth -mount -xdev -prune -daystart -readable"
    " -writable -executable -quit"
)
_FIND_VALUED = names(
    "-name -iname -path -ipath -wholename -regex -iregex -type -size -mtime -atime -ctime -mmin -amin -cmin -newer -maxdepth"
    " -mindepth -user -group -perm -links -inum -printf -regextype"
)


def look(command: SimpleCommand) -> Look | None:
    """What a command looks at; None if it may do more than look, as far as we can tell."""
    arguments = command.words[1:]
    if command.assignments and command.name in ("git", "cd"):
        return None
    if command.name == "echo":
        return Look() if all(is_printable(word) for word in arguments) else None
    values: list[str] = []
    for word in arguments:
        is_odd_home = word.value is not None and word.value.startswith("~") and word.value != word.source
        if word.value is None or is_odd_home or (word.has_glob and not is_predictable(word)):
            return None
        values.append(Glob(word.value) if word.has_glob else word.value)
    return _looked(command.name, tuple(values))


def is_printable(word: Word) -> bool:
    """Whether a word may be shown: it stands for itself, or for variables that hold no secret."""
    return not word.has_glob and _PRINTABLE.issuperset(word.variables)


def _looked(name: str, arguments: Words) -> Look | None:
    if name in VERSIONS and (arguments == ("--version",) or (arguments == ("-V",) and name in _SHORT_VERSION)):
        return Look(needs_trust=name in _CHOSEN_BY_FOLDER)
    if name in _SPECIAL:
        return _SPECIAL[name](arguments)
    grammar = TABLE.get(name)
    taken = take(grammar, arguments) if grammar else None
    if grammar is None or taken is None:
        return None
    if name == "cd":
        return Look((taken.words[0],), changes_folder=True) if taken.words and taken.words[0] != "-" else None
    if name == "rg":
        return _ripgrep(taken)
    recursive = not taken.used.isdisjoint((*grammar.recursive, *(["recursive"] if grammar.recursive else ())))
    skipped = frozenset(v for option, v in taken.options if option == "exclude-dir" and _FOLDER_NAME.fullmatch(v))
    paths = tuple(taken.paths)  # `-` among them: for some programs it is a file of that name
    if recursive and not taken.operands:  # `grep x -r` and `grep -rf FILE` read the current folder
        paths = (*paths, ".")
    return Look(paths, recursive, files_only=grammar.files_only, skipped=skipped)


def _ripgrep(taken: Taken) -> Look:
    paths = tuple(taken.words if "files" in taken.used else taken.paths)
    shown = {"u": "-u", "hidden": "--hidden", "no-ignore": "--no-ignore", "g": "--glob=", "glob": "--glob="}
    listing = tuple(shown[option] + value for option, value in taken.options if option in shown)
    return Look(paths or (".",), recursive=True, listing=listing)


def _find(arguments: Words) -> Look | None:
    paths: list[str] = []
    at = 0
    while at < len(arguments) and not arguments[at].startswith(("-", "(", "!", ",")):
        paths.append(arguments[at])
        at += 1
    if any(isinstance(word, Glob) for word in arguments[at:]):
        return None
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
    at = 0
    while at < len(arguments) and arguments[at] in ("-n", "-E", "-r", "--quiet", "--silent"):
        at += 1
    if at == len(arguments) or isinstance(arguments[at], Glob) or not _SED_SCRIPT.fullmatch(arguments[at]):
        return None
    files = arguments[at + 1 :]
    return None if any(word.startswith("-") for word in files) else Look(files)


def _date(arguments: Words) -> Look | None:
    rest = [word for word in arguments if word not in ("-u", "-I", "-Iseconds", "-R", "--utc", "--iso-8601=seconds")]
    return Look() if all(word.startswith("+") for word in rest) and len(rest) <= 1 else None


def _printf(arguments: Words) -> Look | None:
    """Only formats that print: `%n` sets a variable, `-v` as well."""
    if not arguments or any(isinstance(word, Glob) for word in arguments) or arguments[0].startswith("-"):
        return None
    return Look() if "%" not in _PRINTF_FORMAT.sub("", arguments[0]) else None


def _test(arguments: Words) -> Look | None:
    if len(arguments) != 2 or isinstance(arguments[1], Glob):
        return None
    return Look((arguments[1],)) if arguments[0] in ("-e", "-f", "-d", "-s", "-r", "-w", "-x", "-L", "-h") else None


def _command(arguments: Words) -> Look | None:
    """`command -v`, which tells where a program is."""
    is_plain = all(re.fullmatch(r"[A-Za-z0-9_.+][A-Za-z0-9_.+-]*", word) for word in arguments[1:])
    return Look() if arguments[:1] in (("-v",), ("-V",)) and is_plain else None


def _git(arguments: Words) -> Look | None:
    query = git_commands.read(arguments)
    return None if query is None else Look(query.paths, git=query)


_SPECIAL: dict[str, Callable[[Words], Look | None]] = {
    "find": _find,
    "sed": _sed,
    "date": _date,
    "printf": _printf,
    "test": _test,
    "git": _git,
    "command": _command,
}
NAMES = frozenset({*TABLE, *_SPECIAL, *VERSIONS, "echo"})
