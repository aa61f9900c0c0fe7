"""Mutations of the section search, and of what replays and exports."""

from __future__ import annotations

from msgspec.structs import force_setattr

from clew.index import assemble, query_syntax
from clew.view import rows
from clew.wire import entry, session_writer
from tests.mutations import Patch, violates


@violates("R214", "thinking cannot be asked for")
def thinking_is_never_searched(patch: Patch) -> None:
    @patch.wrap(query_syntax.Query.fields)
    def wrong(original, self):
        return tuple(place for place in original(self) if place != "thinking")


@violates("R224", "the limit is one session too few")
def limit_is_too_small(patch: Patch) -> None:
    @patch.wrap(assemble.fold_repeats)
    def wrong(original, shards, ranked, limit, now, page_size=None):
        return original(shards, ranked, limit, now, page_size)[: max(0, limit - 1)]


@violates("R230", "results of calls are not shown")
def calls_are_not_shown(patch: Patch) -> None:
    @patch.wrap(rows.call_rows)
    def wrong(original, call, scene):
        return iter(list(original(call, scene))[:1])


@violates("R234", "compactions are not marked")
def compactions_are_not_marked(patch: Patch) -> None:
    @patch.wrap(rows._other_rows)
    def wrong(original, found, scene):
        return iter(()) if found.is_boundary else original(found, scene)


@violates("R145", "a result does not name its caller")
def results_name_no_caller(patch: Patch) -> None:
    @patch.wrap(entry.read_piece)
    def wrong(original, *args):
        made = original(*args)
        for item in made:
            if isinstance(item, entry.Entry):
                force_setattr(item, "source_tool_assistant", None)
        return made


@violates("R257", "lines are written in two halves")
def lines_are_halved(patch: Patch) -> None:
    @patch.wrap(session_writer._write)
    def wrong(original, file, data):
        half = len(data) // 2
        original(file, data[:half])
        original(file, data[half:])
