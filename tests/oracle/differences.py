"""Cases in which clew is known to be wrong, each with the reason: the tests expect exactly these to fail."""

from __future__ import annotations

UNKNOWN: dict[str, str] = {}
KNOWN: dict[str, dict[str, str]] = {}
