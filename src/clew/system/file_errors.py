"""A fence around each file of many: one that cannot be read is reported in a line, and the others are read on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import O_NONBLOCK, O_RDONLY, PathLike, close, fspath, scandir
from os import open as os_open
from os.path import isdir

from clew.errors import UNFORESEEN, UNREADABLE, ClewError
from clew.system.environment import is_debugging
from clew.system.shell_quoting import clew


def _ignore(sentence: str) -> None:
    return


class Fence:
    """Collects the problems of files; `report` is called with a sentence for each.

    fence = Fence(remark)
    for file in files:
        with fence.around(file.path):
            rows.append(summarise(file))
    return 1 if fence.problems else 0
    """

    def __init__(self, report: Callable[[str], None] = _ignore) -> None:
        self.problems: list[str] = []
        self._report = report

    @contextmanager
    def around(self, path: str | PathLike[str]) -> Iterator[None]:
        """Catch what reading a file can raise. A closed pipe is an error of the output, and passes through."""
        try:
            yield
        except BrokenPipeError:
            raise
        except UNREADABLE as error:
            if is_debugging() and isinstance(error, UNFORESEEN):
                import traceback

                traceback.print_exception(error)
            self.add(path, describe(error))

    def add(self, path: str | PathLike[str], reason: str) -> None:
        """Report a file or folder as unreadable."""
        name = fspath(path)
        step = f" Look at it with: {clew('check', name)}" if name.endswith(".jsonl") else ""
        self.problems.append(name)
        self._report(f"Skipped {name}: {reason}.{step}")


def reason_of(path: str | PathLike[str]) -> str:
    """Why a folder or file cannot be opened."""
    try:
        fspath(path).encode()
        close(os_open(path, O_RDONLY | O_NONBLOCK))
        if isdir(path):
            with scandir(path):
                pass
    except UnicodeEncodeError:
        return "its name is not valid UTF-8"
    except OSError as error:
        return describe(error)
    return "it holds something unexpected"


def describe(error: BaseException) -> str:
    """What went wrong, in a few words."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, ClewError):
        return str(error).rstrip(".")
    if isinstance(error, UNFORESEEN):
        return f"it holds something unexpected ({type(error).__name__}: {error})"
    return str(error)
