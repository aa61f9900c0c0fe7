"""Implement AskUserQuestion: ask the user multiple-choice questions."""

from __future__ import annotations

from clew.chat.tools.tool import CallResult, ToolContext, ToolFailed
from clew.chat.tools.tool_spec import (
    BOOLEAN,
    TEXT,
    SpecTool,
    array_schema,
    object_schema,
    optional_field,
    required_field,
)
from clew.wire.json_codec import Json


async def ask(input: Json, scene: ToolContext) -> CallResult:
    questions = input["questions"]
    texts = [q["question"] for q in questions]
    if len(set(texts)) < len(texts):
        raise ToolFailed("The same question is asked twice.")
    for question in questions:
        labels = [option["label"] for option in question["options"]]
        if len(set(labels)) < len(labels):
            raise ToolFailed(f"Two options of the question {question['question']!r} have the same label.")
    if scene.ask is None:
        raise ToolFailed("No user is available to answer. Continue as you think best, and say what you assumed.")
    response = dict(await scene.ask(questions))
    annotations = response.pop("annotations", None) if "annotations" not in texts else None
    answers = {text: _format_answer(response[text]) for text in texts if text in response}
    detail = {"questions": questions, "answers": answers} | ({"annotations": annotations} if annotations else {})
    if not answers:
        return CallResult("The user did not answer. Continue as you think best, and say what you assumed.", detail)
    summary = ", ".join(f'"{question}"="{answer}"' for question, answer in answers.items())
    return CallResult(f"User has answered your questions: {summary}. Continue with these answers.", detail)


def _format_answer(answer: object) -> str:
    return ", ".join(map(str, answer)) if isinstance(answer, list | tuple) else str(answer)


_OPTION = object_schema(
    label=required_field(TEXT, "The answer in one to five words", minLength=1),
    description=required_field(TEXT, "What it would mean"),
    preview=optional_field(TEXT, "What it would look like"),
)
_QUESTION = object_schema(
    question=required_field(TEXT, "The whole question", minLength=1),
    header=required_field(TEXT, "A word for it, of at most 12 letters", maxLength=12),
    options=required_field(array_schema(_OPTION, 2, 4), "The answers to choose from; the user may always give another"),
    multiSelect=optional_field(BOOLEAN, "Several answers may be chosen", default=False),
)
ASK_USER_QUESTION = SpecTool(
    "AskUserQuestion",
    "Ask the user something that only they can decide, with answers to choose from.",
    object_schema(questions=required_field(array_schema(_QUESTION, 1, 4), "The questions")),
    ask,
    reads=True,
)
