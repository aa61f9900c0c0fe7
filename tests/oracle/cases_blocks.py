"""Blocks: blank, broken and unusual ones, and what is left of the message around them."""

from __future__ import annotations

from tests.oracle.cases_attachments import called
from tests.oracle.mock_api import Json, text
from tests.oracle.script import Script, Theme, answer, image, think, use

case = Theme("blocks")
SEARCH: Json = {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"query": "q"}}
FOUND: Json = {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": []}
REFERENCE: Json = {"type": "tool_reference", "tool_name": "WebFetch"}


@case
def blank_texts_as_a_prompt(s: Script) -> None:
    s.turns(1)
    s.user([text(" "), text("")])
    s.reply("a2")


@case
def blank_text_beside_an_image(s: Script) -> None:
    s.turns(1)
    s.user([text(" "), image()])
    s.reply("a2")


@case
def blank_prompt(s: Script) -> None:
    s.turns(1)
    s.user("  ")
    s.reply("a2")


@case
def blank_prompts_around_a_prompt(s: Script) -> None:
    s.turns(1)
    s.user(" ")
    s.user("u2")
    s.user([text(" ")])
    s.reply("a2")


@case
def blank_text_beside_a_result(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.user([answer("t1"), text(" ")])
    s.reply("a")


@case
def thoughts_and_a_blank_text(s: Script) -> None:
    s.user("u1")
    s.reply(think("t"), " ")
    s.user("u2")
    s.reply("a2")


@case
def thoughts_and_a_blank_line(s: Script) -> None:
    s.user("u1")
    s.reply(think("t"), mid="m1")
    s.reply(" ", mid="m1")
    s.reply("x", mid="m1")
    s.user("u2")
    s.reply("a2")


@case
def broken_blocks_in_a_reply(s: Script) -> None:
    s.user("u1")
    s.reply({"text": "x"}, {"type": "text", "text": 7}, {"type": "text"}, "y")
    s.user("u2")
    s.reply("a2")


@case
def unknown_block_in_a_reply(s: Script) -> None:
    s.user("u1")
    s.reply({"type": "x-ours", "a": 1}, "y")
    s.user("u2")
    s.reply("a2")


@case
def server_tool_answered_by_another_reply(s: Script) -> None:
    s.user("u1")
    s.reply(SEARCH, mid="m1")
    s.reply(FOUND, mid="m2")
    s.user("u2")
    s.reply("a2")


@case
def answer_of_a_server_tool_that_was_not_called(s: Script) -> None:
    s.user("u1")
    s.reply(FOUND, "x")
    s.user("u2")
    s.reply("a2")


@case
def server_tool_alone(s: Script) -> None:
    s.user("u1")
    s.reply(SEARCH)
    s.user("u2")
    s.reply("a2")


@case
def server_tool_of_mcp(s: Script) -> None:
    s.user("u1")
    s.reply({"type": "mcp_tool_use", "id": "srv1", "name": "x", "server_name": "y", "input": {}}, "x")
    s.user("u2")
    s.reply("a2")


@case
def tool_reference_beside_another_result(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), use("t2"))
    s.result("t1", [REFERENCE])
    s.result("t2", "r2")
    s.user("more", isMeta=True)
    s.reply("a")


@case
def tool_reference_at_the_end(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.result("t1", [REFERENCE])


@case
def tool_reference_beside_a_text(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.user([answer("t1", [REFERENCE]), text("beside")])
    s.reply("a")


@case
def context_behind_a_tool_reference(s: Script) -> None:
    called(s, [REFERENCE])
    s.attach("zzz", "A")
    s.reply("a")


@case
def context_behind_a_result_with_white_space(s: Script) -> None:
    called(s, "  r \t\n")
    s.attach("zzz", "  A \n")
    s.reply("a")


@case
def context_behind_a_list_with_white_space(s: Script) -> None:
    called(s, [text("  r \n")])
    s.attach("zzz", " A ")
    s.reply("a")


@case
def context_behind_a_result_of_nothing(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.result("t1", None)
    s.attach("zzz", "A")
    s.reply("a")


@case
def context_behind_a_result_without_content(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.user([{"type": "tool_result", "tool_use_id": "t1"}])
    s.attach("zzz", "A")
    s.reply("a")


@case
def context_of_which_a_part_is_an_image(s: Script) -> None:
    s.user("u1")
    s.attach("zzz", "A", [image()])
    s.reply("a")


@case
def context_that_is_a_number(s: Script) -> None:
    s.user("u1")
    s.attach("zzz", "A")
    s.edit(1, rendered=[{"content": 7}])
    s.reply("a")


@case
def image_as_an_error(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.result("t1", [image()], error=True)
    s.reply("a")


@case
def image_between_texts_in_an_error(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.result("t1", [text("a"), image(), text("b")], error=True)
    s.reply("a")


@case
def two_texts_in_an_error(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.result("t1", [text("a"), text("b")], error=True)
    s.reply("a")


@case
def virtual_prompt_at_the_end(s: Script) -> None:
    s.turns(1)
    s.user("virtual", isVirtual=True)


@case
def virtual_result(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.result("t1", isVirtual=True)
    s.reply("a")


# Citations

CITED: Json = {
    "type": "char_location",
    "cited_text": "x",
    "document_index": 0,
    "start_char_index": 0,
    "end_char_index": 1,
}


@case
def citations_in_replies(s: Script) -> None:
    s.user("u1")
    s.reply({"type": "text", "text": "a1", "citations": [CITED]})
    s.user("u2")
    s.reply({"type": "text", "text": "a2", "citations": None})
    s.user("u3")
    s.reply({"type": "text", "text": "a3", "citations": []})


@case
def citations_of_the_user(s: Script) -> None:
    s.user([{"type": "text", "text": "u1", "citations": [CITED]}])
    s.reply(use("t1"))
    s.result("t1", [{"type": "text", "text": "r", "citations": [CITED]}])
    s.reply("a1")


@case
def result_in_a_reply(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.result("t1")
    s.reply({"type": "tool_result", "tool_use_id": "t1", "content": "r"})


# Replies of nothing but blocks that are none


@case
def reply_of_a_text_without_words(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.reply({"type": "text", "id": "t"})
    s.user("u3")
    s.reply("a3")


@case
def reply_of_a_block_without_a_type(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.reply({"id": "t"})
    s.reply("a2")


@case
def reply_of_a_text_without_words_at_the_end(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.reply({"type": "text", "id": "t"})


@case
def reply_of_no_blocks(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.reply()
    s.user("u3")
    s.reply("a3")


# Blocks that the program adds or removes

FALLBACK: Json = {"type": "fallback", "from": {"model": "claude-fable-5"}, "to": {"model": "claude-opus-4-8"}}
CONSULT: Json = {"type": "server_tool_use", "id": "srv1", "name": "advisor", "input": {}}
ADVICE: Json = {
    "type": "advisor_tool_result",
    "tool_use_id": "srv1",
    "content": {"type": "advisor_result", "text": "x"},
}


@case
def fallback_before_other_blocks(s: Script) -> None:
    s.user("u1")
    s.reply(think("x"), FALLBACK, think("t"), "a1")
    s.user("u2")
    s.reply(FALLBACK, mid="m2")
    s.reply(use("t1"), mid="m2")
    s.result("t1")
    s.reply("a2")


@case
def fallback_alone(s: Script) -> None:
    s.user("u1")
    s.reply(FALLBACK)
    s.user("u2")
    s.reply("a2")


@case
def fallback_alone_at_the_end(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.reply(FALLBACK)


@case
def fallback_beside_a_thought(s: Script) -> None:
    s.user("u1")
    s.reply(think("x"), FALLBACK)
    s.user("u2")
    s.reply("x", FALLBACK, think("t"))


@case
def fallback_beside_a_blank_text(s: Script) -> None:
    s.user("u1")
    s.reply(FALLBACK, " ")
    s.user("u2")
    s.reply("a2")


@case
def fallback_in_a_prompt_and_a_result(s: Script) -> None:
    s.user([FALLBACK, text("u1")])
    s.reply(use("t1"))
    s.user([answer("t1", [text("r"), FALLBACK])])
    s.reply("a")


@case
def advice(s: Script) -> None:
    s.user("u1")
    s.reply(CONSULT, ADVICE, "a1")
    s.user("u2")
    s.reply("x", CONSULT, mid="m2")
    s.reply(ADVICE, mid="m2")
    s.reply(use("t1"), mid="m2")
    s.result("t1")
    s.reply("a2")


@case
def advice_alone(s: Script) -> None:
    s.user("u1")
    s.reply(CONSULT, ADVICE)
    s.user("u2")
    s.reply(think("x"), CONSULT, ADVICE)
    s.user("u3")
    s.reply(CONSULT, ADVICE)


@case
def advice_beside_a_blank_text(s: Script) -> None:
    s.user("u1")
    s.reply(" ", CONSULT, ADVICE)
    s.user("u2")
    s.reply(CONSULT, ADVICE, FALLBACK)
    s.user("u3")
    s.reply("a3")


@case
def advice_that_is_missing(s: Script) -> None:
    s.user("u1")
    s.reply(CONSULT, "a1")
    s.user("u2")
    s.reply(CONSULT)
    s.user("u3")
    s.reply("a3")


@case
def advice_without_a_call(s: Script) -> None:
    s.user("u1")
    s.reply(ADVICE, "a1")
    s.user([ADVICE, text("u2")])
    s.reply(SEARCH, {**ADVICE, "tool_use_id": "srv1"}, "a2")


@case
def open_search(s: Script) -> None:
    s.user("u1")
    s.reply(SEARCH, "a1")
    s.user("u2")
    s.reply("a2", SEARCH)


@case
def message_to_an_agent(s: Script) -> None:
    copied = {"type": "message", "recipient": "bob", "content": "hello", "request_id": "r", "approve": True}
    s.user("u1")
    for number, arguments in enumerate(
        (
            {"to": "bob", "message": "hello", "summary": "s", **copied},
            {"to": None, "message": None, "zzz": 1, **copied},
            {"to": "bob", **copied},
            {"message": "hello", **copied},
            copied,
        )
    ):
        s.reply(use(f"t{number}", "SendMessage", **arguments))
        s.result(f"t{number}")
    s.reply(use("t9", "Zzz", to="bob", message="hello", **copied))
    s.result("t9")
    s.reply("a")


@case
def plan_with_its_file(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1", "ExitPlanMode", plan="p", planFilePath="/p", allowedPrompts=[]))
    s.result("t1")
    s.reply(use("t2", "ExitPlanMode", planFilePath="/p", zzz=1))
    s.result("t2")
    s.reply("a")


@case
def references_to_tools_of_several_releases(s: Script) -> None:
    s.user("u1")
    for number, names in enumerate(
        (["SendMessage"], ["Read"], ["Zzz", "Read"], ["Agent"], ["Task"], ["TodoWrite"], [""])
    ):
        s.reply(use(f"t{number}", "ToolSearch", query="q"))
        s.user([answer(f"t{number}", [{"type": "tool_reference", "tool_name": name} for name in names])])
    s.reply(use("t9", "ToolSearch", query="q"))
    s.user([answer("t9", [text("found"), {"type": "tool_reference", "tool_name": "Zzz"}])])
    s.reply("a")
