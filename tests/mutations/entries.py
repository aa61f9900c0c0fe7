"""Mutations of the sections parsing, entries and blocks."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from typing import Any

from msgspec.structs import fields, force_setattr, replace
from msgspec.structs import replace as changed

from clew.conversation import file_history, prompt_queue
from clew.facts import inventory, tool_catalog
from clew.wire import content_block, entry, entry_types, line
from tests.mutations import Patch, violates


def change_entries(patch: Patch, change: Callable[[entry.Entry], None]) -> None:
    """Change every entry when it is read."""

    @patch.wrap(entry.parse_line)
    def one(original, *args):
        found = original(*args)
        if isinstance(found, entry.Entry):
            change(found)
        return found

    @patch.wrap(entry.read_piece)
    def many(original, *args):
        found = original(*args)
        for item in found:
            if isinstance(item, entry.Entry):
                change(item)
        return found


def lose_field(patch: Patch, name: str, value: Any = None) -> None:
    change_entries(patch, lambda found: force_setattr(found, name, value))


def change_detail(patch: Patch, shape: type[entry_types.EntryDetail], **values: Any) -> None:
    """Change the typed view of one kind of entry."""

    @patch.wrap(entry_types.EntryDetail.of)
    def wrong(original, cls, found):
        made = original(cls, found)
        return replace(made, **values) if cls is shape else made


@violates("R050", "a line separator of Unicode ends a line too")
def other_separators_end_lines(patch: Patch) -> None:
    @patch.wrap(line.lines)
    def wrong(original, source, *args, **options):
        source = re.sub(b"\xe2\x80\xa8|\x0b|\x0c|\r", b"\n", source) if isinstance(source, bytes) else source
        return original(source, *args, **options)


@violates("R051", "nothing after a malformed line is read")
def damage_ends_the_file(patch: Patch) -> None:
    @patch.wrap(entry.read)
    def wrong(original, *args, **options):
        for item in original(*args, **options):
            yield item
            if isinstance(item, entry.Damaged):
                return


@violates("R051", "a malformed line has the number of the one before")
def damage_has_the_wrong_number(patch: Patch) -> None:
    @patch.wrap(entry.salvage_line)
    def wrong(original, found, reason):
        return original(replace(found, number=found.number - 1), reason)


@violates("R052", "an unknown type becomes a system entry")
def unknown_types_are_renamed(patch: Patch) -> None:
    known = {*entry_types._BY_TYPE, "user", "assistant"}
    change_entries(patch, lambda found: None if found.type in known else force_setattr(found, "type", "system"))


@violates("R053", "unknown fields are dropped from an entry's data")
def unknown_fields_are_dropped(patch: Patch) -> None:
    known = {each.encode_name for each in fields(entry.Entry)}

    @patch.wrap(entry.Entry.data)
    def wrong(original, self):
        return {key: value for key, value in original(self).items() if key in known}


@violates("R055", "all entries have the version of the last")
@violates("R056", "entries are counted for the last version only")
def one_version_for_all(patch: Patch) -> None:
    change_entries(patch, lambda found: force_setattr(found, "version", "2.0.42"))


@violates("R057", "a line with bytes that are not UTF-8 is lost")
def bad_bytes_lose_the_line(patch: Patch) -> None:
    @patch.wrap(entry._parse_slowly)
    def wrong(original, found):
        return entry.Blank(found)


@violates("R060", "summaries have no typed view")
def summaries_are_untyped(patch: Patch) -> None:
    patch.remove(entry_types._BY_TYPE, "summary")


@violates("R061", "progress has no typed view")
def progress_is_untyped(patch: Patch) -> None:
    patch.remove(entry_types._BY_TYPE, "progress")


@violates("R061", "links to pull requests have no typed view")
def pull_requests_are_untyped(patch: Patch) -> None:
    patch.remove(entry_types._BY_TYPE, "pr-link")


@violates("R062", "the branch of an entry is lost")
def branch_is_lost(patch: Patch) -> None:
    lose_field(patch, "git_branch")


@violates("R063", "the permission mode of a prompt is lost")
def mode_is_lost(patch: Patch) -> None:
    lose_field(patch, "permission_mode")


@violates("R063", "the entry that called a tool is lost")
def caller_is_lost(patch: Patch) -> None:
    lose_field(patch, "source_tool_assistant")


@violates("R064", "an entry without userType has no uuid")
def user_type_is_required(patch: Patch) -> None:
    change_entries(patch, lambda found: None if found.user_type else force_setattr(found, "uuid", None))


@violates("R065", "a queue operation without uuid says nothing")
def queue_needs_a_uuid(patch: Patch) -> None:
    @patch.wrap(entry_types.EntryDetail.of)
    def wrong(original, cls, found):
        made = original(cls, found)
        return replace(made, operation="") if cls is entry_types.QueueOperation and not found.uuid else made


@violates("R066", "only enqueue and dequeue are operations")
def few_operations(patch: Patch) -> None:
    @patch.wrap(entry_types.EntryDetail.of)
    def wrong(original, cls, found):
        made = original(cls, found)
        known = cls is not entry_types.QueueOperation or made.operation in ("enqueue", "dequeue")
        return made if known else replace(made, operation="")


@violates("R067", "what leaves the queue is the newest message")
def queue_is_a_stack(patch: Patch) -> None:
    @patch.wrap(prompt_queue._take_waiting)
    def wrong(original, queue, messages, operation):
        return original(deque(reversed(queue)), messages, operation)


@violates("R067", "what matches no message is not listed")
def strays_are_lost(patch: Patch) -> None:
    @patch.wrap(prompt_queue.queue_timeline)
    def wrong(original, found):
        return replace(original(found), strays=())


@violates("R068", "a snapshot does not name its message")
def snapshot_names_no_message(patch: Patch) -> None:
    change_detail(patch, entry_types.FileHistorySnapshot, message_id=None)


@violates("R069", "the version of a backup is lost")
def backup_has_no_version(patch: Patch) -> None:
    @patch.wrap(entry_types._backup)
    def wrong(original, value):
        return replace(original(value), version=None)


@violates("R070", "a string backup is the name of a file")
def string_is_a_name(patch: Patch) -> None:
    @patch.wrap(entry_types._backup)
    def wrong(original, value):
        return entry_types.Backup(name=value) if isinstance(value, str) else original(value)


@violates("R071", "an empty snapshot tracks the folder itself")
def empty_snapshot_tracks_something(patch: Patch) -> None:
    @patch.wrap(entry_types.FileHistorySnapshot.backups)
    def wrong(original, self):
        return original(self) or {".": entry_types.Backup()}


@violates("R072", "every snapshot is a first one")
def updates_are_first_snapshots(patch: Patch) -> None:
    change_detail(patch, entry_types.FileHistorySnapshot, is_update=False)


@violates("R073", "the files of a message are those of its first snapshot")
def updates_change_nothing(patch: Patch) -> None:
    @patch.wrap(file_history._add_snapshot)
    def wrong(original, found, noted):
        message = noted.inner_message_id or noted.message_id
        return None if message in found else original(found, noted)


@violates("R074", "a summary does not name its leaf")
@violates("R075", "a summary names no leaf if that is elsewhere")
def summary_names_no_leaf(patch: Patch) -> None:
    change_detail(patch, entry_types.SummaryDetail, leaf=None)


@violates("R077", "a trigger that is not known is called auto")
def triggers_are_auto(patch: Patch) -> None:
    @patch.wrap(entry_types.Compaction.cause)
    def wrong(original, self):
        return original(self) if self.trigger == "manual" else "auto"


@violates("R078", "durations of turns are seconds")
def durations_are_seconds(patch: Patch) -> None:
    @patch.wrap(entry_types.EntryDetail.of)
    def wrong(original, cls, found):
        made = original(cls, found)
        return replace(made, duration_ms=made.duration_ms // 1000) if cls is entry_types.TurnDuration else made


@violates("R079", "the arguments of a command are its message")
def arguments_are_the_message(patch: Patch) -> None:
    @patch.wrap(entry_types.LocalCommand.arguments)
    def wrong(original, self):
        return self.message


@violates("R080", "the description of a waiting task is lost")
def task_is_not_described(patch: Patch) -> None:
    change_detail(patch, entry_types.ProgressDetail, task_description="")


@violates("R080", "progress of a command has no output")
def progress_has_no_output(patch: Patch) -> None:
    change_detail(patch, entry_types.ProgressDetail, output="", full_output="")


@violates("R081", "progress is linked by its own id")
def progress_has_its_own_id(patch: Patch) -> None:
    change_entries(patch, lambda found: force_setattr(found, "parent_tool_use", found.tool_use_id))


@violates("R082", "a pull request has no repository")
def pull_request_has_no_repository(patch: Patch) -> None:
    change_detail(patch, entry_types.PrLink, repository="")


@violates("R083", "an error of the API is an answer")
def api_errors_are_answers(patch: Patch) -> None:
    lose_field(patch, "is_api_error", False)


@violates("R085", "an unknown permission mode is the default")
def modes_are_few(patch: Patch) -> None:
    known = ("default", "acceptEdits", "plan", "bypassPermissions", None)
    change_entries(
        patch,
        lambda found: None if found.permission_mode in known else force_setattr(found, "permission_mode", "default"),
    )


@violates("R086", "the todos of a prompt are lost")
def todos_are_lost(patch: Patch) -> None:
    lose_field(patch, "todos", content_block.EMPTY_RAW)


@violates("R087", "lines that are not messages are not counted")
def inventory_counts_messages(patch: Patch) -> None:
    @patch.wrap(inventory.inventory)
    def wrong(original, session):
        made = original(session)
        return changed(made, types={name: made.types[name] for name in made.types if name in ("user", "assistant")})


@violates("R090", "a string has no blocks")
def strings_have_no_blocks(patch: Patch) -> None:
    @patch.wrap(content_block.Message.blocks)
    def wrong(original, self):
        return [] if isinstance(self.content, str) else original(self)


@violates("R091", "thinking is part of the text")
def thinking_is_text(patch: Patch) -> None:
    @patch.wrap(content_block.Message.text)
    def wrong(original, self):
        if isinstance(self.content, str):
            return self.content
        return "\n".join(filter(None, ((b.thinking or b.text) for b in self.content or ())))


@violates("R092", "the input of a call is lost")
def calls_have_no_input(patch: Patch) -> None:
    @patch.wrap(content_block.Message.blocks)
    def wrong(original, self):
        return [replace(found, input=None) for found in original(self)]


@violates("R093", "a block of an unknown type is dropped")
def unknown_blocks_are_dropped(patch: Patch) -> None:
    known = ("text", "thinking", "redacted_thinking", "tool_use", "tool_result", "image", "document")

    @patch.wrap(content_block.Message.blocks)
    def wrong(original, self):
        return [found for found in original(self) if found.type in known]


@violates("R100", "a result that is a list has no text")
def lists_have_no_text(patch: Patch) -> None:
    @patch.wrap(content_block.result_text)
    def wrong(original, content):
        return "" if isinstance(content, list) else original(content)


@violates("R102", "signatures are cut")
def signatures_are_cut(patch: Patch) -> None:
    @patch.wrap(content_block.Message.blocks)
    def wrong(original, self):
        return [replace(found, signature=(found.signature or "")[:8]) for found in original(self)]


@violates("R103", "a missing is_error is a failure")
def missing_is_failure(patch: Patch) -> None:
    @patch.wrap(entry.BaseEntry.failed)
    def wrong(original, self, result, tool=""):
        return True if result.is_error is None else original(self, result, tool)


@violates("R108", "only is_error marks a failure")
def records_mark_nothing(patch: Patch) -> None:
    @patch.wrap(entry.BaseEntry.failed)
    def wrong(original, self, result, tool=""):
        return bool(result.is_error)


@violates("R112", "WebSearch is not a known tool")
@violates("R113", "the inputs of a tool are not known")
def tool_is_unknown(patch: Patch) -> None:
    patch.remove(tool_catalog.TOOLS, "WebSearch")
