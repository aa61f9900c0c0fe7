"""Choices: the modes and models between which a person switches in the editor."""

from __future__ import annotations

from acp.schema import (
    AvailableCommand,
    AvailableCommandInput,
    AvailableCommandsUpdate,
    SessionConfigOptionBoolean,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
    UnstructuredCommandInput,
)

from clew.chat.config.model_alias import offered_models
from clew.chat.config.permission_mode import MODES, Mode
from clew.chat.session_factory import ChatSession

MODE, MODEL = "mode", "model"
_MODES: dict[Mode, tuple[str, str]] = {
    "default": ("Ask", "Asks before it changes anything that no rule allows"),
    "acceptEdits": ("Accept edits", "Changes files of the project unasked, and asks for all else"),
    "plan": ("Plan", "Looks and thinks, and changes nothing"),
    "dontAsk": ("Don't ask", "Refuses what no rule allows"),
    "bypassPermissions": ("Bypass permissions", "Asks nothing that no rule tells it to ask"),
}
Options = list[SessionConfigOptionSelect | SessionConfigOptionBoolean]


def modes(session: ChatSession) -> list[Mode]:
    """The modes that can be chosen here."""
    return [mode for mode in MODES if mode != "bypassPermissions" or session.permissions.may_bypass]


def mode_state(session: ChatSession) -> SessionModeState:
    return SessionModeState(
        current_mode_id=session.engine.conversation.mode,
        available_modes=[
            SessionMode(id=mode, name=_MODES[mode][0], description=_MODES[mode][1]) for mode in modes(session)
        ],
    )


def models(session: ChatSession) -> list[str]:
    """The models that can be chosen here: those with short names, `opusplan`, and the current choice."""
    return offered_models(session.engine.conversation.choice)


def options(session: ChatSession) -> Options:
    """All that can be chosen, as it is now."""
    dialogue = session.engine.conversation
    return [
        SessionConfigOptionSelect(
            type="select",
            id=MODE,
            name="Mode",
            category="mode",
            current_value=dialogue.mode,
            options=[
                SessionConfigSelectOption(value=mode, name=_MODES[mode][0], description=_MODES[mode][1])
                for mode in modes(session)
            ],
        ),
        SessionConfigOptionSelect(
            type="select",
            id=MODEL,
            name="Model",
            category="model",
            current_value=dialogue.choice,
            options=[SessionConfigSelectOption(value=model, name=model) for model in models(session)],
        ),
    ]


def commands(session: ChatSession) -> AvailableCommandsUpdate:
    """The slash commands that a person may type."""
    found = [_command("compact", "Go on from a summary of the conversation", "what the summary is to keep")]
    found += [_command(s.name, s.description or s.name, s.hint) for s in session.skills.values() if s.for_user]
    return AvailableCommandsUpdate(session_update="available_commands_update", available_commands=found)


def _command(name: str, about: str, hint: str) -> AvailableCommand:
    wanted = AvailableCommandInput(root=UnstructuredCommandInput(hint=hint)) if hint else None
    return AvailableCommand(name=name, description=about, input=wanted)
