"""What clew depends on: licences that an MIT project may use, versions without known holes, and a lock that fits."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, metadata, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
LOCKS = (ROOT / "requirements-dev.lock", ROOT / "requirements-model.lock")

# The first version without a hole that was public in November 2026.
FIRST_SAFE = {
    "h11": "0.16.0",  # CVE-2025-43859, request smuggling
    "jinja2": "3.1.6",  # CVE-2025-27516, escape from the sandbox
    "mcp": "2.0",  # CVE-2026-52869 and others, in 1.x
    "protobuf": "6.33.5",  # CVE-2026-0994, recursion
    "pyarrow": "23.0.1",  # CVE-2026-25087, use after free
    "pypdf": "6.16.1",  # CVE-2026-84310 and some thirty others: endless loops, memory
    "pyspark": "4.0",  # CVE-2025-55039, encryption without authentication
    "starlette": "1.3.1",  # CVE-2026-48710, CVE-2026-54283: host header, multipart
}

PERMISSIVE = {"MIT", "MIT-0", "BSD", "Apache", "PSF", "ISC", "Zlib", "0BSD", "CC0", "Unlicense", "OSI", "MPL"}
FOR_EXTRAS = {"LGPL"}  # used by import, by those who install the extra
UNSTATED = {"agent-client-protocol": "Apache-2.0", "resvg-py": "MIT"}  # their metadata says nothing, their files do
WORDS = {
    "Mozilla Public License": "MPL",
    "BSD": "BSD",
    "Apache": "Apache",
    "MIT": "MIT",
    "LGPL": "LGPL",
    "any-OSI": "OSI",
    "Python Software Foundation": "PSF",
}


def needed(extras: set[str]) -> set[str]:
    """The names of all that these extras install, as far as it is installed here."""
    found: set[str] = set()
    waiting = [("clew", frozenset({"", *extras}))]
    while waiting:
        name, wanted = waiting.pop()
        for text in requires(name) or ():
            requirement = Requirement(text)
            marker = requirement.marker
            if marker and not any(marker.evaluate({"extra": extra}) for extra in wanted):
                continue
            try:
                distribution(requirement.name)
            except PackageNotFoundError:
                continue
            known = canonicalize_name(requirement.name)
            if known not in found and known != "clew":
                found.add(known)
                waiting.append((known, frozenset({"", *requirement.extras})))
    return found


def licences(name: str) -> set[str]:
    """The families of licences that a distribution states; of alternatives all, since any of them will do."""
    about = metadata(name)
    stated = (about.get_all("License-Expression") or [UNSTATED.get(name, "")])[0]
    if not stated:
        classified = [c.rpartition("::")[2].strip() for c in about.get_all("Classifier") or () if "License ::" in c]
        stated = " ".join(classified) or (about.get_all("License") or [""])[0].split("\n")[0]
        return {family for words, family in WORDS.items() if words in stated}
    parts = re.split(r"\s+(?:OR|AND)\s+", stated)
    return {next((f for f in (*PERMISSIVE, *FOR_EXTRAS) if re.match(rf"{f}\b", part)), part) for part in parts}


BASE = needed(set())
ALL = needed(set(EXTRAS) - {"dev"})


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_runtime_dependency_has_a_permitted_licence(name: str) -> None:
    found = licences(name)
    assert found, f"{name} states no licence that is known"
    permitted = PERMISSIVE if name in BASE else PERMISSIVE | FOR_EXTRAS
    assert found <= permitted, f"{name} has {found - permitted}"


def test_the_dependencies_of_all_extras_are_looked_at() -> None:
    """The test above would prove little if the extras were not installed."""
    direct = {canonicalize_name(Requirement(t).name) for extra in set(EXTRAS) - {"dev"} for t in EXTRAS[extra]}
    assert direct - {"clew"} <= ALL and len(ALL) > 50


def stated() -> Iterator[tuple[str, Requirement]]:
    for text in PROJECT["dependencies"]:
        yield "clew", Requirement(text)
    for extra, texts in EXTRAS.items():
        for text in texts:
            yield extra, Requirement(text)


@pytest.mark.parametrize("name", FIRST_SAFE)
def test_no_lower_bound_admits_a_version_with_a_known_hole(name: str) -> None:
    bounds = [(extra, wish) for extra, wish in stated() if wish.name == name]
    assert bounds
    for extra, wish in bounds:
        lower = [Version(each.version) for each in wish.specifier if each.operator == ">="]
        assert lower and max(lower) >= Version(FIRST_SAFE[name]), f"{extra}: {wish}"


def test_every_dependency_has_a_lower_bound() -> None:
    for extra, wish in stated():
        assert wish.name == "clew" or any(each.operator == ">=" for each in wish.specifier), f"{extra}: {wish}"


def locked() -> dict[str, set[Version]]:
    """The versions in the locks; a name can have one for each version of Python."""
    found: dict[str, set[Version]] = {}
    for path in LOCKS:
        for name, version in re.findall(r"^([A-Za-z0-9._-]+)==([^ \\]+)", path.read_text(), re.MULTILINE):
            found.setdefault(canonicalize_name(name), set()).add(Version(version))
    return found


def test_the_lock_holds_what_is_asked_for_in_versions_that_fit() -> None:
    """After a change of a bound: `make lock`."""
    pins = locked()
    for extra, wish in stated():
        if wish.name != "clew" and (wish.marker is None or extra == "dev"):
            versions = pins.get(canonicalize_name(wish.name), set())
            assert versions, f"{wish.name} of {extra} is not in the lock"
            assert all(wish.specifier.contains(version) for version in versions), f"{extra}: {wish}, not {versions}"


def test_everything_in_the_lock_has_a_hash_and_names_no_host() -> None:
    for path in LOCKS:
        text = path.read_text()
        assert "://" not in text and "file:" not in text and "index" not in text.lower().replace("--hash", "")
        pieces = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)
        for piece in filter(None, (piece.strip() for piece in pieces)):
            assert "--hash=sha256:" in piece, piece
