"""Results: calls without one, results without a call, and the forms of both."""

from __future__ import annotations

from tests.oracle.mock_api import Json, text
from tests.oracle.script import Script, Theme, answer, image, think, use

case = Theme("results")
INTERRUPTED = "[Request interrupted by user for tool use]"


@case
def lost_result_of_a_call_beside_a_text(s: Script) -> None:
    s.user("u1")
    s.reply("x", use("t1"))
    s.user("u2")
    s.reply("a2")


@case
def lost_result_of_a_call_alone(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.user("u2")
    s.reply("a2")


@case
def lost_result_of_a_call_behind_a_line_of_text(s: Script) -> None:
    s.user("u1")
    s.reply("x", mid="m1")
    s.reply(use("t1"), mid="m1")
    s.user("u2")
    s.reply("a2")


@case
def lost_result_before_the_next_reply(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), mid="m1")
    s.reply("then", mid="m2")


@case
def lost_result_of_one_of_two_on_a_line(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), use("t2"))
    s.result("t1")
    s.reply("a1")


@case
def lost_result_of_one_of_two_lines(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), mid="m1")
    s.reply(use("t2"), mid="m1")
    s.result("t1")
    s.reply("a1")


@case
def lost_result_of_one_of_two_lines_at_the_end(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), mid="m1")
    s.reply(use("t2"), mid="m1")
    s.result("t1")


@case
def lost_result_beside_thinking(s: Script) -> None:
    s.user("u1")
    s.reply(think("th"), mid="m1")
    s.reply(use("t1"), mid="m1")
    s.user("u2")
    s.reply("a2")


@case
def lost_result_at_the_end_beside_thinking(s: Script) -> None:
    s.user("u1")
    s.reply(think("th"), mid="m1")
    s.reply(use("t1"), mid="m1")


@case
def interrupted_call(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.user([text(INTERRUPTED)])


@case
def interrupted_call_then_more(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.user([text(INTERRUPTED)])
    s.user("u2")
    s.reply("a2")


@case
def lost_result_at_the_end_behind_a_note(s: Script) -> None:
    s.user("u1")
    s.reply("x", use("t1"))
    s.system("turn_duration", durationMs=1)


@case
def lost_result_at_the_end_behind_a_meta_prompt(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.user("meta", isMeta=True)


@case
def lost_result_at_the_end_behind_an_attachment(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.attach("zzz", "A")


@case
def lost_results_at_the_end_of_three_calls(s: Script) -> None:
    s.user("u1")
    s.reply("x", use("t1"), use("t2"), use("t3"))
    s.result("t2")


@case
def result_without_a_call(s: Script) -> None:
    s.user("u1")
    s.reply("a1")
    s.result("t9")
    s.reply("a2")


@case
def result_without_a_call_beside_a_text(s: Script) -> None:
    s.user("u1")
    s.reply("a1")
    s.user([answer("t9"), text("tt")])
    s.reply("a2")


@case
def result_without_a_call_beside_a_good_one(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.user([answer("t9", "stray"), answer("t1", "good")])
    s.reply("a2")


@case
def result_without_a_call_at_the_beginning(s: Script) -> None:
    s.result("t9")
    s.reply("a1")


@case
def result_before_its_call(s: Script) -> None:
    s.user("u1")
    s.result("t1")
    s.reply(use("t1"))
    s.user("u2")
    s.reply("a2")


def parallel(s: Script) -> None:
    first = s.reply(use("t1"), mid="m1")
    second = s.reply(use("t2"), mid="m1")
    s.result("t1", parent=first)
    s.result("t2", "late", parent=second)
    s.reply("a1")


@case
def result_before_its_parallel_call(s: Script) -> None:
    s.result("t2", "early")
    parallel(s)


@case
def result_and_context_before_a_parallel_call(s: Script) -> None:
    s.result("t2", "early")
    s.attach("queued_command", inside={"prompt": "q", "commandMode": "prompt"})
    parallel(s)


@case
def result_in_an_earlier_turn_than_its_parallel_call(s: Script) -> None:
    s.result("t2", "early")
    s.user("u1")
    s.reply("a1")
    s.user("u2")
    parallel(s)


@case
def result_in_an_earlier_turn_than_its_call(s: Script) -> None:
    s.result("t1", "early")
    s.user("u1")
    s.reply("a1")
    s.user("u2")
    s.reply(use("t1"))
    s.result("t1", "late")
    s.reply("a2")


@case
def result_one_reply_late(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.user("u2")
    s.reply("a2")
    s.result("t1", "late")
    s.reply("a3")


@case
def odd_contents_of_results(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.user([{"type": "tool_result", "tool_use_id": "t1"}])
    s.reply(use("t2"))
    s.result("t2", None)
    s.reply(use("t3"))
    s.result("t3", "")
    s.reply(use("t4"))
    s.result("t4", [])
    s.reply("a")


@case
def list_as_content_and_no_error(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.result("t1", [text("r1"), text("r2")], error=False)
    s.reply("a")


@case
def list_as_content_and_an_error(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.result("t1", [text("r1")], error=True)
    s.reply("a")


@case
def image_in_an_error(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.result("t1", [text("r1"), image()], error=True)
    s.reply("a")


@case
def blank_text_in_a_result(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.result("t1", [text(""), text("x"), text("  ")])
    s.reply("a")


@case
def white_space_at_the_end_of_a_result(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.result("t1", "  r \t\n")
    s.reply("a")


@case
def extra_fields_on_a_result(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.user([answer("t1", "r", extra=1, is_error=None)])
    s.reply("a")


@case
def tool_reference_in_a_result(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1", "ToolSearch"))
    s.result("t1", [{"type": "tool_reference", "tool_name": "WebFetch"}])
    s.reply("a")


@case
def results_on_one_line_in_another_order(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), use("t2"))
    s.user([answer("t2", "r2"), answer("t1", "r1")])
    s.reply("a")


@case
def text_before_a_result_on_one_line(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.user([text("first"), answer("t1"), text("last")])
    s.reply("a")


@case
def meta_prompt_behind_a_result(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.result("t1")
    s.user("meta", isMeta=True)
    s.reply("a2")


@case
def prompt_between_two_results(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), use("t2"))
    s.result("t1")
    s.user("mid")
    s.result("t2")
    s.reply("a2")


@case
def meta_prompt_between_two_results(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), use("t2"))
    s.result("t1")
    s.user("meta", isMeta=True)
    s.result("t2")
    s.reply("a2")


@case
def image_between_two_results(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), use("t2"))
    s.result("t1")
    s.user([image()], isMeta=True)
    s.result("t2")
    s.reply("a2")


@case
def prompt_before_the_results(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), use("t2"))
    s.user("early")
    s.result("t1")
    s.result("t2")
    s.reply("a2")


@case
def two_results_for_one_call(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.result("t1", "first")
    s.result("t1", "second")
    s.reply("a2")


@case
def two_calls_with_one_id(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.result("t1", "first")
    s.reply(use("t1"))
    s.result("t1", "second")
    s.reply("a2")


@case
def two_calls_with_one_id_in_one_reply(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1", "Read"), use("t1", "Bash", command="ls"))
    s.result("t1")
    s.reply("a2")


@case
def call_with_an_id_used_before_beside_a_text(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.result("t1", "first")
    s.reply("x", use("t1"))
    s.user([answer("t1", "second"), text("beside")])
    s.reply("a2")


@case
def old_names_of_tools(s: Script) -> None:
    s.user("u1")
    names = ("Task", "KillShell", "BashOutput", "AgentOutputTool", "KillBash", "MultiEdit", "Brief")
    s.reply(*(use(f"t{number}", name) for number, name in enumerate(names)))
    s.user([answer(f"t{number}") for number in range(len(names))])
    s.reply("a")


@case
def more_old_names_of_tools(s: Script) -> None:
    s.user("u1")
    names = (
        *("BashOutputTool", "AgentOutput", "TaskKill", "LS", "NotebookRead", "TodoRead", "SlashCommand"),
        *(
            "exit_plan_mode",
            "SendUserMessage",
            "View",
            "GrepTool",
            "GlobTool",
            "Replace",
            "dispatch_agent",
            "BatchTool",
        ),
    )
    s.reply(*(use(f"t{number}", name) for number, name in enumerate(names)))
    s.user([answer(f"t{number}") for number in range(len(names))])
    s.reply("a")


@case
def input_is_a_string(s: Script) -> None:
    s.user("u1")
    s.reply({"type": "tool_use", "id": "t1", "name": "Bash", "input": '{"command":"ls"}'})
    s.result("t1")
    s.reply("a")


@case
def input_is_a_string_that_is_no_json(s: Script) -> None:
    s.user("u1")
    s.reply({"type": "tool_use", "id": "t1", "name": "Bash", "input": "ls"})
    s.result("t1")
    s.reply("a")


@case
def input_is_empty(s: Script) -> None:
    s.user("u1")
    s.reply({"type": "tool_use", "id": "t1", "name": "Bash", "input": {}})
    s.result("t1")
    s.reply("a")


@case
def input_is_not_there(s: Script) -> None:
    s.user("u1")
    s.reply({"type": "tool_use", "id": "t1", "name": "Bash"})
    s.result("t1")
    s.reply("a")


@case
def plan_in_an_input(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1", "ExitPlanMode", plan="do", allowedPrompts=[]))
    s.result("t1")
    s.reply("a")


def reference(*names: str) -> list[Json]:
    return [{"type": "tool_reference", "tool_name": name} for name in names]


@case
def tool_references_of_which_some_are_lost(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1", "ToolSearch"))
    s.result("t1", reference("Grep", "WebFetch", "TodoWrite", "mcp__a__b", "NotebookEdit", "Nope", "CronCreate"))
    s.reply("a")


@case
def tool_reference_that_is_lost(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1", "ToolSearch"))
    s.result("t1", reference("Nope"))
    s.reply("a")


@case
def tool_reference_that_is_lost_beside_a_text(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1", "ToolSearch"))
    s.result("t1", [text("found"), *reference("Nope", "Grep")])
    s.reply("a")


@case
def tool_reference_without_a_name(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1", "ToolSearch"))
    s.result("t1", [{"type": "tool_reference"}, *reference("Nope")])
    s.reply("a")


@case
def tool_references_on_several_lines(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1", "ToolSearch"), use("t2", "ToolSearch"), use("t3", "ToolSearch"))
    s.result("t1", reference("Read", "Task", "KillShell"))
    s.result("t2", reference("Nope"))
    s.result("t3", reference("Bash"))
    s.reply("a")


@case
def tool_references_to_tasks(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1", "ToolSearch"))
    s.result("t1", reference("TaskCreate", "TaskUpdate", "TaskStop"))
    s.reply("a")


@case
def tool_references_to_tasks_of_a_newer_model(s: Script) -> None:
    s.model = "claude-opus-5-5"
    s.user("u1")
    s.reply(use("t1", "ToolSearch"))
    s.result("t1", reference("TaskCreate", "TaskUpdate", "TaskStop"))
    s.reply("a")


# Calls without a result in a turn that was stopped behind a result


def stopped(s: Script) -> None:
    s.reply(use("t9"), mid="m9")
    s.result("t9")


@case
def open_call_in_a_stopped_turn(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), mid="m1")
    stopped(s)


@case
def open_call_beside_an_answered_one_in_a_stopped_turn(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), mid="m1")
    s.reply(use("t2"), mid="m1")
    s.result("t2")
    stopped(s)


@case
def open_call_in_a_finished_turn(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), mid="m1")
    stopped(s)
    s.reply("end")


@case
def open_call_before_a_note_in_a_stopped_turn(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), mid="m1")
    s.user("note", isMeta=True)
    stopped(s)


@case
def open_call_in_a_turn_that_ends_with_thinking(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), mid="m1")
    stopped(s)
    s.reply(think("hm"), mid="m10")


@case
def open_call_in_a_turn_that_a_tool_ended(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), mid="m1")
    s.reply(use("t9"), mid="m9")
    s.result("t9", toolEndsTurn=True)
    s.attach("zzz", "CTX")


# A turn that was stopped in a call, with other calls of it that have no result


def half_answered(s: Script) -> None:
    """A call without a result, and one with a result after it."""
    s.user("u1")
    s.reply(use("t1"), mid="m1")
    s.reply(use("t2"), mid="m2")
    s.result("t2")


@case
def open_call_behind_an_open_call(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), mid="m1")
    s.reply(use("t2"), mid="m2")


@case
def open_call_behind_a_stopped_turn(s: Script) -> None:
    half_answered(s)
    s.reply(use("t3"), mid="m3")


@case
def two_open_calls_behind_a_stopped_turn(s: Script) -> None:
    half_answered(s)
    s.reply(use("t3"), mid="m3")
    s.reply(use("t4"), mid="m3")


@case
def two_open_replies_behind_a_stopped_turn(s: Script) -> None:
    half_answered(s)
    s.reply(use("t3"), mid="m3")
    s.reply(use("t4"), mid="m4")


@case
def open_call_with_text_behind_a_stopped_turn(s: Script) -> None:
    half_answered(s)
    s.reply("text", use("t3"), mid="m3")


@case
def text_and_an_open_call_behind_a_stopped_turn(s: Script) -> None:
    half_answered(s)
    s.reply("text", mid="m3")
    s.reply(use("t3"), mid="m3")


@case
def open_call_and_a_text_behind_a_stopped_turn(s: Script) -> None:
    half_answered(s)
    s.reply(use("t3"), mid="m3")
    s.reply("text", mid="m3")


@case
def thinking_and_an_open_call_behind_a_stopped_turn(s: Script) -> None:
    half_answered(s)
    s.reply(think("h"), mid="m3")
    s.reply(use("t3"), mid="m3")


@case
def open_call_in_the_turn_after_an_open_call(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), mid="m1")
    s.user("u2")
    s.reply(use("t2"), mid="m2")
    s.reply(use("t3"), mid="m3")
