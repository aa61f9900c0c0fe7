"""The rules of the collector, each with a run-time patch that switches it off and the case that then fails.

A mutation refers to objects of `clew.collect`, not to pieces of its source, so that mypy sees a rename.
`tests.mutations` says how a patch works.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from clew.collect import collector, discovery, fingerprint, ingest, line_reader, prepared_lines
from clew.collect.archive import archive_schema, known_files
from clew.collect.archive.archive_writer import RACY, SETTLED, ArchiveWriter
from clew.collect.archive.content_writer import ContentWriter
from clew.collect.collector import Collector
from clew.collect.ingest import FileIngester
from clew.collect.line_reader import UnfinishedLine
from clew.collect.masking import Policy
from clew.collect.prepared_lines import LinePreparer
from clew.collect.safe_open import open_source, read_at
from clew.collect.sinks import outbox, record
from clew.errors import StoreError
from clew.system import file_lock
from tests.collect import cases
from tests.collect.cases import Make
from tests.mutations.patch import Patch


class Mutation(NamedTuple):
    """`found_by` is the case that fails when `apply` has switched the rule off."""

    rule: str
    apply: Callable[[Patch], None]
    found_by: Callable[[Make], None]


MUTATIONS: list[Mutation] = []


def switches_off(rule: str, found_by: Callable[[Make], None]) -> Callable[[Callable[[Patch], None]], None]:
    """Register a patch for a rule."""

    def register(apply: Callable[[Patch], None]) -> None:
        MUTATIONS.append(Mutation(rule, apply, found_by))

    return register


# -- discovery


class _FollowedEntry:
    """A directory entry whose metadata is that of the link target."""

    def __init__(self, entry: os.DirEntry[str]) -> None:
        self.name = entry.name
        self.stat = lambda follow_symlinks: entry.stat()


@switches_off("R2 no links", cases.follows_no_link)
def links_are_followed(patch: Patch) -> None:
    @patch.wrap(discovery._add_entry)
    def wrong(original, entry, base, names, listing):
        return original(_FollowedEntry(entry), base, names, listing)


@switches_off("R30 the oldest first", cases.reads_the_oldest_first)
def the_newest_file_is_first(patch: Patch) -> None:
    @patch.wrap(discovery.in_reading_order)
    def wrong(original, sources, expiring):
        return sorted(sources, key=lambda file: (file.priority, -file.state.mtime, file.path))


@switches_off("R11 whole scans", cases.takes_nothing_for_deleted_after_half_a_scan)
def an_incomplete_scan_proves_deletions(patch: Patch) -> None:
    @patch.wrap(Collector._record_deleted)
    def wrong(original, self, listing, *rest):
        return original(self, listing._replace(missed=[]), *rest)


# -- which files are read


@switches_off("R3 all of the state", cases.sees_an_edit_with_the_old_time)
def only_the_time_is_compared(patch: Patch) -> None:
    @patch.wrap(collector._is_unchanged)
    def wrong(original, file, source):
        return original(file._replace(state=source.state), source) and file.state.mtime == source.state.mtime


@switches_off("R3 racy times", cases.sees_an_edit_within_a_tick)
def racy_times_are_trusted(patch: Patch) -> None:
    @patch.wrap(FileIngester._trust)
    def wrong(original, self, before, after):
        trust = original(self, before, after)
        return SETTLED if trust == RACY else trust


@switches_off("changed while read", cases.sees_what_changed_during_the_read)
def changes_during_the_read_are_missed(patch: Patch) -> None:
    @patch.wrap(FileIngester._trust)
    def wrong(original, self, before, after):
        return original(self, before, before)


@switches_off("R4 small files", cases.takes_the_smallest_files)
def small_files_count_as_empty(patch: Patch) -> None:
    @patch.wrap(FileIngester.ingest)
    def wrong(original, self, source, known, *, must_verify=False):
        if source.state.size < 1024:
            source = source._replace(state=source.state._replace(size=0))
        return original(self, source, known, must_verify=must_verify)


@switches_off("R322 empty files", cases.leaves_empty_files_closed)
def empty_files_are_opened(patch: Patch) -> None:
    @patch.wrap(FileIngester.ingest)
    def wrong(original, self, source, known, *, must_verify=False):
        if source.state.size == 0:
            source = source._replace(state=source.state._replace(size=1))
        return original(self, source, known, must_verify=must_verify)


@switches_off("R313 unchanged files", cases.leaves_unchanged_files_closed)
def unchanged_files_are_opened(patch: Patch) -> None:
    @patch.wrap(known_files.known_files)
    def wrong(original, connection, root):
        return {path: file._replace(trust=RACY) for path, file in original(connection, root).items()}


@switches_off("R5 not by inode", cases.tells_a_moved_file_by_its_content)
def a_moved_file_is_known_by_its_inode(patch: Patch) -> None:
    @patch.wrap(Collector._find_moved)
    def wrong(original, self, source, missing, known, ingester):
        file = missing.get(source.state[:2])
        if file is not None:
            with open_source(self.root, source) as opened:
                chain = fingerprint.compute_chain(opened, file.mark.offset, self.key, self.limits)
            missing[source.state[:2]] = file._replace(mark=file.mark._replace(chain=chain))
        return original(self, source, missing, known, ingester)


@switches_off("R10 moves", cases.keeps_a_moved_file_in_its_generation)
def moves_are_not_followed(patch: Patch) -> None:
    @patch.wrap(Collector._find_moved)
    def wrong(original, self, source, missing, known, ingester):
        return None


# -- what was read is compared


@switches_off("R6 head", cases.sees_a_new_beginning)
def the_head_is_not_compared(patch: Patch) -> None:
    @patch.wrap(fingerprint._verify_ends)
    def wrong(original, file, stored, key, window):
        head = read_at(file, min(window, stored.offset), 0)
        return original(file, stored._replace(head=fingerprint._keyed_hash(key, head)), key, window)


@switches_off("R6 tail", cases.sees_a_rewrite_that_grew)
def the_tail_is_not_compared(patch: Patch) -> None:
    @patch.wrap(fingerprint._verify_ends)
    def wrong(original, file, stored, key, window):
        length = min(window, stored.offset)
        tail = read_at(file, length, stored.offset - length)
        return original(file, stored._replace(tail=fingerprint._keyed_hash(key, tail)), key, window)


@switches_off("R6 size", cases.sees_a_truncated_file)
def a_shorter_file_is_not_truncated(patch: Patch) -> None:
    @patch.wrap(fingerprint.verify_prefix)
    def wrong(original, file, now, before, stored, key, limits, *, must_verify):
        longer = now._replace(size=max(now.size, stored.offset))
        return original(file, longer, before, stored, key, limits, must_verify=must_verify)


@switches_off("R6 inode", cases.sees_another_file_between_equal_ends)
def another_inode_counts_as_the_same(patch: Patch) -> None:
    @patch.wrap(fingerprint.verify_prefix)
    def wrong(original, file, now, before, stored, key, limits, *, must_verify):
        same = now._replace(dev=before.dev, ino=before.ino)
        return original(file, same, before, stored, key, limits, must_verify=must_verify)


@switches_off("R7 same size", cases.sees_an_edit_of_the_same_length)
def every_change_counts_as_growth(patch: Patch) -> None:
    @patch.wrap(fingerprint.verify_prefix)
    def wrong(original, file, now, before, stored, key, limits, *, must_verify):
        return original(file, now, before._replace(size=-1), stored, key, limits, must_verify=must_verify)


@switches_off("R8 doubt", cases.sees_what_changed_during_the_read)
def verification_is_not_forced(patch: Patch) -> None:
    @patch.wrap(fingerprint.verify_prefix)
    def wrong(original, file, now, before, stored, key, limits, *, must_verify):
        return original(file, now, before, stored, key, limits, must_verify=False)


@switches_off("small files whole", cases.compares_small_files_whole)
def small_files_are_compared_at_their_ends(patch: Patch) -> None:
    @patch.wrap(fingerprint.verify_prefix)
    def wrong(original, file, now, before, stored, key, limits, *, must_verify):
        strict = structs.replace(limits, verify_below=-1)
        return original(file, now, before, stored, key, strict, must_verify=must_verify)


@switches_off("R8 scrub", cases.finds_by_scrubbing_what_growth_hid)
def nothing_is_scrubbed(patch: Patch) -> None:
    @patch.wrap(Collector.poll)
    def poll(original, self, *, scrub=False, progress=None):
        return original(self, scrub=False, progress=progress)

    @patch.wrap(Collector._is_verification_due)
    def wrong(original, self, file, source, now, expiry_time, is_expiring):
        return False


@switches_off("R8 before retention", cases.scrubs_before_a_file_is_deleted)
def expiring_files_are_not_scrubbed(patch: Patch) -> None:
    @patch.wrap(Collector._is_verification_due)
    def wrong(original, self, file, source, now, expiry_time, is_expiring):
        return original(self, file, source, now, expiry_time, False)


@switches_off("R8 large files", cases.scrubs_every_file_in_its_turn)
def files_larger_than_the_budget_are_not_scrubbed(patch: Patch) -> None:
    @patch.wrap(Collector._is_verification_due)
    def wrong(original, self, file, source, now, expiry_time, is_expiring):
        is_due = original(self, file, source, now, expiry_time, is_expiring)
        return is_due and (is_expiring or file.mark.offset < self.limits.scrub_budget)


# -- lines and documents


@switches_off("R9 reset first", cases.begins_a_generation_before_its_rows)
def a_reset_keeps_the_generation(patch: Patch) -> None:
    @patch.wrap(FileIngester._verdict)
    def wrong(original, self, file, state, known, must_verify):
        return original(self, file, state, known, must_verify)._replace(reason="")


class _SplitAtAnyLineEnd(bytes):
    """Bytes that split at every line ending."""

    def split(self, *_: object) -> list[bytes]:
        return [*self.splitlines(), b""]


@switches_off("R12 newlines", cases.cuts_at_newlines_alone)
def lines_end_at_carriage_returns_too(patch: Patch) -> None:
    @patch.wrap(LinePreparer.prepare)
    def wrong(original, self, data, offset):
        return original(self, _SplitAtAnyLineEnd(data), offset)


@switches_off("R13 whole lines", cases.waits_for_the_end_of_a_line)
def unfinished_lines_are_ingested(patch: Patch) -> None:
    @patch.wrap(line_reader.read_chunk)
    def wrong(original, file, base, start, limits):
        chunk = original(file, base, start, limits)
        if not chunk.unfinished or not chunk.unfinished.data:
            return chunk
        return chunk._replace(data=chunk.data + chunk.unfinished.data + b"\n", unfinished=UnfinishedLine(b"", 0))


@switches_off("R14 long lines", cases.takes_lines_of_any_length)
def long_lines_are_skipped(patch: Patch) -> None:
    @patch.wrap(line_reader.read_chunk)
    def wrong(original, file, base, start, limits):
        return original(file, base, start, limits)._replace(long=None)


@switches_off("R15 quarantine", cases.puts_damage_in_quarantine)
def damage_is_not_noticed(patch: Patch) -> None:
    @patch.wrap(prepared_lines.find_damage)
    def wrong(original, data, offset):
        return []


@switches_off("last good side file", cases.keeps_the_last_good_side_file)
def half_a_document_is_stored(patch: Patch) -> None:
    @patch.wrap(ingest._is_json)
    def wrong(original, data):
        return True


# -- the archive


@switches_off("R19 one transaction", cases.commits_rows_and_offsets_together)
def rows_are_committed_before_offsets(patch: Patch) -> None:
    @patch.wrap(ArchiveWriter.add_lines)
    def wrong(original, self, generation, position, lines, sums):
        original(self, generation, position, lines, sums)
        self.close()


@switches_off("R19 offsets", cases.commits_rows_and_offsets_together)
def offsets_are_not_saved(patch: Patch) -> None:
    @patch.wrap(ArchiveWriter.save_position)
    def wrong(original, self, generation, position):
        return None


@switches_off("R20 contents once", cases.keeps_equal_lines_once)
def contents_are_not_shared(patch: Patch) -> None:
    @patch.wrap(ContentWriter._store_unknown)
    def wrong(original, self, group, id, pack):
        changed = group._replace(hashes=[hash[::-1] for hash in group.hashes])
        return dict(zip(group.hashes, original(self, changed, id, pack).values(), strict=True))


@switches_off("R21 old generations stay", cases.begins_a_generation_before_its_rows)
def a_reset_deletes_old_generations(patch: Patch) -> None:
    @patch.wrap(ArchiveWriter.begin_generation)
    def wrong(original, self, file, number, reason, now, reserved):
        generation = original(self, file, number, reason, now, reserved)
        self._execute("DELETE FROM occurrence WHERE generation < ?", (generation,))
        return generation


@switches_off("R24 modes", cases.is_for_its_owner_alone)
def files_are_readable_by_others(patch: Patch) -> None:
    @patch.wrap(archive_schema.create_private)
    def wrong(original, path):
        original(path)
        Path(path).chmod(0o644)


@switches_off("R25 one collector", cases.works_alone)
def the_lock_is_shared(patch: Patch) -> None:
    @patch.wrap(file_lock.lock_exclusively)
    def wrong(original, file):
        return None


@switches_off("R321 stubs", cases.sends_no_stub_unless_it_goes_on)
def stubs_are_delivered(patch: Patch) -> None:
    @patch.wrap(ArchiveWriter.mark_stub)
    def wrong(original, self, generation):
        return None


@switches_off("R321 stubs that go on", cases.sends_no_stub_unless_it_goes_on)
def a_former_stub_keeps_its_number(patch: Patch) -> None:
    @patch.wrap(ArchiveWriter.unmark_stub)
    def wrong(original, self, generation):
        self._execute("UPDATE generation SET is_stub = 0 WHERE id = ?", (generation,))


# -- sinks


@switches_off("R26 cursor behind", cases.moves_the_cursor_behind_what_was_accepted)
def the_cursor_moves_before_the_batch_is_sent(patch: Patch) -> None:
    @patch.wrap(outbox.Delivery._send_batch)
    def wrong(original, self, batch):
        self.cursor.accept(batch)
        return original(self, batch)


@switches_off("R26 cursor kept", cases.moves_the_cursor_behind_what_was_accepted)
def the_cursor_does_not_move(patch: Patch) -> None:
    @patch.wrap(outbox.SequenceCursor.accept)
    def accept(original, self, batch):
        return None

    @patch.wrap(outbox.Delivery.run)
    def wrong(original, self, now, is_enough=lambda: False):
        return original(self, now, lambda: True)  # once: the next batch would be the same


@switches_off("R28 poison", cases.finds_the_poison_in_a_batch)
def a_batch_with_poison_is_dropped(patch: Patch) -> None:
    @patch.wrap(outbox.Delivery._send_batch)
    def wrong(original, self, batch):
        try:
            self.sink.write(batch)
        except StoreError as error:
            if error.kind != outbox.POISON:
                raise
            self._reject(batch[0], str(error))
            return 0
        return len(batch)


@switches_off("R29 masked", cases.sends_no_secret)
def secrets_are_sent(patch: Patch) -> None:
    @patch.wrap(record.read_records)
    def wrong(original, connection, host, rows, policy):
        return original(connection, host, rows, Policy())
