"""Mutations of delivery with and without an archive: what is read, what is sent, and what the state says."""

from __future__ import annotations

from clew.collect import direct_collect, fingerprint, ingest, line_reader
from clew.collect.archive.archive_writer import RACY
from clew.collect.safe_open import open_source, read_at, state_now
from clew.collect.sinks import outbox, record, state_file
from clew.wire import session_writer, tail_reader
from tests.mutations import Patch, violates


def _forget_times(self, found):
    """Remove the time of a file from the state, so that it looks changed."""
    point = self.state.files.get(state_file.state_name(self.root, found.path))
    if isinstance(point, dict):
        point["mtime"] = 0


@violates("R311", "index and statistics are sent in every run")
def whole_files_are_always_sent(patch: Patch) -> None:
    @patch.wrap(direct_collect.DirectCollector._deliver_file)
    def wrong(original, self, found):
        if found.is_whole:
            _forget_times(self, found)
        return original(self, found)


@violates("R311", "index and statistics are taken again although they are the same")
def whole_files_are_always_new(patch: Patch) -> None:
    @patch.wrap(ingest.FileIngester._ingest_document)
    def wrong(original, self, file, found, id, known, must_verify):
        if known:
            known = known._replace(mark=known.mark._replace(chain=b""))
        return original(self, file, found, id, known, must_verify)


@violates("R313", "without an archive unchanged files are opened")
def unchanged_files_are_opened(patch: Patch) -> None:
    @patch.wrap(direct_collect.DirectCollector._deliver_file)
    def wrong(original, self, found):
        _forget_times(self, found)
        return original(self, found)


@violates("R313", "no file is ever taken for unchanged")
def no_file_is_settled(patch: Patch) -> None:
    @patch.wrap(ingest.FileIngester._trust)
    def wrong(original, self, before, after):
        return RACY


@violates("R314", "without an archive lines are sent twice")
def batches_are_sent_twice(patch: Patch) -> None:
    @patch.wrap(direct_collect.DirectCollector._records)
    def wrong(original, self, file, batch):
        found = list(original(self, file, batch))
        return [*found, *found]


@violates("R314", "lines of the archive are sent twice")
def archived_lines_are_sent_twice(patch: Patch) -> None:
    @patch.wrap(outbox.Delivery._send_batch)
    def wrong(original, self, batch):
        return original(self, batch) + original(self, batch)


@violates("R314", "a line that was sent before is not sent again where it stands a second time")
def equal_lines_are_sent_once(patch: Patch) -> None:
    @patch.wrap(direct_collect.DirectCollector._records)
    def wrong(original, self, file, batch):
        return list({each.raw: each for each in original(self, file, batch)}.values())


@violates("R315", "without an archive the offset moves before the sink has the lines")
def offset_moves_first(patch: Patch) -> None:
    @patch.wrap(direct_collect.DirectCollector._send_batch)
    def wrong(original, self, file, batch):
        name = state_file.state_name(self.root, batch.source.path)
        self.state.files[name] = {"offset": batch.end, "mtime": batch.source.state.mtime // 1_000_000}
        try:
            return original(self, file, batch)
        finally:
            self.state.section.pop("pending", None)


@violates("R315", "the position of a sink moves before it has the lines")
def position_moves_first(patch: Patch) -> None:
    @patch.wrap(outbox.Delivery._send_batch)
    def wrong(original, self, batch):
        self.cursor.accept(batch)
        return original(self, batch)


@violates("R318", "without an archive what a broken state does not name counts as delivered")
def broken_state_sends_nothing(patch: Patch) -> None:
    @patch.wrap(direct_collect.DirectCollector._resume_position)
    def wrong(original, self, file, found, point):
        is_unnamed = not point and self.state.path.exists()
        return (state_now(file).size, 1, 1) if is_unnamed else original(self, file, found, point)


@violates("R318", "the state is written over in place")
def state_is_written_in_place(patch: Patch) -> None:
    @patch.wrap(session_writer.replace)
    def wrong(original, path, data, **options):
        path.write_bytes(data)


@violates("R319", "the beginning of a line is passed over")
def torn_lines_are_passed_over(patch: Patch) -> None:
    @patch.wrap(line_reader.read_lines)
    def wrong(original, file, offset, limits):
        for part in original(file, offset, limits):
            if isinstance(part, line_reader.UnfinishedLine) and part.data:
                yield line_reader.CompleteLines(part.data)
                yield line_reader.UnfinishedLine(b"", 0)
            else:
                yield part


@violates("R320", "without an archive a rewritten file is continued at its end")
def restart_is_at_the_end(patch: Patch) -> None:
    @patch.wrap(direct_collect.DirectCollector._resume_position)
    def wrong(original, self, file, found, point):
        offset, line, generation = original(self, file, found, point)
        is_restarted = found.path in self.report.restarted
        return state_now(file).size if is_restarted else offset, line, generation


@violates("R320", "a rewritten file is continued at its end in the archive")
def archived_restart_is_at_the_end(patch: Patch) -> None:
    @patch.wrap(fingerprint.verify_prefix)
    def wrong(original, file, now, before, old, key, limits, *, must_verify):
        found = original(file, now, before, old, key, limits, must_verify=must_verify)
        return (
            fingerprint.ReadVerdict(fingerprint.ReadPosition(now.size, old.lines, old.chain)) if found.reason else found
        )


@violates("R322", "without an archive empty files are opened")
def empty_files_are_opened(patch: Patch) -> None:
    @patch.wrap(direct_collect.DirectCollector._deliver_file)
    def wrong(original, self, found):
        if not found.state.size:
            open_source(self.root, found).close()
        return original(self, found)


@violates("R322", "the archive opens empty files")
def archive_opens_empty_files(patch: Patch) -> None:
    @patch.wrap(ingest.FileIngester.ingest)
    def wrong(original, self, found, known, *, must_verify=False):
        if not found.state.size:
            found = found._replace(state=found.state._replace(size=1))
        return original(self, found, known, must_verify=must_verify)


@violates("R323", "without an archive deleted files stay in the state")
def deleted_files_stay(patch: Patch) -> None:
    @patch.wrap(direct_collect.DirectCollector.run)
    def wrong(original, self):
        before = dict(self.state.files)
        report = original(self)
        self.state.files = {**before, **self.state.files}
        self.state.save()
        return report


@violates("R323", "deleted files stay in the state of an archive")
def archived_files_stay(patch: Patch) -> None:
    @patch.wrap(state_file.StateCursor.save)
    def wrong(original, self, points):
        state_file.write_state(self.path, {**state_file.read_state(self.path), **points})


@violates("R323", "files that came after the first run are not found")
def new_files_are_missed(patch: Patch) -> None:
    @patch.wrap(direct_collect.DirectCollector._deliver_file)
    def wrong(original, self, found):
        is_new = state_file.state_name(self.root, found.path) not in self.state.files
        return None if is_new and self.state.sequence else original(self, found)


@violates("R324", "records of agents do not name the session of the parent")
def agents_have_no_session(patch: Patch) -> None:
    @patch.wrap(record.Record.to_json)
    def wrong(original, self):
        return {**original(self), "session": None if self.agent else self.session}


@violates("R324", "agents beside the sessions have no session")
def flat_agents_have_no_session(patch: Patch) -> None:
    @patch.wrap(ingest.read_session_id)
    def wrong(original, data):
        return ""


@violates("R324", "records do not name the project")
def project_is_left_out(patch: Patch) -> None:
    @patch.wrap(record.Record.to_json)
    def wrong(original, self):
        return {**original(self), "project": ""}


@violates("R324", "records do not name the position")
def position_is_left_out(patch: Patch) -> None:
    @patch.wrap(record.Record.to_json)
    def wrong(original, self):
        return {**original(self), "line": 0, "offset": 0}


@violates("R325", "without an archive the state counts characters")
def state_counts_characters(patch: Patch) -> None:
    @patch.wrap(direct_collect.DirectCollector._send_batch)
    def wrong(original, self, file, batch):
        original(self, file, batch)
        data = read_at(file, batch.end, 0)
        point = self.state.files[state_file.state_name(self.root, batch.source.path)]
        point["offset"] = len(data.decode(errors="replace"))
        self.state.save()


@violates("R325", "the state of an archive counts characters")
def archived_state_counts_characters(patch: Patch) -> None:
    @patch.wrap(record.Record.end)
    def wrong(original, self):
        return self.offset + len((self.raw or b"").decode(errors="replace")) + 1


@violates("R327", "what was written while lines were sent is passed over")
def growth_is_passed_over(patch: Patch) -> None:
    @patch.wrap(direct_collect.DirectCollector._send_batch)
    def wrong(original, self, file, batch):
        original(self, file, batch)
        if not batch.source.is_whole:
            self.state.files[state_file.state_name(self.root, batch.source.path)]["offset"] = state_now(file).size
            self.state.save()


@violates("R327", "what was written while a tail was read is passed over")
def tail_passes_over(patch: Patch) -> None:
    @patch.wrap(tail_reader.Tail._read)
    def wrong(original, self, file):
        found = original(self, file)
        self.offset, self._before = file.seek(0, 2), None
        return found
