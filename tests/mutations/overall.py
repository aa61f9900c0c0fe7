"""Mutations of what holds for all of clew: memory, paths of all systems, versions, and reading without writing."""

from __future__ import annotations

import re
from pathlib import Path

from clew.conversation import replies
from clew.wire import layout as place
from clew.wire import line, project_slug, session_writer
from tests.mutations import Patch, violates


@violates("R345", "a file is read into memory as a whole")
def files_are_read_whole(patch: Patch) -> None:
    @patch.wrap(line.all_pieces)
    def wrong(original, source, *, offset=0, size=0):
        with line.open_source(source) as file:
            file.seek(offset)
            if data := file.read():
                yield data, offset


@violates("R345", "the head of a file is all of it")
def heads_have_no_end(patch: Patch) -> None:
    patch.set(place, "_HEAD", 1 << 24)


@violates("R346", "backslashes and drives stay in the names of folders")
def windows_paths_are_kept(patch: Patch) -> None:
    @patch.wrap(project_slug._dashed)
    def wrong(original, path):
        return path.replace("/", "-") if project_slug.DRIVE.match(path) else original(path)


@violates("R346", "no path is taken for one of Windows")
def drives_are_not_known(patch: Patch) -> None:
    patch.set(project_slug, "DRIVE", re.compile("(?!)"))


@violates("R347", "agents of versions before 2.1, beside the sessions, are not found")
def agents_of_old_versions_are_missed(patch: Patch) -> None:
    @patch.wrap(place._agents)
    def wrong(original, folder, project, layout):
        return iter(()) if layout == "flat" else original(folder, project, layout)


@violates("R347", "blocks of a reply without a stop reason, as versions from 2.1.9 on write them, are left out")
def replies_need_a_stop_reason(patch: Patch) -> None:
    @patch.wrap(replies.Reply.blocks)
    def wrong(original, self):
        return original(self) if self.stop_reason else []


@violates("R349", "reading a project writes an index into it")
def reading_writes_an_index(patch: Patch) -> None:
    @patch.wrap(place.list_sessions)
    def wrong(original, folder, prefix=""):
        if not (path := Path(folder) / "sessions-index.json").exists():
            session_writer.create_exactly(path, (b"{}",))
        return original(folder, prefix)


@violates("R349", "a session can be written over")
def sessions_are_replaced(patch: Patch) -> None:
    @patch.wrap(session_writer.replace)
    def wrong(original, path, data):
        Path(path).write_bytes(data)
