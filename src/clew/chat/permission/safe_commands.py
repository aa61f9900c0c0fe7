"""Recognize read-only commands that run without a prompt; any command that is not in the table prompts the user."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from clew.chat.permission import git_commands
from clew.chat.permission.command_options import Glob, Grammar, ParsedArguments, Words, parse_arguments, split_names
from clew.chat.permission.shell_globs import is_predictable
from clew.chat.permission.shell_lexer import SimpleCommand, Word


class ReadAccess(Struct, frozen=True):
    """What a read-only command reads: these paths, and all files below them if `recursive`."""

    paths: tuple[str, ...] = ()
    recursive: bool = False
    changes_folder: bool = False  # cd
    files_only: bool = False  # a folder among the paths would be read completely
    needs_trust: bool = False  # files in the current folder can choose the program that runs
    git: git_commands.GitQuery | None = None
    listing: Words | None = None  # the options by which ripgrep chooses files
    skipped: frozenset[str] = frozenset()  # names of folders that grep skips


_SUM = Grammar("bt", long=split_names("binary text tag zero"))
_GREP = Grammar(
    "EFGPivwxycLlnHhsoqabUTZzrI",
    "emABCf",
    split_names(
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
GRAMMARS: dict[str, Grammar] = {
    "ls": Grammar(
        "aAbBcCdfFgGhHikLlmnNopqQrRsStTuUvwxXZ1",
        "",
        split_names(
            "all almost-all human-readable recursive reverse size color color= sort= time= format= time-style= full-time"
        ),
    ),
    "cat": Grammar("AbeEnstTuv", long=split_names("number show-all show-ends number-nonblank squeeze-blank show-tabs")),
    "head": Grammar("qvz", "nc", split_names("lines= bytes= quiet verbose"), takes_numbers=True),
    "tail": Grammar("qvz", "nc", split_names("lines= bytes= quiet verbose"), takes_numbers=True),
    "wc": Grammar("clmwL", long=split_names("bytes chars lines words max-line-length")),
    "nl": Grammar("p", "bdfhilnsvw"),
    "tac": Grammar("br", "s"),
    "rev": Grammar(),
    "fold": Grammar("bs", "w"),
    "expand": Grammar("i", "t"),
    "unexpand": Grammar("a", "t"),
    "paste": Grammar("sz", "d"),
    "join": Grammar("iz", "aev12jot"),
    "comm": Grammar("123z", long=split_names("check-order nocheck-order")),
    "cut": Grammar("snz", "bcdf", split_names("bytes= characters= delimiter= fields= complement only-delimited")),
    "uniq": Grammar("cdDiuz", "fsw", split_names("count repeated unique ignore-case"), most=1, options_first=True),
    "sort": Grammar(
        "bcCdfghiMmnRrsuVz",
        "kt",
        split_names("reverse numeric-sort unique key= field-separator= human-numeric-sort version-sort"),
    ),
    "grep": _GREP,
    "egrep": _GREP,
    "fgrep": _GREP,
    "rg": Grammar(
        "cFiHhIlnNopsSUuvwxP0",
        "egtTABCmMdjr",
        split_names(
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
        split_names("brief unified unified= side-by-side ignore-all-space color= color"),
        most=2,
        files_only=True,
    ),
    "cmp": Grammar("bls", "in", most=2, files_only=True),
    "stat": Grammar("ftL", "c", split_names("format= printf= terse file-system dereference")),
    "file": Grammar("bhiLNrsk", "F", split_names("brief mime mime-type mime-encoding")),
    "du": Grammar(
        "0abchHkmsSx", "dt", split_names("all apparent-size bytes human-readable summarize max-depth= total")
    ),
    "df": Grammar("ahHiklPT", "tx", split_names("human-readable")),
    "tree": Grammar("adfgDhipsuCFnrtv", "LPI", split_names("noreport dirsfirst gitignore")),
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
    "nproc": Grammar(long=split_names("all"), has_paths=False, most=0),
    "hostname": Grammar("s", has_paths=False, most=0),
    "uptime": Grammar("ps", has_paths=False, most=0),
    "cal": Grammar("3jmy", has_paths=False),
    "free": Grammar("bkmgh", has_paths=False, most=0),
    "cd": Grammar("LP", most=1),
}
VERSION_PROGRAMS = split_names("node npm python python3 pip pip3 gcc clang make cmake git rg jq bash")
# Version managers replace these by a program that obeys files in the current folder; npm and pip
# read settings there as well.
_CHOSEN_BY_FOLDER = split_names("node npm python python3 pip pip3")
_SHORT_VERSION = split_names("python python3 rg jq")
# Variables that contain no secret and that no harmless command can set.
_PRINTABLE = split_names(
    "HOME PWD OLDPWD USER LOGNAME SHELL HOSTNAME LANG TERM UID EUID PPID RANDOM SECONDS LINENO SHLVL"
)
_SED_SCRIPT = re.compile(r"(?:[0-9]+|\$)?(?:,(?:[0-9]+|\$))?[pdq=]|[0-9]+,\+[0-9]+p")
_PRINTF_FORMAT = re.compile(r"%%|%[-+ #0]*[0-9]*(?:\.[0-9]+)?[diouxXeEfFgGaAscbq]")
_FOLDER_NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]*")
_FIND_TESTS = split_names(
    "-print -print0 -ls -empty -true -false -not ! ( ) -o -a -or -and , -depth -mount -xdev -prune -daystart -readable"
    " -writable -executable -quit"
)
_FIND_TESTS_WITH_VALUE = split_names(
    "-name -iname -path -ipath -wholename -regex -iregex -type -size -mtime -atime -ctime -mmin -amin -cmin -newer -maxdepth"
    " -mindepth -user -group -perm -links -inum -printf -regextype"
)


def read_access(command: SimpleCommand) -> ReadAccess | None:
    """Return what a command reads; None if it may do more than read, or if that is not certain."""
    arguments = command.words[1:]
    if command.assignments and command.name in ("git", "cd"):
        return None
    if command.name == "echo":
        return ReadAccess() if all(is_printable(word) for word in arguments) else None
    values: list[str] = []
    for word in arguments:
        is_odd_home = word.value is not None and word.value.startswith("~") and word.value != word.source
        if word.value is None or is_odd_home or (word.has_glob and not is_predictable(word)):
            return None
        values.append(Glob(word.value) if word.has_glob else word.value)
    return _access_of(command.name, tuple(values))


def is_printable(word: Word) -> bool:
    """Return True if a word may be printed: it is literal, or only uses variables that contain no secret."""
    return not word.has_glob and _PRINTABLE.issuperset(word.variables)


def _access_of(name: str, arguments: Words) -> ReadAccess | None:
    """Return what a command with these arguments reads, by its own function or by the table."""
    if name in VERSION_PROGRAMS and (arguments == ("--version",) or (arguments == ("-V",) and name in _SHORT_VERSION)):
        return ReadAccess(needs_trust=name in _CHOSEN_BY_FOLDER)
    if name in _SPECIAL:
        return _SPECIAL[name](arguments)
    grammar = GRAMMARS.get(name)
    parsed = parse_arguments(grammar, arguments) if grammar else None
    if grammar is None or parsed is None:
        return None
    if name == "cd":
        return ReadAccess((parsed.words[0],), changes_folder=True) if parsed.words and parsed.words[0] != "-" else None
    if name == "rg":
        return _ripgrep_access(parsed)
    recursive = not parsed.used.isdisjoint((*grammar.recursive, *(["recursive"] if grammar.recursive else ())))
    skipped = frozenset(v for option, v in parsed.options if option == "exclude-dir" and _FOLDER_NAME.fullmatch(v))
    paths = tuple(parsed.paths)  # `-` among them: for some programs it is a file of that name
    if recursive and not parsed.operands:  # `grep x -r` and `grep -rf FILE` read the current folder
        paths = (*paths, ".")
    return ReadAccess(paths, recursive, files_only=grammar.files_only, skipped=skipped)


def _ripgrep_access(parsed: ParsedArguments) -> ReadAccess:
    paths = tuple(parsed.words if "files" in parsed.used else parsed.paths)
    shown = {"u": "-u", "hidden": "--hidden", "no-ignore": "--no-ignore", "g": "--glob=", "glob": "--glob="}
    listing = tuple(shown[option] + value for option, value in parsed.options if option in shown)
    return ReadAccess(paths or (".",), recursive=True, listing=listing)


def _find_access(arguments: Words) -> ReadAccess | None:
    paths: list[str] = []
    at = 0
    while at < len(arguments) and not arguments[at].startswith(("-", "(", "!", ",")):
        paths.append(arguments[at])
        at += 1
    if any(isinstance(word, Glob) for word in arguments[at:]):
        return None
    while at < len(arguments):
        word = arguments[at]
        if word in _FIND_TESTS_WITH_VALUE:
            if word == "-newer" and at + 1 < len(arguments):
                paths.append(arguments[at + 1])
            at += 1
        elif word not in _FIND_TESTS:
            return None
        at += 1
    return ReadAccess(tuple(paths) or (".",))


def _sed_access(arguments: Words) -> ReadAccess | None:
    at = 0
    while at < len(arguments) and arguments[at] in ("-n", "-E", "-r", "--quiet", "--silent"):
        at += 1
    if at == len(arguments) or isinstance(arguments[at], Glob) or not _SED_SCRIPT.fullmatch(arguments[at]):
        return None
    files = arguments[at + 1 :]
    return None if any(word.startswith("-") for word in files) else ReadAccess(files)


def _date_access(arguments: Words) -> ReadAccess | None:
    formats = [word for word in arguments if word not in ("-u", "-I", "-Iseconds", "-R", "--utc", "--iso-8601=seconds")]
    return ReadAccess() if all(word.startswith("+") for word in formats) and len(formats) <= 1 else None


def _printf_access(arguments: Words) -> ReadAccess | None:
    """Accept only formats that print: `%n` and `-v` set a variable."""
    if not arguments or any(isinstance(word, Glob) for word in arguments) or arguments[0].startswith("-"):
        return None
    return ReadAccess() if "%" not in _PRINTF_FORMAT.sub("", arguments[0]) else None


def _test_access(arguments: Words) -> ReadAccess | None:
    if len(arguments) != 2 or isinstance(arguments[1], Glob):
        return None
    return (
        ReadAccess((arguments[1],)) if arguments[0] in ("-e", "-f", "-d", "-s", "-r", "-w", "-x", "-L", "-h") else None
    )


def _command_access(arguments: Words) -> ReadAccess | None:
    """Accept `command -v NAME`, which prints where a program is."""
    is_plain = all(re.fullmatch(r"[A-Za-z0-9_.+][A-Za-z0-9_.+-]*", word) for word in arguments[1:])
    return ReadAccess() if arguments[:1] in (("-v",), ("-V",)) and is_plain else None


def _git_access(arguments: Words) -> ReadAccess | None:
    query = git_commands.parse_query(arguments)
    return None if query is None else ReadAccess(query.paths, git=query)


_SPECIAL: dict[str, Callable[[Words], ReadAccess | None]] = {
    "find": _find_access,
    "sed": _sed_access,
    "date": _date_access,
    "printf": _printf_access,
    "test": _test_access,
    "git": _git_access,
    "command": _command_access,
}
NAMES = frozenset({*GRAMMARS, *_SPECIAL, *VERSION_PROGRAMS, "echo"})
