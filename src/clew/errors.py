"""Every exception that clew raises.

ClewError
├── NotFound      nothing matches
├── Ambiguous     several things match
├── BadQuery      an invalid query
├── Refused       an edit that would leave a session invalid
├── Busy          another process uses a file
├── Stale         a file changed while it was read
├── StoreError    a remote store failed
└── ApiError      the Messages API failed

Each message is one sentence that names its subject; `hint` is the next step. An `OSError` passes through, and
damage in a transcript is a value (`clew.Damaged`), never an exception.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
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
    """The base class of all errors of this package.

    `hint` is the next step, if the code that raises knows one that holds for every front end. Each front end (command line,
    MCP, web) suggests its own step for `NotFound` without a hint: a command, a tool, a page.
    """

    hint: str = ""

    def __init__(self, message: str = "", *, hint: str = "") -> None:
        super().__init__(message)
        if hint:
            self.hint = hint


READ_ERRORS = (ClewError, OSError, *UNEXPECTED_ERRORS)


class NotFound(ClewError):
    """Nothing matches `asked`; `near` are the closest names."""

    def __init__(self, asked: str, kind: str = "session", near: Sequence[str] = (), *, hint: str = "") -> None:
        suggestion = f"Did you mean {', '.join(near)}?" if near else ""
        super().__init__(f"No {kind} matches {quote_input(asked)}.", hint=hint or suggestion)
        self.asked = asked
        self.kind = kind
        self.near = tuple(near)


class TranscriptGone(NotFound):
    """A session that the index, the prompt history or the archive knows, but whose transcript was deleted."""

    def __init__(self, asked: str, sentence: str, *, hint: str) -> None:
        super().__init__(asked, hint=hint)
        self.args = (sentence,)


class Ambiguous(ClewError):
    """Several `matches` fit `asked`."""

    def __init__(self, asked: str, matches: Sequence[str], kind: str = "sessions", *, hint: str = "") -> None:
        suggestion = "Give more of the id: " + ", ".join(matches[:8])
        super().__init__(f"{quote_input(asked)} matches {len(matches)} {kind}.", hint=hint or suggestion)
        self.asked = asked
        self.matches = tuple(matches)


class BadQuery(ClewError):
    """A query that is invalid `at` a position."""

    def __init__(self, text: str, at: int, reason: str, *, hint: str = "") -> None:
        super().__init__(f"{reason} in {quote_input(text)} at position {at + 1}.", hint=hint)
        self.text = text
        self.at = at
        self.reason = reason


class Refused(ClewError):
    """An operation that would leave a session invalid, or that the user must confirm."""

    def __init__(self, violations: Sequence[str], *, hint: str = "") -> None:
        super().__init__("Refused: " + "; ".join(violations) + ".", hint=hint)
        self.violations = tuple(violations)


class Busy(ClewError):
    """Another process uses the file or session."""

    def __init__(self, path: str, since: str = "", *, hint: str = "") -> None:
        super().__init__(f"{path} is in use{f' since {since}' if since else ''}.", hint=hint)
        self.path = path
        self.since = since


class Stale(ClewError):
    """A file changed while it was being read."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} changed while it was being read.", hint="Try again.")
        self.path = path


class StoreError(ClewError):
    """A store on another machine, or a sink, failed; `kind` says how."""

    def __init__(self, message: str, kind: str, retryable: bool, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.retryable = retryable


class ApiError(ClewError):
    """The Messages API failed; `kind` is the API's error type, or ours for failures of the connection."""

    def __init__(
        self, message: str, kind: str, status: int | None = None, retry_after: float | None = None, *, hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.status = status
        self.retry_after = retry_after
