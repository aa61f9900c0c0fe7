"""Format the status line: the mode on the left; model, context use and cost on the right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from clew.view.sanitize import columns

if TYPE_CHECKING:
    from clew.chat.session_factory import ChatSession

MODES = {
    "default": "",
    "acceptEdits": "accepting edits",
    "plan": "planning: no changes",
    "bypassPermissions": "permissions bypassed",
    "dontAsk": "refusing calls without permission",
}
NARROW = 60


class Status(Struct, frozen=True):
    """The values of the status line."""

    mode: str
    model: str
    share: float  # of the context window that is used
    dollars: float | None
    tasks: int = 0  # in the background

    @classmethod
    def of(cls, session: ChatSession) -> Status:
        engine = session.engine
        cost, window = engine.deps.cost, engine.window
        share = engine.conversation.size / window if window else 0.0
        dollars = cost.dollars if cost.is_priced else None
        tasks = sum(task.status == "running" for task in engine.tasks.values())
        return cls(engine.conversation.mode, engine.conversation.model, share, dollars, tasks)

    @property
    def facts(self) -> list[str]:
        cost = "" if self.dollars is None else f"${self.dollars:.2f}"
        tasks = f"{self.tasks} in the background" if self.tasks else ""
        model = self.model.removeprefix("claude-")
        return [fact for fact in (tasks, model, f"{self.share:.0%} context", cost) if fact]


def status_fragments(status: Status | None, width: int, is_verbose: bool = False) -> list[tuple[str, str]]:
    """Return the status line as styled fragments that fit into `width` columns."""
    if status is None:
        return [("class:status", "  starting…")]
    mode = MODES.get(status.mode, status.mode)
    left = f"{mode} (shift+tab)" if mode and width >= NARROW else mode
    if not mode and width >= NARROW:
        left = "/help for help"
    if is_verbose:
        left = f"{left} · verbose (ctrl+o)"
    facts = status.facts if width >= NARROW else status.facts[-2:]
    while len(facts) > 1 and width - 4 - columns(left) - columns(" · ".join(facts)) < 1:
        facts = facts[1:]
    right = " · ".join(facts)
    room = width - 4 - columns(left) - columns(right)
    style = {"bypassPermissions": "class:status.danger", "default": "class:status"}.get(
        status.mode, "class:status.mode"
    )
    if room < 1:
        return [(style, f"  {left}"[: width - 1])] if mode else [("class:status", f"  {right}"[: width - 1])]
    return [(style, f"  {left}"), ("class:status", " " * room + right)]
