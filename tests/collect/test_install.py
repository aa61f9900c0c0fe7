"""Installing a timer or a hook, and taking it away again."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from clew.collect.install import carry_out, plan_hook, plan_timer
from clew.errors import Refused, StoreError


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path / "config"


class Ran(list[str]):
    """The commands that were run, and what they answer."""

    def __init__(self, code: int = 0) -> None:
        super().__init__()
        self.code = code

    def __call__(self, command: Sequence[str]) -> int:
        self.append(" ".join(command))
        return self.code


def test_a_timer_is_two_units_and_their_start(config: Path) -> None:
    ran = Ran()
    carry_out(plan_timer(["collect", "--archive", "/srv/my archive.db"], platform="linux"), ran)
    service = (config / "systemd/user/clew-collect.service").read_text()
    assert f'ExecStart={sys.executable} -m clew collect --archive "/srv/my archive.db"\n' in service
    assert "OnUnitActiveSec=15min" in (config / "systemd/user/clew-collect.timer").read_text()
    assert ran == ["systemctl --user daemon-reload", "systemctl --user enable --now clew-collect.timer"]
    assert plan_timer(["collect", "--archive", "/srv/my archive.db"], platform="linux").is_done
    gone = Ran()
    carry_out(plan_timer(["collect"], remove=True, platform="linux"), gone)
    assert gone == ["systemctl --user disable --now clew-collect.timer", "systemctl --user daemon-reload"]
    assert list((config / "systemd/user").iterdir()) == []


def test_a_timer_on_a_mac_is_an_agent(config: Path, tmp_path: Path) -> None:
    ran = Ran()
    carry_out(plan_timer(["collect", "--archive", "/a&b.db"], platform="darwin"), ran)
    agent = tmp_path / "Library/LaunchAgents/clew-collect.plist"
    assert "<string>/a&amp;b.db</string>" in agent.read_text()
    assert ran == [f"launchctl load -w {agent}"]


def test_a_timer_that_does_not_start_is_told(config: Path) -> None:
    with pytest.raises(StoreError, match="daemon-reload failed with 1"):
        carry_out(plan_timer(["collect"], platform="linux"), Ran(1))


def test_there_is_no_timer_for_windows(config: Path) -> None:
    with pytest.raises(Refused):
        plan_timer(["collect"], platform="win32")


SETTINGS = {"model": "opus", "hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": "say bye"}]}]}}


def test_a_hook_is_added_to_those_that_are_there_and_taken_away_alone(tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps(SETTINGS, indent=2) + "\n")
    [backup] = carry_out(plan_hook(settings, ["collect"]))
    assert json.loads(backup.read_bytes()) == SETTINGS
    hooks = json.loads(settings.read_bytes())["hooks"]["SessionEnd"]
    assert hooks[0] == SETTINGS["hooks"]["SessionEnd"][0]  # type: ignore[index]
    assert hooks[1]["hooks"][0]["command"].endswith("-m clew collect --quiet >/dev/null 2>&1")
    assert plan_hook(settings, ["collect"]).is_done
    carry_out(plan_hook(settings, ["collect"], remove=True))
    assert json.loads(settings.read_bytes()) == SETTINGS
    assert plan_hook(settings, ["collect"], remove=True).is_done


def test_a_hook_in_new_settings_leaves_nothing_behind(tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    assert plan_hook(settings, ["collect"], remove=True).is_done
    carry_out(plan_hook(settings, ["collect"]))
    carry_out(plan_hook(settings, ["collect"], remove=True))
    assert json.loads(settings.read_bytes()) == {}


@pytest.mark.parametrize("broken", [b"{", b"[]", b'{"hooks":[]} x', b'{"hooks":[1]}'])
def test_settings_that_are_broken_are_left_as_they_are(tmp_path: Path, broken: bytes) -> None:
    settings = tmp_path / "settings.json"
    settings.write_bytes(broken)
    with pytest.raises(Refused):
        plan_hook(settings, ["collect"])
    assert settings.read_bytes() == broken
