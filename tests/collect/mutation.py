"""The rules of the collector as text that can be switched off: each row is a rule, where it stands, and what is left of it.

A mutant is a copy of the package under another name, with one piece of text replaced.
"""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import clew.collect

SOURCE = Path(clew.collect.__file__).parent


class Mutation(NamedTuple):
    """`found_by` is the case that fails without the rule."""

    rule: str
    module: str
    old: str
    new: str
    found_by: str


MUTATIONS = (
    Mutation("R2 no links", "discovery", "stat = entry.stat(follow_symlinks=False)", "stat = entry.stat()",
             "follows_no_link"),
    Mutation("R3 all of the state", "collector", "file.state != found.state", "file.state.mtime != found.state.mtime",
             "sees_an_edit_with_the_old_time"),
    Mutation("R3 racy times", "ingest", "return RACY if", "return SETTLED if", "sees_an_edit_within_a_tick"),
    Mutation("R4 small files", "ingest", "if found.state.size == 0 and", "if found.state.size < 1024 and",
             "takes_the_smallest_files"),
    Mutation("R322 empty files", "ingest", "if found.state.size == 0 and", "if False and", "leaves_empty_files_closed"),
    Mutation("R313 unchanged files", "collector", "or file.trust != SETTLED or", "or True or",
             "leaves_unchanged_files_closed"),
    Mutation("R5 not by inode", "collector", "!= file.mark.chain:", "== b'':", "tells_a_moved_file_by_its_content"),
    Mutation("R6 head", "fingerprint", "_seal(key, head) != old.head or ", "", "sees_a_new_beginning"),
    Mutation("R6 tail", "fingerprint", " or _seal(key, tail) != old.tail", "", "sees_a_rewrite_that_grew"),
    Mutation("R6 size", "fingerprint", "if now.size < old.offset:", "if now.size < 0:", "sees_a_truncated_file"),
    Mutation("R6 inode", "fingerprint", "grown = same and", "grown =", "sees_another_file_between_equal_ends"),
    Mutation("R7 same size", "fingerprint", "doubted or not grown or", "doubted or", "sees_an_edit_of_the_same_length"),
    Mutation("R8 scrub", "collector", "doubted = scrub or (", "doubted = False and (", "finds_by_scrubbing_what_growth_hid"),
    Mutation("R8 doubt", "fingerprint", "if (doubted or not", "if (not", "sees_what_changed_during_the_read"),
    Mutation("R8 before retention", "collector", " or (is_expiring and file.scrubbed", " or (False and file.scrubbed",
             "scrubs_before_a_file_is_deleted"),
    Mutation("R8 large files", "collector",
             "doubted = budget > 0 or is_expiring\n                budget -= file.mark.offset",
             "budget -= file.mark.offset\n                doubted = budget > 0 or is_expiring",
             "scrubs_every_file_in_its_turn"),
    Mutation("small files whole", "fingerprint", "or old.offset <= limits.sure", "", "compares_small_files_whole"),
    Mutation("changed while read", "ingest", "if before != after:", "if False:", "sees_what_changed_during_the_read"),
    Mutation("R9 reset first", "ingest", "known.generation if known and not verdict.reason else None",
             "known.generation if known else None", "begins_a_generation_before_its_rows"),
    Mutation("R10 moves", "collector", "file = absent.get(found.state[:2])", "file = None",
             "keeps_a_moved_file_in_its_generation"),
    Mutation("R11 whole scans", "collector", "if seen.missed:", "if False:", "takes_nothing_for_deleted_after_half_a_scan"),
    Mutation("R12 newlines", "ingest", 'part.data.split(b"\\n")[:-1]', "part.data.splitlines()", "cuts_at_newlines_alone"),
    Mutation("R13 whole lines", "line_reader", 'stop = block.rfind(b"\\n") + 1', "stop = len(block)",
             "waits_for_the_end_of_a_line"),
    Mutation("R14 long lines", "line_reader", "held, size = b\"\", limits.block\n            yield line",
             "held, size = b\"\", limits.block", "takes_lines_of_any_length"),
    Mutation("R15 quarantine", "ingest", "bad = troubles(part.data, place)", "bad = []", "puts_damage_in_quarantine"),
    Mutation("R19 one transaction", "archive.archive_writer", "self._occurrences(rows)\n        self.quarantine",
             "self._occurrences(rows)\n        self.close()\n        self.quarantine", "commits_rows_and_offsets_together"),
    Mutation("R19 offsets", "ingest", "self.writer.save_place(generation, place)\n            self.writer.settle()",
             "self.writer.settle()", "commits_rows_and_offsets_together"),
    Mutation("R20 contents once", "archive.archive_writer", "        return None if found is None else int(found[0])",
             "        return None", "keeps_equal_lines_once"),
    Mutation("R21 old generations stay", "archive.archive_writer", "generation = self.connection.last_insert_rowid()\n",
             "generation = self.connection.last_insert_rowid()\n"
             "        self._do('DELETE FROM occurrence WHERE generation < ?', (generation,))\n",
             "begins_a_generation_before_its_rows"),
    Mutation("R24 modes", "archive.archive_schema", "os.O_WRONLY, 0o600", "os.O_WRONLY, 0o644", "is_for_its_owner_alone"),
    Mutation("R25 one collector", "collector_lock", "fcntl.LOCK_EX | fcntl.LOCK_NB", "fcntl.LOCK_SH", "works_alone"),
    Mutation("R30 the oldest first", "discovery", "return file.state.mtime >= expiring, file.priority, file.state.mtime,",
             "return True, file.priority, -file.state.mtime,", "reads_the_oldest_first"),
    Mutation("R26 cursor behind", "sinks.outbox", "sent += self._send(batch)\n                self.cursor.accept(batch)",
             "self.cursor.accept(batch)\n                sent += self._send(batch)",
             "moves_the_cursor_behind_what_was_accepted"),
    Mutation("R26 cursor kept", "sinks.outbox", "sent += self._send(batch)\n                self.cursor.accept(batch)",
             "sent += self._send(batch)\n                return None", "moves_the_cursor_behind_what_was_accepted"),
    Mutation("R28 poison", "sinks.outbox", "if len(batch) == 1:", "if True:", "finds_the_poison_in_a_batch"),
    Mutation("R29 masked", "sinks.record", "lines = policy.lines(", "lines = Policy().lines(", "sends_no_secret"),
    Mutation("R321 stubs", "ingest", "self.writer.make_stub(generation)", "pass", "sends_no_stub_unless_it_goes_on"),
    Mutation("R321 stubs that go on", "archive.archive_writer", "seq = (SELECT max(seq) + 1 FROM occurrence)", "seq = seq",
             "sends_no_stub_unless_it_goes_on"),
    Mutation("last good side file", "ingest", "(not found.path.endswith(\".json\") or _is_json(data))", "True",
             "keeps_the_last_good_side_file"),
)  # fmt: skip


@contextmanager
def mutant(mutation: Mutation, folder: Path) -> Iterator[str]:
    """The name of a package in which the rule is switched off."""
    name = f"mutant_{MUTATIONS.index(mutation)}"
    copy = folder / name
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for path in copy.rglob("*.py"):
        path.write_text(path.read_text(encoding="utf-8").replace("clew.collect", name), encoding="utf-8")
    target = copy / f"{mutation.module.replace('.', '/')}.py"
    text = target.read_text(encoding="utf-8")
    assert text.count(mutation.old) == 1, (
        f"{mutation.rule} stands {text.count(mutation.old)} times in {mutation.module}"
    )
    target.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield name
    finally:
        sys.path.remove(str(folder))
        for module in [m for m in sys.modules if m == name or m.startswith(f"{name}.")]:
            del sys.modules[module]
