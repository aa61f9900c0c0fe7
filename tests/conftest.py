"""What all tests share."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("clew", deadline=None)
settings.load_profile("clew")
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs, and their children, ignore Ctrl-C


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip long runs unless they are asked for."""
    for item in items:
        if item.get_closest_marker("soak") and os.environ.get("CLEW_SOAK") != "1":
            item.add_marker(pytest.mark.skip(reason="long: set CLEW_SOAK=1"))


@pytest.fixture(scope="session", autouse=True)
def separate_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the journal, the archive and the state of the user who runs the tests out of them."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_DATA_HOME", "XDG_STATE_HOME"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name.lower())))
        yield


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real and recorded sessions beside the checkout; they are no part of the project."""
    folder = Path(__file__).parents[2] / "shared"
    if not (folder / "corpus").is_dir():
        pytest.skip("the shared samples are not beside the checkout")
    return folder
