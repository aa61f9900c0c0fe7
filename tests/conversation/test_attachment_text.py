"""Attachments stored without the words that the model got: what a resume makes of them."""

from __future__ import annotations

from typing import Any

import pytest

import clew
from tests.conversation.lines import Json, reply, result, session, use, user
from tests.conversation.lines import text as block

NEW, BETWEEN, OLD = "2.1.325", "2.1.200", "2.1.45"
OPUS, SONNET = "claude-opus-5-5", "claude-sonnet-4-5"
QUEUED: Json = {"type": "queued_command", "prompt": "and the gate", "commandMode": "prompt"}
FILE: Json = {
    "type": "file",
    "filename": "/garden/plan.md",
    "content": {"type": "text", "file": {"filePath": "/garden/plan.md", "content": "dig\nsow", "startLine": 4}},
}
MEMORY: Json = {"type": "nested_memory", "path": "/g/C.md", "content": {"path": "/g/C.md", "content": "No slugs."}}


def attach(uuid: str, parent: str, *, fields: Json | None = None, **attachment: Any) -> Json:
    return {"type": "attachment", "uuid": uuid, "parentUuid": parent, "attachment": attachment, **(fields or {})}


def answered(model: str, *attachments: Json, version: str = NEW) -> clew.Request:
    """A call, its result, attachments below that, and a reply."""
    lines = [user("A", None, "go"), reply("B", "A", use("t"), model=model), result("C", "B", "t")]
    below = "C"
    for number, attachment in enumerate(attachments):
        lines.append(attach(f"X{number}", below, **attachment))
        below = f"X{number}"
    return clew.request(session(*lines, reply("D", below, block("done"), mid="m2", model=model)), version)


def after_call(model: str, *attachments: Json, version: str = NEW) -> list[Json]:
    """What is sent between the call and the last reply."""
    return answered(model, *attachments, version=version).messages[2:-1]


def system_turn(text: str) -> Json:
    return {"role": "system", "content": [{"type": "text", "text": text}]}


def test_a_prompt_queued_during_a_turn_is_sent() -> None:
    turn = after_call(OPUS, QUEUED)[1]
    assert turn["role"] == "system"
    assert turn["content"][0]["text"].startswith(
        "The user sent a new message while you were working:\nand the gate\n\n"
    )
    folded = after_call(SONNET, QUEUED)[0]["content"][0]["content"]
    assert "<system-reminder>\nThe user sent a new message while you were working:\nand the gate\n\n" in folded


def test_older_versions_put_a_queued_prompt_into_other_words() -> None:
    texts = {str(after_call(SONNET, QUEUED, version=version)) for version in (NEW, BETWEEN, OLD)}
    assert len(texts) == 2 and all("and the gate" in text for text in texts)


def test_an_image_queued_with_a_prompt_is_sent_beside_it() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    queued = {**QUEUED, "prompt": [{"type": "text", "text": "see"}, image]}
    assert after_call(SONNET, queued)[0]["content"][-1] == image
    assert after_call(OPUS, queued)[0]["content"][-1] == image


def test_an_attached_file_is_sent_with_the_numbers_of_its_lines() -> None:
    said = 'Called the Read tool with the following input: {"file_path":"/garden/plan.md"}'
    assert after_call(OPUS, FILE)[1] == system_turn(f"{said}\nResult of calling the Read tool:\n4\tdig\n5\tsow")


@pytest.mark.parametrize(("path", "quoted"), [("/g/a", "/g/a"), ("/g/my beds", "'/g/my beds'")])
def test_an_attached_directory_is_sent_as_a_listing(path: str, quoted: str) -> None:
    turn = after_call(OPUS, {"type": "directory", "path": path, "content": "one\ntwo\n"})[1]
    assert f'{{"command":"ls {quoted}","description":"Lists files in {path}"}}' in turn["content"][0]["text"]
    assert turn["content"][0]["text"].endswith("Result of calling the Bash tool:\none\ntwo")


def test_what_hooks_and_memory_added_is_one_system_turn() -> None:
    hook = {"type": "hook_additional_context", "content": ["a", "b"], "hookName": "PostToolUse:Read"}
    turns = after_call(OPUS, hook, MEMORY)[1:]
    assert turns == [system_turn("PostToolUse:Read hook additional context: a\nb\n\nContents of /g/C.md:\n\nNo slugs.")]


@pytest.mark.parametrize(
    ("event", "is_sent"), [("SessionStart", True), ("UserPromptSubmit", True), ("PostToolUse", False), ("Stop", False)]
)
def test_the_output_of_some_hooks_is_sent(event: str, is_sent: bool) -> None:
    hook = {"type": "hook_success", "hookName": event, "hookEvent": event, "content": "Mind the pond."}
    assert ("Mind the pond." in str(after_call(OPUS, hook))) == is_sent


def test_stored_memory_is_a_text_of_its_own_for_models_with_system_turns() -> None:
    stored = {"rendered": [{"content": "<system-reminder>\nNo slugs.\n</system-reminder>"}], "renderedRole": "user"}

    def sent(model: str) -> list[Json]:
        lines = [user("A", None, "go"), reply("B", "A", use("t"), model=model), result("C", "B", "t")]
        lines += [attach("X", "C", fields=stored, **MEMORY), reply("D", "X", block("done"), mid="m2", model=model)]
        return list(clew.request(session(*lines), NEW).messages[2]["content"])

    alone, folded = sent(OPUS), sent(SONNET)
    assert [b["type"] for b in alone] == ["tool_result", "text"] and "slugs" not in str(alone[0])
    assert [b["type"] for b in folded] == ["tool_result"] and "slugs" in str(folded[0])


def test_a_system_turn_follows_the_prompt_and_is_a_reminder_where_there_is_none() -> None:
    hook = attach("X", "B", type="hook_additional_context", content=["a"], hookName="Stop")
    start = [user("A", None, "go"), reply("B", "A", block("1"), model=OPUS), hook]
    asked = [*start, user("C", "X", "more"), reply("D", "C", block("2"), mid="m2", model=OPUS)]
    assert [m["role"] for m in clew.request(session(*asked)).messages[2:]] == ["user", "system", "assistant"]
    unasked = [*start, reply("D", "X", block("2"), mid="m2", model=OPUS)]
    said = clew.request(session(*unasked)).messages[2]
    assert said["role"] == "user" and said["content"][0]["text"].startswith("<system-reminder>\nStop hook")


def test_what_surrounds_itself_with_instructions_is_counted() -> None:
    assert answered(OPUS, {"type": "plan_mode", "reminderType": "full"}, QUEUED).left_out == 1
    assert answered(OPUS, {"type": "command_permissions", "allowedTools": []}).left_out == 0
    assert answered(OPUS, {"type": "never seen", "content": "x"}).left_out == 0


def test_a_text_that_another_is_joined_to_ends_with_a_new_line() -> None:
    lines = [user("A", None, "go"), user("B", "A", "on"), reply("C", "B", block("1"))]
    texts = [b["text"] for b in clew.request(session(*lines), NEW).messages[0]["content"]]
    assert texts == ["go\n", "on"]
    texts = [b["text"] for b in clew.request(session(*lines), OLD).messages[0]["content"]]
    assert texts == ["go", "on"]


def test_a_queued_prompt_is_a_prompt() -> None:
    lines = [user("A", None, "go"), reply("B", "A", use("t")), result("C", "B", "t")]
    found = session(*lines, attach("X", "C", **QUEUED), reply("D", "X", block("done"), mid="m2"))
    assert [turn.text for turn in found.turns] == ["go", "and the gate"]
    assert [turn.is_queued for turn in found.turns] == [False, True]
    assert [turn.answer for turn in found.turns] == ["", "done"]
    assert [e.uuid for e in found.prompts] == ["A", "X"]


@pytest.mark.parametrize(
    "other",
    [
        {"prompt": "<task-notification>x</task-notification>", "commandMode": "task-notification"},
        {"prompt": "hello", "commandMode": "prompt", "origin": {"kind": "peer"}},
        {"prompt": "hello", "commandMode": "prompt", "isMeta": True},
        {"prompt": " ", "commandMode": "prompt"},
    ],
)
def test_what_no_person_typed_is_no_prompt(other: Json) -> None:
    found = session(
        user("A", None, "go"), attach("X", "A", type="queued_command", **other), reply("B", "X", block("1"))
    )
    assert [turn.text for turn in found.turns] == ["go"]
