"""What a question says about the call that it asks for: all of it, and nothing that passes for something else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clew.chat import events
from clew.chat.permission.decision import Decision
from clew.console.ask_user_dialog import permission_menu
from clew.console.describe_call import describe
from clew.console.menu import Menu, Option
from clew.console.question_box import layout_question, wrap
from clew.console.questionnaire import question_menu
from clew.view.approval_text import unescape

SIZES = [(80, 24), (40, 20), (120, 40), (36, 14)]
HOSTILE = "a\x1b]0;x\x07b\u202ec\u200bd\U000e0041e\u0430f\rg\x9bh"


def asked(
    name: str, folder: str = "/p", asker: events.RequestingAgent | None = None, **given: Any
) -> events.PermissionRequested:
    waiting: Any = None
    decision = Decision("ask", f"{name} is not allowed yet", suggestions=(f"{name}(x)",))
    return events.PermissionRequested(
        call_id="c", name=name, input=given, decision=decision, answer=waiting, folder=folder, asker=asker
    )


def text_of(row: list[tuple[str, str]]) -> str:
    return "".join(text for _, text in row)


def pages(menu: Menu, columns: int, rows: int) -> list[list[str]]:
    """Every screen of a question, from the first to the last."""
    made = []
    while True:
        shown = layout_question(menu, columns, rows)
        made.append([text_of(row) for row in shown.rows])
        if shown.top + shown.page >= shown.total:
            return made
        menu.top = shown.top + shown.page


def told(name: str, folder: str = "/p", asker: events.RequestingAgent | None = None, **given: Any) -> str:
    return "\n".join(f"{d.mark} {d.text}" for d in describe(asked(name, folder, asker, **given)))


def test_a_command_is_shown_whole_with_who_asks_where_and_why() -> None:
    asker = events.RequestingAgent("a1", "Explore", "find the configuration")
    shown = told("Bash", "/p/sub", asker, command="cat > x <<'E'\nrm -rf ~\nE", description="Look", timeout=5)
    for line in (
        "Tool: Bash",
        "Asked by: agent Explore",
        "Folder: /p/sub",
        "│ cat > x <<'E'",
        "│ rm -rf ~",
        "Model's note: Look",
        "Other arguments: ",
        "  timeout: 5",
        "Agent's task: find the configuration",
        "Reason: Bash is not allowed yet",
    ):
        assert line in shown.split("\n")


def test_no_argument_of_an_mcp_call_is_left_out() -> None:
    given: dict[str, Any] = {
        "text": "hello",
        "many": "a\nb",
        "deep": {"x": [1, {"y": None}], "words": ["one", "two", "three", "four", "five", "six", "seven"]},
        "flat": {"x": [1, True]},
        "none": None,
        "odd key: 1": True,
        "e": [],
    }
    shown = told("mcp__server__shout", "/p", None, **given)
    assert "Tool: mcp__server__shout" in shown
    assert "text: hello" in shown
    assert "    │ a\n    │ b" in shown
    quoted = [
        line.removeprefix("    │ ") for line in shown[shown.index("deep:") :].split("\n") if line.startswith("    │ ")
    ]
    assert json.loads("".join(quoted)) == given["deep"]
    for line in ('flat: {"x": [1, true]}', "none: null", '"odd key: 1": true', "e: []"):
        assert line in shown


def test_no_argument_passes_for_a_fact() -> None:
    lines = told("mcp__x__y", "/p", None, **{"Folder": "/safe", "Asked by": "the user", "Reason": "harmless"}).split(
        "\n"
    )
    assert [line for line in lines if line.startswith(("Folder", "Asked by", "Reason"))] == [
        "Asked by: main conversation",
        "Folder: /p",
        "Reason: mcp__x__y is not allowed yet",
    ]
    assert lines[lines.index("Arguments: ") :] == [
        "Arguments: ",
        "  Folder: /safe",
        '  "Asked by": the user',
        "  Reason: harmless",
    ]


def test_changes_of_files_are_shown_whole(tmp_path: Path) -> None:
    folder = str(tmp_path)
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    edit = told("Edit", folder, file_path="a.txt", old_string="two", new_string="2")
    assert "   2 - two\n   2 + 2" in edit
    new = told("Write", folder, file_path="new.py", content="".join(f"line {n}\n" for n in range(1, 401)))
    assert [line for line in new.split("\n") if " + line " in line] == [f"{n:>4} + line {n}" for n in range(1, 401)]
    over = told("Write", folder, file_path="a.txt", content="one\n2\nthree")
    assert "   2 - two\n   3 - three\n   2 + 2\n   3 + three" in over
    assert "without a newline" in over
    lost = told("Edit", folder, file_path="a.txt", old_string="gone\nlines", new_string="new\nones", replace_all=True)
    assert "- gone\n- lines\n+ new\n+ ones" in lost
    assert "Every occurrence" in lost
    many = told("MultiEdit", folder, file_path="a.txt", edits=[{"old_string": "one", "new_string": "1"}])
    assert "   1 - one\n   1 + 1" in many
    odd = told("MultiEdit", folder, file_path="a.txt", edits="not a list")
    assert "edits: not a list" in odd
    book = told(
        "NotebookEdit", folder, notebook_path="n.ipynb", new_source="a = 1\nb = 2", cell_id="c", edit_mode="delete"
    )
    for line in ("File: n.ipynb", "│ a = 1", "│ b = 2", "cell_id: c", "edit_mode: delete"):
        assert line in book


def test_a_path_that_is_a_link_says_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/hostname")
    assert "Which leads to: /etc/hostname" in told("Write", str(tmp_path), file_path="link", content="x")


def test_a_plan_a_page_and_a_search_are_shown() -> None:
    assert "│ # Plan\n│ - delete all" in told("ExitPlanMode", plan="# Plan\n- delete all")
    page = told("WebFetch", url="http://x.example/?q=secret", prompt="Read\nit")
    assert "url: http://x.example/?q=secret" in page
    assert "    │ Read\n    │ it" in page
    assert "query: how to" in told("WebSearch", query="how to", blocked_domains=["a"])


@pytest.mark.parametrize(
    "given",
    [
        ("Bash", {"command": HOSTILE}),
        ("Write", {"file_path": HOSTILE, "content": HOSTILE}),
        ("mcp__x__y", {HOSTILE: HOSTILE, "deep": [HOSTILE]}),
        (f"mcp__{HOSTILE}__y", {}),
        ("WebFetch", {"url": HOSTILE, "prompt": HOSTILE}),
        ("ExitPlanMode", {"plan": HOSTILE}),
    ],
)
def test_nothing_hidden_reaches_the_screen_and_nothing_is_removed(given: tuple[str, dict[str, Any]]) -> None:
    name, arguments = given
    asker = events.RequestingAgent("a", HOSTILE, HOSTILE)
    menu = permission_menu(asked(name, f"/p/{HOSTILE}", asker, **arguments), "default")
    for columns, rows in SIZES:
        menu.top = 0
        seen = "\n".join(line for page in pages(menu, columns, rows) for line in page)
        assert seen.replace("\n", "").isprintable()
        assert "\u0430" not in seen
    whole = "\n".join(f"{d.mark} {d.text}" for d in menu.details)
    assert unescape(whole).count(HOSTILE) >= 3


@pytest.mark.parametrize("size", SIZES)
def test_all_of_a_long_command_can_be_scrolled_to(size: tuple[int, int]) -> None:
    command = "\n".join(f"echo step {n} {'x' * (n * 7 % 90)} end{n}" for n in range(57))
    menu = permission_menu(asked("Bash", command=command), "default")
    whole = [text_of(row) for row in layout_question(menu, size[0], 10_000).rows]
    seen: list[str] = []
    for page in pages(menu, *size):
        assert len(page) <= size[1]
        assert all(len(line) <= size[0] for line in page)
        assert any("lines " in line and " of " in line and "PgUp/PgDn" in line for line in page)
        assert any("1. Yes" in line for line in page)
        seen += page
    assert set(whole) <= set(seen)
    text = "".join(line.lstrip(" │↳") for line in whole).replace(" ", "")
    assert all(f"end{n}" in text for n in range(57))


def test_a_line_that_is_broken_is_told_from_two_lines() -> None:
    one = permission_menu(asked("Bash", command="echo " + "a" * 100), "default")
    two = permission_menu(asked("Bash", command="echo " + "a" * 69 + "\n" + "a" * 31), "default")
    assert [text_of(row) for row in layout_question(one, 80, 24).rows] != [
        text_of(row) for row in layout_question(two, 80, 24).rows
    ]


def test_wrapping_loses_nothing_and_shows_tabs() -> None:
    assert wrap("a\tb", 80) == ["a⇥  b"]
    assert wrap("\tb", 80) == ["⇥   b"]
    assert "".join(wrap("字" * 30 + " x  y ", 7)) == "字" * 30 + " x  y "
    assert wrap("", 10) == [""]


def test_a_rule_that_would_be_kept_is_shown_whole() -> None:
    rules = tuple(f"Bash(git commit -m 'part {n} of a long rule')" for n in range(5))
    told = asked("Bash", command="x")
    long = events.PermissionRequested(
        call_id="c",
        name="Bash",
        input={"command": "x"},
        answer=told.answer,
        folder="/p",
        decision=Decision("ask", "r", suggestions=rules),
    )
    for columns, rows in SIZES:
        menu = permission_menu(long, "default")
        whole = [text_of(row) for row in layout_question(menu, columns, 10_000).rows]
        assert set(whole) <= {line for page in pages(menu, columns, rows) for line in page}
        text = "".join(line.strip(" ↳") for line in whole)
        assert all(rule.replace(" ", "") in text.replace(" ", "") for rule in rules)


def test_a_question_of_the_model_is_escaped_and_complete() -> None:
    label, about = f"Yes {HOSTILE}", "because " * 60
    menu = question_menu(
        {"question": "Q " * 400, "header": HOSTILE, "options": [{"label": label, "description": about}]}
    )
    for columns, rows in SIZES:
        menu.top = 0
        whole = [text_of(row) for row in layout_question(menu, columns, 10_000).rows]
        assert set(whole) <= {line for page in pages(menu, columns, rows) for line in page}
        text = "".join(line.strip(" │↳") for line in whole).replace(" ", "")
        assert text.isprintable()
        assert text.count("because") >= 60
        assert text.count("Q") >= 400


def test_no_answer_is_selected_at_first() -> None:
    for name in ("Bash", "Write", "ExitPlanMode", "mcp__a__b"):
        assert permission_menu(asked(name), "default").answer() is None
    assert Menu("Which?", [Option("a", 1)]).answer() is None
    assert Menu("Which?", [Option("a", 1)], is_sought=True).answer() is not None


def test_a_question_fits_a_small_terminal() -> None:
    menu = permission_menu(asked("Bash", command="rm -rf src"), "default")
    menu.count = "1 of 64"
    shown = layout_question(menu, 36, 14)
    assert "1 of 64" in text_of(shown.rows[0])
    assert len(shown.rows) <= 14
