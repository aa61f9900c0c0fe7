"""Every exception that clew raises.

ClewError
├── NotFound      nothing answers to what was asked for
├── Ambiguous     several things do
├── BadQuery      a query that cannot be understood
├── Refused       an edit that would leave a session unsound
├── Busy          another process holds what is needed
├── Stale         a file changed under the reader
├── StoreError    a store beyond this machine failed
└── ApiError      the Messages API failed

Each says one sentence that names the thing asked for; `hint` is the next step. An `OSError` passes through, and
damage in a transcript is a value (`clew.Damaged`), never an exception.
"""

from __future__ import annotations

from collections.abc import Sequence

# Errors raised by code that reads a file when a value in it is not what the code assumed. The error collector
# (`system.file_errors`) and the outermost handler (`cli.run_command`) catch these, but not KeyboardInterrupt or SystemExit.
UNEXPECTED_ERRORS = (
    ArithmeticError,  # OverflowError, ZeroDivisionError
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,  # KeyError, IndexError
    MemoryError,
    RuntimeError,  # RecursionError
    StopIteration,
    SystemError,
    TypeError,
    ValueError,  # UnicodeError
)


def quote_input(text: str, max_length: int = 200) -> str:
    """Quote user input for an error message: control characters escaped, long text cut in the middle."""
    excerpt = text if len(text) <= max_length else f"{text[: max_length // 2]}…{text[-max_length // 4 :]}"
    return f"'{excerpt}'" if excerpt.isprintable() else repr(excerpt)


class ClewError(Exception):
    """The base of all errors of this package."""

    hint: str = ""


READ_ERRORS = (ClewError, OSError, *UNEXPECTED_ERRORS)


class NotFound(ClewError):
    def __init__(self, asked: str, kind: str = "session", near: Sequence[str] = ()) -> None:
        super().__init__(f"No {kind} answers to {quote_input(asked)}.")
        self.asked = asked
        self.near = tuple(near)
        self.hint = f"Did you mean {', '.join(self.near)}?" if near else "List what there is with: clew ls"


class TranscriptGone(NotFound):
    """A session that the index, the prompt history or the archive knows, and whose transcript is not on the disk."""

    def __init__(self, asked: str, sentence: str, hint: str) -> None:
        super().__init__(asked)
        self.args = (sentence,)
        self.hint = hint


class Ambiguous(ClewError):
    def __init__(self, asked: str, matches: Sequence[str], kind: str = "sessions") -> None:
        super().__init__(f"{quote_input(asked)} stands for {len(matches)} {kind}.")
        self.asked = asked
        self.matches = tuple(matches)
        self.hint = "Give more of the id: " + ", ".join(self.matches[:8])


class BadQuery(ClewError):
    def __init__(self, text: str, at: int, reason: str) -> None:
        super().__init__(f"{reason} in {quote_input(text)} at position {at + 1}.")
        self.text = text
        self.at = at
        self.reason = reason


class Refused(ClewError):
    def __init__(self, violations: Sequence[str]) -> None:
        super().__init__("Refused: " + "; ".join(violations) + ".")
        self.violations = tuple(violations)


class Busy(ClewError):
    def __init__(self, path: str, since: str = "") -> None:
        super().__init__(f"{path} is in use{f' since {since}' if since else ''}.")
        self.path = path
        self.since = since


class Stale(ClewError):
    def __init__(self, path: str) -> None:
        super().__init__(f"{path} changed while it was being read.")
        self.path = path
        self.hint = "Try again."


class StoreError(ClewError):
    def __init__(self, message: str, kind: str, retryable: bool) -> None:
        super().__init__(message)
        self.kind = kind
        self.retryable = retryable


class ApiError(ClewError):
    def __init__(self, message: str, kind: str, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.retry_after = retry_after
