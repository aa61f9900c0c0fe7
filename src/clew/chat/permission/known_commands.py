"""Plain names: the commands that permissions know by their names. No alias may stand in for one."""

from __future__ import annotations

from clew.chat.permission import file_commands, safe_commands, wrappers

NAMES = safe_commands.NAMES | file_commands.NAMES | wrappers.NAMES
