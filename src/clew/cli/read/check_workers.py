"""Run a part of `clew check` over many session files, in several processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from clew.wire.layout import SessionFile

MIN_BYTES = 16 << 20  # bytes of sessions from which several processes pay off

Settings = TypeVar("Settings")
Result = TypeVar("Result")


def map_files(
    prepare: Callable[[Settings], Callable[[str], Result]],
    settings: Settings,
    files: Sequence[SessionFile],
    jobs: int | None,
) -> Iterator[Result]:
    """Yield `prepare(settings)(path)` for each file in order; see `map_in_workers` for what a result may contain."""
    from clew.system.worker_processes import map_in_workers

    paths = [str(file.path.absolute()) for file in files]
    return map_in_workers(prepare, settings, paths, [file.size for file in files], jobs=jobs, min_bytes=MIN_BYTES)
