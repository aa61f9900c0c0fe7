"""Slugs: the names that Claude Code gives to the folders of projects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from unicodedata import normalize

LONGEST = 200  # UTF-16 units of a name before it is cut
DRIVE = re.compile(r"[A-Za-z]:")


def slug(path: str) -> str:
    """The name that Claude Code gives to a project's folder. The hash was checked from 2.1.61 to 2.1.325."""
    name = _dashed(path)
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}-{_hash(path)}"


def slugs(path: str) -> list[str]:
    """Every name the folder may have, likeliest first; for a long path the last ones are only beginnings."""
    paths = list(dict.fromkeys((path, normalize("NFC", path))))
    if DRIVE.match(path):
        paths += [p[0].swapcase() + p[1:] for p in paths]
    names = [slug(p) for p in paths] + [name for p in paths for name in _other_names(p)]
    names += [_dashed(p)[:LONGEST] for p in paths if len(_dashed(p)) > LONGEST]
    return list(dict.fromkeys(filter(None, names)))


def unslug(name: str) -> str:
    """A guess at the path behind a folder's name; `a-b`, `a.b` and `a/b` look alike there."""
    if len(name) > LONGEST and re.fullmatch(r"-[0-9a-z]{1,6}", name[LONGEST:]):
        name = name[:LONGEST]
    if re.match(r"[A-Za-z]--", name):
        return name[0] + ":\\" + name[3:].replace("--", "\\.").replace("-", "\\")
    return name.replace("--", "/.").replace("-", "/") if name.startswith("-") else name


def _dashed(path: str) -> str:
    return re.sub("[^a-zA-Z0-9]", lambda odd: "--" if odd[0] > "\uffff" else "-", path)


def _other_names(path: str) -> Iterator[str]:
    """Names under rules that were once in force or are only told of: uncut, or with fewer dashes, or more."""
    yield _dashed(path)
    yield path.replace("/", "-")
    yield re.sub(r"[\\/:]", "-", path)
    yield path.replace("-", "--").replace("/", "-")
    yield _dashed(path).removeprefix("-")


def _hash(path: str) -> str:
    """A 32-bit hash over UTF-16 units, times 31 at each step, its magnitude to the base of 36."""
    units = path.encode("utf-16-le", "surrogatepass")
    total = 0
    for low, high in zip(units[::2], units[1::2], strict=True):
        total = (total * 31 + low + (high << 8)) & 0xFFFFFFFF
    rest = min(total, (1 << 32) - total)
    digits = ""
    while rest or not digits:
        rest, digit = divmod(rest, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits
