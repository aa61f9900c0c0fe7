"""`claude`: opens a box with the real CLI in it, or says why that cannot be done here."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Protocol

import pytest

from tests.oracle.claude import LATEST, Box, Unavailable
from tests.oracle.mock_api import Reply


class Claude(Protocol):
    def __call__(self, version: str = LATEST, replies: Iterable[Reply] = ()) -> Box: ...


@pytest.fixture(scope="session")
def claude() -> Claude:
    """`with claude() as box`, or `claude("2.0.50")`; a version is installed once, when first asked for."""
    missing: dict[str, str] = {}

    def open_box(version: str = LATEST, replies: Iterable[Reply] = ()) -> Box:
        if version not in missing:
            try:
                return Box(version, replies)
            except Unavailable as why:
                missing[version] = str(why)
        reason = f"Claude Code {version} cannot be run: {missing[version]}"
        if os.environ.get("CI") or os.environ.get("CLEW_REQUIRE_ORACLE") == "1":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)

    return open_box
