"""Ask several questions of the model: each has a tab, answers can be revisited, and the last tab submits them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from clew.console.menu import Menu, MenuAnswer, Option, QuestionLine
from clew.facts.tool_catalog import objects
from clew.view.approval_text import escape_line
from clew.wire.json_codec import Json

SUBMIT = "Submit"
Ask = Callable[[Menu], Awaitable[MenuAnswer | None]]


def question_menu(question: Any, is_agent: bool = False) -> Menu:
    """Return a question of the model. A free answer is always possible."""
    options = [
        Option(str(o.get("label", "")), str(o.get("label", "")), str(o.get("description", "")))
        for o in objects(question.get("options"))
    ]
    other = Option("Something else", None, takes="say what", opens=True, needs_text=True)
    header = str(question.get("header") or "")
    title = f"[{header}] {question.get('question')}" if header else str(question.get("question"))
    about = "A sub-agent asks this question." if is_agent else ""
    is_many = bool(question.get("multiSelect"))
    return Menu(title, [*options, other], about, is_many=is_many, is_sudden=True)


async def ask_questions(questions: Sequence[Json], is_agent: bool, ask: Ask) -> dict[str, str] | None:
    """Ask all questions; return the answers by question, None if the user dismissed one."""
    answers: dict[int, MenuAnswer] = {}
    at = 0
    while True:
        menu = _menu(questions, at, answers, is_agent)
        answer = await ask(menu)
        if answer is None:
            return None
        if answer.move:
            at = max(0, min(at + answer.move, len(questions)))
        elif at < len(questions):
            answers[at] = answer
            if len(questions) == 1:
                break
            at += 1
        elif answer.value == SUBMIT:
            break
        else:
            at = int(answer.value)
    return {str(questions[number].get("question")): _text(answer) for number, answer in sorted(answers.items())}


def _menu(questions: Sequence[Json], at: int, answers: dict[int, MenuAnswer], is_agent: bool) -> Menu:
    """Return the question of a tab, with the earlier answer selected; after the last question, the review."""
    menu = question_menu(questions[at], is_agent) if at < len(questions) else _review(questions, answers)
    if len(questions) > 1:
        if at < len(questions):
            menu.title = str(questions[at].get("question"))  # its header is the name of the tab
        menu.tabs = [
            *((_header(question), number in answers) for number, question in enumerate(questions)),
            (SUBMIT, False),
        ]
        menu.tab = at
    if (earlier := answers.get(at)) is not None and earlier.values:
        marked = [number for number, option in enumerate(menu.options) if option.value in earlier.values]
        menu.at = marked[0] if marked else menu.at
        menu.chosen = set(marked) if menu.is_many else set()
    return menu


def _review(questions: Sequence[Json], answers: dict[int, MenuAnswer]) -> Menu:
    details = []
    for number, question in enumerate(questions):
        answer = _text(answers[number]) if number in answers else "(no answer)"
        details.append(QuestionLine(escape_line(answer), f"{escape_line(_header(question))}:", "fact"))
    is_complete = len(answers) == len(questions)
    options = [Option(SUBMIT if is_complete else "Submit without the missing answers", SUBMIT)]
    options += [Option(f"Change: {_header(question)}", number) for number, question in enumerate(questions)]
    return Menu("Submit these answers?", options, is_sudden=True, details=details)


def _header(question: Json) -> str:
    return str(question.get("header") or question.get("question") or "")[:24]


def _text(answer: MenuAnswer) -> str:
    labels = [str(value) for value in answer.values if value is not None]
    return ", ".join([*labels, *([answer.text] if answer.text else [])])
