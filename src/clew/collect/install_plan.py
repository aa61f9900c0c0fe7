"""Install what runs `clew collect` regularly. A plan is made first, and nothing is done that it does not show.

A timer runs every quarter of an hour: a user unit of systemd, or an agent of launchd. A hook of Claude Code runs when a
session ends. Either can be removed again; what else the settings hold stays as it is. Both run an isolated interpreter,
because Claude Code runs hooks in the folder of a project, which can be a stranger's.
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

from clew.collect.install_check import hook_of, hooks_in, timer_at
from clew.errors import Refused, StoreError
from clew.system import shell_quoting
from clew.system.environment import child_environment, config_home, user_home
from clew.system.subprocesses import clew_process_command, neutral_folder, resolve_program
from clew.wire.json_codec import decode
from clew.wire.session_writer import back_up, create_exactly, replace

_MINUTES = 15
_LABEL = "clew-collect"
_EVENT = "SessionEnd"

_SERVICE = """\
[Unit]
Description=Keep Claude Code sessions

[Service]
Type=oneshot
Nice=10
WorkingDirectory=/
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
  <key>WorkingDirectory</key><string>/</string>
  <key>StartInterval</key><integer>{seconds}</integer>
  <key>ProcessType</key><string>Background</string>
</dict>
</plist>
"""


class PlannedFile(NamedTuple):
    """A file as it will be; None for one that will be gone."""

    path: Path
    before: bytes | None
    after: bytes | None


class InstallPlan(NamedTuple):
    """What would change, and what would be run behind it."""

    changes: tuple[PlannedFile, ...]
    commands: tuple[tuple[str, ...], ...]

    @property
    def is_done(self) -> bool:
        return all(change.before == change.after for change in self.changes)


def plan_timer(
    arguments: Sequence[str], *, remove: bool = False, keep: bool = False, platform: str = sys.platform
) -> InstallPlan:
    """A timer that runs `clew` with these arguments, or its removal.

    With `keep` a timer that has to be rewritten keeps the arguments that it has.
    """
    if platform == "win32":
        refused = Refused(["there is no timer for this system yet"])
        refused.hint = "Install the hook instead: clew collect install --hook"
        raise refused
    path = timer_file(platform)
    old = timer_at(path) if keep else None
    words = clew_process_command(*(old.arguments if old and old.state != "current" else arguments))
    if platform == "darwin":
        return _launchd(path, words, remove)
    unit = f"{_LABEL}.timer"
    service = _SERVICE.format(command=" ".join(_quoted(word) for word in words)).encode()
    files = {path: service, path.with_name(unit): _TIMER.encode()}
    switch = ("disable", "--now") if remove else ("enable", "--now")
    commands = [("systemctl", "--user", *switch, unit), ("systemctl", "--user", "daemon-reload")]
    return InstallPlan(
        tuple(PlannedFile(path, _read(path), None if remove else data) for path, data in files.items()),
        tuple(commands if remove else reversed(commands)),
    )


def timer_file(platform: str = sys.platform) -> Path:
    """The file that says what the timer runs: an agent of launchd, or a user unit of systemd."""
    if platform == "darwin":
        return Path(user_home()) / "Library" / "LaunchAgents" / f"{_LABEL}.plist"
    return Path(config_home(), "systemd", "user", f"{_LABEL}.service")


def _quoted(word: str) -> str:
    """A word as systemd reads it."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return plain if plain.replace("/", "").replace("-", "").replace(".", "").isalnum() else f'"{plain}"'


def _launchd(path: Path, words: Sequence[str], remove: bool) -> InstallPlan:
    listed = "\n".join(f"    <string>{escape(word)}</string>" for word in words)
    data = _AGENT.format(label=_LABEL, arguments=listed, seconds=_MINUTES * 60).encode()
    command = ("launchctl", "unload" if remove else "load", "-w", str(path))
    return InstallPlan((PlannedFile(path, _read(path), None if remove else data),), (command,))


def plan_hook(settings: Path, arguments: Sequence[str], *, remove: bool = False, keep: bool = False) -> InstallPlan:
    """A hook in the settings of Claude Code, or its removal. It prints nothing, because Claude Code shows what hooks print.

    Hooks that an earlier version wrote are replaced, and with `keep` they keep the arguments that they have.
    """
    before = _read(settings)
    value = _settings(settings, before)
    found = hooks_in(settings)
    kept = next((each.arguments for each in found if each.state != "current"), None) if keep else None
    command = _hook_command(kept or arguments)
    if not remove and [each.command for each in found] == [command]:
        return InstallPlan((PlannedFile(settings, before, before),), ())
    hooks = {event: _without_ours(groups, settings) for event, groups in (value.get("hooks") or {}).items()}
    if not remove:
        hooks[_EVENT] = [*hooks.get(_EVENT, []), {"hooks": [{"type": "command", "command": command, "timeout": 60}]}]
    value["hooks"] = {event: groups for event, groups in hooks.items() if groups}
    if not value["hooks"]:
        del value["hooks"]
    after = (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
    is_same = before is not None and decode(before) == value
    return InstallPlan(
        (PlannedFile(settings, before, before if is_same or (remove and before is None) else after),), ()
    )


def _without_ours(groups: Any, settings: Path) -> Any:
    """The groups of an event without our hooks. A group that held nothing else is removed."""
    kept = []
    for group in groups if isinstance(groups, list) else ():
        inner = group.get("hooks") if isinstance(group, dict) else None
        others = [hook for hook in inner if not _is_ours(hook, settings)] if isinstance(inner, list) else None
        if others is None or others == inner:
            kept.append(group)
        elif others:
            kept.append({**group, "hooks": others})
    return kept if isinstance(groups, list) else groups


def _is_ours(hook: Any, settings: Path) -> bool:
    return isinstance(hook, dict) and hook_of(settings, hook.get("command")) is not None


def plan_renewal(settings: Path) -> InstallPlan:
    """The rewriting of hooks that an earlier version wrote, with the arguments that they have; nothing without one."""
    if all(found.state == "current" for found in hooks_in(settings)):
        return InstallPlan((), ())
    return plan_hook(settings, ["collect"], keep=True)


def _hook_command(arguments: Sequence[str]) -> str:
    return shlex.join(clew_process_command(*arguments, "--quiet")) + " >/dev/null 2>&1"


def _settings(path: Path, data: bytes | None) -> dict[str, Any]:
    try:
        value = decode(data) if data and data.strip() else {}
    except ValueError:
        value = None
    hooks = (value.get("hooks") or {}) if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(hooks, dict) or not isinstance(hooks.get(_EVENT) or [], list):
        raise Refused([f"{path} is not what Claude Code writes, and is left as it is"])
    return dict(value)


def run_program(command: Sequence[str]) -> int:
    """Run a program of the system in a neutral folder; its exit code. Raises FileNotFoundError."""
    words = [resolve_program(command[0]), *command[1:]]
    return subprocess.call(words, cwd=neutral_folder(), env=child_environment())


def carry_out(plan: InstallPlan, run: Callable[[Sequence[str]], int] = run_program) -> list[Path]:
    """Carry out a plan, and return the backups that were made of files that others wrote too."""
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
        failed = StoreError(
            f"{shell_quoting.join_command(command)} failed with {code}; the files are written.", "timer", False
        )
        failed.hint = "Run it by hand, or use the hook instead: clew collect install --hook"
        raise failed


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
