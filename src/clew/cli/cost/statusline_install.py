"""`clew statusline --install` and `--uninstall`: show the change of the settings, ask, and make it."""

from __future__ import annotations

import json
import shlex
from argparse import Namespace
from pathlib import Path
from typing import Any

from clew.cli.keep.collect_install import carry_out
from clew.collect.install_plan import InstallPlan, PlannedFile
from clew.errors import Refused
from clew.report.rate_limits import limits_file
from clew.system.subprocesses import clew_process_command
from clew.wire.json_codec import decode, encode
from clew.wire.layout import claude_dir

_KEY = "statusLine"


def install(options: Namespace) -> int:
    """Change `statusLine` in the settings of Claude Code. The former one is kept for `--uninstall`."""
    settings = claude_dir(options.claude_dir) / "settings.json"
    before = settings.read_bytes() if settings.exists() else None
    value = _parse(settings, before)
    former = Path(limits_file(str(settings.parent)).replace("limits-", "statusline-"))
    changed = _without_ours(value, former) if options.uninstall else _with_ours(value, options)
    after = before if changed == value else (json.dumps(changed, indent=2, ensure_ascii=False) + "\n").encode()
    changes = [PlannedFile(settings, before, after)]
    if not options.uninstall and not _is_ours(value.get(_KEY)):
        old = former.read_bytes() if former.exists() else None
        changes.append(PlannedFile(former, old, encode({_KEY: value.get(_KEY)})))
    return carry_out(options, InstallPlan(tuple(changes), ()))


def _with_ours(value: dict[str, Any], options: Namespace) -> dict[str, Any]:
    words = ["--format", options.format] if options.format is not None else ["--color"]
    if options.claude_dir:
        words += ["--claude-dir", str(Path(options.claude_dir).expanduser().absolute())]
    return {**value, _KEY: {"type": "command", "command": shlex.join(clew_process_command("statusline", *words))}}


def _without_ours(value: dict[str, Any], former: Path) -> dict[str, Any]:
    """Return the settings with the status line that was there before ours."""
    if not _is_ours(value.get(_KEY)):
        raise Refused(["the status line in the settings is not that of clew"], hint="Nothing was changed.")
    try:
        old = decode(former.read_bytes())
    except (OSError, ValueError):
        old = None
    line = old.get(_KEY) if isinstance(old, dict) else None
    rest = {key: setting for key, setting in value.items() if key != _KEY}
    return {**rest, _KEY: line} if line is not None else rest


def _is_ours(line: Any) -> bool:
    command = line.get("command") if isinstance(line, dict) else None
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return False
    ours = clew_process_command("statusline")
    return words[: len(ours)] == ours


def _parse(path: Path, data: bytes | None) -> dict[str, Any]:
    try:
        value = decode(data) if data and data.strip() else {}
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise Refused([f"{path} is not a settings file of Claude Code and was not changed"])
    return dict(value)
