"""List the modes, models and commands that the user can choose in the editor."""

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
_MODE_LABELS: dict[Mode, tuple[str, str]] = {
    "default": ("Ask", "Ask before changes that no rule allows"),
    "acceptEdits": ("Accept edits", "Edit project files without asking; ask before anything else"),
    "plan": ("Plan", "Read and plan, change nothing"),
    "dontAsk": ("Don't ask", "Refuse whatever no rule allows"),
    "bypassPermissions": ("Bypass permissions", "Ask only where a rule requires it"),
}
Options = list[SessionConfigOptionSelect | SessionConfigOptionBoolean]


def available_modes(session: ChatSession) -> list[Mode]:
    """Return the modes that can be chosen in this session."""
    return [mode for mode in MODES if mode != "bypassPermissions" or session.permissions.may_bypass]


def mode_state(session: ChatSession) -> SessionModeState:
    return SessionModeState(
        current_mode_id=session.engine.conversation.mode,
        available_modes=[
            SessionMode(id=mode, name=_MODE_LABELS[mode][0], description=_MODE_LABELS[mode][1])
            for mode in available_modes(session)
        ],
    )


def available_models(session: ChatSession) -> list[str]:
    """Return the models that can be chosen: the short names, `opusplan`, and the current choice."""
    return offered_models(session.engine.conversation.choice)


def config_options(session: ChatSession) -> Options:
    """Return all options with their current values."""
    conversation = session.engine.conversation
    return [
        SessionConfigOptionSelect(
            type="select",
            id=MODE,
            name="Mode",
            category="mode",
            current_value=conversation.mode,
            options=[
                SessionConfigSelectOption(value=mode, name=_MODE_LABELS[mode][0], description=_MODE_LABELS[mode][1])
                for mode in available_modes(session)
            ],
        ),
        SessionConfigOptionSelect(
            type="select",
            id=MODEL,
            name="Model",
            category="model",
            current_value=conversation.choice,
            options=[SessionConfigSelectOption(value=model, name=model) for model in available_models(session)],
        ),
    ]


def available_commands(session: ChatSession) -> AvailableCommandsUpdate:
    """Return the slash commands that the user can type."""
    commands = [
        _command("compact", "Summarize the conversation and continue from the summary", "what the summary should keep")
    ]
    commands += [_command(s.name, s.description or s.name, s.hint) for s in session.skills.values() if s.for_user]
    return AvailableCommandsUpdate(session_update="available_commands_update", available_commands=commands)


def _command(name: str, about: str, hint: str) -> AvailableCommand:
    command_input = AvailableCommandInput(root=UnstructuredCommandInput(hint=hint)) if hint else None
    return AvailableCommand(name=name, description=about, input=command_input)
