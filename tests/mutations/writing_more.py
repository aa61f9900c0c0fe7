"""More mutations of the sections writing, request and edit, and of what lists the content of sessions."""

from __future__ import annotations

import re

from msgspec import structs
from msgspec.structs import replace

from clew.chat.agents import subagents
from clew.chat.store import journal
from clew.chat.turn import tool_calls
from clew.cli import select_session
from clew.cli.read import check_inventory
from clew.conversation import active_path, literal_functions, message_drafts, parent_links, turns
from clew.edit import trim_tools, write_plan
from clew.edit.summary import compress_session
from clew.wire import entry, entry_edit, json_splice
from clew.wire import json_codec as encoding
from tests.mutations import Patch, violates


@violates("R248", "only the first of several calls in a reply is run")
def one_call_is_run(patch: Patch) -> None:
    @patch.wrap(tool_calls.CallRunner._batches)
    def wrong(original, self, calls):
        return original(self, calls[:1])


@violates("R248", "the results of parallel calls all name the first of the calls")
def results_name_the_first_call(patch: Patch) -> None:
    @patch.wrap(tool_calls.CallRunner.run)
    async def wrong(original, self, calls):
        return await original(self, [structs.replace(each, line=calls[0].line) for each in calls])


@violates("R252", "the result of an agent has no totals")
def totals_are_left_out(patch: Patch) -> None:
    @patch.wrap(subagents._result)
    def wrong(original, sent):
        made = original(sent)
        detail = made.detail if isinstance(made.detail, dict) else {}
        return replace(made, detail={name: value for name, value in detail.items() if not name.startswith("total")})


@violates("R252", "the lines of an agent are those of a main conversation")
def agents_are_no_sidechains(patch: Patch) -> None:
    @patch.wrap(journal.write_lines)
    def wrong(original, path, lines, sync):
        return original(path, [{**line, "isSidechain": False} if "uuid" in line else line for line in lines], sync)


@violates("R256", "a resume begins with the first message, before the last compaction")
def compactions_are_ignored(patch: Patch) -> None:
    @patch.wrap(active_path.after_compaction)
    def whole(original, path):
        return path

    @patch.wrap(parent_links.Chain.path_to)
    def wrong(original, self, leaf, history=False):
        return original(self, leaf, True)


@violates("R258", "the duration that the program measured is not used")
def measured_time_is_ignored(patch: Patch) -> None:
    @patch.wrap(turns.Turn.seconds)
    def wrong(original, self):
        return original(structs.replace(self, entries=tuple(e for e in self.entries if e.subtype != "turn_duration")))


@violates("R271", "building a request takes blocks from the entries")
def blocks_are_taken(patch: Patch) -> None:
    @patch.wrap(message_drafts._message_drafts)
    def wrong(original, found, *more):
        yield from original(found, *more)
        if found.message is not None and isinstance(found.message.content, list):
            found.message.content.clear()


@violates("R293", "thinking that stays where something else is cut loses its signature")
def signatures_are_lost(patch: Patch) -> None:
    @patch.wrap(json_splice.join_array)
    def wrong(original, parts):
        return original([re.sub(rb'"signature": ?"[^"]+"', b'"signature":""', each) for each in parts])


@violates("R294", "the prompts of turns that are compressed are shortened")
def prompts_are_shortened(patch: Patch) -> None:
    @patch.wrap(compress_session._change_replies)
    def wrong(original, session, done, *more):
        prompts = {each.turn.prompt.uuid for each in done}
        return tuple(_half(item) if _is_prompt(item, prompts) else item for item in original(session, done, *more))


def _is_prompt(item: entry.Item, prompts: set[str | None]) -> bool:
    return isinstance(item, entry.Entry) and item.uuid in prompts and item.type == "user"


def _half(prompt: entry.Entry) -> entry.Entry:
    return entry_edit.revise(
        prompt, {"message": {"content": encoding.encode(prompt.text[: len(prompt.text) // 2 + 1])}}
    )


@violates("R299", "all lines of a clone have the version of the newest line")
def versions_become_one(patch: Patch) -> None:
    @patch.wrap(write_plan._renamed_lines)
    def wrong(original, items, names):
        newest = max((e.version for e in items if isinstance(e, entry.Entry) and e.version), default="")
        has_version = (isinstance(each, entry.Entry) and bool(each.version) for each in items)
        change = {"version": encoding.encode(newest)}
        pairs = zip(items, has_version, strict=True)
        return original([entry_edit.revise(each, change) if has else each for each, has in pairs], names)


@violates("R302", "a percentage counts only the turns that still have calls, so that each trim removes more")
def each_trim_removes_more(patch: Patch) -> None:
    @patch.wrap(trim_tools._spared_stretches)
    def wrong(original, uses, tools):
        if tools.percent is None:
            return original(uses, tools)
        calling = [i for i, found in enumerate(uses) if found]
        oldest = -int(-len(calling) * tools.percent // 100)
        return original(uses, structs.replace(tools, percent=None)) | set(calling[oldest:])


@violates("R351", "the blocks of a streamed message are those of its first line")
def blocks_are_the_first(patch: Patch) -> None:
    @patch.wrap(literal_functions.deduplicate)
    def wrong(original, entries):
        lines = {each.uuid: each for each in entries}
        return {
            key: replace(each, content_blocks=tuple(lines[(*each.streaming, each.final)[0]].blocks))
            for key, each in original(entries).items()
        }


@violates("R352", "the table ends after the first session")
def one_session_is_counted(patch: Patch) -> None:
    @patch.wrap(select_session.session_files)
    def wrong(original, options):
        return iter(list(original(options))[:1])


@violates("R352", "the total is that of the last session")
def total_is_not_a_sum(patch: Patch) -> None:
    @patch.wrap(check_inventory._total_row)
    def wrong(original, rows):
        return original(rows[-1:])
