"""Installing a timer or a hook, and taking it away again."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from clew.cli import main
from clew.collect import units
from clew.collect.install_check import find_hooks, read_timer
from clew.collect.install_plan import apply_plan, plan_hook, plan_timer, remove_backups
from clew.collect.units import service_unit
from clew.errors import Refused, StoreError
from clew.system.subprocesses import MAIN


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
    apply_plan(plan_timer(["collect", "--archive", "/srv/my archive.db"], platform="linux"), ran)
    service = (config / "systemd/user/clew-collect.service").read_text()
    assert f'ExecStart={sys.executable} -I "{MAIN}" collect --archive "/srv/my archive.db"\n' in service
    assert "WorkingDirectory=/\n" in service
    assert "OnUnitActiveSec=15min" in (config / "systemd/user/clew-collect.timer").read_text()
    assert ran == ["systemctl --user daemon-reload", "systemctl --user enable --now clew-collect.timer"]
    assert plan_timer(["collect", "--archive", "/srv/my archive.db"], platform="linux").is_done
    gone = Ran()
    apply_plan(plan_timer(["collect"], remove=True, platform="linux"), gone)
    assert gone == ["systemctl --user disable --now clew-collect.timer", "systemctl --user daemon-reload"]
    assert not (config / "systemd").exists()


def test_a_timer_on_a_mac_is_an_agent(config: Path, tmp_path: Path) -> None:
    ran = Ran()
    apply_plan(plan_timer(["collect", "--archive", "/a&b.db"], platform="darwin"), ran)
    agent = tmp_path / "Library/LaunchAgents/clew-collect.plist"
    assert "<string>/a&amp;b.db</string>" in agent.read_text()
    domain = f"gui/{os.getuid()}"
    assert ran == [f"launchctl bootstrap {domain} {agent}"]
    gone = Ran()
    apply_plan(plan_timer(["collect"], remove=True, platform="darwin"), gone)
    assert (gone, agent.exists()) == ([f"launchctl bootout {domain}/dev.clew.collect"], False)


def test_watching_is_a_service_that_replaces_the_timer(config: Path) -> None:
    apply_plan(plan_timer(["collect"], platform="linux"), Ran())
    ran = Ran()
    arguments = ["collect", "--watch", "--to", "https://x.example/in"]
    apply_plan(plan_timer(arguments, environment={"CLEW_ALLOW_HTTP": "a b"}, watch=True, platform="linux"), ran)
    service = (config / "systemd/user/clew-collect.service").read_text()
    assert "Type=exec\n" in service and "Restart=on-failure\n" in service and "WantedBy=default.target" in service
    assert 'Environment="CLEW_ALLOW_HTTP=a b"\n' in service
    assert not (config / "systemd/user/clew-collect.timer").exists()
    assert ran == [
        "systemctl --user disable --now clew-collect.timer",
        "systemctl --user daemon-reload",
        "systemctl --user enable --now clew-collect.service",
    ]
    gone = Ran()
    apply_plan(plan_timer(["collect"], remove=True, platform="linux"), gone)
    assert gone[0] == "systemctl --user disable --now clew-collect.service"


def test_without_systemd_a_line_for_cron_is_shown(config: Path) -> None:
    with pytest.raises(Refused) as caught:
        plan_timer(["collect", "--archive", "/srv/my 100%.db"], platform="freebsd14")
    assert caught.value.hint.startswith("Add this line with crontab -e: */15 * * * * cd / && ")
    assert caught.value.hint.endswith("collect --archive '/srv/my 100\\%.db' --quiet")


@pytest.mark.parametrize("watch", [False, True])
def test_units_are_hardened(tmp_path: Path, watch: bool) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("there is no systemd-analyze")
    unit = tmp_path / "clew-collect.service"
    unit.write_text(service_unit(["/usr/bin/true"], {}, watch=watch))
    ran = subprocess.run(
        [analyze, "security", "--offline=yes", "--user", str(unit)],
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"exposure level for \S+: ([0-9.]+)", ran.stdout)
    if found is None:
        pytest.skip(f"systemd-analyze cannot be used: {ran.stderr[:200]}")
    assert float(found[1]) <= 3.0


def test_installing_keeps_every_option_and_the_folders_of_the_environment(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("CLEW_ALLOW_HTTP", "db.internal")
    (tmp_path / "claude").mkdir()
    given = [
        "--to",
        "postgresql://ada@db/s",
        "--token-file",
        "/srv/pw",
        "--redact",
        "--reveal",
        "--state",
        "/srv/s.json",
    ]
    given += ["--max-line", "10M", "--max-file", "1G", "--watch", "--every", "5", "--lean"]
    assert main(["collect", "install", *given, "--dry-run"]) == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if "ExecStart=" in line]
    words = line.replace('"', "").split()
    for name, value in (
        ("--to", "postgresql://ada@db/s"),
        ("--token-file", "/srv/pw"),
        ("--state", "/srv/s.json"),
        ("--max-line", str(10 << 20)),
        ("--every", "5"),
        ("--claude-dir", str(tmp_path / "claude")),
        ("--archive", str(tmp_path / "data/clew/archive/archive.db")),
    ):
        assert words[words.index(name) + 1] == value
    assert {"--watch", "--redact", "--reveal", "--lean"} <= set(words)


def test_a_password_in_an_address_is_not_written_into_a_unit(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = "postgresql://ada:hunter2@db/s"
    assert main(["collect", "install", "--to", address, "--dry-run"]) == 2
    captured = capsys.readouterr()
    assert "hunter2" not in captured.out + captured.err and "--token-file" in captured.err


def test_removing_the_hook_leaves_no_backup_behind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps(SETTINGS))
    for action in ("install", "uninstall"):
        assert main(["collect", action, "--hook", "--yes", "--claude-dir", str(tmp_path)]) == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert json.loads(settings.read_bytes()) == SETTINGS
    assert "settings.json.bak-1" not in names


def test_a_timer_that_does_not_start_is_told(config: Path) -> None:
    with pytest.raises(StoreError, match="daemon-reload failed with 1"):
        apply_plan(plan_timer(["collect"], platform="linux"), Ran(1))


def test_there_is_no_timer_for_windows(config: Path) -> None:
    with pytest.raises(Refused):
        plan_timer(["collect"], platform="win32")


SETTINGS = {"model": "opus", "hooks": {"SessionEnd": [{"hooks": [{"type": "command", "command": "say bye"}]}]}}


def test_a_hook_is_added_to_those_that_are_there_and_taken_away_alone(tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps(SETTINGS, indent=2) + "\n")
    [backup] = apply_plan(plan_hook(settings, ["collect"]))
    assert json.loads(backup.read_bytes()) == SETTINGS
    hooks = json.loads(settings.read_bytes())["hooks"]["SessionEnd"]
    assert hooks[0] == SETTINGS["hooks"]["SessionEnd"][0]  # type: ignore[index]
    assert hooks[1]["hooks"][0]["command"] == f"{sys.executable} -I {MAIN} collect --quiet >/dev/null 2>&1"
    assert plan_hook(settings, ["collect"]).is_done
    apply_plan(plan_hook(settings, ["collect"], remove=True))
    assert json.loads(settings.read_bytes()) == SETTINGS
    assert plan_hook(settings, ["collect"], remove=True).is_done


def test_a_hook_in_new_settings_leaves_nothing_behind(tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    assert plan_hook(settings, ["collect"], remove=True).is_done
    apply_plan(plan_hook(settings, ["collect"]))
    apply_plan(plan_hook(settings, ["collect"], remove=True))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("original", [b'{"model":"opus"}', b"{}", b'{\n\t"hooks": {"Stop": [1]},\n\t"a": 1}\n', b""])
def test_settings_have_their_bytes_again_after_an_uninstallation(tmp_path: Path, original: bytes) -> None:
    settings = tmp_path / "settings.json"
    settings.write_bytes(original)
    apply_plan(plan_hook(settings, ["collect"]))
    assert json.loads(settings.read_bytes())["hooks"]
    apply_plan(plan_hook(settings, ["collect"], remove=True))
    remove_backups(settings)
    assert settings.read_bytes() == original and list(tmp_path.iterdir()) == [settings]


def test_no_sign_of_a_path_ends_a_line_of_a_unit() -> None:
    """systemd reads C escapes in quotes; `$` is doubled where variables are replaced, and `%` everywhere."""
    odd = "a b\"c'd%e$f\\g\nExecStart=/bin/false\t"
    text = units.service_unit(["/usr/bin/clew", odd], {"X": odd}, watch=False)
    [start] = [row for row in text.splitlines() if row.startswith("ExecStart=")]
    assert start == 'ExecStart=/usr/bin/clew "a b\\"c\'d%%e$$f\\\\g\\x0aExecStart=/bin/false\\x09"'
    [variable] = [row for row in text.splitlines() if row.startswith("Environment=")]
    assert variable == 'Environment="X=a b\\"c\'d%%e$f\\\\g\\x0aExecStart=/bin/false\\x09"'
    with pytest.raises(Refused, match="line break"):
        units.crontab_line(["clew", odd], {})


@pytest.mark.parametrize("broken", [b"{", b"[]", b'{"hooks":[]} x', b'{"hooks":[1]}'])
def test_settings_that_are_broken_are_left_as_they_are(tmp_path: Path, broken: bytes) -> None:
    settings = tmp_path / "settings.json"
    settings.write_bytes(broken)
    with pytest.raises(Refused):
        plan_hook(settings, ["collect"])
    assert settings.read_bytes() == broken


# -- what an earlier version installed

OLD = "/opt/venv/bin/python -m clew collect --archive '/srv/my archive.db' --redact --quiet >/dev/null 2>&1"


def settings_with(path: Path, *commands: str, event: str = "SessionEnd") -> Path:
    """Settings of Claude Code with these commands in one group of hooks."""
    hooks = [{"type": "command", "command": command, "timeout": 60} for command in commands]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"model": "opus", "hooks": {event: [{"hooks": hooks}]}}))
    return path


def commands(path: Path) -> list[str]:
    groups = [group for groups in json.loads(path.read_bytes()).get("hooks", {}).values() for group in groups]
    return [hook["command"] for group in groups for hook in group["hooks"]]


@pytest.mark.parametrize(
    ("command", "state"),
    [
        (OLD, "outdated"),
        ("cd ~ && python3 -m clew collect --quiet", "outdated"),
        (r"'C:\Python 3\python.exe' -m clew collect --quiet >/dev/null 2>&1", "outdated"),
        (f"{sys.executable} -P -m clew collect --quiet", "current"),
        (f"{sys.executable} -I {MAIN} collect --quiet >/dev/null 2>&1", "current"),
        ("/gone/python -I /gone/clew/__main__.py collect --quiet", "broken"),
        ("python -m clew ls", None),
        ("echo -m clewcollect", None),
        ("echo 'unbalanced", None),
    ],
)
def test_hooks_of_ours_are_recognised(tmp_path: Path, command: str, state: str | None) -> None:
    found = find_hooks(settings_with(tmp_path / "settings.json", command))
    assert [each.state for each in found] == ([state] if state else [])


def test_an_old_hook_is_rewritten_with_the_options_that_it_has(tmp_path: Path) -> None:
    settings = settings_with(tmp_path / "settings.json", "say bye", OLD)
    apply_plan(plan_hook(settings, ["collect"], keep=True))
    new = f"{sys.executable} -I {MAIN} collect --archive '/srv/my archive.db' --redact --quiet >/dev/null 2>&1"
    assert commands(settings) == ["say bye", new]
    assert plan_hook(settings, ["collect", "--archive", "/srv/my archive.db", "--redact"]).is_done


def test_an_old_hook_is_removed_wherever_it_stands(tmp_path: Path) -> None:
    settings = settings_with(tmp_path / "settings.json", OLD, "say bye", event="Stop")
    apply_plan(plan_hook(settings, ["collect"], remove=True))
    assert commands(settings) == ["say bye"]


def test_installing_the_timer_rewrites_an_old_hook_too(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    settings = settings_with(tmp_path / "claude" / "settings.json", OLD)
    assert main(["collect", "install", "--claude-dir", str(settings.parent), "--dry-run", "--json"]) == 0
    paths = [json.loads(line)["path"] for line in capsys.readouterr().out.splitlines()]
    assert str(settings) in paths and any(path.endswith("clew-collect.service") for path in paths)


def test_an_old_timer_is_recognised_and_keeps_its_options(config: Path) -> None:
    path = config / "systemd/user/clew-collect.service"
    path.parent.mkdir(parents=True)
    path.write_text('[Service]\nExecStart=/usr/bin/python3 -m clew collect --archive "/srv/100%% my.db"\n')
    found = read_timer(path)
    assert found is not None and (found.state, found.arguments[1:]) == ("outdated", ("--archive", "/srv/100% my.db"))
    apply_plan(plan_timer(["collect"], keep=True, platform="linux"), Ran())
    found = read_timer(path)
    assert found is not None and (found.state, found.arguments[1:]) == ("current", ("--archive", "/srv/100% my.db"))


def test_an_old_timer_of_a_mac_is_recognised(config: Path, tmp_path: Path) -> None:
    apply_plan(plan_timer(["collect", "--archive", "/a&b.db"], platform="darwin"), Ran())
    path = tmp_path / "Library/LaunchAgents/clew-collect.plist"
    current = read_timer(path)
    assert current is not None and (current.state, current.arguments[1:]) == ("current", ("--archive", "/a&b.db"))
    path.write_text(path.read_text().replace("<string>-I</string>", "<string>-m</string>").replace(MAIN, "clew"))
    old = read_timer(path)
    assert old is not None and old.state == "outdated"


def test_status_names_an_old_hook_and_the_next_step(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_with(tmp_path / "claude" / "settings.json", OLD)
    (settings.parent / "projects").mkdir()
    where = ["--archive", str(tmp_path / "archive.db"), "--claude-dir", str(settings.parent)]
    assert main(["collect", *where, "--quiet"]) in (0, 1)
    assert main(["collect", "status", *where]) == 0
    assert "Rewrite it with: clew collect install --hook" in capsys.readouterr().err
    assert main(["collect", "status", *where, "--json"]) == 0
    [hook] = json.loads(capsys.readouterr().out)["installed"]
    assert (hook["type"], hook["state"], hook["next"]) == ("hook", "outdated", "clew collect install --hook")
    assert hook["command"] == OLD and hook["path"] == str(settings)
    assert main(["collect", "install", "--hook", "--yes", "--claude-dir", str(settings.parent)]) == 0
    capsys.readouterr()
    assert main(["collect", "status", *where]) == 0
    assert "Rewrite" not in capsys.readouterr().err


def test_status_names_an_old_hook_also_without_an_archive(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_with(tmp_path / "claude" / "settings.json", OLD)
    where = ["--archive", str(tmp_path / "none.db"), "--claude-dir", str(settings.parent)]
    assert main(["collect", "status", *where]) != 0
    assert "clew collect install --hook" in capsys.readouterr().err
