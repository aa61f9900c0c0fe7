"""Control requests about settings: read them, and change those of the session or of the local settings file."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import Struct, field
from msgspec.structs import replace

from clew.chat.config.reasoning_settings import save_effort, save_setting
from clew.chat.config.settings import Settings, SettingsSource, settings_file
from clew.chat.permission.folder_trust import Trust
from clew.chat.permission.permission_rules import load_rules
from clew.chat.sdk.sdk_connection import ControlError, Handler, SdkConnection, SdkSession
from clew.models import model_of
from clew.wire.json_codec import Json

_SOURCES = {
    "managed": "policySettings",
    "cli": "flagSettings",
    "local": "localSettings",
    "project": "projectSettings",
    "user": "userSettings",
}
_SAVED = {"localSettings": "outputStyle", "userSettings": "effortLevel"}  # what update_settings may change
_EFFECTIVE = ("model", "effortLevel", "permissions")  # settings that count at once


class SettingsRequests(Struct):
    """Answers the requests about the settings of one connection."""

    connection: SdkConnection
    use_model: Callable[[object], Awaitable[str]]
    _applied: Json = field(default_factory=dict)  # what apply_flag_settings has set so far

    def handlers(self) -> dict[str, Handler]:
        return {"get_settings": self._get, "apply_flag_settings": self._apply, "update_settings": self._update}

    async def _get(self, request: Json) -> Json:
        session = await self.connection.ensure_started()
        settings = self._with_applied(session)
        conversation = session.engine.conversation
        sources = [
            {"source": _SOURCES[source.scope], "settings": source.data}
            for source in reversed(settings.sources)
            if source.data and source.scope in _SOURCES
        ]
        effort = conversation.reasoning.effort_for(conversation.model) or None
        applied = {"model": conversation.model, "effort": effort, "advisor": None, "ultracode": False}
        return {"effective": settings.merged, "sources": sources, "applied": applied}

    async def _apply(self, request: Json) -> None:
        """Add to the settings of the session; null removes a key."""
        changes = request.get("settings")
        if not isinstance(changes, dict):
            raise ControlError("apply_flag_settings requires `settings` to be an object")
        session = await self.connection.ensure_started()
        merged = {**self._applied, **changes}
        self._applied = {name: value for name, value in merged.items() if value is not None}
        if "model" in changes:
            await self.use_model(changes["model"])
        if "effortLevel" in changes:
            session.engine.use_effort(str(changes["effortLevel"] or ""))
        if "permissions" in changes:
            session.permissions.rules, notices = load_rules(self._with_applied(session))
            for notice in notices:
                self.connection.warn(notice)
        for name in changes:
            if name not in _EFFECTIVE:
                self.connection.warn(f"The setting {name} has no effect on a running session.")

    async def _update(self, request: Json) -> Json:
        """Save a setting in a file: the output style of the project, or the effort of the current model."""
        source, changes = request.get("source"), request.get("settings")
        if source not in _SAVED:
            raise ControlError(f"update_settings: unsupported source {source}")
        if not isinstance(changes, dict):
            raise ControlError("update_settings requires `settings` to be an object")
        if refused := [name for name in changes if name != _SAVED[source]]:
            raise ControlError(f"update_settings keys not allowed: {', '.join(refused)}")
        if wrong := [name for name, value in changes.items() if not isinstance(value, str)]:
            raise ControlError(
                f"update_settings values must be strings (deletion is not supported): {', '.join(wrong)}"
            )
        session = await self.connection.ensure_started()
        permissions, model = session.permissions, session.engine.conversation.model
        if style := changes.get("outputStyle"):
            path = settings_file("local", permissions.project, permissions.claude_home)
            with Trust().keeping(permissions.project):  # which the program of the user changes here
                save_setting(path, "outputStyle", style)
        if level := changes.get("effortLevel"):
            save_effort(permissions.claude_home, model_of(model).name or model, level)
        return {}

    def _with_applied(self, session: SdkSession) -> Settings:
        """Return the settings of the session with what was applied on top of those of the command line."""
        settings = session.settings
        if not self._applied:
            return settings
        of_flags = [source for source in settings.sources if source.scope == "cli"]
        root = session.engine.conversation.state.project
        layer = SettingsSource("cli", root, self._applied)
        flags = Settings((layer, *of_flags)).merged
        at = sum(source.scope == "managed" for source in settings.sources)
        others = tuple(source for source in settings.sources if source.scope not in ("managed", "cli"))
        return replace(settings, sources=(*settings.sources[:at], SettingsSource("cli", root, flags), *others))
