"""Start other programs without running anything from the working folder, which can be a stranger's repository.

Our own processes run in an isolated interpreter and in a neutral folder. Other programs are found in the absolute entries
of `PATH` only: a relative or empty entry means the working folder.

It imports nothing but `os` and `sys`, because every command begins here.
"""

from __future__ import annotations

import os
import sys

from clew.system import environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from subprocess import Popen

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MAIN = os.path.join(PACKAGE, "__main__.py")


def isolate_process() -> None:
    """Keep the working folder out of this process: out of its imports, and out of the `PATH` that its children inherit.

    Entries of `PYTHONPATH` that are relative, or lie in the working folder, are removed from `sys.path`; the folders of
    the interpreter and of this installation stay. Modules that the interpreter imported before are out of reach.
    """
    environment.drop_relative_folders()
    cwd = _working_folder()
    named = environment.import_folders() if cwd else []
    suspects = {os.path.realpath(entry) for entry in named if not os.path.isabs(entry)}
    suspects |= {entry for entry in map(os.path.realpath, named) if is_within(entry, cwd)}
    own = [os.path.realpath(place) for place in (sys.prefix, sys.base_prefix)]
    suspects = {each for each in suspects if not any(is_within(each, place) for place in own)}
    suspects.discard(os.path.realpath(os.path.dirname(PACKAGE)))
    if suspects:
        sys.path[:] = [entry for entry in sys.path if entry and os.path.realpath(entry) not in suspects]


def is_within(path: str, folder: str) -> bool:
    """Whether a path is a folder or lies below it."""
    return bool(folder) and (path == folder or path.startswith(folder.rstrip(os.sep) + os.sep))


def _working_folder() -> str:
    try:
        return os.path.realpath(os.getcwd())
    except OSError:  # it was removed
        return ""


def own_command(*words: str) -> list[str]:
    """The command that runs this clew with `words`, whatever folder it is run in.

    `-I` ignores the working folder, `PYTHON*` variables and the user's site folder. The file is named instead of `-m clew`,
    so that installations that `-I` does not see (`pip install --user`, `--target`) find themselves.
    """
    if getattr(sys, "frozen", False):
        return [sys.executable, *words]
    return [sys.executable, "-I", _main_file(), *words]


def _main_file() -> str:
    """The file that starts clew; the archive itself if clew is run from one (a zipapp)."""
    path = MAIN
    while not os.path.exists(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return path if os.path.isfile(path) else MAIN


def start_own(*words: str, output: bool = False, detached: bool = False) -> Popen[str]:
    """Start clew as a process of its own. Paths among the words must be absolute. Raises OSError.

    With `output` its stdout is a pipe, else it goes nowhere; `detached` puts it into a session of its own.
    """
    from subprocess import DEVNULL, PIPE, Popen

    return Popen(
        own_command(*words),
        stdin=DEVNULL,
        stdout=PIPE if output else DEVNULL,
        stderr=DEVNULL,
        text=True,
        cwd=neutral_folder(),
        env=environment.own_surroundings(),
        start_new_session=detached,
    )


def neutral_folder() -> str:
    """A folder that holds nothing of a project."""
    return environment.system_folder() if sys.platform == "win32" else "/"


def find_program(name: str, path: str | None = None) -> str | None:
    """The absolute path of a program, found in the absolute entries of `PATH` or of `path`; None if there is none.

    A name that holds a folder is not looked up: whoever wrote it named the file.
    """
    if os.path.dirname(name):
        return name if _is_program(name) else None
    endings = environment.program_endings(name) if sys.platform == "win32" else ("",)
    for folder in environment.program_folders(path):
        for ending in endings:
            candidate = os.path.join(folder, name + ending)
            if _is_program(candidate):
                return candidate
    return None


def resolve_program(name: str, path: str | None = None) -> str:
    """The same. Raises FileNotFoundError with a sentence."""
    found = find_program(name, path)
    if found is None:
        raise FileNotFoundError(2, "No such program in the absolute folders of PATH", name)
    return found


def become(program: str, words: Sequence[str], variables: Mapping[str, str]) -> None:
    """Replace this process by a program, which gets the words and a `PATH` of absolute folders. Raises OSError."""
    surroundings = environment.surroundings(**variables)
    if sys.platform == "win32":  # where the caller of a process that replaces itself does not wait for the other one
        from subprocess import call

        raise SystemExit(call([program, *words[1:]], env=surroundings))
    os.execve(program, list(words), surroundings)


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
