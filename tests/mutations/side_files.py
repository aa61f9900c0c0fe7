"""Mutations of side files, of the state of turns, of progress lines, and of collecting without an archive."""

from __future__ import annotations

from clew.chat.config import session_name
from clew.chat.store import journal_lines
from clew.collect import collector, direct_collect, discovery
from clew.conversation import turns
from clew.index import changed_files
from clew.index import long_outputs as indexed_output
from clew.report import activity_totals
from clew.wire import side_files, tree_walk
from tests.mutations import Patch, violates


@violates("R008", "a long output is not searched")
def long_outputs_are_not_searched(patch: Patch) -> None:
    @patch.wrap(indexed_output.LongOutputs.find)
    def wrong(original, self, call_id, text):
        return None


@violates("R008", "a long output that appears after its session was indexed is not searched")
def later_outputs_are_missed(patch: Patch) -> None:
    @patch.wrap(changed_files.are_outputs_current)
    def wrong(original, shards, folders):
        return True


@violates("R013", "todo lists, tasks and plans are not known")
def work_files_are_missed(patch: Patch) -> None:
    @patch.wrap(tree_walk.list_side_files)
    def wrong(original, root):
        return []


@violates("R042", "an entry of the index whose file is gone is not flagged")
def gone_entries_are_not_flagged(patch: Patch) -> None:
    @patch.wrap(side_files.compare_index)
    def wrong(original, index, files):
        found = original(index, files)
        return side_files.IndexComparison(found.fresh, found.stale, (), found.unlisted)


@violates("R170", "a turn is open again after a compaction")
def compactions_open_a_turn(patch: Patch) -> None:
    patch.set(turns, "_UNANSWERED", ())


@violates("R241", "the last word of a name is no surname")
def names_end_with_an_adjective(patch: Patch) -> None:
    patch.set(session_name, "_SURNAMES", session_name._ADJECTIVES)


@violates("R250", "progress of searches and of waiting tasks is written as that of a command")
def progress_has_one_type(patch: Patch) -> None:
    @patch.wrap(journal_lines.progress)
    def wrong(original, data, ident, call_id):
        is_other = data.get("type") in ("query_update", "search_results_received", "waiting_for_task")
        return original({**data, "type": "bash_progress"} if is_other else data, ident, call_id)


@violates("R317", "the state is kept elsewhere than documented")
def state_is_elsewhere(patch: Patch) -> None:
    @patch.wrap(direct_collect.default_state_path)
    def wrong(original):
        return f"{original()}.other"


@violates("R326", "lines longer than the limit are sent whole")
def long_lines_are_sent(patch: Patch) -> None:
    @patch.wrap(direct_collect.LimitedSink._limited)
    def wrong(original, self, record):
        return record


@violates("R326", "files larger than the limit are collected")
def large_files_are_collected(patch: Patch) -> None:
    @patch.wrap(collector.Collector._ingest_file)
    def wrong(original, self, found, file, taker, doubted):
        self.max_file = 0
        return original(self, found, file, taker, doubted)


@violates("R337", "hours and tool calls of stats-cache.json are not shown")
def totals_are_left_out(patch: Patch) -> None:
    @patch.wrap(activity_totals.compare_activity)
    def wrong(original, *args):
        return (each for each in original(*args) if each.what in ("sessions", "messages"))


@violates("R310", "side files are sent with the conversations")
def side_files_are_sent(patch: Patch) -> None:
    @patch.wrap(discovery.scan)
    def wrong(original, root, *, extras=True):
        return original(root, extras=True)


@violates("R312", "a file is always read from its beginning")
def offsets_are_ignored(patch: Patch) -> None:
    @patch.wrap(direct_collect.DirectCollector._resume_position)
    def wrong(original, self, file, found, point):
        return 0, 1, 1
