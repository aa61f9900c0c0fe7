"""Export several sessions to a folder: a file for each, and an index. Large exports use every core.

Each session is written under another name first, in a folder that is removed at the end, and then gets its name in the
order of the sessions. So the result does not depend on the number of processes, and an export that is interrupted leaves
only complete files.
"""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Iterable
from contextlib import closing
from datetime import datetime
from errno import EEXIST
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec.structs import astuple

from clew.cli.output import print_message, write_new_file
from clew.cli.share.export_document import SUFFIXES, describe, document_parts, report_file
from clew.conversation.session import Session
from clew.conversation.turn_numbers import TurnRange
from clew.errors import UNEXPECTED_ERRORS, NotFound
from clew.facts.token_usage import usage
from clew.system.file_errors import ErrorCollector, describe_error
from clew.system.worker_processes import map_in_workers
from clew.view.header import About, BranchNote, masked_line
from clew.view.mask_rows import MaskCount
from clew.view.static_site import Exported, WordIndex, collect_words, file_name, index_markdown, index_page
from clew.wire.layout import session_at

MIN_BYTES = 8 << 20  # a page takes ten times as long as reading its session
WINDOW = 8  # batches whose words wait for those before them
_PASSED_ON = ("format", "depth", "thinking", "no_agents", "last", "branch", "front_matter", "reveal")
_DONE, _LEFT_OUT, _FAILED = "done", "left out", "failed"

Item = tuple[str, str]  # the path of a session, and the file to write
Settings = tuple[dict[str, Any], str]  # the options, and the turns as they were written
Result = tuple[str, Any, list[str], int]  # what became of it; about it, or why not; its words; the masked secrets


def run(options: Namespace, sessions: Iterable[Session], fence: ErrorCollector, tally: MaskCount) -> int:
    """Write a folder with a file for each session, and an index."""
    folder, suffix = Path(options.output), SUFFIXES[options.format]
    index = folder / f"index{suffix}" if options.format in ("html", "markdown") else None
    if index and index.exists():
        raise FileExistsError(EEXIST, os.strerror(EEXIST), str(index))
    paths = [session.path for session in sessions if session.path]
    words, is_new = WordIndex(), not folder.exists()
    exported = _export_to(folder, paths, options, fence, tally, words) if paths else []
    if not exported:
        if is_new and folder.is_dir():
            folder.rmdir()
        print_message("clew: There is no session to export.")
        return 1
    if index:
        title = masked_line(f"Sessions of {options.project}" if options.project else "Sessions", None)
        text = index_page(title, exported, words) if options.format == "html" else index_markdown(title, exported)
        write_new_file(index, (part.encode("utf-8", "replace") for part in text))
        report_file(options, "index", index)
    return 1 if fence.problems else 0


def _export_to(
    folder: Path, paths: list[Path], options: Namespace, fence: ErrorCollector, tally: MaskCount, words: WordIndex
) -> list[Exported]:
    """Write the files of all sessions; return those that were written, and add their words."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    exported: list[Exported] = []
    settings = ({name: getattr(options, name) for name in _PASSED_ON}, str(options.turns or ""))
    with TemporaryDirectory(prefix=".export-", dir=folder) as scratch:
        targets = [Path(scratch).absolute() / str(number) for number in range(len(paths))]
        items = [(str(path.absolute()), str(target)) for path, target in zip(paths, targets, strict=True)]
        sizes = [path.stat().st_size if path.exists() else 0 for path in paths]
        results = map_in_workers(
            prepare_export, settings, items, sizes, jobs=options.jobs, min_bytes=MIN_BYTES, window=WINDOW
        )
        with closing(results):
            for path, target, (state, about, found, secrets) in zip(paths, targets, results, strict=True):
                tally.secrets += secrets
                if state == _FAILED:
                    fence.add(path, about)
                elif state == _LEFT_OUT:
                    if not options.quiet:
                        print_message(f"{path.stem[:8]} is left out. {about}")
                else:
                    head = _load_about(*about)
                    name = file_name(head, SUFFIXES[options.format])
                    _give_name(target, folder / name)
                    words.add(found, len(exported))
                    exported.append(Exported(head, name))
                    report_file(options, "exported", folder / name, head.id)
    return exported


def _give_name(written: Path, path: Path) -> None:
    """Give a file its name, which no other file may have."""
    write_new_file(path, ())
    written.replace(path)


# -- in a worker


def prepare_export(settings: Settings) -> Callable[[Item], Result]:
    """Return the function that exports one session, for a worker process."""
    values, turns = settings
    options = Namespace(**values, turns=TurnRange(turns) if turns else None)
    return lambda item: _export_session(*item, options)


def _export_session(path: str, target: str, options: Namespace) -> Result:
    file = session_at(path)
    session = Session(file.path, file=file)
    tally, words = MaskCount(), set[str]()
    try:
        spent = usage(session)
        head = describe(session, spent, options, tally)
        pass_rows = partial(collect_words, words) if options.format == "html" else iter
        write_new_file(Path(target), document_parts(session, head, spent, options, tally, pass_rows))
    except NotFound as missing:  # of turns or branches; other sessions may have them
        return _LEFT_OUT, str(missing), [], tally.secrets
    except UNEXPECTED_ERRORS as error:
        return _FAILED, describe_error(error), [], tally.secrets
    return _DONE, _dump_about(head), sorted(words), tally.secrets


def _dump_about(about: About) -> tuple[Any, ...]:
    """Return what is known about a session as plain values, which a pipe takes."""
    started = about.started.isoformat() if about.started else ""
    return about.id, about.title, started, about.details, tuple(astuple(note) for note in about.branches)


def _load_about(
    id: str, title: str, started: str, details: tuple[tuple[str, str], ...], branches: tuple[tuple[Any, ...], ...]
) -> About:
    begin = datetime.fromisoformat(started) if started else None
    return About(id, title, begin, details, tuple(BranchNote(*note) for note in branches))
