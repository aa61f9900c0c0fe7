"""Closing: how an unfinished turn is ended before the next prompt."""

from __future__ import annotations

from tests.oracle.mock_api import text
from tests.oracle.script import OPUS, Script, Theme, think, use

case = Theme("closing")
NOTE = "<task-notification>x</task-notification>"


@case
def api_error_in_the_middle(s: Script) -> None:
    s.user("u1")
    s.reply("API Error: boom", model="<synthetic>", isApiErrorMessage=True)
    s.user("u2")
    s.reply("a2")


@case
def api_error_at_the_end(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.reply("API Error: boom", model="<synthetic>", isApiErrorMessage=True)


@case
def api_error_of_a_real_model(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.reply("API Error: boom", isApiErrorMessage=True)


@case
def words_of_the_program_in_the_models_name(s: Script) -> None:
    s.user("u1")
    s.reply("No response requested.", model="<synthetic>")
    s.user("u2")
    s.reply("a2")


@case
def empty_reply(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.reply()


@case
def blank_reply(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.reply(" ")


@case
def thinking_alone(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.reply(think("th"))


@case
def prompt(s: Script) -> None:
    s.turns(1)
    s.user("u2")


@case
def empty_prompt(s: Script) -> None:
    s.turns(1)
    s.user("")


@case
def two_prompts(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.user("u3")


@case
def note_behind_a_prompt(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.system("informational", "x")


@case
def note_behind_a_reply(s: Script) -> None:
    s.turns(1)
    s.system("turn_duration", durationMs=1)


@case
def attachment_behind_a_prompt(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.attach("zzz", "RUSER")


@case
def attachment_behind_a_reply(s: Script) -> None:
    s.turns(1)
    s.attach("zzz", "RUSER")


@case
def system_turn_behind_a_reply(s: Script) -> None:
    s.model = OPUS
    s.turns(1)
    s.attach("zzz", "RSYS", role="system")


@case
def meta_prompt(s: Script) -> None:
    s.turns(1)
    s.user("meta", isMeta=True)


@case
def result(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.result("t1")


@case
def result_and_a_note(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.result("t1")
    s.system("turn_duration", durationMs=1)


@case
def result_and_an_attachment(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.result("t1")
    s.attach("zzz", "A")


@case
def local_command(s: Script) -> None:
    s.turns(1)
    s.system("local_command", "<command-name>/x</command-name>")


@case
def command_in_old_words(s: Script) -> None:
    s.turns(1)
    s.user("<command-name>/x</command-name>")
    s.user("<local-command-stdout>o</local-command-stdout>")


@case
def reply_broken_off(s: Script) -> None:
    s.user("u1")
    s.reply("part", isAbortedMidStream=True)


@case
def interruption(s: Script) -> None:
    s.user("u1")
    s.reply("part")
    s.user([text("[Request interrupted by user]")])


@case
def notification(s: Script) -> None:
    s.turns(1)
    s.user(NOTE, origin={"kind": "task-notification"})


@case
def notification_to_a_model_with_system_turns(s: Script) -> None:
    s.model = OPUS
    s.turns(1)
    s.user(NOTE, origin={"kind": "task-notification"})


@case
def summary(s: Script) -> None:
    s.turns(1)
    s.compact("SUM")


@case
def boundary(s: Script) -> None:
    s.turns(1)
    s.compact("SUM")
    s.lines.pop()


@case
def structured_output(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1", "StructuredOutput"))
    s.result("t1", "Structured output provided successfully")


@case
def result_that_ends_the_turn(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1", "Foo"))
    s.result("t1", "x", toolEndsTurn=True)


@case
def structured_output_attached(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1", "Foo"))
    s.result("t1", "x")
    s.attach("structured_output", inside={"data": {"a": 1}, "toolUseID": "t1"})


@case
def structured_output_that_ends_the_turn(s: Script) -> None:
    s.model = OPUS
    s.user("u1")
    s.reply(use("t1", "StructuredOutput"))
    s.result("t1", "x", toolEndsTurn=True)


@case
def result_that_ends_the_turn_with_system_turns(s: Script) -> None:
    s.model = OPUS
    s.user("u1")
    s.reply(use("t1", "Foo"))
    s.result("t1", "x", toolEndsTurn=True)


@case
def structured_output_attached_before_the_result(s: Script) -> None:
    s.model = OPUS
    s.user("u1")
    asked = s.reply(use("t1", "StructuredOutput"))
    s.attach("structured_output", inside={"data": {"a": 1}, "toolUseID": "t1"})
    s.result("t1", "x", parent=asked)


@case
def structured_output_attached_before_the_end_of_the_turn(s: Script) -> None:
    s.model = OPUS
    s.user("u1")
    asked = s.reply(use("t1", "Foo"))
    s.attach("structured_output", inside={"data": {"a": 1}, "toolUseID": "t1"})
    s.result("t1", "x", parent=asked, toolEndsTurn=True)


@case
def result_and_a_snapshot_of_the_prompt(s: Script) -> None:
    s.model = OPUS
    s.user("u1")
    s.reply(use("t1"))
    s.result("t1", "x")
    s.attach("prompt_snapshot", inside={"systemPrompt": ["x"]})


@case
def end_of_the_turn_and_a_snapshot_of_the_prompt(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1", "Foo"))
    s.result("t1", "x", toolEndsTurn=True)
    s.attach("prompt_snapshot", inside={"systemPrompt": ["x"]})


@case
def end_of_the_turn_and_a_date(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1", "Foo"))
    s.result("t1", "x", toolEndsTurn=True)
    s.attach("date", inside={"date": "x"})


@case
def end_of_the_turn_and_a_note(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1", "Foo"))
    s.result("t1", "x", toolEndsTurn=True)
    s.system("turn_duration", durationMs=1)


@case
def end_of_the_turn_and_a_rendered_attachment(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1", "Foo"))
    s.result("t1", "x", toolEndsTurn=True)
    s.attach("zzz", "A")


@case
def end_of_the_turn_an_attachment_and_a_note(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1", "Foo"))
    s.result("t1", "x", toolEndsTurn=True)
    s.attach("zzz", "A")
    s.system("turn_duration", durationMs=1)


@case
def reply_that_was_refused(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.reply("I cannot", stop_reason="refusal")


# Commands of the program's own, behind their caveat

CAVEAT = "<local-command-caveat>x</local-command-caveat>"
COMMAND = "<command-name>/x</command-name>"
PRINTED = "<local-command-stdout>o</local-command-stdout>"


@case
def command_behind_its_caveat(s: Script) -> None:
    s.turns(1)
    s.user(CAVEAT, isMeta=True)
    s.user(COMMAND)
    s.user(PRINTED)


@case
def command_behind_a_prompt_and_its_caveat(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.user(CAVEAT, isMeta=True)
    s.user(COMMAND)
    s.user(PRINTED)
    s.system("informational")


@case
def caveat_alone(s: Script) -> None:
    s.turns(1)
    s.user([text(CAVEAT)], isMeta=True)


@case
def caveat_that_a_person_typed(s: Script) -> None:
    s.turns(1)
    s.user(CAVEAT)
    s.user(COMMAND)
    s.user(PRINTED)


@case
def command_with_the_source_of_a_prompt(s: Script) -> None:
    s.turns(1)
    s.user(CAVEAT, isMeta=True)
    s.user(COMMAND, promptSource="typed")


@case
def output_with_the_source_of_a_prompt(s: Script) -> None:
    s.turns(1)
    s.user(CAVEAT, isMeta=True)
    s.user(COMMAND)
    s.user(PRINTED, promptSource="sdk")


@case
def output_behind_a_command_with_the_source_of_a_prompt(s: Script) -> None:
    s.turns(1)
    s.user(CAVEAT, isMeta=True)
    s.user(COMMAND, promptSource="typed", origin={"kind": "human"})
    s.user(PRINTED, origin={"kind": "human"})


@case
def error_of_a_command_behind_its_caveat(s: Script) -> None:
    s.turns(1)
    s.user(CAVEAT, isMeta=True)
    s.user(COMMAND)
    s.user("<local-command-stderr>o</local-command-stderr>")


@case
def command_behind_another_and_their_caveat(s: Script) -> None:
    s.turns(1)
    s.user(CAVEAT, isMeta=True)
    s.user(COMMAND)
    s.user(PRINTED)
    s.user(COMMAND)


@case
def two_commands_behind_one_caveat(s: Script) -> None:
    s.turns(1)
    s.user(CAVEAT, isMeta=True)
    for _ in range(2):
        s.user(COMMAND)
        s.user(PRINTED)


@case
def shell_command_behind_its_caveat(s: Script) -> None:
    s.turns(1)
    s.user(CAVEAT, isMeta=True)
    s.user("<bash-input>ls</bash-input>")
    s.user("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>")


@case
def command_lines_behind_a_caveat(s: Script) -> None:
    s.turns(1)
    s.user(CAVEAT, isMeta=True)
    s.system("local_command", COMMAND)
    s.system("local_command", PRINTED)


@case
def command_of_meta_lines_without_a_caveat(s: Script) -> None:
    s.turns(1)
    s.user(COMMAND, isMeta=True)
    s.user(PRINTED, isMeta=True)


@case
def output_alone_on_a_meta_line(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.user(PRINTED, isMeta=True)


@case
def output_behind_a_command_on_a_meta_line(s: Script) -> None:
    s.turns(1)
    s.user(COMMAND, isMeta=True)
    s.user(PRINTED)


@case
def output_on_a_meta_line_behind_a_command(s: Script) -> None:
    s.turns(1)
    s.user(COMMAND)
    s.user(PRINTED, isMeta=True)
    s.user(PRINTED, isMeta=True)


@case
def two_outputs_behind_one_caveat(s: Script) -> None:
    s.turns(1)
    s.user(CAVEAT, isMeta=True)
    s.user(PRINTED)
    s.user(PRINTED)


# A command at the end


@case
def command_behind_an_unanswered_prompt(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.system("local_command", "<local-command-stdout>x</local-command-stdout>")


@case
def commands_behind_a_result(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.result("t1")
    s.system("local_command", "<command-name>/x</command-name>")
    s.system("local_command", "<local-command-stdout>x</local-command-stdout>")


@case
def command_behind_an_attachment_behind_a_command(s: Script) -> None:
    s.user("u1")
    s.system("local_command", "first")
    s.attach("date")
    s.system("local_command", "second")
