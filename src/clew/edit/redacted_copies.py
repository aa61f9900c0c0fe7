"""Write redacted copies of sessions into a temporary tree, to be packed from there."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

from clew.conversation.load import read
from clew.edit.plan import plan
from clew.edit.redact_session import redact
from clew.edit.redactor import make_redactor
from clew.edit.undo_journal import UndoJournal
from clew.edit.write_plan import write_plan
from clew.system.worker_processes import map_in_workers
from clew.wire.layout import SessionFile, session_at
from clew.wire.session_parts import SessionParts, collect_parts

MIN_BYTES = 12 << 20  # bytes of transcripts from which several processes pay off


def redacted_parts(
    files: Sequence[SessionFile], folder: Path, *, jobs: int | None = None, min_bytes: int = MIN_BYTES
) -> Generator[SessionParts, None, None]:
    """Yield the files of a redacted copy of each session. The copies have new ids and are written below `folder`.

    Several sessions are divided among the processes; of a single one, the lines are.
    """
    paths, sizes = [str(file.path.absolute()) for file in files], [file.size for file in files]
    settings = str(folder), jobs if len(files) == 1 else 1
    for path in map_in_workers(prepare_copying, settings, paths, sizes, jobs=jobs, min_bytes=min_bytes):
        yield collect_parts(session_at(path))


def prepare_copying(settings: tuple[str, int | None]) -> Callable[[str], str]:
    """Return the function that writes a redacted copy of the session in a file, and returns where.

    The settings are the folder of the copies, and the number of processes for the lines of one session.
    """
    folder, jobs = settings
    redactor = make_redactor(True, ())
    journal = UndoJournal(Path(folder) / f"journal-{os.getpid()}")  # of this process

    def copy(path: str) -> str:
        plan_of_copy, _ = redact(plan(read(path)), redactor, jobs=jobs)
        target = Path(folder) / "projects" / session_at(path).project_folder.name
        return str(write_plan(plan_of_copy, folder=target, journal=journal).path)

    return copy
