"""Control requests about the files of the project: names for mentions, and folders that belong to it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from clew.chat.sdk.sdk_connection import ControlError, Handler, SdkConnection
from clew.wire.json_codec import Json

MAX_SUGGESTIONS = 15
MAX_FILES = 20_000  # files of a project that are compared with a query
_LEFT_OUT = frozenset({".git", "node_modules", "__pycache__", ".venv"})


class ProjectRequests(Struct):
    """Answers the requests about files of one connection."""

    connection: SdkConnection

    def handlers(self) -> dict[str, Handler]:
        return {"file_suggestions": self._suggest_files, "register_repo_root": self._register_root}

    async def _suggest_files(self, request: Json) -> Json:
        """Return files whose path contains the query; without one, what is in the folder itself."""
        cwd = (await self.connection.ensure_started()).engine.conversation.state.cwd
        query = request.get("query")
        names = find_files(cwd, query) if isinstance(query, str) else []
        return {"suggestions": [{"path": name} for name in names], "cwd": str(cwd)}

    async def _register_root(self, request: Json) -> Json:
        """Let a folder inside the project count as a root of its own, such as a checkout that was just made."""
        session = await self.connection.ensure_started()
        stated = request.get("directory")
        folder = Path(os.path.realpath(stated)) if isinstance(stated, str) and Path(stated).is_absolute() else None
        if folder is None or not folder.is_dir():
            raise ControlError("register_repo_root: directory is not the absolute path of a folder")
        roots = session.permissions.roots
        if folder in roots:
            raise ControlError(f"register_repo_root: {folder} is a root already")
        if not any(folder.is_relative_to(os.path.realpath(root)) for root in roots):
            raise ControlError(f"register_repo_root: {folder} is neither in the project nor in an added folder")
        session.permissions.apply({"type": "addDirectories", "directories": [str(folder)], "destination": "session"})
        await session.engine.report_folder(folder, "register_repo_root")
        if any(request.get(name) is True for name in ("reload_plugins", "reload_skills")):
            session.reload()
        return {"directory": str(folder)}


def find_files(folder: Path, query: str) -> list[str]:
    """Return the best names for a query: folders end with a slash, and names that begin with it come first."""
    if not query:
        with os.scandir(folder) as entries:
            found = [(not e.is_dir(), e.name + "/" * e.is_dir()) for e in entries if e.name not in _LEFT_OUT]
        return [name for _, name in sorted(found)][:MAX_SUGGESTIONS]
    wanted = query.lower()
    names = [name for name in _walk(folder) if wanted in name.lower()]
    names.sort(key=lambda name: (not os.path.basename(name).lower().startswith(wanted), len(name), name))
    return names[:MAX_SUGGESTIONS]


def _walk(folder: Path) -> Iterator[str]:
    count = 0
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT)
        for name in sorted(files):
            yield os.path.relpath(os.path.join(root, name), folder)
            count += 1
            if count >= MAX_FILES:
                return
