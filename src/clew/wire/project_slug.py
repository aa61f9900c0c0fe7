"""Convert project paths to the folder names that Claude Code uses, and back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from unicodedata import normalize

MAX_SLUG = 200  # UTF-16 units of a name; a longer one is cut
DRIVE = re.compile(r"[A-Za-z]:")


def slug(path: str) -> str:
    """Return the folder name that Claude Code gives to a project. The hash was checked from 2.1.61 to 2.1.325.

    `/home/ada/my.app` becomes `-home-ada-my-app`.
    """
    name = _dashed(path)
    return name if len(name) <= MAX_SLUG else f"{name[:MAX_SLUG]}-{_hash(path)}"


def slugs(path: str) -> list[str]:
    """Return every possible folder name, most likely first; for a long path the last ones are only prefixes."""
    paths = list(dict.fromkeys((path, normalize("NFC", path))))
    if DRIVE.match(path):
        paths += [p[0].swapcase() + p[1:] for p in paths]
    names = [slug(p) for p in paths] + [name for p in paths for name in _other_names(p)]
    names += [_dashed(p)[:MAX_SLUG] for p in paths if len(_dashed(p)) > MAX_SLUG]
    return list(dict.fromkeys(filter(None, names)))


def unslug(name: str) -> str:
    """Guess the path from a folder's name; `a-b`, `a.b` and `a/b` have the same name."""
    if len(name) > MAX_SLUG and re.fullmatch(r"-[0-9a-z]{1,6}", name[MAX_SLUG:]):
        name = name[:MAX_SLUG]
    if re.match(r"[A-Za-z]--", name):
        return name[0] + ":\\" + name[3:].replace("--", "\\.").replace("-", "\\")
    return name.replace("--", "/.").replace("-", "/") if name.startswith("-") else name


def _dashed(path: str) -> str:
    return re.sub("[^a-zA-Z0-9]", lambda odd: "--" if odd[0] > "\uffff" else "-", path)


def _other_names(path: str) -> Iterator[str]:
    """Yield names under rules of older or reported versions: uncut, or with fewer or more dashes."""
    yield _dashed(path)
    yield path.replace("/", "-")
    yield re.sub(r"[\\/:]", "-", path)
    yield path.replace("-", "--").replace("/", "-")
    yield _dashed(path).removeprefix("-")


def _hash(path: str) -> str:
    """Hash UTF-16 units to 32 bits (times 31 at each step) and return its magnitude in base 36."""
    units = path.encode("utf-16-le", "surrogatepass")
    total = 0
    for low, high in zip(units[::2], units[1::2], strict=True):
        total = (total * 31 + low + (high << 8)) & 0xFFFFFFFF
    remaining = min(total, (1 << 32) - total)
    digits = ""
    while remaining or not digits:
        remaining, digit = divmod(remaining, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits
