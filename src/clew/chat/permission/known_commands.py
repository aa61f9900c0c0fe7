"""Names of all commands that permission rules know; a shell alias must not replace them."""

from __future__ import annotations

from clew.chat.permission import file_commands, safe_commands, wrappers

NAMES = safe_commands.NAMES | file_commands.NAMES | wrappers.NAMES
