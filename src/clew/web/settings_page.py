"""The settings page: theme, density, width, time zone, first day of the week, masking."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from clew.web.app_state import AppState
from clew.web.forms import read_form, redirect_back
from clew.web.preferences import CHOICES, SYSTEM

LABELS = {
    "theme": ("Theme", {SYSTEM: "As the system", "light": "Light", "dark": "Dark"}),
    "density": ("Density", {"comfortable": "Comfortable", "compact": "Compact"}),
    "width": ("Width of text", {"normal": "72 characters", "wide": "All the room there is"}),
    "weekday": ("The week begins on", {"monday": "Monday", "sunday": "Sunday", "saturday": "Saturday"}),
    "masking": ("Secrets", {"on": "Masked", "off": "Shown"}),
}
HINTS = {
    "zone": "All times are shown in this zone; the title of a time has the UTC.",
    "masking": "API keys, tokens and passwords in transcripts. Masked ones are also masked in exports.",
}


class SettingsPage:
    def __init__(self, state: AppState) -> None:
        self._state = state

    def routes(self) -> list[Route]:
        return [Route("/settings", self.full_page), Route("/settings", self.save, methods=["POST"])]

    async def full_page(self, request: Request) -> Response:
        values: dict[str, Any] = {
            "labels": LABELS,
            "hints": HINTS,
            "zones": CHOICES["zone"](),
            "now": datetime.now(UTC),
            "is_saved": "saved" in request.query_params,
            "always_reveals": self._state.always_reveals,
            "path": str(self._state.preferences.path),
            "claude": self._state.clean_text(str(self._state.shelf.tree.root)),
        }
        return self._state.renderer.page(request, "settings", "Settings", **values)

    async def save(self, request: Request) -> Response:
        """Save the settings of a form, which may be one of them alone."""
        values = await read_form(request)
        self._state.preferences.set(**values)
        return redirect_back(values, "/settings?saved=1")
