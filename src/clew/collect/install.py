"""Installing: so that collecting happens by itself. A plan is made first, and nothing is done that it does not show.

A timer runs every quarter of an hour: a user unit of systemd, or an agent of launchd. A hook of Claude Code runs when a
session ends. Either can be taken away again; what else stands in the settings stays as it is.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from clew.errors import Refused, StoreError
from clew.wire import shell
from clew.wire.encode import decode
from clew.wire.home import config_home, user_home
from clew.wire.write import back_up, create_exactly, replace

_MINUTES = 15
_LABEL = "clew-collect"
_EVENT = "SessionEnd"

_SERVICE = """\
[Unit]
Description=Keep Claude Code sessions

[Service]
Type=oneshot
Nice=10
ExecStart={command}
"""
_TIMER = f"""\
[Unit]
Description=Keep Claude Code sessions every {_MINUTES} minutes

[Timer]
OnBootSec=1min
OnUnitActiveSec={_MINUTES}min

[Install]
WantedBy=timers.target
"""
_AGENT = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>{label}</string>
  <key>ProgramArguments</key>
  <array>
{arguments}
  </array>
  <key>StartInterval</key><integer>{seconds}</integer>
  <key>ProcessType</key><string>Background</string>
</dict>
</plist>
"""


class Change(NamedTuple):
    """A file as it will be; None for one that will be gone."""

    path: Path
    before: bytes | None
    after: bytes | None


class Plan(NamedTuple):
    """What would change, and what would be run behind it."""

    changes: tuple[Change, ...]
    commands: tuple[tuple[str, ...], ...]

    @property
    def is_done(self) -> bool:
        return all(change.before == change.after for change in self.changes)


def plan_timer(arguments: Sequence[str], *, remove: bool = False, platform: str = sys.platform) -> Plan:
    """A timer that runs `clew` with these arguments, or its removal."""
    words = [sys.executable, "-m", "clew", *arguments]
    if platform == "darwin":
        return _launchd(words, remove)
    if platform == "win32":
        refused = Refused(["there is no timer for this system yet"])
        refused.hint = "Install the hook instead: clew collect install --hook"
        raise refused
    folder = Path(config_home(), "systemd", "user")
    unit = f"{_LABEL}.timer"
    service = _SERVICE.format(command=" ".join(_quoted(word) for word in words)).encode()
    files = {folder / f"{_LABEL}.service": service, folder / unit: _TIMER.encode()}
    switch = ("disable", "--now") if remove else ("enable", "--now")
    commands = [("systemctl", "--user", *switch, unit), ("systemctl", "--user", "daemon-reload")]
    return Plan(
        tuple(Change(path, _read(path), None if remove else data) for path, data in files.items()),
        tuple(commands if remove else reversed(commands)),
    )


def _quoted(word: str) -> str:
    """A word as systemd reads it."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return plain if plain.replace("/", "").replace("-", "").replace(".", "").isalnum() else f'"{plain}"'


def _launchd(words: Sequence[str], remove: bool) -> Plan:
    path = Path(user_home()) / "Library" / "LaunchAgents" / f"{_LABEL}.plist"
    listed = "\n".join(f"    <string>{escape(word)}</string>" for word in words)
    data = _AGENT.format(label=_LABEL, arguments=listed, seconds=_MINUTES * 60).encode()
    command = ("launchctl", "unload" if remove else "load", "-w", str(path))
    return Plan((Change(path, _read(path), None if remove else data),), (command,))


def plan_hook(settings: Path, arguments: Sequence[str], *, remove: bool = False) -> Plan:
    """A hook in the settings of Claude Code, or its removal. Its output goes nowhere: a hook that speaks is heard."""
    words = [sys.executable, "-m", "clew", *arguments, "--quiet"]
    command = shlex.join(words) + " >/dev/null 2>&1"
    before = _read(settings)
    value = _settings(settings, before)
    value["hooks"] = hooks = dict(value.get("hooks") or {})
    others = [group for group in hooks.get(_EVENT) or [] if not _is_ours(group)]
    hooks[_EVENT] = others if remove else [*others, {"hooks": [{"type": "command", "command": command, "timeout": 60}]}]
    for holder, name in ((hooks, _EVENT), (value, "hooks")):
        if not holder[name]:
            del holder[name]
    after = (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
    is_same = before is not None and decode(before) == value
    return Plan((Change(settings, before, before if is_same or (remove and before is None) else after),), ())


def _settings(path: Path, data: bytes | None) -> dict[str, Any]:
    try:
        value = decode(data) if data and data.strip() else {}
    except ValueError:
        value = None
    if not isinstance(value, dict) or not isinstance(value.get("hooks") or {}, dict):
        raise Refused([f"{path} is not what Claude Code writes, and is left as it is"])
    return dict(value)


def _is_ours(group: Any) -> bool:
    """Whether a group of hooks is the one that was installed: it has one command, and that is ours."""
    inner = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(inner, list) or len(inner) != 1 or not isinstance(inner[0], dict):
        return False
    return " -m clew collect" in str(inner[0].get("command"))


def carry_out(plan: Plan, run: Callable[[Sequence[str]], int] = subprocess.call) -> list[Path]:
    """Do what a plan says; the backups that were made of files that others wrote too."""
    kept: list[Path] = []
    if any(change.after is None for change in plan.changes):
        for command in plan.commands:  # stopped before its files go
            run(command)
    for change in plan.changes:
        if change.before == change.after:
            continue
        if change.before is None and change.after is not None:
            create_exactly(change.path, (change.after,))
        elif change.after is None:
            change.path.unlink(missing_ok=True)
        else:
            kept += filter(None, [back_up(change.path)])
            replace(change.path, change.after)
    if all(change.after is not None for change in plan.changes):
        for command in plan.commands:
            _run(command, run)
    return kept


def _run(command: Sequence[str], run: Callable[[Sequence[str]], int]) -> None:
    try:
        code = run(command)
    except FileNotFoundError:
        code = 127
    if code:
        failed = StoreError(f"{shell.join(command)} failed with {code}; the files are written.", "timer", False)
        failed.hint = "Run it by hand, or use the hook instead: clew collect install --hook"
        raise failed


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
