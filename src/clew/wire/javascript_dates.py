"""Parse dates as JavaScript's `Date` does, because Claude Code reads timestamps with it.

It accepts the ISO 8601 form that JavaScript writes. In any other text it looks for numbers, month names, times of
day and offsets, as in mail headers and hand-written dates. A time without an offset is UTC, so that a file means the
same on every machine.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from msgspec import Struct, field

_ISO = re.compile(
    r"([+-]\d{6}|\d{4})(?:-(\d\d)(?:-(\d\d))?)?"
    r"(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(?:Z|([+-])(\d\d):?(\d\d))?)?",
    re.ASCII | re.IGNORECASE,
)
_PREFIX = re.compile(
    r"([+-]\d{6}|\d{4})(?!\d)(?:-(?:(0[1-9]|1[0-2])(?!\d)(?:-(?:(0[1-9]|[12]\d|3[01])(?!\d))?)?)?)?", re.ASCII
)
_SPACE = r"\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_TOKEN = re.compile(rf"(?P<number>[0-9]+)|(?P<word>[^\x00-@{_SPACE}]+)|(?P<space>[{_SPACE}]+)|(?P<symbol>.)", re.DOTALL)
_MONTHS = dict(
    zip(("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), range(1, 13), strict=True)
)
_HALVES = {"am": 0, "pm": 12}
_ZONES = {"ut": 0, "utc": 0, "gmt": 0, "z": 0} | {
    f"{zone}{kind}t": offset + (kind == "d")
    for zone, offset in zip("ecmp", range(-5, -9, -1), strict=True)
    for kind in "sd"
}


def parse_date(text: str) -> datetime | None:
    """Return the instant that a text names; None if it names none, or one outside the range of `datetime`."""
    match = _ISO.fullmatch(text)
    try:
        if match is None or (match[1] == "-000000"):
            return _DateScanner(text).read()
        year, month, day = int(match[1]), int(match[2] or 1), int(match[3] or 1)
        clock = [int(part or 0) for part in match.group(4, 5, 6)]
        offset = int(f"{match[8]}1") * (int(match[9]) * 60 + int(match[10])) if match[8] else 0
        if match[8] and (int(match[9]) > 23 or int(match[10]) > 59):
            return None
        return _instant((year, month, day), [*clock, _thousandths(match[7] or "0")], offset)
    except (ValueError, OverflowError):
        return None


def _instant(date: tuple[int, int, int], clock: list[int], offset: int) -> datetime:
    """Return a date and time of day as an instant. Raises ValueError if a part is out of range.

    As in JavaScript, days up to the 31st and the hour 24:00 roll over: 2026-02-30 is 2026-03-02.
    """
    year, month, day = date
    hour, minute, second, thousandths = clock
    if not 1 <= day <= 31 or minute > 59 or second > 59 or thousandths > 999:
        raise ValueError(f"not a date: {date}")
    if hour > 24 or (hour == 24 and any(clock[1:])):
        raise ValueError(f"not a time of day: {clock}")
    first = datetime(year, month, 1, tzinfo=UTC)
    return first + timedelta(
        days=day - 1, hours=hour, minutes=minute - offset, seconds=second, milliseconds=thousandths
    )


def _number(digits: str) -> int:
    return int(digits.lstrip("0")[:9] or 0)


def _thousandths(digits: str) -> int:
    return int(f"{digits}00"[:3])


class _DateScanner(Struct):
    """The parts of a date collected from a text so far. A part that cannot belong to a date raises ValueError."""

    text: str
    at: int = 0
    numbers: list[int] = field(default_factory=list)  # parts of the day, in the order of the text
    month: int | None = None
    clock: list[int] = field(default_factory=list)
    half: int | None = None  # hours added for AM or PM
    sign: int = 0
    hours: int | None = None  # hours of the UTC offset
    minutes: int | None = None
    has_number: bool = False

    def read(self) -> datetime:
        if match := _PREFIX.match(self.text):
            self.numbers = [int(part) for part in match.groups() if part]
            self.at, self.has_number = match.end(), True
        while self.at < len(self.text):
            kind, value = self._next()
            if kind == "number":
                self._add_number(value)
            elif kind == "word":
                self._add_word(value.lower())
            elif value in "+-" and (self.clock or (self.hours, self.minutes) == (0, 0)):
                self._add_offset(value)
            elif value in "+-)" and self.has_number:
                raise ValueError("a sign after the date")
            elif value == "(":
                self._skip_parentheses()
        return self._build_date()

    # Tokens

    def _next(self) -> tuple[str, str]:
        kind, value = self._peek()
        self.at += len(value)
        return kind, value

    def _peek(self) -> tuple[str, str]:
        match = _TOKEN.match(self.text, self.at)
        return (match.lastgroup or "", match[0]) if match else ("end", "")

    def _skip(self, symbol: str) -> bool:
        is_present = self.text.startswith(symbol, self.at)
        self.at += len(symbol) if is_present else 0
        return is_present

    def _skip_parentheses(self) -> None:
        depth = 1
        while depth and self.at < len(self.text):
            depth += {"(": 1, ")": -1}.get(self.text[self.at], 0)
            self.at += 1

    # Parts

    def _add_number(self, digits: str) -> None:
        self.has_number = True
        number = _number(digits)
        if self._skip("::"):
            if self.clock:
                raise ValueError("two times of day")
            self.clock = [number, 0]
        elif self._skip(":"):
            self._add_clock(number)
            self._skip(".")
        elif self._skip(".") and self._is_clock(number):
            kind, fraction = self._next()
            if kind != "number":
                raise ValueError("a point without digits")
            self.clock += [number, _thousandths(fraction)]
            self.clock += [0] * (4 - len(self.clock))
        elif self.hours is not None and self.minutes is None and number < 60:
            self.minutes = number
        elif self._is_clock(number):
            self._add_clock(number)
            self.clock += [0] * (4 - len(self.clock))
            kind, value = self._peek()
            if kind not in ("end", "space") and value.lower() != "z" and value not in ("+", "-"):
                raise ValueError("text directly after the time of day")
        else:
            self._add_day(number)

    def _is_clock(self, number: int) -> bool:
        return number < {1: 60, 2: 60, 3: 1000}.get(len(self.clock), 0)

    def _add_clock(self, number: int) -> None:
        if len(self.clock) == 4:
            raise ValueError("two times of day")
        self.clock.append(number)

    def _add_day(self, number: int) -> None:
        if len(self.numbers) == 3:
            raise ValueError("too many numbers")
        self.numbers.append(number)
        self._skip("-")

    def _add_word(self, word: str) -> None:
        if word in _HALVES and self.clock:
            self.half = _HALVES[word]
        elif word[:3] in _MONTHS:
            self.month = _MONTHS[word[:3]]
            self._skip("-")
        elif word in _ZONES and self.has_number:
            self.sign = -1 if _ZONES[word] < 0 else 1
            self.hours, self.minutes = abs(_ZONES[word]), 0
        elif self.has_number or self._peek()[0] == "number":
            raise ValueError("a word in the date")

    def _add_offset(self, sign: str) -> None:
        self.sign = -1 if sign == "-" else 1
        self.has_number = True
        digits = self._next()[1] if self._peek()[0] == "number" else ""
        number = _number(digits)
        if self._peek()[1] == ":":
            self.hours, self.minutes = number, None
        elif len(digits) in (1, 2):
            self.hours, self.minutes = number, 0
        elif len(digits) in (3, 4):
            self.hours, self.minutes = divmod(number, 100)
        else:
            raise ValueError("no offset")

    # The date

    def _build_date(self) -> datetime:
        if not self.numbers:
            raise ValueError("no number")
        first, second, third = [*self.numbers, 1, 1][:3]
        is_day = 1 <= first <= 31
        if self.month is not None:
            year, month, day = (second, self.month, first) if is_day else (first, self.month, second)
        else:
            year, month, day = (third, first, second) if is_day else (first, second, third)
        year += 2000 if 0 <= year < 50 else 1900 if 50 <= year < 100 else 0
        clock = [*self.clock, 0, 0, 0, 0][:4]
        if self.half is not None:
            if clock[0] > 12:
                raise ValueError("an hour beyond 12 of a half day")
            clock[0] = clock[0] % 12 + self.half
        return _instant((year, month, day), clock, self.sign * ((self.hours or 0) * 60 + (self.minutes or 0)))
