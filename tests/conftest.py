"""What all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("clew", deadline=None)
settings.load_profile("clew")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real and recorded sessions beside the checkout; they are no part of the project."""
    folder = Path(__file__).parents[2] / "shared"
    if not (folder / "corpus").is_dir():
        pytest.skip("the shared samples are not beside the checkout")
    return folder
