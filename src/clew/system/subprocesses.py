"""Start programs without executing anything from the working folder, which can be an untrusted repository.

clew's own processes run in an isolated interpreter and in a neutral folder. Other programs are searched in the
absolute entries of `PATH` only: a relative or empty entry means the working folder.

It imports only `os` and `sys`, because every command starts here.
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
    """Remove the working folder from this process's import path and from the `PATH` that child processes inherit.

    Entries of `PYTHONPATH` that are relative, or lie in the working folder, are removed from `sys.path`; the folders
    of the interpreter and of this installation stay. Modules that the interpreter has already imported are not
    affected.
    """
    environment.drop_relative_folders()
    cwd = _working_folder()
    named = environment.import_folders() if cwd else []
    suspects = {os.path.realpath(folder) for folder in named if not os.path.isabs(folder)}
    suspects |= {folder for folder in map(os.path.realpath, named) if is_within(folder, cwd)}
    prefixes = [os.path.realpath(prefix) for prefix in (sys.prefix, sys.base_prefix)]
    suspects = {entry for entry in suspects if not any(is_within(entry, prefix) for prefix in prefixes)}
    suspects.discard(os.path.realpath(os.path.dirname(PACKAGE)))
    if suspects:
        sys.path[:] = [folder for folder in sys.path if folder and os.path.realpath(folder) not in suspects]


def is_within(path: str, folder: str) -> bool:
    """Return True if a path is a folder or lies below it."""
    return bool(folder) and (path == folder or path.startswith(folder.rstrip(os.sep) + os.sep))


def _working_folder() -> str:
    try:
        return os.path.realpath(os.getcwd())
    except OSError:  # it was removed
        return ""


def clew_process_command(*arguments: str) -> list[str]:
    """Return the command line that runs this clew with `arguments` from any folder.

    `-I` ignores the working folder, `PYTHON*` variables and the user's site folder. The file is named instead of `-m
    clew`, so that installations that `-I` does not see (`pip install --user`, `--target`) work too.
    """
    if getattr(sys, "frozen", False):
        return [sys.executable, *arguments]
    return [sys.executable, "-I", _main_file(), *arguments]


def _main_file() -> str:
    """Return the file that starts clew; the archive itself if clew runs from a zipapp."""
    path = MAIN
    while not os.path.exists(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return path if os.path.isfile(path) else MAIN


def start_clew(*arguments: str, output: bool = False, detached: bool = False) -> Popen[str]:
    """Start a separate clew process. Paths among the arguments must be absolute. Raises OSError.

    With `output` its stdout is a pipe, else it is discarded; `detached` starts it in a new session.
    """
    from subprocess import DEVNULL, PIPE, Popen

    return Popen(
        clew_process_command(*arguments),
        stdin=DEVNULL,
        stdout=PIPE if output else DEVNULL,
        stderr=DEVNULL,
        text=True,
        cwd=neutral_folder(),
        env=environment.isolated_environment(),
        start_new_session=detached,
    )


def neutral_folder() -> str:
    """Return a folder that contains no project files."""
    return environment.system_folder() if sys.platform == "win32" else "/"


def find_program(name: str, path: str | None = None) -> str | None:
    """Return the absolute path of a program in the absolute entries of `PATH` or of `path`; None if there is none.

    A name that contains a folder is not searched: it is the path of the program.
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
    """Return the path from `find_program`. Raises FileNotFoundError if there is none."""
    program = find_program(name, path)
    if program is None:
        raise FileNotFoundError(2, "No such program in the absolute folders of PATH", name)
    return program


def replace_process(program: str, arguments: Sequence[str], variables: Mapping[str, str]) -> None:
    """Replace this process with a program; its `PATH` has absolute folders only. Raises OSError."""
    variables_for_child = environment.child_environment(**variables)
    if sys.platform == "win32":  # there, the caller does not wait for a process that replaces itself
        from subprocess import call

        raise SystemExit(call([program, *arguments[1:]], env=variables_for_child))
    os.execve(program, list(arguments), variables_for_child)


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
