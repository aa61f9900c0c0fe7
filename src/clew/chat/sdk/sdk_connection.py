"""What control requests need of the connection to an Agent SDK, and of the session behind it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from clew.chat import events
from clew.chat.agents.agent_kind import AgentKind
from clew.chat.config.plugins import Plugin
from clew.chat.config.settings import Settings
from clew.chat.config.skill_files import Skill
from clew.chat.engine import Engine
from clew.chat.mcp.mcp_client import McpServer
from clew.chat.permission.decide import Permissions
from clew.chat.session_config import SessionConfig
from clew.errors import ClewError
from clew.wire.json_codec import Json

Handler = Callable[[Json], Awaitable[Json | None]]  # takes a request; returns the response, None if it is empty


class ControlError(ClewError):
    """A control request failed. `code` is a name of the failure that programs can test for, `fields` say more."""

    def __init__(self, message: str, code: str = "", fields: Json | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.fields = fields or {}


class SdkSession(Protocol):
    """The session that the SDK drives."""

    @property
    def engine(self) -> Engine: ...

    @property
    def permissions(self) -> Permissions: ...

    @property
    def settings(self) -> Settings: ...

    @property
    def plugins(self) -> Sequence[Plugin]: ...

    @property
    def style(self) -> str: ...

    @property
    def styles(self) -> Sequence[str]: ...

    @property
    def servers(self) -> list[McpServer]: ...

    @property
    def skills(self) -> Mapping[str, Skill]: ...

    @property
    def kinds(self) -> Mapping[str, AgentKind]: ...

    async def say(self, text: str, uuid: str = "") -> events.TurnFinished:
        """Send what the user typed; slash commands and mentions are expanded."""
        ...

    def reload(self, plugins: Sequence[Path] = ()) -> SessionConfig:
        """Read the configuration again, with further plugins, and use its skills and agents. Return it."""
        ...


class SdkConnection(Protocol):
    """The connection to one SDK."""

    async def ensure_started(self) -> SdkSession:
        """Return the session; it is started on first use."""
        ...

    async def send_request(self, kind: str, fields: Json) -> Json:
        """Send a control request to the SDK and return its answer. Raises ClewError."""
        ...

    def send(self, frame: Json) -> None: ...

    def system_frame(self, subtype: str, **fields: Any) -> Json: ...

    def print_output(self, text: str) -> None:
        """Send a text as the output of a slash command."""
        ...

    def warn(self, text: str) -> None:
        """Write a message for the user of the program."""
        ...


def text_field(request: Json, kind: str, name: str) -> str:
    """Return a text that a request must have. Raises ControlError."""
    value = request.get(name)
    if not isinstance(value, str):
        raise ControlError(f"{kind}: {name} must be a string")
    return value
