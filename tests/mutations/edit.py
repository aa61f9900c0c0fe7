"""Mutations of the sections edit, history and overall."""

from __future__ import annotations

from msgspec import structs
from msgspec.structs import replace

from clew.edit import plan_report, relink, removals, strip, trim_tools, write_plan
from clew.edit.summary import age_levels, compact_boundary, compress_turn
from clew.wire import entry, entry_edit, layout, prompt_history, rename_ids, timestamps
from tests.mutations import Patch, violates


@violates("R280", "entries of a clone keep the id of their session")
def session_id_stays(patch: Patch) -> None:
    @patch.wrap(write_plan._names)
    def wrong(original, plan, *args):
        return replace(original(plan, *args), session=plan.source.id)


@violates("R281", "entries of a clone keep their uuids")
def uuids_stay(patch: Patch) -> None:
    @patch.wrap(rename_ids.new_uuid)
    def wrong(original, session, old):
        return old


@violates("R282", "the snapshots of a clone name the messages of its source")
def snapshots_stay(patch: Patch) -> None:
    patch.set(rename_ids, "UUID_FIELDS", tuple(name for name in rename_ids.UUID_FIELDS if name != "messageId"))


@violates("R284", "the callers of results stay those of the source")
def callers_stay(patch: Patch) -> None:
    patch.set(
        rename_ids, "UUID_FIELDS", tuple(name for name in rename_ids.UUID_FIELDS if name != "sourceToolAssistantUUID")
    )


@violates("R285", "writing a copy touches its source")
def source_is_touched(patch: Patch) -> None:
    @patch.wrap(write_plan.write_plan)
    def wrong(original, plan, **options):
        made = original(plan, **options)
        path = plan.source.path
        path.write_bytes(path.read_bytes() + b"\n")
        return made


@violates("R286", "a clone lies in a folder of its own")
def clone_lies_elsewhere(patch: Patch) -> None:
    @patch.wrap(write_plan._target_folder)
    def wrong(original, plan, file):
        return original(plan, file).with_name("-clones")


@violates("R287", "results of removed calls stay")
def results_stay(patch: Patch) -> None:
    @patch.wrap(trim_tools._call_blocks)
    def wrong(original, found, chosen):
        return [at for at in original(found, chosen) if found.blocks[at].type != "tool_result"]


@violates("R288", "an entry that lost a block is removed with the others")
def others_are_removed(patch: Patch) -> None:
    @patch.wrap(removals._emptied_entries)
    def wrong(original, session, lost):
        return original(session, lost) | set(lost)


@violates("R289", "entries hang below what was removed")
def parents_dangle(patch: Patch) -> None:
    @patch.wrap(relink._Remaining.relink)
    def wrong(original, self, found):
        return found


@violates("R290", "snapshots of removed messages stay")
def snapshots_of_removed_stay(patch: Patch) -> None:
    @patch.wrap(relink._Remaining.relink)
    def wrong(original, self, found):
        made = original(self, found)
        return found if made is None and found.type == "file-history-snapshot" else made


@violates("R292", "thinking stays")
def thinking_stays(patch: Patch) -> None:
    @patch.wrap(strip.cut_thinking)
    def wrong(original, session):
        return removals.Removals()


@violates("R295", "recent replies are summarised too")
def all_is_summarised(patch: Patch) -> None:
    @patch.wrap(age_levels.turn_levels)
    def wrong(original, bands, count):
        made = original(bands, count)
        return [made[0]] * len(made)


@violates("R296", "calls go with their results")
def calls_go(patch: Patch) -> None:
    @patch.wrap(compress_turn.compress_task)
    def wrong(original, turn, level, tools):
        return original(turn, level, "drop")


@violates("R291", "calls without a result are left")
def calls_stay(patch: Patch) -> None:
    @patch.wrap(trim_tools._call_blocks)
    def wrong(original, found, chosen):
        return [at for at in original(found, chosen) if found.blocks[at].type != "tool_use"]


@violates("R297", "what marks a compression is a notice and no boundary")
def no_boundary(patch: Patch) -> None:
    @patch.wrap(compact_boundary.make_boundary)
    def wrong(original, *args):
        return entry_edit.new_entry({**original(*args).data, "subtype": "informational"})


@violates("R298", "a boundary does not name the last entry before it")
def boundary_names_nothing(patch: Patch) -> None:
    @patch.wrap(compact_boundary.make_boundary)
    def wrong(original, session, like, moment, last, kind):
        return original(session, like, moment, None, kind)


@violates("R300", "a report does not count thinking")
def thinking_is_not_counted(patch: Patch) -> None:
    @patch.wrap(plan_report.measure_session)
    def wrong(original, *args):
        return structs.replace(original(*args), thinking=0)


@violates("R303", "entries of an unknown type are dropped")
def unknown_entries_are_dropped(patch: Patch) -> None:
    @patch.wrap(write_plan._renamed_lines)
    def wrong(original, items, names):
        known = ("user", "assistant", "system", "summary", "file-history-snapshot", "queue-operation", "progress")
        return original([i for i in items if not isinstance(i, entry.Entry) or i.type in known], names)


@violates("R335", "a time in the history is in seconds")
@violates("R336", "prompts have the dates of another year")
def times_are_seconds(patch: Patch) -> None:
    @patch.wrap(prompt_history._prompt)
    def wrong(original, value, found):
        moment = value.get("timestamp")
        moment = moment / 1000 if isinstance(moment, int | float) else moment
        return original({**value, "timestamp": moment}, found)


@violates("R350", "sessions come in any order")
def order_is_reversed(patch: Patch) -> None:
    @patch.wrap(layout._list_folder)
    def wrong(original, folder):
        return original(folder)[::-1]


@violates("R348", "the offset of a time is ignored")
def offsets_do_not_count(patch: Patch) -> None:
    @patch.wrap(timestamps.parse_timestamp)
    def wrong(original, value):
        return original(value[:19] + "Z" if isinstance(value, str) and value[10:11] == "T" else value)
