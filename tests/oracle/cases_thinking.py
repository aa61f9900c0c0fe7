"""Thinking: whose thoughts are sent again, and which model goes on."""

from __future__ import annotations

from functools import partial

from tests.oracle.mock_api import Json, text
from tests.oracle.script import OPUS, Script, Theme, think, use

case = Theme("thinking")
SEALED: Json = {"type": "redacted_thinking", "data": "c2VjcmV0"}


@case
def thoughts_of_the_model_before(s: Script) -> None:
    s.user("u1")
    s.reply(think("t1"), "x", model=OPUS)
    s.user("u2")
    s.reply(think("t2"), "y")


@case
def thoughts_of_models_that_are_not_known(s: Script) -> None:
    s.user("u1")
    s.reply(think("t1"), "x", model="claude-opus-4-1-20250805")
    s.user("u2")
    s.reply(think("t2"), "y", model="gpt-5")


@case
def nothing_but_foreign_thoughts(s: Script) -> None:
    s.user("u1")
    s.reply(think("t1"), mid="m1", model=OPUS)
    s.reply("x", mid="m1", model=OPUS)
    s.user("u2")
    s.reply(think("t1"), model=OPUS)
    s.user("u3")
    s.reply(think("t2"), "y")


@case
def thoughts_alone(s: Script) -> None:
    s.user("u1")
    s.reply(think("t1"))
    s.user("u2")
    s.reply("a2")


@case
def thoughts_alone_on_two_lines(s: Script) -> None:
    s.user("u1")
    s.reply(think("t1"), mid="m1")
    s.reply(think("t2"), mid="m1")
    s.user("u2")
    s.reply("a2")


@case
def thoughts_at_the_end_of_a_reply(s: Script) -> None:
    s.user("u1")
    s.reply("x", think("t1"))
    s.user("u2")
    s.reply("a2")


@case
def thoughts_at_the_end_of_the_last_reply(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.reply("x", think("t1"))


@case
def thoughts_without_a_seal(s: Script) -> None:
    s.user("u1")
    s.reply({"type": "thinking", "thinking": "t1", "signature": ""}, "x")
    s.user("u2")
    s.reply({"type": "thinking", "thinking": "t2"}, "y")


@case
def empty_thoughts(s: Script) -> None:
    s.user("u1")
    s.reply(think(""), "x")
    s.user("u2")
    s.reply("a2")


@case
def sealed_thoughts(s: Script) -> None:
    s.user("u1")
    s.reply(SEALED, "x")
    s.user("u2")
    s.reply("a2")


@case
def sealed_thoughts_alone(s: Script) -> None:
    s.user("u1")
    s.reply(SEALED)
    s.user("u2")
    s.reply("a2")


@case
def sealed_thoughts_of_another_model(s: Script) -> None:
    s.user("u1")
    s.reply(SEALED, "x", model=OPUS)
    s.user("u2")
    s.reply("a2")


@case
def thoughts_before_a_call(s: Script) -> None:
    s.user("u1")
    s.reply(think("t1"), mid="m1")
    s.reply(use("t1"), mid="m1")
    s.result("t1")
    s.reply(think("t2"), mid="m2")
    s.reply("end", mid="m2")


@case
def foreign_thoughts_before_a_call(s: Script) -> None:
    s.user("u1")
    s.reply(think("t1"), mid="m1", model=OPUS)
    s.reply(use("t1"), mid="m1", model=OPUS)
    s.result("t1")
    s.reply("end")


@case
def foreign_thoughts_between_prompts(s: Script) -> None:
    s.user("u1")
    s.reply(think("t1"), " ", model=OPUS)
    s.user("u2")
    s.reply("a2")


@case
def last_reply_is_the_programs(s: Script) -> None:
    s.user("u1")
    s.reply(think("t1"), "x", model=OPUS)
    s.user("u2")
    s.reply("words", model="<synthetic>")


@case
def two_models_in_one_reply(s: Script) -> None:
    s.user("u1")
    s.reply(think("t1"), mid="m1", model=OPUS)
    s.reply("x", mid="m1")
    s.user("u2")
    s.reply("a2")


@case
def model_of_an_agent_line(s: Script) -> None:
    s.user("u1")
    s.reply(think("t1"), "x", model=OPUS)
    s.user("s1", isSidechain=True)
    s.reply("s2", isSidechain=True)


@case
def reply_without_a_model(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.reply(think("t2"), "y")
    s.edit(3, message={**s.copy(3)["message"], "model": None})


@case
def thoughts_in_a_prompt(s: Script) -> None:
    s.user([think("t1"), text("u1")])
    s.reply("a1")


def _one(model: str, s: Script) -> None:
    s.user("u1")
    s.reply(think("t1"), "x", model=model)


MODELS = (
    "claude-foo-9",
    "gpt-5",
    "claude-3-5-sonnet-20241022",
    "claude-opus-4-5-20251101",
    "us.anthropic.claude-opus-4-5-20251101-v1:0",
    "claude-sonnet-4-20250514",
    "claude-haiku-4-5-20251001",
    "claude-opus-4-20250514",
    "claude-opus-4-1-20250805",
    "claude-3-7-sonnet-20250219",
    "claude-3-5-haiku-20241022",
    "claude-3-opus-20240229",
    "claude-sonnet-4-6",
    "claude-opus-4-6",
    "claude-opus-4-7",
    "claude-opus-5",
    "claude-sonnet-5",
    "claude-sonnet-5-5",
    "claude-haiku-5",
    "claude-sonnet-4-5",
    "claude-opus-4-5",
    "claude-opus-4-5@20251101",
    "claude-sonnet-4",
    "claude-opus-4-0",
    "claude-sonnet-4-0",
    "anthropic.claude-3-sonnet-20240229-v1:0",
    "claude-2.1",
    "claude-sonnet-4@20250514",
    "glm-4.6",
    "sonnet",
    "claude-haiku-4-5",
    "claude-instant-1",
)
for _model in MODELS:
    case.put(f"of_{_model}", partial(_one, _model))


@case
def model_of_a_reply_that_is_not_sent(s: Script) -> None:
    s.user("u1")
    s.reply("x", model=OPUS)
    s.user("u2")
    s.reply(think("t"))


@case
def model_of_a_blank_reply(s: Script) -> None:
    s.user("u1")
    s.reply("x", model=OPUS)
    s.user("u2")
    s.reply(" ")


@case
def replies_without_an_id(s: Script) -> None:
    s.turns(1)
    s.reply("b1")
    s.user("u2")
    s.reply("end")
    for index in (1, 2):
        s.edit(index, message={**s.copy(index)["message"], "id": None})
