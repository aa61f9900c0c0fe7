"""Keys of settings: those without an effect are named once, and no others."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from clew.chat.config.setting_keys import HARMLESS, UNSUPPORTED, USED, check_keys
from clew.chat.config.settings import Settings, SettingsSource
from clew.chat.hooks.hook import EVENTS
from clew.errors import ClewError
from tests.chat.set_up import CLEW, Place


def notices(data: dict[str, object]) -> list[str]:
    return list(check_keys(Settings((SettingsSource("user", Path("/h"), data, Path("/h/settings.json")),))))


def test_every_key_is_in_one_list() -> None:
    assert not USED & HARMLESS and not USED & UNSUPPORTED and not HARMLESS & UNSUPPORTED


def test_the_page_about_the_setup_names_every_used_key_and_hook_event() -> None:
    page = (Path(__file__).parents[2] / "docs" / "setup.md").read_text(encoding="utf-8")
    assert [key for key in sorted(USED - {"$schema"}) if f"`{key}`" not in page] == []
    assert [event for event in EVENTS if f"`{event}`" not in page] == []


def test_keys_that_are_used_or_mean_nothing_here_are_not_mentioned() -> None:
    assert notices({key: {} for key in (*USED, *HARMLESS)}) == []


def test_keys_without_effect_are_named_in_one_line() -> None:
    assert notices({"otelHeadersHelper": "x", "claudeMdExcludes": [], "model": "opus"}) == [
        "/h/settings.json: clew does not use claudeMdExcludes, otelHeadersHelper."
    ]


def test_an_unknown_key_is_named_with_the_one_it_resembles() -> None:
    assert notices({"modle": "opus", "zzz": 1}) == [
        "/h/settings.json: unknown settings modle (did you mean model?), zzz."
    ]


@pytest.mark.parametrize(("sandbox", "count"), [({}, 0), ({"enabled": False}, 0), ({"enabled": True}, 1)])
def test_a_sandbox_is_named_only_if_it_is_asked_for(sandbox: dict[str, object], count: int) -> None:
    found = notices({"sandbox": sandbox})
    assert len(found) == count and all("no sandbox" in notice for notice in found)


def test_a_sandbox_that_is_required_ends_the_start() -> None:
    with pytest.raises(ClewError, match="requires a sandbox"):
        notices({"sandbox": {"enabled": True, "failIfUnavailable": True}})


def test_the_remark_comes_once_and_nothing_is_sent_without_a_required_sandbox(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.user({"otelHeadersHelper": "x", "outputStyle": "nope"})
    ran = place.run(CLEW, "go")
    assert ran.stderr.count("otelHeadersHelper") == 1 and "There is no output style 'nope'" in ran.stderr
    place.user({"sandbox": {"enabled": True, "failIfUnavailable": True}})
    ran = place.run(CLEW, "go")
    assert ran.rc and ran.bodies == [] and "requires a sandbox" in ran.stderr


def test_commands_of_a_project_run_only_after_trust_which_names_them(tmp_path: Path) -> None:
    place = Place(tmp_path)
    made = place.home / "made"
    project = {"apiKeyHelper": f"touch {made}; echo key", "statusLine": {"type": "command", "command": "echo line"}}
    place.write("project/.claude/settings.json", {**project, "enabledPlugins": {"p@m": True}, "model": "haiku"})
    place.write("project/.claude/output-styles/loud.md", "Shout.")
    ran = place.run(CLEW, "go")
    assert not made.exists() and "is not trusted" in ran.stderr and ran.main["model"] != "claude-haiku-5-5"
    shown = subprocess.run(
        [CLEW[0], "trust", "--dry-run", str(place.project)], env=place.environment(), capture_output=True, text=True
    ).stdout
    for phrase in (
        f"It runs 'touch {made}; echo key' to get the API key.",
        "It runs 'echo line' for the status line.",
        "It enables the plugin p@m.",
        "It contains the output style loud.",
        'It sets model to "haiku".',
    ):
        assert phrase in shown
    place.trust()
    ran = place.run(CLEW, "go")
    assert (
        made.exists() and ran.main["model"] == "claude-haiku-5-5" and "p@m is enabled but not installed" in ran.stderr
    )
