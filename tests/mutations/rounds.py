"""Mutations of rounds, kinds of input, and the functions of early descriptions of the format."""

from __future__ import annotations

from datetime import timedelta

from clew.conversation import literal_functions, rounds, speaker
from clew.facts import tool_catalog
from tests.mutations import Patch, violates


@violates("R171", "a message with permissionMode is not a new session")
def mode_is_ignored(patch: Patch) -> None:
    @patch.wrap(rounds.Marks.type)
    def wrong(original, self, *args):
        return original(self._replace(has_mode=False), *args)


@violates("R172", "a message without a parent is not a new session")
def parent_is_ignored(patch: Patch) -> None:
    @patch.wrap(rounds.Marks.type)
    def wrong(original, self, *args):
        return original(self._replace(has_parent=True), *args)


@violates("R173", "a tool result does not continue")
def result_is_ignored(patch: Patch) -> None:
    @patch.wrap(rounds.Marks.type)
    def wrong(original, self, *args):
        return original(self._replace(has_result=False), *args)


@violates("R174", "the gap is six minutes")
def gap_is_longer(patch: Patch) -> None:
    @patch.wrap(rounds.Marks.type)
    def wrong(original, self, before, gap=rounds.GAP):
        return original(self, before, gap + timedelta(minutes=1))


@violates("R175", "any other message is a resume")
def other_is_a_resume(patch: Patch) -> None:
    @patch.wrap(rounds.Marks.type)
    def wrong(original, self, *args):
        found = original(self, *args)
        return "resume" if found == "new_round" else found


@violates("R176", "a tool result without a parent begins a round")
def lost_result_begins(patch: Patch) -> None:
    @patch.wrap(rounds.Marks.begins)
    def wrong(original, self):
        return original(self) or not self.has_parent


@violates("R176", "a message with neither mode nor result continues")
def plain_message_continues(patch: Patch) -> None:
    @patch.wrap(rounds.Marks.begins)
    def wrong(original, self):
        return self.has_mode


@violates("R177", "a selection is plain text")
def selection_is_text(patch: Patch) -> None:
    @patch.wrap(speaker.input_kind)
    def wrong(original, entry):
        found = original(entry)
        return "text" if found == "ide_selection" else found


@violates("R178", "the tag of the editor is part of the instruction")
def tag_is_kept(patch: Patch) -> None:
    @patch.wrap(speaker.prompt_text)
    def wrong(original, entry):
        return entry.text if "<ide_" in entry.text else original(entry)


@violates("R179", "every instruction is a full one")
def nothing_is_short(patch: Patch) -> None:
    @patch.wrap(rounds.is_short)
    def wrong(original, text):
        return False


@violates("R179", "no round is a first one")
def nothing_is_first(patch: Patch) -> None:
    @patch.wrap(rounds.features_of)
    def wrong(original, *args):
        return original(*args)._replace(is_first=False)


@violates("R094", "empty texts disappear")
def empty_text_disappears(patch: Patch) -> None:
    @patch.wrap(literal_functions.parse_content_blocks)
    def wrong(original, content):
        return [block for block in original(content) if block.get("text") != ""]


@violates("R095", "a result without is_error has none")
def error_has_no_default(patch: Patch) -> None:
    @patch.wrap(literal_functions.parse_content_blocks)
    def wrong(original, content):
        return [{k: v for k, v in block.items() if k != "is_error" or v} for block in original(content)]


@violates("R096", "text between blocks is a block")
def strings_are_blocks(patch: Patch) -> None:
    @patch.wrap(literal_functions.parse_content_blocks)
    def wrong(original, content):
        texts = [{"type": "text", "text": item} if isinstance(item, str) else item for item in content]
        return original(texts if isinstance(content, list) else content)


@violates("R097", "thinking is not marked")
def thinking_is_unmarked(patch: Patch) -> None:
    @patch.wrap(literal_functions.extract_text)
    def wrong(original, message):
        return original(message).replace("[思考] ", "")


@violates("R098", "the last tool is named")
def last_tool_is_named(patch: Patch) -> None:
    @patch.wrap(literal_functions.extract_tool_name)
    def wrong(original, message):
        content = message.get("content", [])
        return original({**message, "content": content[::-1]} if isinstance(content, list) else message)


@violates("R099", "other lines than messages are listed")
def all_lines_are_messages(patch: Patch) -> None:
    @patch.wrap(literal_functions.parse_session)
    def wrong(original, entries):
        entries = tuple(entries)
        rest = [
            literal_functions.Message(e.type, e.uuid or "", "", "")
            for e in entries
            if e.type not in ("user", "assistant")
        ]
        return [*original(entries), *rest]


@violates("R133", "the last line of a message is final")
def last_line_is_final(patch: Patch) -> None:
    @patch.wrap(literal_functions.deduplicate)
    def wrong(original, entries):
        return original(tuple(entries)[::-1])


@violates("R104", "the record of a search is not recognised")
def search_is_not_recognised(patch: Patch) -> None:
    @patch.wrap(tool_catalog.result_kind)
    def wrong(original, detail):
        return original({}) if isinstance(detail, dict) and "mode" in detail else original(detail)


@violates("R107", "the old record of a file is not recognised")
def old_file_is_not_recognised(patch: Patch) -> None:
    @patch.wrap(tool_catalog.result_kind)
    def wrong(original, detail):
        return original({}) if isinstance(detail, dict) and detail.get("type") == "file" else original(detail)
