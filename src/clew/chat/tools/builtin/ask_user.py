"""AskUserQuestion: questions put to the person, with answers to choose from."""

from __future__ import annotations

from clew.chat.tools.tool import CallResult, ToolContext, ToolFailed
from clew.chat.tools.tool_spec import FLAG, TEXT, SpecTool, fields, listed, needed, optional
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
        raise ToolFailed("There is nobody here who could be asked. Go on as you think best, and say what you assumed.")
    given = dict(await scene.ask(questions))
    annotations = given.pop("annotations", None) if "annotations" not in texts else None
    answers = {text: _told(given[text]) for text in texts if text in given}
    detail = {"questions": questions, "answers": answers} | ({"annotations": annotations} if annotations else {})
    if not answers:
        return CallResult("The person did not answer. Go on as you think best, and say what you assumed.", detail)
    told = ", ".join(f'"{question}"="{answer}"' for question, answer in answers.items())
    return CallResult(f"User has answered your questions: {told}. Go on with these answers.", detail)


def _told(answer: object) -> str:
    return ", ".join(map(str, answer)) if isinstance(answer, list | tuple) else str(answer)


_OPTION = fields(
    label=needed(TEXT, "The answer in one to five words", minLength=1),
    description=needed(TEXT, "What it would mean"),
    preview=optional(TEXT, "What it would look like"),
)
_QUESTION = fields(
    question=needed(TEXT, "The whole question", minLength=1),
    header=needed(TEXT, "A word for it, of at most 12 letters", maxLength=12),
    options=needed(listed(_OPTION, 2, 4), "The answers to choose from; the person may always give another"),
    multiSelect=optional(FLAG, "Several answers may be chosen", default=False),
)
ASK_USER_QUESTION = SpecTool(
    "AskUserQuestion",
    "Ask the person something that only they can decide, with answers to choose from.",
    fields(questions=needed(listed(_QUESTION, 1, 4), "The questions")),
    ask,
    reads=True,
)
