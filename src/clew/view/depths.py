"""How much of a session is shown: the values of `--depth`, which options name before a session is read."""

from __future__ import annotations

DEPTHS = ("prompts", "replies", "calls", "full")
