"""Collect errors of single files, so that one unreadable file does not stop a pass over many."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import O_RDONLY, PathLike, close, fspath, scandir
from os import open as os_open
from os.path import isdir

from clew.errors import READ_ERRORS, UNEXPECTED_ERRORS, ClewError
from clew.system.environment import is_debugging
from clew.system.shell_quoting import clew_command

_NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # Windows has none


def _ignore(sentence: str) -> None:
    return


class ErrorCollector:
    """Collects the problems of files; `report` is called with one sentence per problem.

    errors = ErrorCollector(print)
    for file in files:
        with errors.catch(file.path):
            rows.append(summarise(file))
    return 1 if errors.problems else 0
    """

    def __init__(self, report: Callable[[str], None] = _ignore) -> None:
        self.problems: list[str] = []
        self._report = report

    @contextmanager
    def catch(self, path: str | PathLike[str]) -> Iterator[None]:
        """Catch the errors that reading a file can raise. BrokenPipeError passes: it is an error of the output."""
        try:
            yield
        except BrokenPipeError:
            raise
        except READ_ERRORS as error:
            self.add(path, explain_error(error))

    def add(self, path: str | PathLike[str], reason: str) -> None:
        """Report a file or folder as unreadable."""
        name = fspath(path)
        step = f" Inspect it with: {clew_command('check', name)}" if name.endswith(".jsonl") else ""
        self.problems.append(name)
        self._report(f"Skipped {name}: {reason}.{step}")


def unreadable_reason(path: str | PathLike[str]) -> str:
    """Return the reason why a folder or file cannot be opened."""
    try:
        fspath(path).encode()
        close(os_open(path, O_RDONLY | _NONBLOCK))
        if isdir(path):
            with scandir(path):
                pass
    except UnicodeEncodeError:
        return "its name is not valid UTF-8"
    except OSError as error:
        return describe_error(error)
    return "it has unexpected content"


def explain_error(error: BaseException) -> str:
    """Describe an error in a few words; print its traceback if it is unexpected and clew is being debugged."""
    if is_debugging() and isinstance(error, UNEXPECTED_ERRORS):
        import traceback

        traceback.print_exception(error)
    return describe_error(error)


def describe_error(error: BaseException) -> str:
    """Describe an error in a few words."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, ClewError):
        return str(error).rstrip(".")
    if isinstance(error, UNEXPECTED_ERRORS):
        return f"it has unexpected content ({type(error).__name__}: {error})"
    return str(error)
