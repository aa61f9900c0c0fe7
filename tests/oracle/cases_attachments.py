"""Attachments: what was rendered of them for the model, and where that goes."""

from __future__ import annotations

from tests.oracle.mock_api import Json, text
from tests.oracle.script import OPUS, Script, Theme, image, reminder, use

case = Theme("attachments")
FILE: Json = {
    "filename": "/home/dev/proj/README.md",
    "content": {"type": "text", "file": {"filePath": "/home/dev/proj/README.md", "content": "x"}},
    "displayPath": "README.md",
}


def called(s: Script, content: str | list[Json] = "res", *, error: bool | None = None) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.result("t1", content, error=error)


def rendered_everywhere(s: Script) -> None:
    s.user("u1")
    s.attach("zzz", "RUSER")
    s.attach("zzz2", "RSYS", role="system")
    s.reply("a1")
    s.user("u2")
    s.reply(use("t1"))
    s.result("t1", "res")
    s.attach("zzz3", "R3USER")
    s.attach("zzz4", "R4SYS", role="system")
    s.reply("a2")


@case
def behind_prompt_and_result(s: Script) -> None:
    rendered_everywhere(s)


@case
def behind_prompt_and_result_with_system_turns(s: Script) -> None:
    s.model = OPUS
    rendered_everywhere(s)


@case
def before_the_first_prompt(s: Script) -> None:
    s.attach("zzz", "RUSER")
    s.user("u1")
    s.reply("a1")


@case
def behind_a_reply(s: Script) -> None:
    s.turns(1)
    s.attach("zzz", "RUSER")
    s.user("u2")
    s.reply("a2")


@case
def between_two_replies(s: Script) -> None:
    s.turns(1)
    s.attach("zzz", "RUSER")
    s.reply("a2")


@case
def between_two_prompts(s: Script) -> None:
    s.user("u1")
    s.attach("zzz", "A")
    s.user("u2")
    s.reply("a1")


@case
def behind_a_meta_prompt(s: Script) -> None:
    called(s)
    s.user("meta", isMeta=True)
    s.attach("zzz", "A")
    s.reply("a1")


@case
def before_a_meta_prompt(s: Script) -> None:
    called(s)
    s.attach("zzz", "A")
    s.user("meta", isMeta=True)
    s.reply("a1")


@case
def behind_a_result_with_a_text(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.user([{"type": "tool_result", "tool_use_id": "t1", "content": "r"}, text("beside")])
    s.attach("zzz", "A")
    s.reply("a1")


@case
def system_turn_before_the_first_prompt(s: Script) -> None:
    s.model = OPUS
    s.attach("zzz", "RSYS", role="system")
    s.user("u1")
    s.reply("a1")


@case
def system_turn_between_two_prompts(s: Script) -> None:
    s.model = OPUS
    s.user("u1")
    s.attach("zzz", "RSYS", role="system")
    s.user("u2")
    s.reply("a1")


@case
def system_turn_between_two_replies(s: Script) -> None:
    s.model = OPUS
    s.turns(1)
    s.attach("zzz", "RSYS", role="system")
    s.reply("a2")


@case
def two_texts(s: Script) -> None:
    s.model = OPUS
    s.user("u1")
    s.attach("zzz", "A", [text("B")])
    s.reply("a2")


@case
def two_strings(s: Script) -> None:
    s.model = OPUS
    s.user("u1")
    s.attach("zzz", "A", "B")
    s.reply("a2")


@case
def two_strings_behind_a_result(s: Script) -> None:
    s.model = OPUS
    called(s)
    s.attach("zzz", "A", "B")
    s.reply("a2")


@case
def behind_a_result_that_is_a_list(s: Script) -> None:
    s.model = OPUS
    called(s, [text("res")])
    s.attach("zzz", "A")
    s.reply("a2")


@case
def behind_a_result_that_is_an_image(s: Script) -> None:
    s.model = OPUS
    called(s, [image()])
    s.attach("zzz", "A")
    s.reply("a2")


@case
def behind_a_result_that_is_empty(s: Script) -> None:
    called(s, "")
    s.attach("zzz", "A")
    s.reply("a2")


@case
def behind_a_result_that_is_an_empty_list(s: Script) -> None:
    called(s, [])
    s.attach("zzz", "A")
    s.reply("a2")


@case
def behind_an_error(s: Script) -> None:
    s.model = OPUS
    called(s, "r\t\n", error=True)
    s.attach("zzz", "CTX")
    s.reply("a1")


@case
def behind_an_error_that_is_a_list(s: Script) -> None:
    called(s, [text("r")], error=True)
    s.attach("zzz", "CTX")
    s.reply("a1")


@case
def behind_two_results(s: Script) -> None:
    s.model = OPUS
    s.user("u1")
    s.reply(use("t1"), use("t2"))
    s.result("t1", "r1\t\n")
    s.result("t2", "r2\t\n")
    s.attach("zzz", "CTX")
    s.reply("a1")


@case
def list_as_what_was_rendered(s: Script) -> None:
    s.model = OPUS
    s.user("u1")
    s.attach("zzz", [text("B")])
    s.reply("a2")


@case
def list_of_two_as_what_was_rendered(s: Script) -> None:
    s.model = OPUS
    s.user("u1")
    s.attach("zzz", [text("B"), text("C")])
    s.reply("a2")


@case
def list_of_two_behind_a_result(s: Script) -> None:
    called(s)
    s.attach("zzz", [text("B"), text("C")])
    s.reply("a2")


@case
def image_rendered(s: Script) -> None:
    s.user("u1")
    s.attach("zzz", [text("B"), image()])
    s.reply("a2")


@case
def image_rendered_behind_a_result(s: Script) -> None:
    called(s)
    s.attach("zzz", [text("B"), image()])
    s.reply("a2")


@case
def nothing_rendered(s: Script) -> None:
    s.user("u1")
    s.attach("zzz", "")
    s.attach("zzz", [])
    s.reply("a2")


@case
def reminder_in_a_human_turn(s: Script) -> None:
    s.model = OPUS
    called(s)
    s.attach("zzz", reminder("QUEUED"), role="system", renderedInHumanTurn=True)
    s.reply("a2")


@case
def in_a_human_turn(s: Script) -> None:
    s.model = OPUS
    s.user("u1")
    s.attach("zzz", "CTX", renderedInHumanTurn=True)
    s.reply("a1")


@case
def system_turn_in_a_human_turn(s: Script) -> None:
    s.model = OPUS
    s.user("u1")
    s.attach("zzz", "CTX", role="system", renderedInHumanTurn=True)
    s.reply("a1")


@case
def beside_a_result(s: Script) -> None:
    s.model = OPUS
    called(s)
    s.attach("zzz", "BESIDE", renderedBesideToolResult=True)
    s.reply("a2")


@case
def beside_a_result_that_is_a_prompt(s: Script) -> None:
    s.model = OPUS
    s.user("u1")
    s.attach("zzz", "CTX", renderedBesideToolResult=True)
    s.reply("a1")


REMOTE = {"url": "x"}


@case
def reminder_beside_a_result(s: Script) -> None:
    s.model = OPUS
    called(s, "r\t\n")
    s.attach("remote_session_change", reminder("REM"), inside=REMOTE, renderedBesideToolResult=True)
    s.reply("a1")


@case
def reminder_behind_a_result(s: Script) -> None:
    s.model = OPUS
    called(s, "r\t\n")
    s.attach("remote_session_change", reminder("REM"), inside=REMOTE)
    s.reply("a1")


@case
def unknown_reminder_beside_a_result(s: Script) -> None:
    s.model = OPUS
    called(s, "r\t\n")
    s.attach("zzz", reminder("REM"), inside=REMOTE, renderedBesideToolResult=True)
    s.reply("a1")


@case
def unknown_words_beside_a_result(s: Script) -> None:
    s.model = OPUS
    called(s, "r\t\n")
    s.attach("zzz", "PLAIN", inside=REMOTE, renderedBesideToolResult=True)
    s.reply("a1")


@case
def file_behind_a_result(s: Script) -> None:
    s.model = OPUS
    called(s, "r\t\n")
    s.attach("file", reminder("A"), reminder("B"), inside=FILE)
    s.reply("a1")


@case
def file_and_a_reminder_behind_a_result(s: Script) -> None:
    s.model = OPUS
    called(s, "r\t\n")
    s.attach("file", reminder("A"), reminder("B"), inside=FILE)
    s.attach("remote_session_change", reminder("REM"), inside=REMOTE, renderedBesideToolResult=True)
    s.reply("a1")


@case
def file_in_words_behind_a_result(s: Script) -> None:
    called(s)
    s.attach("file", "A", "B", inside=FILE)
    s.reply("a1")


@case
def file_in_words_behind_a_prompt(s: Script) -> None:
    s.user("u1")
    s.attach("file", "A", "B", inside=FILE)
    s.reply("a1")


@case
def words_behind_a_file_behind_a_result(s: Script) -> None:
    called(s)
    s.attach("file", "A", inside=FILE)
    s.attach("zzz", "B")
    s.reply("a1")


@case
def file_behind_words_behind_a_result(s: Script) -> None:
    called(s)
    s.attach("zzz", "B")
    s.attach("file", "A", inside=FILE)
    s.reply("a1")


@case
def role_that_is_neither(s: Script) -> None:
    s.user("u1")
    s.attach("zzz", "A", role="x")
    s.reply("a1")


@case
def no_attachment_in_an_attachment(s: Script) -> None:
    s.user("u1")
    s.attach("zzz", "A")
    s.edit(1, attachment=None)
    s.reply("a1")


@case
def two_system_turns_before_the_first_prompt(s: Script) -> None:
    s.model = OPUS
    s.attach("queued_command", inside={"prompt": "first", "commandMode": "prompt"}, parent=None)
    s.attach("date_change", inside={"newDate": "2026-01-04"})
    s.reply("a1")


@case
def context_behind_an_api_error(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.reply("API Error", model="<synthetic>", isApiErrorMessage=True)
    s.user("u3")
    s.attach("zzz", "A")
    s.reply("a3")


@case
def date_without_a_date(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.attach("date")
    s.reply("a2")


@case
def system_turn_that_keeps_its_marks(s: Script) -> None:
    s.model = "claude-sonnet-5"
    s.user("u1")
    s.attach("zzz", reminder("A"), role="system")
    s.attach("date_change", inside={"newDate": "2026-01-04"})
    s.reply("a1")
