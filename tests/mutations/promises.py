"""Mutations that marked tests once did not notice."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from clew.chat.store import journal, journal_lines, pending_prompts
from clew.collect.sinks import state_file
from clew.conversation import titles
from clew.edit import write_plan
from clew.view import rows
from clew.wire import entry as wire_entry
from clew.wire import entry_types, rename_ids, tree_walk
from tests.mutations import Patch, violates


@violates("R012", "history.jsonl is searched as if it were a transcript")
def history_is_searched(patch: Patch) -> None:
    @patch.wrap(tree_walk.iter_transcripts)
    def wrong(original, root, missed=None, outputs=None, known=None):
        path = os.path.join(root, "history.jsonl")
        if not os.path.exists(path):
            return original(root, missed, outputs, known)
        stat = Path(path).stat()
        session = "5e551011-aaaa-4bbb-8ccc-00000000000f"
        found = tree_walk.TranscriptFile(path, "history", session, "", stat.st_size, stat.st_mtime_ns, stat.st_ino)
        return [*original(root, missed, outputs, known), found]


@violates("R040", "the first prompt stands in the index at any length")
def first_prompt_is_whole(patch: Patch) -> None:
    patch.set(titles, "MAX_LENGTH", 1 << 30)


@violates("R076", "a boundary is a notice like any other")
def boundary_is_a_notice(patch: Patch) -> None:
    patch.remove(entry_types._BY_SUBTYPE, "compact_boundary")


@violates("R076", "a duration is a notice like any other")
def duration_is_a_notice(patch: Patch) -> None:
    patch.remove(entry_types._BY_SUBTYPE, "turn_duration")


@violates("R076", "a local command is a notice like any other")
def command_is_a_notice(patch: Patch) -> None:
    patch.remove(entry_types._BY_SUBTYPE, "local_command")


@violates("R076", "the fields of boundaries and durations are not read")
def subtypes_have_no_fields(patch: Patch) -> None:
    @patch.wrap(entry_types.EntryDetail.of)
    def wrong(original, cls, found):
        made = original(cls, found)
        return cls() if found.subtype in ("compact_boundary", "turn_duration") else made


@violates("R076", "a local command is printed with its tags")
def commands_are_printed_raw(patch: Patch) -> None:
    patch.item(rows._NOTICES, "local_command", rows._notice_text)


@violates("R076", "an entry of an unknown subtype is not typed")
def unknown_subtypes_have_no_detail(patch: Patch) -> None:
    @patch.wrap(entry_types.detail)
    def wrong(original, found):
        return original(found) if found.type != "system" or found.subtype in entry_types._BY_SUBTYPE else None


@violates("R101", "only calls whose id begins with toolu_ are calls")
def only_one_form_of_id(patch: Patch) -> None:
    @patch.wrap(wire_entry.BaseEntry.uses)
    def wrong(original, self):
        return [use for use in original(self) if (use.id or "").startswith("toolu_")]


@violates("R243", "the uuids of entries hold the time and the machine")
def ids_are_not_random(patch: Patch) -> None:
    @patch.wrap(journal.new_id)
    def wrong(original):
        return str(uuid.uuid1())


@violates("R243", "entries do not name the one before them")
def entries_do_not_chain(patch: Patch) -> None:
    @patch.wrap(journal.Journal.add)
    def wrong(original, self, body, **options):
        return original(self, {**body, "parentUuid": None}, **options)


@violates("R251", "the duration of a turn is always 0")
def duration_is_nothing(patch: Patch) -> None:
    @patch.wrap(journal_lines.turn_duration)
    def wrong(original, milliseconds, messages):
        return original(0, messages)


@violates("R253", "what is taken back leaves no line")
def removal_is_not_written(patch: Patch) -> None:
    @patch.wrap(pending_prompts.PromptQueue._write)
    def wrong(original, self, operation, content=None):
        return None if operation == "remove" else original(self, operation, content)


@violates("R283", "a clone's summary names the leaf of its source")
def leaf_is_that_of_the_source(patch: Patch) -> None:
    patch.set(rename_ids, "UUID_FIELDS", tuple(name for name in rename_ids.UUID_FIELDS if name != "leafUuid"))


@violates("R301", "what was written is not read back")
def nothing_is_read_back(patch: Patch) -> None:
    @patch.wrap(write_plan._read_back)
    def wrong(original, *args):
        return iter(())


@violates("R301", "the lines that are made are counted, not compared with the plan")
def lines_are_not_compared(patch: Patch) -> None:
    @patch.wrap(rename_ids.is_renamed)
    def wrong(original, *args):
        return True


@violates("R316", "files below the home folder have their full names")
def names_are_absolute(patch: Patch) -> None:
    @patch.wrap(state_file.state_name)
    def wrong(original, root, path):
        return os.path.join(root, path)
