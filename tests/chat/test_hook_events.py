"""Hooks at the end of a turn that failed, and after a compaction."""

from __future__ import annotations

import json
from pathlib import Path

from tests.chat.set_up import CLEW, Place
from tests.chat.test_server_scopes import refusing

SESSION = "5b5d0c1e-93a1-4c5e-8a4e-0d6f1d8f2a11"


def recording(place: Place, event: str, matcher: str = "") -> Path:
    """Let hooks of an event write what they are told into a file."""
    path = place.home / f"{event}.json"
    place.user({"hooks": {event: [{"matcher": matcher, "hooks": [{"type": "command", "command": f"cat > {path}"}]}]}})
    return path


def test_a_request_that_fails_is_reported_to_hooks(tmp_path: Path) -> None:
    place = Place(tmp_path)
    told = recording(place, "StopFailure")
    with refusing(401) as (address, _):
        ran = place.run(CLEW, "go", env={"ANTHROPIC_BASE_URL": address.removesuffix("/mcp")})
    assert ran.rc == 2
    assert json.loads(told.read_text())["hook_event_name"] == "StopFailure"


def test_a_compaction_is_reported_with_its_summary(tmp_path: Path) -> None:
    place = Place(tmp_path)
    told = recording(place, "PostCompact", "manual")
    place.run(CLEW, "go", "--session-id", SESSION)
    ran = place.run(CLEW, "/compact", "--resume", SESSION)
    data = json.loads(told.read_text())
    assert (data["trigger"], data["compact_summary"], ran.rc) == ("manual", "ok", 0)
