"""Keys of settings: those without an effect are named once, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.chat.config.setting_keys import HARMLESS, UNSUPPORTED, USED, check_keys
from clew.chat.config.settings import Settings, SettingsSource
from clew.errors import ClewError
from tests.chat.set_up import CLEW, Place


def notices(data: dict[str, object]) -> list[str]:
    return list(check_keys(Settings((SettingsSource("user", Path("/h"), data, Path("/h/settings.json")),))))


def test_every_key_is_in_one_list() -> None:
    assert not USED & HARMLESS and not USED & UNSUPPORTED and not HARMLESS & UNSUPPORTED


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
