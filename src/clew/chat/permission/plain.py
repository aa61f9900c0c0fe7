"""Plain names: the commands that permissions know by their names. No alias may stand in for one."""

from __future__ import annotations

from clew.chat.permission import file_command, harmless, unwrap

NAMES = harmless.NAMES | file_command.NAMES | unwrap.NAMES
