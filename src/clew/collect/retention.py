"""How long an archive or a store keeps lines and facts, in days. It remembers the rule itself, and a store also the first
day that it keeps.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta
from typing import NamedTuple

import apsw

from clew.errors import Refused
from clew.system.plural import plural

RULES = {"lines": "retain_lines", "facts": "retain_facts"}  # the names under which a store keeps the number of days
FIRST_DAYS = {"lines": "lines_from", "facts": "facts_from"}  # and the first day that is kept
KEEP = "forever"
_MAX_DAYS = 36_500


class Retention(NamedTuple):
    """The number of days that lines and facts are kept; None for ever."""

    lines: int | None = None
    facts: int | None = None

    @classmethod
    def read(cls, about: Mapping[str, str]) -> Retention:
        """Return the rule that a store remembers."""
        return cls(*(int(about[name]) if about.get(name) else None for name in RULES.values()))

    def change(self, lines: str | None, facts: str | None) -> Retention:
        """Return the rule with the ages that a user gave: `90d`, `12w`, or `forever`."""
        return Retention(
            self.lines if lines is None else parse_age(lines), self.facts if facts is None else parse_age(facts)
        )

    def first_days(self, today: date) -> dict[str, str]:
        """Return the first day that is kept, of lines and of facts; empty if all are."""
        ages = self._asdict().items()
        return {what: "" if days is None else (today - timedelta(days=days)).isoformat() for what, days in ages}

    def values(self, today: date) -> dict[str, str]:
        """Return what the store remembers, by name."""
        first = self.first_days(today)
        rules = {RULES[what]: "" if days is None else str(days) for what, days in self._asdict().items()}
        return {**rules, **{FIRST_DAYS[what]: day for what, day in first.items()}}

    def describe(self) -> str:
        """Return the rule as text; empty if everything is kept."""
        ages = [f"{what} {plural(days, 'day')}" for what, days in self._asdict().items() if days is not None]
        return f"keeps {' and '.join(ages)}" if ages else ""


class RetainedRows(NamedTuple):
    """The rows of a table that were dropped, and the days that were dropped as a whole."""

    table: str
    dropped: int
    days: int = 0


def parse_age(text: str) -> int | None:
    """Return a number of days: `90d`, `12w`, `2y`; None for `forever`. Raises Refused."""
    if text == KEEP:
        return None
    match = re.fullmatch(r"([0-9]{1,5})([dwy])", text)
    days = int(match[1]) * {"d": 1, "w": 7, "y": 365}[match[2]] if match else 0
    if not 0 < days <= _MAX_DAYS:
        raise Refused([f"{text!r} is not an age: write 90d, 12w, 2y or {KEEP}"])
    return days


def read_rule(archive: apsw.Connection) -> Retention:
    """Return the rule of an archive."""
    return Retention.read({str(name): str(value) for name, value in archive.execute("SELECT name, value FROM about")})


def save_rule(archive: apsw.Connection, rule: Retention) -> None:
    """Keep the rule in the archive."""
    archive.execute(
        "INSERT INTO about VALUES(?, ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value",
        (RULES["lines"], "" if rule.lines is None else str(rule.lines)),
    )
