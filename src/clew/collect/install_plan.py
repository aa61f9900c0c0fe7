"""Plan and install a timer or a hook that runs `clew collect` regularly.

A plan is made first, and nothing is done that it does not show. A timer runs every 15 minutes: a systemd user unit
or a launchd agent (see `units`); with `--watch` a service keeps running instead. A hook of Claude Code runs when a
session ends. Either can be removed; everything else in the settings is preserved. Both run an isolated interpreter,
because Claude Code runs hooks in the folder of a project, which can contain untrusted code.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from clew.collect import units
from clew.collect.install_check import find_hooks, parse_hook, read_timer
from clew.errors import Refused, StoreError
from clew.system import shell_quoting
from clew.system.environment import child_environment, config_home, user_home
from clew.system.subprocesses import clew_process_command, neutral_folder, resolve_program
from clew.wire.json_codec import decode
from clew.wire.session_writer import back_up, create_exactly, replace

_EVENT = "SessionEnd"


class PlannedFile(NamedTuple):
    """A file before and after the plan; None if it does not exist."""

    path: Path
    before: bytes | None
    after: bytes | None


class InstallPlan(NamedTuple):
    """The files to change, and the commands to run afterwards."""

    changes: tuple[PlannedFile, ...]
    commands: tuple[tuple[str, ...], ...]

    @property
    def is_done(self) -> bool:
        return all(change.before == change.after for change in self.changes)


def plan_timer(
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str] = MappingProxyType({}),
    watch: bool = False,
    remove: bool = False,
    keep: bool = False,
    platform: str = sys.platform,
) -> InstallPlan:
    """Plan a timer that runs `clew` with these arguments, or a service that keeps running with `watch`, or its removal.

    With `keep`, an outdated timer keeps its arguments.
    """
    if platform == "win32":
        raise Refused(
            ["clew cannot install a timer on Windows yet"], hint="Install the hook instead: clew collect install --hook"
        )
    path = timer_file(platform)
    old = read_timer(path) if keep else None
    command = clew_process_command(*(old.arguments if old and old.state != "current" else arguments))
    if platform == "darwin":
        log = str(Path(user_home()) / "Library" / "Logs" / f"{units.LABEL}.log")
        return _plan_launchd(path, units.launchd_agent(command, environment, log, watch=watch), remove)
    if platform != "linux":
        line = units.crontab_line(command, environment)
        raise Refused(["there is no systemd on this system"], hint=f"Add this line with crontab -e: {line}")
    return _plan_systemd(path, units.service_unit(command, environment, watch=watch), watch, remove)


def _plan_systemd(path: Path, service: str, watch: bool, remove: bool) -> InstallPlan:
    """Plan the unit files. What an earlier installation of the other kind wrote is removed."""
    timer = path.with_name(f"{units.LABEL}.timer")
    texts = {path: service, timer: None if watch else units.timer_unit()}
    changes = [
        PlannedFile(file, _read_or_none(file), None if remove or text is None else text.encode())
        for file, text in texts.items()
    ]
    running = path.name if changes[1].before is None and changes[0].before is not None else timer.name
    reload, stop = ("systemctl", "--user", "daemon-reload"), ("systemctl", "--user", "disable", "--now", running)
    if remove:
        return InstallPlan(tuple(changes), (stop, reload))
    unit = path.name if watch else timer.name
    is_replaced = changes[0].before is not None and (watch or running != unit)
    start = ("systemctl", "--user", "enable", "--now", unit)
    return InstallPlan(tuple(changes), (*([stop] if is_replaced else []), reload, start))


def timer_file(platform: str = sys.platform) -> Path:
    """Return the file that defines what the timer runs: a launchd agent or a systemd user unit."""
    if platform == "darwin":
        return Path(user_home()) / "Library" / "LaunchAgents" / f"{units.LABEL}.plist"
    return Path(config_home(), "systemd", "user", f"{units.LABEL}.service")


def _plan_launchd(path: Path, agent: str, remove: bool) -> InstallPlan:
    before = _read_or_none(path)
    domain = f"gui/{os.getuid()}" if hasattr(os, "getuid") else "gui"
    stop = ("launchctl", "bootout", f"{domain}/{units.AGENT_LABEL}")
    start = ("launchctl", "bootstrap", domain, str(path))
    commands = (stop,) if remove else (stop, start) if before is not None else (start,)
    return InstallPlan((PlannedFile(path, before, None if remove else agent.encode()),), commands)


def plan_hook(settings: Path, arguments: Sequence[str], *, remove: bool = False, keep: bool = False) -> InstallPlan:
    """Plan a hook in the settings of Claude Code, or its removal. It prints nothing, because Claude Code shows hook
    output.

    Hooks of an earlier version are replaced; with `keep` they keep their arguments.
    """
    before = _read_or_none(settings)
    value = _parse_settings(settings, before)
    installed = find_hooks(settings)
    old_arguments = next((hook.arguments for hook in installed if hook.state != "current"), None) if keep else None
    command = _hook_command(old_arguments or arguments)
    if not remove and [hook.command for hook in installed] == [command]:
        return InstallPlan((PlannedFile(settings, before, before),), ())
    value = _without_our_hooks(value, settings)
    if not remove:
        ours = {"hooks": [{"type": "command", "command": command, "timeout": 60}]}
        hooks = value.get("hooks") or {}
        value["hooks"] = {**hooks, _EVENT: [*(hooks.get(_EVENT) or []), ours]}
    is_same = before is not None and decode(before) == value
    if is_same or (remove and before is None):
        return InstallPlan((PlannedFile(settings, before, before),), ())
    after = (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
    return InstallPlan((PlannedFile(settings, before, _original(settings, value) if remove else after),), ())


def _without_our_hooks(value: dict[str, Any], settings: Path) -> dict[str, Any]:
    """Return settings without our hooks, and without what is empty then."""
    hooks = {event: _remove_our_hooks(groups, settings) for event, groups in (value.get("hooks") or {}).items()}
    kept = {event: groups for event, groups in hooks.items() if groups}
    others = {name: each for name, each in value.items() if name != "hooks"}
    return {name: kept if name == "hooks" else each for name, each in value.items()} if kept else others


def _original(settings: Path, value: dict[str, Any]) -> bytes | None:
    """Return the bytes that the settings had before the hook was installed, if nothing else changed; None if clew
    created the file and it is empty now.
    """
    for backup in sorted(settings.parent.glob(f"{settings.name}.bak-*")):
        data = _read_or_none(backup) or b""
        try:
            if decode(data or b"{}") == value:
                return data
        except ValueError:
            continue
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode() if value else None


def _remove_our_hooks(groups: Any, settings: Path) -> Any:
    """Return the groups of an event without our hooks. A group that contained nothing else is removed."""
    remaining = []
    for group in groups if isinstance(groups, list) else ():
        inner = group.get("hooks") if isinstance(group, dict) else None
        others = [hook for hook in inner if not _is_ours(hook, settings)] if isinstance(inner, list) else None
        if others is None or others == inner:
            remaining.append(group)
        elif others:
            remaining.append({**group, "hooks": others})
    return remaining if isinstance(groups, list) else groups


def _is_ours(hook: Any, settings: Path) -> bool:
    return isinstance(hook, dict) and parse_hook(settings, hook.get("command")) is not None


def plan_renewal(settings: Path) -> InstallPlan:
    """Plan to rewrite hooks of an earlier version with their arguments; an empty plan if there are none."""
    if all(hook.state == "current" for hook in find_hooks(settings)):
        return InstallPlan((), ())
    return plan_hook(settings, ["collect"], keep=True)


def _hook_command(arguments: Sequence[str]) -> str:
    return shlex.join(clew_process_command(*arguments, "--quiet")) + " >/dev/null 2>&1"


def _parse_settings(path: Path, data: bytes | None) -> dict[str, Any]:
    try:
        value = decode(data) if data and data.strip() else {}
    except ValueError:
        value = None
    hooks = (value.get("hooks") or {}) if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(hooks, dict) or not isinstance(hooks.get(_EVENT) or [], list):
        raise Refused([f"{path} is not a settings file of Claude Code and was not changed"])
    return dict(value)


def run_program(command: Sequence[str]) -> int:
    """Run a system program in a neutral folder and return its exit code. Raises FileNotFoundError."""
    arguments = [resolve_program(command[0]), *command[1:]]
    return subprocess.call(arguments, cwd=neutral_folder(), env=child_environment())


def apply_plan(plan: InstallPlan, run: Callable[[Sequence[str]], int] = run_program) -> list[Path]:
    """Carry out a plan. Returns the backups of files that contained more than our part."""
    backups: list[Path] = []
    is_removal = all(change.after is None for change in plan.changes)
    if is_removal:
        for command in plan.commands:  # stop the timer before its files are removed
            run(command)
    for change in plan.changes:
        if change.before == change.after:
            continue
        if change.before is None and change.after is not None:
            create_exactly(change.path, (change.after,))
        elif change.after is None:
            change.path.unlink(missing_ok=True)
            _remove_empty_folders(change.path.parent)
        else:
            backups += filter(None, [back_up(change.path)])
            replace(change.path, change.after)
    for command in () if is_removal else plan.commands:
        if command[1:2] == ("bootout",) or "disable" in command:  # what is replaced may not be running
            run(command)
        else:
            _run_checked(command, run)
    return backups


def _remove_empty_folders(folder: Path) -> None:
    """Remove the folders of units, if nothing else is in them."""
    while folder.name in ("user", "systemd") and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def remove_backups(settings: Path) -> list[Path]:
    """Remove backups of settings that have, but for our hooks, the content of the settings now. Returns the removed
    files.
    """
    now = _parse_settings(settings, _read_or_none(settings))
    removed = []
    for path in sorted(settings.parent.glob(f"{settings.name}.bak-*")):
        try:
            if _without_our_hooks(_parse_settings(path, path.read_bytes()), settings) == now:
                path.unlink()
                removed.append(path)
        except (OSError, Refused):
            continue
    return removed


def _run_checked(command: Sequence[str], run: Callable[[Sequence[str]], int]) -> None:
    try:
        code = run(command)
    except FileNotFoundError:
        code = 127
    if code:
        raise StoreError(
            f"{shell_quoting.join_command(command)} failed with {code}; the files are written.",
            "timer",
            False,
            hint="Run it by hand, or use the hook instead: clew collect install --hook",
        )


def _read_or_none(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
