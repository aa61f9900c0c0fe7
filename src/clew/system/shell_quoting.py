"""Commands to type: every shell command that clew prints is built here, quoted for the shell that will read it.

A folder such as `C:\\work` or `\\\\server\\share` belongs to a session from Windows, whose line is for PowerShell (5.1 and
later) and says so; `for_cmd` gives the form for cmd.exe. All others are for POSIX shells. A line never holds a control
character: a POSIX word that has one is written as $'…', which bash, zsh and ksh read.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_")
_POWERSHELL_QUOTES = "'\u2018\u2019\u201a\u201b"  # PowerShell takes each of these for a single quote
_POWERSHELL = "  # PowerShell"


def quote(word: str) -> str:
    """A word for a POSIX shell."""
    if word and _SAFE.issuperset(word):
        return word
    if word.isprintable():
        return "'" + word.replace("'", "'\"'\"'") + "'"
    return "$'" + "".join(map(_escaped, word)) + "'"


def _escaped(letter: str) -> str:
    if letter in "\\'":
        return f"\\{letter}"
    if letter.isprintable():
        return letter
    return "".join(f"\\x{byte:02x}" for byte in _bytes(letter))


def _bytes(letter: str) -> bytes:
    """The bytes of a letter; those of a file name that is not UTF-8 come back as they were."""
    if "\udc80" <= letter <= "\udcff":
        return bytes([ord(letter) - 0xDC00])
    return letter.encode("utf-8", "surrogatepass")


def join(words: Sequence[str], variables: Mapping[str, str] | None = None) -> str:
    """A command for a POSIX shell, with variables of its own in front."""
    given = [f"{name}={quote(value)}" for name, value in (variables or {}).items()]
    return " ".join([*given, *map(quote, words)])


def is_windows(folder: str) -> bool:
    """Whether a folder is one of Windows: with a drive, or on a server."""
    has_drive = folder[:1].isascii() and folder[:1].isalpha() and folder[1:2] == ":" and folder[2:3] in ("\\", "/")
    return has_drive or folder.startswith("\\\\")


def resuming(session: str, *flags: str) -> tuple[str, ...]:
    """The words that resume a session; an id that looks like an option is still a value."""
    return ("claude", *((f"--resume={session}",) if session.startswith("-") else ("-r", session)), *flags)


def resume(
    session: str, folder: str = "", flags: Sequence[str] = (), variables: Mapping[str, str] | None = None
) -> str:
    """The line that resumes a session from its folder."""
    words = resuming(session, *flags)
    if is_windows(folder):
        return for_powershell(words, folder, variables)
    place = f"cd {'-- ' if folder.startswith('-') else ''}{quote(folder)} && " if folder else ""
    return place + join(words, variables)


def for_powershell(words: Sequence[str], folder: str, variables: Mapping[str, str] | None = None) -> str:
    """The same for PowerShell; a folder with control characters does not exist on Windows and is left out."""
    parts = [f"Set-Location -LiteralPath {_powershell(folder)} -ErrorAction Stop"] if _is_typed(folder) else []
    parts += [f"$env:{name} = {_powershell(value)}" for name, value in (variables or {}).items() if _is_typed(value)]
    parts.append(" ".join(word if word.replace("-", "").isalnum() else _powershell(word) for word in words))
    return "; ".join(parts) + _POWERSHELL


def _powershell(word: str) -> str:
    if not _is_typed(word):
        word = "".join(letter if letter.isprintable() else "?" for letter in word)
    return "'" + "".join(letter * 2 if letter in _POWERSHELL_QUOTES else letter for letter in word) + "'"


def for_cmd(session: str, folder: str) -> str:
    """The line for cmd.exe; empty if that has no way to write it (`%`, `"`, `!` or control characters)."""
    if not all(map(_is_plain_in_cmd, (session, folder))):
        return ""
    change = "pushd" if folder.startswith("\\\\") else "cd /d"
    words = (word if _SAFE.issuperset(word) else f'"{word}"' for word in resuming(session))
    return f'{change} "{folder}" && {" ".join(words)}'


def _is_typed(text: str) -> bool:
    return text.isprintable()


def _is_plain_in_cmd(text: str) -> bool:
    return _is_typed(text) and not set('%"!') & set(text) and not text.endswith("\\\\") and bool(text)


def clew(*words: str) -> str:
    """A command of ours."""
    return join(["clew", *words])


def on(command: str, session: str, *flags: str, whole: bool = False) -> str:
    """A command of ours for a session, named by the beginning of its id unless that needs quoting."""
    name = session if whole or not _SAFE.issuperset(session) else session[:8]
    return clew(command, *flags, "--", name) if name.startswith("-") else clew(command, name, *flags)
