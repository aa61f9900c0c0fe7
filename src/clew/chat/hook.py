"""Hooks: the person's own programs (or callbacks) that are told of events and may have a say."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from clew.chat.permission.decision import Json, Kind
from clew.chat.setting import Settings

Callback = Callable[[Json], Awaitable[Json]]  # takes the payload, gives the hook's JSON answer ({}: no opinion)


@dataclass(frozen=True, slots=True)
class Hook:
    """One hook: a command for the shell, or a callback."""

    event: str
    run: str | Callback
    matcher: str = ""
    timeout: float = 60.0


@dataclass(frozen=True, slots=True)
class Ran:
    """How one hook went, for the journal and the person."""

    name: str
    code: int
    stdout: str
    stderr: str
    seconds: float


@dataclass(frozen=True, slots=True)
class HookOutcome:
    """What all hooks of an event said together."""

    block: bool = False
    reason: str = ""  # why it is blocked: for the model
    context: tuple[str, ...] = ()  # texts for the model
    updated_input: Json | None = None
    decision: Kind | None = None  # what PreToolUse and PermissionRequest hooks decided; deny wins, then ask
    stop: bool = False  # the whole turn ends (`continue: false`); `reason` is then for the person
    system_message: str = ""  # for the person
    ran: tuple[Ran, ...] = ()


class Hooks:
    """The hooks of a session."""

    def __init__(self, settings: Settings, project: Path, further: Sequence[Hook] = ()) -> None:
        """`further` are hooks that no settings file names: callbacks of an SDK."""
        self.notices: tuple[str, ...] = ()
        raise NotImplementedError

    async def run(self, event: str, payload: Json) -> HookOutcome:
        """Tell all hooks of an event, at once. `payload` holds session_id, transcript_path, cwd, permission_mode and
        what the event adds; `hook_event_name` is added here. Cancelling ends the programs."""
        raise NotImplementedError
