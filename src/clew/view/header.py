"""The header of a session: title, start and other facts, with secrets masked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from msgspec import Struct

from clew.conversation.branches import Branch
from clew.conversation.session import Session
from clew.conversation.speaker import prompt_text
from clew.facts.secrets.mask_secrets import may_contain_secrets
from clew.facts.token_usage import Usage, usage
from clew.system.plural import plural
from clew.system.shell_quoting import join_command
from clew.view.mask_rows import MaskCount
from clew.view.sanitize import clean, format_tokens, one_line

NO_PROMPT = "(no prompt)"
_BATCH = 200  # texts
_MAX_PROMPT = 200  # characters of the prompt that names a branch


class BranchNote(Struct, frozen=True):
    """A branch of a session: how many turns it shares with the active one, has of its own, and their first prompt.

    The active one shares what the others have in common with it.
    """

    number: int
    is_active: bool
    is_included: bool
    shared: int
    turns: int
    text: str

    @property
    def origin(self) -> str:
        return f"after turn {self.shared}" if self.shared else "from the start"

    @property
    def summary(self) -> str:
        own = plural(self.turns, "turn")
        place = f"{'active, ' if self.is_active else ''}{own} {self.origin}"
        return place if self.is_included else f"{place}, not included"


class About(Struct, frozen=True):
    """The title, the start, other facts as (name, text) pairs, and the branches if there is more than one."""

    id: str
    title: str
    started: datetime | None
    details: tuple[tuple[str, str], ...]
    branches: tuple[BranchNote, ...] = ()

    @property
    def branch_sentence(self) -> str:
        """How many branches there are, and which of them a document contains."""
        included = [note.number for note in self.branches if note.is_included]
        shown = "all of them" if len(included) == len(self.branches) else f"branch {included[0]}"
        return f"This session has {len(self.branches)} branches; this document has {shown}."

    @property
    def branch_command(self) -> str:
        """The command that exports the other branches too; "" if the document contains them."""
        is_whole = all(note.is_included for note in self.branches)
        return "" if is_whole else join_command(("clew", "export", self.id[:8], "--branch", "all"))


def describe_branches(session: Session, tally: MaskCount | None, shown: Branch | None, every: bool) -> list[BranchNote]:
    """Return notes on the branches of a session, [] if it has only one. The active one is shown unless another is."""
    if len(session.branches) < 2:
        return []
    fork = min(branch.shared for branch in session.branches if not branch.is_active)
    notes = []
    for branch in session.branches:
        shared = fork if branch.is_active else branch.shared
        first = branch.prompts[min(shared, len(branch.prompts) - 1)]
        is_included = every or (branch.number == shown.number if shown else branch.is_active)
        turns = len(branch.prompts) - shared
        text = masked_line(prompt_text(first), tally)[:_MAX_PROMPT]
        notes.append(BranchNote(branch.number, branch.is_active, is_included, shared, turns, text))
    return notes


def describe_session(
    session: Session,
    tally: MaskCount | None,
    branch: Branch | None = None,
    *,
    every_branch: bool = False,
    spent: Usage | None = None,
) -> About:
    """Return the header of a session; `tally` masks and counts secrets, and without one nothing is masked.

    A document shows the active branch, another `branch`, or every branch. `spent` is the usage, if it is known.
    """
    tokens = (usage(session) if spent is None else spent).total
    everywhere = " in all branches" if len(session.branches) > 1 else ""
    facts = {
        "cwd": session.cwd or "",
        "branch": session.branch_name or "",
        "model": ", ".join(session.models),
        "turns": plural(len(session.turns_of(branch) if branch else session.turns), "turn"),
        "tokens": f"{format_tokens(tokens.output)} output tokens{everywhere}" if tokens.output else "",
        "version": ", ".join(session.programs),
        "slug": session.slug or "",
        "id": session.id,
    }
    masked = {name: masked_line(text, tally) for name, text in facts.items() if text}
    title, branches = (
        masked_line(session.title, tally) or NO_PROMPT,
        describe_branches(session, tally, branch, every_branch),
    )
    return About(session.id, title, session.started, tuple(masked.items()), tuple(branches))


def masked_lines(texts: Sequence[str], tally: MaskCount | None) -> Iterator[str]:
    """Yield each text on one line, masked if there is a tally. The texts are searched together, which is quicker."""
    for start in range(0, len(texts), _BATCH):
        some = texts[start : start + _BATCH]
        suspects = may_contain_secrets([[clean(text)] for text in some]) if tally else [False] * len(some)
        for text, is_suspect in zip(some, suspects, strict=True):
            yield masked_line(text, tally if is_suspect else None)


def masked_line(text: str, tally: MaskCount | None) -> str:
    """Return text on one line, masked if there is a tally."""
    return one_line(tally.mask(text) if tally else text)
