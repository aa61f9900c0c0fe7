"""What people see of a session, word for word."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from clew.conversation.session import Session
from clew.demo.talk import DENSE, Talk, bash, edit, plan, task, todo, tool, write
from clew.demo.talk import talk as begin
from clew.view.progressive import progressive_rows
from clew.view.row_terminal import plain_lines, print_rows
from clew.view.row_types import AgentRow, CallRow, CompactionRow, PromptRow, ReplyRow, Row, TodoRow
from clew.view.rows import ViewOptions, rows
from clew.wire.layout import session_at

Show = Callable[..., str]
LIST = "/home/ada/garden/beds/list.txt"


@pytest.fixture
def show(tmp_path: Path) -> Show:
    """A talk as it is printed where there is no terminal."""

    def shown(told: Talk, **wish: Any) -> str:
        path = told.write(tmp_path / str(len(list(tmp_path.iterdir()))))
        screen = io.StringIO()
        print_rows(progressive_rows(Session(path, file=session_at(path)), ViewOptions(**wish)), screen)
        return screen.getvalue()

    return shown


def screen(text: str) -> str:
    return dedent(text).removeprefix("\n")


def garden() -> Talk:
    told = begin(step=DENSE).user("Add a bed for beans.")
    told = told.reply("I'll look first.", thinking="Which file?", call=bash("ls beds")).result("peas\ntomatoes\n")
    told = told.reply(call=edit(LIST, "peas\n", "peas\nbeans\n"))
    told = told.result(detail={"filePath": LIST, "oldString": "peas\n", "newString": "peas\nbeans\n"})
    return told.reply("Done.").turn_duration(9000).user("Thanks.").reply("With pleasure.")


@pytest.mark.req("R230")
def test_a_session_replays_with_its_calls_results_and_durations(show: Show) -> None:
    assert show(garden()) == screen("""

        ❯ Add a bed for beans.
        I'll look first.
        ● Bash ls beds  1s
          ⎿ peas
            tomatoes
        ● Edit beds/list.txt  1s
            @@ -1 +1,2 @@
             peas
            +beans
        Done.
        · turn took 9s

        ❯ Thanks.
        With pleasure.
    """)


@pytest.mark.req("R230")
def test_each_depth_shows_more(show: Show) -> None:
    assert show(garden(), depth="prompts") == "\n❯ Add a bed for beans.\n\n❯ Thanks.\n"
    assert show(garden(), depth="replies") == screen("""

        ❯ Add a bed for beans.
        I'll look first.
        Done.
        · turn took 9s

        ❯ Thanks.
        With pleasure.
    """)
    more = set(show(garden(), depth="full").splitlines()) - set(show(garden()).splitlines())
    assert more == {
        "    --- /home/ada/garden/beds/list.txt",
        "    +++ /home/ada/garden/beds/list.txt",
        "  ⎿ The file /home/ada/garden/beds/list.txt has been updated.",
    }


@pytest.mark.req("R230")
def test_thinking_is_marked_and_only_shown_on_request(show: Show) -> None:
    assert "Which file?" not in show(garden(), depth="full")
    assert show(garden(), depth="replies", thinking=True).splitlines()[1:4] == [
        "❯ Add a bed for beans.",
        "✻ Which file?",
        "I'll look first.",
    ]
    assert "\n✻ (not stored)\n" in show(begin(step=DENSE).user("hi").reply("ho", thinking=""), thinking=True)


def test_a_failed_call_an_open_call_and_an_interrupt(show: Show) -> None:
    told = begin(step=DENSE).user("go").reply(call=bash("make")).result("boom", error=True).interrupt(in_tool=True)
    assert show(told.user("again").reply(call=bash("make -k"))) == screen("""

        ❯ go
        ● Bash make  1s  FAILED
          ⎿ boom
        ⏹ Request interrupted by user for tool use

        ❯ again
        ● Bash make -k  (no result)
    """)


@pytest.mark.req("R231")
def test_progress_belongs_to_its_call_and_is_what_an_open_call_said(show: Show) -> None:
    told = begin(step=DENSE).user("go").reply(calls=[bash("slow"), bash("quick")])
    told = told.progress("bash_progress", call=0, output="1\n", fullOutput="1\n")
    told = told.progress("bash_progress", call=0, output="2\n", fullOutput="1\n2\n").result("done", for_=1)
    assert show(told) == screen("""

        ❯ go
        ● Bash slow  (no result)
          ⎿ 1
            2
        ● Bash quick  3s
          ⎿ done
    """)
    assert "1\n" not in show(told.result("finished", for_=0))


def test_a_long_result_is_cut_and_what_is_left_out_is_counted(show: Show) -> None:
    told = begin(step=DENSE).user("go").reply(call=bash("seq 9")).result("\n".join(map(str, range(1, 10))))
    assert show(told, lines=3).endswith("  ⎿ 1\n    2\n    3\n    … 6 more lines\n")
    assert show(told, lines=8).endswith("    8\n    … 1 more line\n")
    assert show(told, lines=None).endswith("    8\n    9\n")
    assert show(told, depth="full", lines=1).endswith("    8\n    9\n")


def test_a_long_command_is_one_line_unless_all_is_asked_for(show: Show) -> None:
    told = begin(step=DENSE).user("go").reply(call=bash("cat > x <<E\n" + "word " * 100 + "\nE")).result("")
    assert len(show(told).splitlines()[2]) < 180 and "…  1s" in show(told)
    assert show(told, lines=None).count("word") == 100


def test_todos_and_plans_are_lists(show: Show) -> None:
    told = (
        begin(step=DENSE).user("go").reply(call=todo([("dig", "completed"), ("sow", "in_progress"), "water"])).result()
    )
    assert show(told.reply(call=plan("# Beds\n\n1. dig")).result().reply("ok")) == screen("""

        ❯ go
        ● TodoWrite 1/3 done  1s
            ☒ dig
            ◐ sow
            ☐ water
        ● ExitPlanMode Beds  1s
          # Beds

          1. dig
        ok
    """)


def test_a_new_file_is_a_diff_against_nothing_and_long_diffs_are_cut(show: Show) -> None:
    told = begin(step=DENSE).user("go").reply(call=write("/home/ada/garden/new.txt", "a\n" * 60)).result()
    shown = show(told, diff_lines=5).splitlines()
    assert shown[2:5] == ["● Write new.txt  1s", "    @@ -0,0 +1,60 @@", "    +a"]
    assert shown[-1] == "    … 56 more lines"


def test_pictures_are_counted_and_a_prompt_of_nothing_else_is_not_empty(show: Show) -> None:
    assert "❯ see  [1 image]\n" in show(begin(step=DENSE).user("see", images=[b"\x89PNG"]).reply("ok"))
    assert "❯ (no text)  [2 images]\n" in show(begin(step=DENSE).user([], images=[b"\x89PNG", b"\x89PNG2"]).reply("ok"))


def test_a_prompt_queued_while_the_model_was_busy_stands_where_it_was_read(show: Show) -> None:
    told = begin(step=DENSE).user("go").reply(call=bash("ls")).result("x")
    told = told.attachment("queued_command", prompt="also water", commandMode="prompt").reply("ok")
    assert show(told, depth="replies") == "\n❯ go\n\n❯ also water\nok\n"
    assert show(told, depth="prompts") == "\n❯ go\n\n❯ also water\n"


@pytest.mark.req("R234")
def test_a_compaction_is_a_line_with_its_trigger_and_size(show: Show) -> None:
    told = (
        begin(step=DENSE)
        .user("go")
        .reply("ok")
        .compact("Short.", trigger="manual", pre_tokens=155_000)
        .user("on")
        .reply("yes")
    )
    assert show(told) == screen("""

        ❯ go
        ok
        ──── compacted (manual, 155.0k tokens before, 14.2k after) ────
          Short.

        ❯ on
        yes
    """)
    assert "──── compacted (manual, 155.0k tokens before, 14.2k after) ────" in show(told, depth="prompts")
    old = begin(version="2.0.50", step=DENSE).user("a").reply("b").compact("s", trigger="context_limit", pre_tokens=900)
    assert "──── compacted (auto, 900 tokens before) ────" in show(old)


@pytest.mark.req("R234")
def test_what_stands_before_the_first_prompt_is_shown_too(show: Show) -> None:
    told = begin(step=DENSE).compact("Beds were dug.", pre_tokens=99).reply("Going on.").user("next").reply("ok")
    assert show(told) == screen("""
        ──── compacted (auto, 99 tokens before, 14.2k after) ────
          Beds were dug.
        Going on.

        ❯ next
        ok
    """)


@pytest.mark.req("R196")
def test_an_agent_is_nested_at_the_call_that_began_it(show: Show) -> None:
    grand = begin(seed=3, step=DENSE).user("look twice").reply("Still four.")
    child = begin(seed=2, step=DENSE).user("count the beds").reply("Counting.", call=bash("ls")).result("4")
    child = child.reply(call=task("Check", "look twice", "Explore")).agent(0, grand).reply("Four.")
    told = (
        begin(step=DENSE).user("how many?").reply(call=task("Count beds", "count the beds", "Explore")).agent(0, child)
    )
    told = told.reply("Four beds.")
    assert show(told) == screen("""

        ❯ how many?
        ● Agent Count beds  12s
          │ ◆ agent Count beds  (Explore, claude-opus-5, 14.3k tokens)
          │ Counting.
          │ ● Bash ls  1s
          │   ⎿ 4
          │ ● Agent Check  4s
          │   │ ◆ agent Check  (Explore, claude-opus-5)
          │   │ Still four.
          │ Four.
        Four beds.
    """)
    assert show(told, agents=False) == "\n❯ how many?\n● Agent Count beds  12s\n  ⎿ Four.\nFour beds.\n"


@pytest.mark.req("R232")
def test_what_the_program_wrote_is_not_the_persons_word(show: Show) -> None:
    told = begin(step=DENSE).user("hi").user("Caveat: invisible.", meta=True).reply("ho")
    assert show(told) == "\n❯ hi\nho\n"
    assert show(told, meta=True) == "\n❯ hi\n· Caveat: invisible.\nho\n"


def test_commands_notices_and_errors_of_the_program(show: Show) -> None:
    told = begin(step=DENSE).user("<command-name>/cost</command-name>\n<command-args>now</command-args>")
    told = told.user("<local-command-stdout>1 cent</local-command-stdout>")
    told = told.user("<local-command-stdout></local-command-stdout>").command("status", "", "fine")
    told = told.user("<task-notification><summary>The agent is back.</summary></task-notification>")
    told = told.system("informational", content="Heads up").system("api_error", retryAttempt=2, maxRetries=10)
    assert show(told.api_error("API Error: 529")) == screen("""

        ❯ /cost now
        · 1 cent
        · /status
        · fine
        · The agent is back.
        · Heads up
        · the API failed, attempt 2 of 10
        ✗ API Error: 529
    """)


@pytest.mark.req("R233")
def test_the_blocks_of_one_reply_stay_together_and_only_what_can_be_shown_is(show: Show) -> None:
    told = (
        begin(step=DENSE)
        .user("go")
        .reply("First.", calls=[bash("a"), bash("b")], blocks=[{"type": "text", "text": "  "}])
    )
    told = told.result("1", for_=0).result("2", for_=1)
    told = told.reply("Last.", blocks=[{"type": "fallback"}, {"type": "redacted_thinking", "data": "xx"}])
    assert show(told, depth="full") == "\n❯ go\nFirst.\n● Bash a  2s\n  ⎿ 1\n● Bash b  2s\n  ⎿ 2\nLast.\n"


def test_tools_from_elsewhere_are_named_by_their_server(show: Show) -> None:
    told = begin(step=DENSE).user("go").reply(call=tool("mcp__shed__open", path="/home/ada/garden/shed")).result("open")
    assert "● shed: open shed  1s" in show(told)


# -- with colour


def coloured(found: list[Row], monkeypatch: pytest.MonkeyPatch, width: int = 40) -> str:
    for name, value in {"TERM": "xterm-256color", "COLUMNS": str(width), "FORCE_COLOR": "1", "COLORTERM": ""}.items():
        monkeypatch.setenv(name, value)
    out = io.StringIO()
    print_rows(found, out)
    return out.getvalue()


def test_a_terminal_gets_colour_and_markdown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    session = Session(garden().reply("See **this** [link](https://example.test/x).").bytes())
    shown = coloured(list(rows(session, session.turns, ViewOptions())), monkeypatch)
    assert "\x1b[1mthis\x1b[0m" in shown and "**" not in shown
    assert "\x1b[38;5;28m    +beans\x1b[0m" in shown
    assert "https://example.test/x" in shown and "\x1b]8;" not in shown


def test_a_failure_and_an_agent_have_colours_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    found: list[Row] = [CallRow("Bash x", failed=True), AgentRow("count", 1), PromptRow("hi")]
    shown = coloured(found, monkeypatch)
    assert "\x1b[38;5;167m● Bash x  FAILED\x1b[0m" in shown
    assert "\x1b[38;5;133m  │ ◆ agent count\x1b[0m" in shown
    assert "\x1b[1;38;5;167m❯\x1b[0m\x1b[1m hi\x1b[0m" in shown


def test_every_kind_of_row_has_lines() -> None:
    assert list(plain_lines(CompactionRow())) == ["──── compacted (unknown) ────"]
    assert list(plain_lines(TodoRow("dig", status="cancelled"))) == ["    ☐ dig"]
    assert list(plain_lines(ReplyRow("text", 1))) == ["  │ text"]
