"""Mutations of the sections layout, slug and sessions-index."""

from __future__ import annotations

import os
import re
from pathlib import Path

from msgspec.structs import replace

from clew.system import environment
from clew.wire import layout as place
from clew.wire import overflow_files, project_slug, session_writer, side_files
from tests.mutations import Patch, violates


@violates("R001", "the last project by name is left out")
def project_is_left_out(patch: Patch) -> None:
    @patch.wrap(place.Tree.projects)
    def wrong(original, *args):
        return original(*args)[:-1]


@violates("R002", "an option or variable that names the folder is ignored")
def folder_is_fixed(patch: Patch) -> None:
    @patch.wrap(environment.claude_home)
    def wrong(original, override=None):
        return str(Path.home() / ".claude")


@violates("R003", "a session's id is the first part of its name")
def id_is_cut(patch: Patch) -> None:
    @patch.wrap(place.SessionFile.id)
    def wrong(original, self):
        return original(self).partition("-")[0]


@violates("R004", "every .jsonl in a project is a session")
def any_name_is_a_session(patch: Patch) -> None:
    patch.set(place, "_is_id", bool)


@violates("R005", "nested agents are not found")
def nested_agents_are_missed(patch: Patch) -> None:
    @patch.wrap(place._agents)
    def wrong(original, folder, project, layout):
        return iter(()) if layout == "nested" else original(folder, project, layout)


@violates("R006", "flat agents belong to no session")
@violates("R007", "agents of the project's folder belong to no session")
def loose_agents_name_no_session(patch: Patch) -> None:
    @patch.wrap(place.AgentFile.session_id)
    def wrong(original, self):
        return original(self) if self.layout == "nested" else None


@violates("R008", "a long output is not found from its call")
@violates("R009", "the outputs of agents are not found in the session's folder")
def output_is_not_found(patch: Patch) -> None:
    @patch.wrap(overflow_files.OverflowFolder.find)
    def wrong(original, *args):
        return None


@violates("R010", "a binary output is printed as if it were text")
def binary_is_text(patch: Patch) -> None:
    @patch.wrap(overflow_files.Overflow.is_binary)
    def wrong(original, self):
        return False


@violates("R011", "MEMORY.md is said to be there whether it is or not")
def memory_is_always_there(patch: Patch) -> None:
    @patch.wrap(place.Project.memory)
    def wrong(original, self):
        return self.folder / "memory" / "MEMORY.md"


@violates("R013", "todos of a session are not found")
def todos_are_missed(patch: Patch) -> None:
    @patch.wrap(place.Tree.todos)
    def wrong(original, self, session_id):
        return []


@violates("R014", "a missing projects folder is an error")
def missing_folder_is_an_error(patch: Patch) -> None:
    @patch.wrap(place._list_folder)
    def wrong(original, folder):
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)


@violates("R015", "a file of 0 bytes is listed like any session")
def empty_files_count(patch: Patch) -> None:
    @patch.wrap(place.SessionFile.is_empty)
    def wrong(original, self):
        return False


@violates("R017", "the folder of recalls is not made")
def recalls_are_not_made(patch: Patch) -> None:
    @patch.wrap(place.Tree.recalls_dir)
    def wrong(original, self, *, create=False):
        return original(self)


@violates("R017", "the folder of recalls is made before anything is saved")
def recalls_are_made_too_early(patch: Patch) -> None:
    @patch.wrap(place.Tree.recalls_dir)
    def wrong(original, self, *, create=False):
        return original(self, create=True)


@violates("R020", "a Linux path keeps its slashes as underscores")
@violates("R021", "a macOS path keeps its slashes as underscores")
@violates("R022", "a macOS path keeps its slashes as underscores")
@violates("R023", "a short path keeps its slashes as underscores")
def slashes_become_underscores(patch: Patch) -> None:
    @patch.wrap(project_slug._dashed)
    def wrong(original, path):
        return original(path) if "/" not in path else path.replace("/", "_")


@violates("R024", "the drive and its colon are left out")
def drives_are_dropped(patch: Patch) -> None:
    @patch.wrap(project_slug.slug)
    def wrong(original, path):
        return original(project_slug.DRIVE.sub("", path))


@violates("R025", "a backslash stays")
def backslashes_stay(patch: Patch) -> None:
    @patch.wrap(project_slug._dashed)
    def wrong(original, path):
        return "\\".join(original(part) for part in path.split("\\"))


@violates("R026", "the leading dash is removed")
def leading_dash_is_removed(patch: Patch) -> None:
    @patch.wrap(project_slug.slug)
    def wrong(original, path):
        return original(path).removeprefix("-")


@violates("R027", "dots and underscores stay")
def dots_stay(patch: Patch) -> None:
    @patch.wrap(project_slug._dashed)
    def wrong(original, path):
        return re.sub(r"[^a-zA-Z0-9._]", "-", path)


@violates("R027", "a long name is cut without a hash")
def long_names_have_no_hash(patch: Patch) -> None:
    @patch.wrap(project_slug.slug)
    def wrong(original, path):
        return original(path)[: project_slug.MAX_SLUG]


@violates("R028", "a guess at a path passes for knowledge")
def guess_is_certain(patch: Patch) -> None:
    @patch.wrap(place.Project.path)
    def wrong(original, self):
        found = original(self)
        return replace(found, source="cwd") if found.source == "guess" else found


@violates("R029", "originalPath of the index is ignored")
def original_path_is_ignored(patch: Patch) -> None:
    @patch.wrap(side_files.read_index)
    def wrong(original, path):
        found = original(path)
        return found and replace(found, original_path=None)


@violates("R030", "the folder's name is believed before a session's cwd")
def cwd_is_ignored(patch: Patch) -> None:
    @patch.wrap(place.Project._cwd)
    def wrong(original, self):
        return None


@violates("R031", "a Windows slug decodes to a path with slashes")
def drive_is_decoded_with_slashes(patch: Patch) -> None:
    @patch.wrap(project_slug.unslug)
    def wrong(original, name):
        return original(name).replace("\\", "/")


@violates("R035", "an index without entries[] is wanted: version 1 is refused")
def version_1_is_refused(patch: Patch) -> None:
    patch.set(side_files, "INDEX_VERSION", 2)


@violates("R036", "messageCount of an entry is lost")
def message_count_is_lost(patch: Patch) -> None:
    @patch.wrap(side_files._index_entry)
    def wrong(original, row):
        return replace(original(row), message_count=0)


@violates("R037", "an entry without a summary is dropped")
def summary_is_required(patch: Patch) -> None:
    @patch.wrap(side_files.read_index)
    def wrong(original, path):
        found = original(path)
        return found and replace(found, entries=tuple(e for e in found.entries if e.summary))


@violates("R038", "fileMtime is read as seconds")
def mtime_is_seconds(patch: Patch) -> None:
    @patch.wrap(side_files.is_fresh)
    def wrong(original, entry, file):
        return abs(entry.file_mtime * 1_000_000_000 - file.mtime_ns) <= 1_000_000


@violates("R039", "a time with an offset is read as if it were UTC")
def offsets_are_ignored(patch: Patch) -> None:
    @patch.wrap(side_files._time)
    def wrong(original, value):
        return original(re.sub(r"[+-]\d\d:\d\d$", "Z", value) if isinstance(value, str) else value)


@violates("R041", "a broken index is an empty one")
def broken_index_is_empty(patch: Patch) -> None:
    @patch.wrap(side_files.read_index)
    def wrong(original, path):
        return original(path) or side_files.SessionsIndex()


@violates("R041", "a project with a broken index has no sessions")
def broken_index_hides_sessions(patch: Patch) -> None:
    @patch.wrap(place.Project.sessions)
    def wrong(original, self):
        index = self.folder / side_files.INDEX_NAME
        return [] if index.exists() and side_files.read_index(index) is None else original(self)


@violates("R042", "entries whose file is gone are passed over")
def gone_entries_are_passed_over(patch: Patch) -> None:
    @patch.wrap(side_files.compare_index)
    def wrong(original, index, files):
        return replace(original(index, files), missing=())


@violates("R043", "the old index is not kept")
def old_index_is_lost(patch: Patch) -> None:
    @patch.wrap(side_files.write_index)
    def wrong(original, folder, index):
        path = Path(folder) / side_files.INDEX_NAME
        session_writer.replace(path, side_files.build_index(index.entries, index.original_path))
        return


@violates("R044", "sidechain entries look like the others")
def sidechains_are_not_marked(patch: Patch) -> None:
    @patch.wrap(side_files._index_entry)
    def wrong(original, row):
        return replace(original(row), is_sidechain=False)
