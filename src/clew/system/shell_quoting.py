r"""Build the shell commands that clew prints, quoted for the shell that will run them.

A folder such as `C:\work` or `\\server\share` belongs to a session from Windows; its command is for PowerShell (5.1
and later) and says so. `cmd_resume_command` gives the form for cmd.exe. All others are for POSIX shells. A command
never contains control characters: a POSIX word that has one is written as $'…', which bash, zsh and ksh accept.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_")
_POWERSHELL_QUOTES = "'\u2018\u2019\u201a\u201b"  # PowerShell takes each of these for a single quote
_POWERSHELL = "  # PowerShell"


def quote(word: str) -> str:
    """Quote a word for a POSIX shell."""
    if word and _SAFE.issuperset(word):
        return word
    if word.isprintable():
        return "'" + word.replace("'", "'\"'\"'") + "'"
    return "$'" + "".join(map(_escape_character, word)) + "'"


def _escape_character(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in _encode_character(character))


def _encode_character(character: str) -> bytes:
    """Encode a character; surrogates that stand for undecodable bytes of a file name become these bytes again."""
    if "\udc80" <= character <= "\udcff":
        return bytes([ord(character) - 0xDC00])
    return character.encode("utf-8", "surrogatepass")


def join_command(arguments: Sequence[str], variables: Mapping[str, str] | None = None) -> str:
    """Join arguments to a command for a POSIX shell, with variable assignments before it."""
    assignments = [f"{name}={quote(value)}" for name, value in (variables or {}).items()]
    return " ".join([*assignments, *map(quote, arguments)])


def is_windows_path(folder: str) -> bool:
    """Return True if a folder is a Windows path: with a drive, or on a server."""
    has_drive = folder[:1].isascii() and folder[:1].isalpha() and folder[1:2] == ":" and folder[2:3] in ("\\", "/")
    return has_drive or folder.startswith("\\\\")


def resume_arguments(session: str, *flags: str) -> tuple[str, ...]:
    """Return the arguments that resume a session; an id that looks like an option is passed as a value."""
    return ("claude", *((f"--resume={session}",) if session.startswith("-") else ("-r", session)), *flags)


def resume_command(
    session: str, folder: str = "", flags: Sequence[str] = (), variables: Mapping[str, str] | None = None
) -> str:
    """Return the command that resumes a session from its folder."""
    return command_in_folder(resume_arguments(session, *flags), folder, variables)


def command_in_folder(arguments: Sequence[str], folder: str, variables: Mapping[str, str] | None = None) -> str:
    """Return a command to be run in a folder."""
    if is_windows_path(folder):
        return powershell_command(arguments, folder, variables)
    change_folder = f"cd {'-- ' if folder.startswith('-') else ''}{quote(folder)} && " if folder else ""
    return change_folder + join_command(arguments, variables)


def powershell_command(arguments: Sequence[str], folder: str, variables: Mapping[str, str] | None = None) -> str:
    """Return the command for PowerShell; a folder with control characters cannot exist on Windows and is left out."""
    parts = [f"Set-Location -LiteralPath {_quote_powershell(folder)} -ErrorAction Stop"] if _is_typeable(folder) else []
    parts += [
        f"$env:{name} = {_quote_powershell(value)}" for name, value in (variables or {}).items() if _is_typeable(value)
    ]
    parts.append(" ".join(word if word.replace("-", "").isalnum() else _quote_powershell(word) for word in arguments))
    return "; ".join(parts) + _POWERSHELL


def _quote_powershell(word: str) -> str:
    if not _is_typeable(word):
        word = "".join(letter if letter.isprintable() else "?" for letter in word)
    return "'" + "".join(letter * 2 if letter in _POWERSHELL_QUOTES else letter for letter in word) + "'"


def cmd_resume_command(session: str, folder: str) -> str:
    """Return the resume command for cmd.exe; "" if cmd.exe cannot express it (`%`, `"`, `!` or control characters)."""
    if not all(map(_is_safe_in_cmd, (session, folder))):
        return ""
    change = "pushd" if folder.startswith("\\\\") else "cd /d"
    arguments = (word if _SAFE.issuperset(word) else f'"{word}"' for word in resume_arguments(session))
    return f'{change} "{folder}" && {" ".join(arguments)}'


def _is_typeable(text: str) -> bool:
    return text.isprintable()


def _is_safe_in_cmd(text: str) -> bool:
    return _is_typeable(text) and not set('%"!') & set(text) and not text.endswith("\\\\") and bool(text)


def clew_command(*arguments: str) -> str:
    """Return a clew command."""
    return join_command(["clew", *arguments])


def session_command(command: str, session: str, *flags: str, full_id: bool = False) -> str:
    """Return a clew command for a session, named by the first characters of its id unless these need quoting."""
    name = session if full_id or not _SAFE.issuperset(session) else session[:8]
    return clew_command(command, *flags, "--", name) if name.startswith("-") else clew_command(command, name, *flags)
