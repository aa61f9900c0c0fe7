"""Queued commands and other prompts that no person typed in the ordinary way."""

from __future__ import annotations

from tests.oracle.cases_attachments import called
from tests.oracle.mock_api import Json, text
from tests.oracle.script import OPUS, Script, Theme, image, reminder, use

case = Theme("queued")
QUEUED: Json = {"prompt": "QQ", "commandMode": "prompt"}
HUMAN: Json = {**QUEUED, "origin": {"kind": "human"}}
DELIVERED: Json = {
    **HUMAN,
    "source_uuid": "1e16287c-d21e-4c1a-99c1-2a9945114f9a",
    "delivery_id": "f2e8175b-5873-4af7-ad7f-95b3b1d3f532",
}
FULL: Json = {**DELIVERED, "timestamp": "2026-11-15T07:52:27.108Z", "humanTurn": True}
WORDS = reminder("The user said more meanwhile")


def queue(s: Script, *rendered: str, inside: Json, **fields: object) -> None:
    s.attach("queued_command", *rendered, role="system", inside=inside, **fields)


@case
def as_a_reminder(s: Script) -> None:
    called(s)
    queue(s, reminder("QUEUED"), inside=QUEUED)
    s.reply("a2")


@case
def as_a_system_turn(s: Script) -> None:
    s.model = OPUS
    called(s)
    queue(s, reminder("QUEUED"), inside=QUEUED)
    s.reply("a2")


def not_rendered(s: Script) -> None:
    called(s)
    queue(s, inside=QUEUED)
    s.reply("a2")
    s.user("u3")
    queue(s, inside={"prompt": [text("QQ2")], "commandMode": "prompt"})
    s.reply("a4")


@case
def without_its_rendering(s: Script) -> None:
    not_rendered(s)


@case
def without_its_rendering_with_system_turns(s: Script) -> None:
    s.model = OPUS
    not_rendered(s)


@case
def with_an_image(s: Script) -> None:
    called(s)
    inside = {"prompt": [text("QQ"), image()], "commandMode": "prompt"}
    s.attach("queued_command", [text(reminder("QUEUED")), image()], role="system", inside=inside)
    s.reply("a2")


@case
def with_an_image_in_a_human_turn(s: Script) -> None:
    s.model = OPUS
    called(s)
    inside = {**FULL, "prompt": [text("QQ"), image()]}
    s.attach("queued_command", [text(reminder("QUEUED")), image()], role="system", inside=inside)
    s.reply("a2")


@case
def by_a_person(s: Script) -> None:
    s.model = OPUS
    called(s)
    queue(s, reminder("QUEUED"), inside=HUMAN, renderedInHumanTurn=True)
    s.reply("a2")


@case
def delivered(s: Script) -> None:
    s.model = OPUS
    called(s)
    queue(s, WORDS, inside=DELIVERED)
    s.reply("a2")


@case
def delivered_as_a_reminder(s: Script) -> None:
    called(s)
    queue(s, WORDS, inside=DELIVERED)
    s.reply("a2")


@case
def behind_a_snapshot_of_the_prompt(s: Script) -> None:
    s.model = OPUS
    called(s)
    s.attach("prompt_snapshot", inside={"systemPrompt": ["x"]})
    queue(s, WORDS, inside=HUMAN)
    s.reply("a2")


@case
def human_turn_behind_a_prompt(s: Script) -> None:
    s.model = OPUS
    s.user("u1")
    queue(s, "CTX", inside={"prompt": "x", "humanTurn": True})
    s.reply("a1")


@case
def human_turn_behind_a_result_as_a_reminder(s: Script) -> None:
    called(s, "r")
    queue(s, reminder("CTX"), inside={"prompt": "x", "humanTurn": True})
    s.reply("a1")


@case
def human_turn_behind_a_reply(s: Script) -> None:
    s.model = OPUS
    s.turns(1)
    queue(s, reminder("CTX"), inside={"prompt": "x", "humanTurn": True})
    s.reply("a2")


@case
def in_full(s: Script) -> None:
    s.model = OPUS
    called(s)
    queue(s, WORDS, inside=FULL, entrypoint="cli", session_id=s.session)
    s.reply("a1")


@case
def in_full_without_an_origin(s: Script) -> None:
    s.model = OPUS
    called(s)
    queue(s, WORDS, inside={key: value for key, value in FULL.items() if key != "origin"})
    s.reply("a1")


@case
def in_full_without_a_human_turn(s: Script) -> None:
    s.model = OPUS
    called(s)
    queue(s, WORDS, inside={key: value for key, value in FULL.items() if key != "humanTurn"})
    s.reply("a1")


@case
def in_full_with_other_words(s: Script) -> None:
    s.model = OPUS
    called(s)
    queue(s, reminder("CTX"), inside=FULL)
    s.reply("a1")


@case
def in_full_of_an_unknown_kind(s: Script) -> None:
    s.model = OPUS
    called(s)
    s.attach("zzz", WORDS, role="system", inside=FULL)
    s.reply("a1")


@case
def in_full_behind_a_prompt(s: Script) -> None:
    s.model = OPUS
    s.user("u1")
    queue(s, WORDS, inside=FULL)
    s.reply("a1")


@case
def in_full_behind_a_reply(s: Script) -> None:
    s.model = OPUS
    s.turns(1)
    queue(s, WORDS, inside=FULL)
    s.reply("a2")


@case
def in_full_as_a_reminder(s: Script) -> None:
    called(s)
    queue(s, WORDS, inside=FULL)
    s.reply("a1")


@case
def in_full_at_the_end(s: Script) -> None:
    s.model = OPUS
    called(s)
    queue(s, WORDS, inside=FULL)


@case
def in_full_then_words(s: Script) -> None:
    s.model = OPUS
    called(s)
    queue(s, WORDS, inside=FULL)
    s.attach("zzz", "A")
    s.reply("a1")


@case
def words_then_in_full(s: Script) -> None:
    s.model = OPUS
    called(s)
    s.attach("zzz", "A")
    queue(s, WORDS, inside=FULL)
    s.reply("a1")


@case
def two_in_full(s: Script) -> None:
    s.model = OPUS
    called(s)
    queue(s, reminder("ONE"), inside=FULL)
    queue(s, reminder("TWO"), inside=FULL)
    s.reply("a1")


@case
def in_full_between_parallel_results(s: Script) -> None:
    s.model = OPUS
    s.user("u1")
    s.reply(use("t1"), use("t2"))
    s.result("t1", "r1")
    queue(s, WORDS, inside=FULL)
    s.result("t2", "r2")
    s.reply("a1")


@case
def task_notification_queued(s: Script) -> None:
    s.model = OPUS
    called(s)
    inside = {"prompt": "QQ", "commandMode": "task-notification", "origin": {"kind": "task-notification"}}
    queue(s, reminder("NOTE"), inside=inside)
    s.reply("a1")


# Prompts with an origin


@case
def origins_with_system_turns(s: Script) -> None:
    s.model = OPUS
    s.turns(1)
    s.user("<task-notification>x</task-notification>", origin={"kind": "task-notification"})
    s.reply("a2")
    for kind in ("peer", "coordinator", "human"):
        s.user(kind, origin={"kind": kind})
        s.reply("a3")


@case
def origins(s: Script) -> None:
    s.turns(1)
    s.user("<task-notification>x</task-notification>", origin={"kind": "task-notification"})
    s.reply("a2")
    s.user("q", origin={"kind": "peer"})
    s.reply("a3")


@case
def notification_in_words(s: Script) -> None:
    s.turns(1)
    s.user("done", origin={"kind": "task-notification"})
    s.user("u2")
    s.reply("a2")


@case
def notification_of_two_blocks(s: Script) -> None:
    s.turns(1)
    s.user([text("one"), text("two")], origin={"kind": "task-notification"})
    s.user("u2")
    s.reply("a2")


@case
def notification_behind_a_result(s: Script) -> None:
    called(s)
    s.user("done", origin={"kind": "task-notification"})
    s.reply("a2")


@case
def notification_before_a_result(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.user("done", origin={"kind": "task-notification"})
    s.result("t1")
    s.reply("a2")


@case
def origin_is_a_word(s: Script) -> None:
    s.turns(1)
    s.user("done", origin="task-notification")
    s.reply("a2")


@case
def in_full_behind_a_prompt_then_words(s: Script) -> None:
    s.model = OPUS
    s.user("u1")
    queue(s, WORDS, inside=FULL)
    s.user("u2")
    s.attach("zzz", "A")
    s.reply("a")


@case
def in_full_between_lines_of_one_reply(s: Script) -> None:
    s.model = OPUS
    s.user("u1")
    s.reply("x1", mid="m1")
    queue(s, WORDS, inside=FULL)
    s.reply("x2", mid="m1")


@case
def words_between_lines_of_one_reply_and_another(s: Script) -> None:
    s.user("u1")
    s.reply("x1", mid="m1")
    s.attach("zzz", "A")
    s.reply("y", mid="m2")
    s.reply("x2", mid="m1")


@case
def words_between_parallel_calls(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), mid="m1")
    s.attach("zzz", "A")
    s.reply(use("t2"), mid="m1")
    s.result("t1")
    s.result("t2")
    s.reply("end")


@case
def notification_between_lines_of_one_reply(s: Script) -> None:
    s.user("u1")
    s.reply("x1", mid="m1")
    s.user("done", origin={"kind": "task-notification"})
    s.reply("x2", mid="m1")


# A reply that failed between what was queued and later context


def after_an_error(s: Script) -> None:
    s.model = OPUS
    s.user("u1")
    s.reply(use("t1"))
    s.result("t1")
    s.attach("queued_command", inside={**HUMAN, "humanTurn": True})
    s.reply("API Error", model="<synthetic>", isApiErrorMessage=True)


@case
def context_behind_an_error_behind_what_was_queued(s: Script) -> None:
    after_an_error(s)
    s.user("u2")
    s.attach("zzz", "CTX")
    s.reply("a2")


# Notifications of finished tasks among other lines

DONE: Json = {"origin": {"kind": "task-notification"}}


@case
def notification_behind_a_prompt(s: Script) -> None:
    s.user("u1")
    s.user("done", **DONE)
    s.reply("a1")


@case
def notification_behind_a_prompt_with_system_turns(s: Script) -> None:
    s.model = OPUS
    notification_behind_a_prompt(s)


@case
def notification_between_prompts(s: Script) -> None:
    s.user("u1")
    s.user("done", **DONE)
    s.user("u2")
    s.reply("a1")


@case
def notification_between_prompts_with_system_turns(s: Script) -> None:
    s.model = OPUS
    notification_between_prompts(s)


@case
def two_notifications_with_system_turns(s: Script) -> None:
    s.model = OPUS
    s.user("u1")
    s.user("done", **DONE)
    s.user("done too", **DONE)
    s.reply("a1")


@case
def notification_behind_a_result_with_system_turns(s: Script) -> None:
    s.model = OPUS
    called(s)
    s.user("done", **DONE)
    s.user("u2")
    s.reply("a2")


@case
def notification_before_the_first_prompt_with_system_turns(s: Script) -> None:
    s.model = OPUS
    s.user("done", **DONE)
    s.user("u1")
    s.reply("a1")


@case
def notification_before_context(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.user("done", **DONE)
    s.attach("zzz", reminder("CTX"))
    s.reply("a2")


@case
def notification_before_a_system_turn(s: Script) -> None:
    s.model = OPUS
    s.user("u1")
    s.user("done", **DONE)
    s.attach("zzz", reminder("CTX"), role="system")
    s.user("u2")
    s.reply("a1")


@case
def notification_behind_a_dropped_call(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), mid="m1")
    s.user("done", **DONE)
    s.reply(use("t2"), mid="m2")
    s.result("t2")


@case
def notification_at_the_end_with_system_turns(s: Script) -> None:
    s.model = OPUS
    s.turns(1)
    s.user("u2")
    s.user("done", **DONE)
