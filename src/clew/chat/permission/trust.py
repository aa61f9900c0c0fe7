"""Trust: the folders whose own settings may run things, as the person has said. Kept in our data folder."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from clew.wire.home import data_home
from clew.wire.time import stamp
from clew.wire.write import replace

VERSION = 1


class Trust:
    """The trusted folders. A folder within a trusted one counts, unless a repository of its own begins in between."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or Path(data_home()) / "trust.json"

    def holds(self, folder: Path) -> bool:
        """Whether a folder is trusted."""
        trusted = set(self._read())
        place = Path(os.path.realpath(folder))
        while True:
            if str(place) in trusted:
                return True
            if (place / ".git").exists() or place == place.parent:
                return False
            place = place.parent

    def give(self, folder: Path) -> None:
        """Trust a folder from now on."""
        self._write({**self._read(), os.path.realpath(folder): stamp(datetime.now(UTC))})

    def take(self, folder: Path) -> None:
        """Trust it no more."""
        place = os.path.realpath(folder)
        self._write({path: since for path, since in self._read().items() if path != place})

    def _read(self) -> dict[str, str]:
        """All folders with the time they were trusted; none if the file is not there or not ours to read."""
        try:
            data: Any = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        folders = data.get("folders") if isinstance(data, dict) and data.get("version") == VERSION else None
        return {k: v for k, v in folders.items() if isinstance(v, str)} if isinstance(folders, dict) else {}

    def _write(self, folders: dict[str, str]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        text = json.dumps({"version": VERSION, "folders": folders}, ensure_ascii=False, indent=1)
        replace(self.path, text.encode("utf-8"))
