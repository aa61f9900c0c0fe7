"""Answers of the real CLI, kept by version and file, so that a score can be computed again without running it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.oracle.claude import Resumed


@dataclass(frozen=True)
class Answer:
    """What a version did with a file: the request, None if it had to be stopped, and what it wrote behind the file."""

    theirs: Resumed | None
    added: bytes = b""


class Recording:
    """A folder of answers. An answer is found by the version and the exact bytes of the session."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def find(self, version: str, data: bytes) -> Answer | None:
        try:
            kept = json.loads(self._path(version, data).read_bytes())
        except FileNotFoundError:
            return None
        theirs = Resumed(**kept["theirs"]) if kept["theirs"] else None
        return Answer(theirs, kept["added"].encode("utf-8", "surrogateescape"))

    def keep(self, version: str, data: bytes, answer: Answer) -> None:
        path = self._path(version, data)
        path.parent.mkdir(parents=True, exist_ok=True)
        theirs = asdict(answer.theirs) if answer.theirs else None
        added = answer.added.decode("utf-8", "surrogateescape")
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps({"theirs": theirs, "added": added}), encoding="ascii")
        partial.replace(path)

    def _path(self, version: str, data: bytes) -> Path:
        return self.folder / version / f"{hashlib.sha256(data).hexdigest()}.json"
