"""The rows that all printers print: one frozen class for each kind, and `Row`, the union of them.

`rows.rows` converts a session to rows; the console makes rows of what happens in a chat. A printer handles every class
with `match` and ends in `assert_never`, so that mypy names the printers that miss a new one:

    match row:
        case ReplyRow() | PlanRow():
            return markdown_to_html(row.text)
        ...
        case _:
            assert_never(row)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from clew.view.attachments import Picture, TurnTotals

ReplyPart = Literal["first", "next", "continued"]


class BaseRow(Struct, frozen=True):
    """What every row has. `depth` is the nesting of agents.

    The text is complete; `limit` is how many lines a printer shows. Text is truncated last, after masking, since
    half a secret does not look like one. `masked` names further fields with text from the file that printers show.
    """

    masked: ClassVar[tuple[str, ...]] = ()

    text: str = ""
    depth: int = 0
    time: datetime | None = None
    limit: int | None = None


# -- the conversation


class PromptRow(BaseRow, frozen=True, kw_only=True):
    """A prompt, which starts a turn. `round_badge` is the label of its round; pages show the totals of the turn."""

    kind: ClassVar[Literal["prompt"]] = "prompt"
    number: int = 0  # of the turn; 0 if it is unknown
    images: int = 0
    round_badge: str = ""
    totals: TurnTotals | None = None


class QueuedRow(BaseRow, frozen=True):
    """A prompt typed while the model was busy."""

    kind: ClassVar[Literal["queued"]] = "queued"


class ReplyRow(BaseRow, frozen=True, kw_only=True):
    """Text of the model. A reply that is still being streamed comes in parts; `on` continues a paragraph."""

    kind: ClassVar[Literal["reply"]] = "reply"
    masked: ClassVar[tuple[str, ...]] = ("model",)
    model: str = ""
    part: ReplyPart = "first"


class ThinkingRow(BaseRow, frozen=True):
    kind: ClassVar[Literal["thinking"]] = "thinking"


class SummaryRow(BaseRow, frozen=True):
    """The summary that a compaction left."""

    kind: ClassVar[Literal["summary"]] = "summary"


class CompactionRow(BaseRow, frozen=True, kw_only=True):
    """A compaction, with the number of tokens before and after."""

    kind: ClassVar[Literal["compaction"]] = "compaction"
    masked: ClassVar[tuple[str, ...]] = ("trigger",)
    trigger: str = ""
    before: int | None = None
    after: int | None = None


class InterruptRow(BaseRow, frozen=True):
    """The user interrupted the model."""

    kind: ClassVar[Literal["interrupt"]] = "interrupt"


class AgentRow(BaseRow, frozen=True, kw_only=True):
    """The start of an agent's conversation."""

    kind: ClassVar[Literal["agent"]] = "agent"
    masked: ClassVar[tuple[str, ...]] = ("agent_type", "model")
    id: str = ""
    agent_type: str = ""
    model: str = ""
    tokens: int | None = None
    milliseconds: float | None = None


# -- calls


class CallRow(BaseRow, frozen=True, kw_only=True):
    """A tool call. `is_open` means that it has no result.

    Pages also show the file that it concerns, the numbers of lines that it added and removed, and what a person or a
    rule decided about it.
    """

    kind: ClassVar[Literal["call"]] = "call"
    masked: ClassVar[tuple[str, ...]] = ("tool", "path", "decision")
    tool: str = ""
    path: str = ""
    decision: str = ""
    changes: tuple[int, int] | None = None
    id: str = ""
    failed: bool = False
    is_open: bool = False
    seconds: float | None = None


class InputRow(BaseRow, frozen=True, kw_only=True):
    """Input of a call that its label does not show, with its language if it is code."""

    kind: ClassVar[Literal["input"]] = "input"
    masked: ClassVar[tuple[str, ...]] = ("language",)
    language: str = ""


class ResultRow(BaseRow, frozen=True, kw_only=True):
    """Output of a call, or the file at `path`. `beyond` lines follow outside the text; `is_continued` marks all rows but
    the first of it.
    """

    kind: ClassVar[Literal["result"]] = "result"
    masked: ClassVar[tuple[str, ...]] = ("path",)
    path: str = ""
    beyond: int = 0
    is_continued: bool = False


class FailureRow(BaseRow, frozen=True, kw_only=True):
    """Output of a call that failed."""

    kind: ClassVar[Literal["failure"]] = "failure"
    beyond: int = 0
    is_continued: bool = False


class DoneRow(BaseRow, frozen=True):
    """What a call did, in one line."""

    kind: ClassVar[Literal["done"]] = "done"


class DiffRow(BaseRow, frozen=True, kw_only=True):
    """Changed lines of the file at `path`, each with its sign."""

    kind: ClassVar[Literal["diff"]] = "diff"
    masked: ClassVar[tuple[str, ...]] = ("path",)
    path: str = ""


class TodoRow(BaseRow, frozen=True, kw_only=True):
    """An item of a todo list."""

    kind: ClassVar[Literal["todo"]] = "todo"
    status: str = ""


class PlanRow(BaseRow, frozen=True):
    """A plan, in Markdown."""

    kind: ClassVar[Literal["plan"]] = "plan"


class PictureRow(BaseRow, frozen=True, kw_only=True):
    """An image or document of a prompt or a result."""

    kind: ClassVar[Literal["picture"]] = "picture"
    picture: Picture


# -- messages of Claude Code and of clew


class NoteRow(BaseRow, frozen=True):
    kind: ClassVar[Literal["note"]] = "note"


class MetaRow(BaseRow, frozen=True):
    """Text that the program added to the conversation."""

    kind: ClassVar[Literal["meta"]] = "meta"


class ErrorRow(BaseRow, frozen=True):
    kind: ClassVar[Literal["error"]] = "error"


class WarningRow(BaseRow, frozen=True):
    kind: ClassVar[Literal["warning"]] = "warning"


class TitleRow(BaseRow, frozen=True):
    kind: ClassVar[Literal["title"]] = "title"


class AboutRow(BaseRow, frozen=True):
    """A fact about the session, or what a command reports."""

    kind: ClassVar[Literal["about"]] = "about"


class TableRow(BaseRow, frozen=True, kw_only=True):
    """Names and values, with the text as the title."""

    kind: ClassVar[Literal["table"]] = "table"
    pairs: tuple[tuple[str, str], ...] = ()

    @property
    def lines(self) -> list[str]:
        return [*([self.text] if self.text else []), *(f"{name}: {value}" for name, value in self.pairs)]


Row: TypeAlias = (
    PromptRow
    | QueuedRow
    | ReplyRow
    | ThinkingRow
    | SummaryRow
    | CompactionRow
    | InterruptRow
    | AgentRow
    | CallRow
    | InputRow
    | ResultRow
    | FailureRow
    | DoneRow
    | DiffRow
    | TodoRow
    | PlanRow
    | PictureRow
    | NoteRow
    | MetaRow
    | ErrorRow
    | WarningRow
    | TitleRow
    | AboutRow
    | TableRow
)
RowPrinter: TypeAlias = Callable[[Iterable[Row]], Iterator[str]]  # what every printer of text offers
