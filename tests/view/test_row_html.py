"""HTML: what is shown, how it nests, and that no word of a transcript becomes markup."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest

from clew.conversation.session import Session
from clew.demo.talk import DENSE, Talk, bash, edit, plan, read, talk, task, todo, tool, write
from clew.view.attachments import Picture
from clew.view.diff_html import parse_diff
from clew.view.row_html import RowLinks, fragments
from clew.view.row_types import PromptRow, Row
from clew.view.rows import ViewOptions, preamble_rows, rows
from tests.view.every_row import ROW_TYPES, fill_row
from tests.view.markup import tags
from tests.view.payloads import PAYLOADS, everywhere

WHOLE = ViewOptions(depth="full", thinking=True, meta=True, lines=None, diff_lines=None, details=True)
PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20


def html(said: Talk | Session, **wish: Any) -> str:
    session = said if isinstance(said, Session) else Session(said.bytes())
    options = ViewOptions(**{"details": True, **wish})
    return "".join(fragments([*preamble_rows(session, options), *rows(session, session.turns, options)]))


def garden() -> Talk:
    return (
        talk(step=DENSE)
        .user("dig")
        .reply("**Now.**", call=bash("ls"))
        .result("a\nb")
        .reply("Two.")
        .user("sow")
        .reply("ok")
    )


@pytest.mark.parametrize("number", range(len(PAYLOADS)))
def test_no_payload_becomes_markup_in_any_place(number: int, tmp_path: Any) -> None:
    path = everywhere(PAYLOADS[number], number).write(tmp_path)
    session = Session(path)
    assert session.agents and len(session.branches) == 2
    for turns in (session.turns, session.turns_of(session.branches[0])):
        found = tags("".join(fragments(rows(session, turns, WHOLE))))
        assert {tag.name for tag in found} >= {"section", "header", "div"}
    assert "agent" in "".join(tag.attributes.get("class", "") for tag in tags(_whole(session)))


def _whole(session: Session) -> str:
    return "".join(fragments(rows(session, session.turns, WHOLE)))


def test_turns_are_sections_with_calls_that_fold() -> None:
    made = html(garden())
    assert re.findall(r'<section class="turn" id="(turn-\d)">', made) == ["turn-1", "turn-2"]
    assert '<div class="said">dig</div>' in made and "<strong>Now.</strong>" in made
    assert re.search(
        r'<details class="call" id="call-toolu_\w+" data-tool="Bash"><summary><b>Bash</b> <code>ls</code> '
        r'<span class="took">1s</span></summary>\n<pre class="result">a\nb</pre>\n</details>',
        made,
    )


def test_any_run_of_rows_is_well_formed() -> None:
    child = talk(seed=2, step=DENSE).user("count").reply("one", call=bash("wc")).result("1").reply("end")
    told = garden().user("more").reply(call=task("Count", "count")).agent(0, child).reply("done")
    session = Session(told.bytes())
    found = list(rows(session, session.turns, WHOLE))
    for start in range(len(found)):
        for stop in (start + 1, start + 3, len(found)):
            tags("".join(fragments(found[start:stop], "left-")))


def test_an_agent_is_nested_in_its_call(tmp_path: Any) -> None:
    child = talk(seed=2, step=DENSE).user("count").reply("inner", call=bash("wc")).result("7")
    told = talk(step=DENSE).user("go").reply(call=task("Count", "count\nall")).agent(0, child).reply("after")
    made = html(Session(told.write(tmp_path)))
    agent = made[made.index('<details class="agent"') : made.index("after")]
    assert "<b>Agent</b> Count" in agent and "inner" in agent and '<pre class="result">7</pre>' in agent
    assert agent.count("</details>") == 3 and made.index("count\nall</pre>") < made.index("inner")


def test_a_prefix_keeps_two_sessions_apart() -> None:
    made = "".join(fragments([PromptRow("x", number=3)], "b-"))
    assert 'id="b-turn-3"' in made and 'href="#b-turn-3"' in made


def test_edits_todos_and_plans_are_shown_as_such_and_open() -> None:
    told = talk(step=DENSE).user("go").reply(call=todo([("dig", "completed"), "sow"])).result()
    told = told.reply(call=plan("# Beds\n1. dig")).result().reply(call=edit("/g/x", "a", "b")).result()
    made = html(told)
    assert '<div class="todo done">☒ dig</div>\n<div class="todo">☐ sow</div>' in made
    assert '<div class="plan"><h3>Beds</h3>\n<ol>' in made
    assert '<del data-n="   1     ">-a\n</del><ins data-n="        1">+b\n</ins>' in made
    assert "<b>The user approved the plan</b>" in made
    assert made.count(" open>") == 3


@pytest.mark.req("R234")
def test_compactions_are_marked() -> None:
    made = html(talk(step=DENSE).user("go").reply("ok").compact("So far.", pre_tokens=171_200).user("on").reply("yes"))
    assert '<div class="compaction">Compacted (auto, 171.2k tokens before' in made
    assert '<details class="summary"><summary>Summary</summary><p>So far.</p>' in made


def test_a_turn_tells_what_it_took() -> None:
    told = talk(step=DENSE).user("go").reply("ok", usage={"output_tokens": 1500, "cache_read_input_tokens": 20_000})
    made = html(told.turn_duration(83_000))
    assert re.search(r'<span class="took">1m23s · 1.5k output tokens · [23]\d\.\dk in context</span>', made)
    assert '<time datetime="2026-01-05T09:00:00.000Z">2026-01-05 09:00</time>' in made
    assert "took" not in html(told, details=False)


def test_pictures_are_inline_and_only_pictures() -> None:
    made = html(
        talk(step=DENSE).user("see", images=[PNG, b"<svg onload=x>"]).reply(call=read("/x.png", image=PNG)).result()
    )
    data = base64.b64encode(PNG).decode()
    assert made.count(f'<img src="data:image/png;base64,{data}"') == 2
    assert '<div class="note">[image image/png, 14 B]</div>' in made
    assert made.count("<img") == 2


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0" + b"0" * 20, "image/jpeg"),
        (b"GIF89a" + b"0" * 20, "image/gif"),
        (b"RIFF0000WEBP" + b"0" * 20, "image/webp"),
        (b"RIFF0000WAVE" + b"0" * 20, None),
        (b"<svg xmlns='http://www.w3.org/2000/svg'>", None),
        (b"%PDF-1.7", None),
        (b"", None),
    ],
)
def test_a_picture_is_known_by_its_first_bytes(data: bytes, kind: str | None) -> None:
    uri = Picture("image", "image/svg+xml", base64.b64encode(data).decode()).uri
    assert (uri is None) if kind is None else (uri or "").startswith(f"data:{kind};base64,")


@pytest.mark.parametrize("tail", ['"><script>', "é", "=A", " ", "\x00"])
def test_a_picture_is_base64_to_its_end(tail: str) -> None:
    assert Picture("image", "image/png", base64.b64encode(PNG).decode() + tail).uri is None


def test_long_input_is_shown_and_short_is_not() -> None:
    made = html(
        talk(step=DENSE).user("go").reply(call=bash("cat <<E\na\nE")).result("a").reply(call=bash("ls")).result("b")
    )
    assert made.count('<pre class="input">') == 1 and ">cat &lt;&lt;E … 2 more lines</code>" in made
    assert re.sub("<[^>]+>", "", made).count("cat &lt;&lt;E\na\nE") == 1
    everything = html(talk(step=DENSE).user("go").reply(call=bash("ls", "List")).result("b"), depth="full")
    assert '<pre class="input">description: List</pre>' in everything


def test_a_long_command_is_named_in_a_line_and_told_in_full_below() -> None:
    made = html(talk(step=DENSE).user("go").reply(call=bash("echo " + "x" * 900)).result("x"))
    assert (
        re.search(r"<code>echo x{140,160}…</code>", made)
        and f'<pre class="input"><span class="t-name">echo</span> {"x" * 900}</pre>' in made
    )


def test_what_is_left_out_is_counted() -> None:
    made = html(talk(step=DENSE).user("go").reply(call=bash("seq 9")).result("\n".join("123456789")), lines=2)
    assert '<pre class="result">1\n2</pre><div class="more">… 7 more lines</div>' in made


def test_colours_of_a_terminal_are_spans() -> None:
    told = (
        talk(step=DENSE)
        .user("go")
        .reply(call=bash("ls"))
        .result("\x1b[1;31mred\x1b[0m \x1b[38;5;10m<g>\x1b[m \x1b]0;t\x07x")
    )
    assert '<span class="a-bold a-fg1">red</span> <span class="a-fg10">&lt;g&gt;</span> x</pre>' in html(told)


def test_bidi_controls_are_visible() -> None:
    assert "user·· admin" in html(talk(step=DENSE).user("user\u202e\u2066 admin").reply("ok"))
    assert "\u202e" not in html(
        talk(step=DENSE).user("user\u202e").reply("re\u202eply", call=bash("\u202e")).result("\u202e")
    )


@pytest.mark.parametrize("row_type", ROW_TYPES)
def test_half_a_character_does_not_stop_a_page(row_type: type[Row]) -> None:
    "".join(fragments([fill_row(row_type, "\ud83d x")])).encode()


# -- runs of calls, folding, decisions


def _work(calls: list[Any]) -> Talk:
    told = talk(step=DENSE).user("go")
    for call in calls:
        told = told.reply(call=call).result("done")
    return told.reply("end")


def test_a_run_of_calls_is_one_line_that_contains_them() -> None:
    calls = [read(f"/g/{n}.py", "x = 1\n") for n in range(12)] + [
        edit(f"/g/{n}.py", "x = 1", "x = 2") for n in range(3)
    ]
    made = html(_work(calls))
    (group,) = re.findall(r'<details class="calls" id="calls-toolu_\w+"><summary>(.*?)</summary>', made)
    assert group.startswith('12 reads, 3 edits <span class="took">')
    assert '<span class="file">0.py <span class="changes"><ins>+1</ins> <del>−1</del></span></span>' in group
    assert made.count('<details class="call"') == 15
    tags(made)


def test_one_edit_among_reads_stays_in_sight() -> None:
    look = [read(f"/g/{n}", "x") for n in range(3)]
    made = html(_work([*look, edit("/g/0", "x", "y"), bash("make")]))
    assert made.count('<details class="calls"') == 1 and "<summary>3 reads" in made
    outside = made[made.index(">3 reads") :]
    assert outside.index("</details>\n</details>") < outside.index("<b>Edit</b>") < outside.index("<b>Bash</b>")


def test_failures_are_visible_on_a_closed_group() -> None:
    told = talk(step=DENSE).user("go")
    for number in range(4):
        told = told.reply(call=bash(f"test {number}")).result("no", error=number == 2)
    made = html(told)
    assert re.search(
        r'<details class="calls failed" [^>]*><summary>4 commands.*<span class="state">1 failed</span>', made
    )


def test_agents_and_waiting_calls_are_in_no_group(tmp_path: Any) -> None:
    child = talk(seed=2, step=DENSE).user("count").reply("inner")
    told = _work([bash("a"), bash("b")]).reply(call=task("Count", "count")).agent(0, child).reply(call=bash("c"))
    made = html(Session(told.write(tmp_path)))
    assert '<details class="calls' not in made


def test_a_repeated_todo_list_shows_what_changed() -> None:
    items = ["dig", "rake", "sow", "water"]
    told = talk(step=DENSE).user("go").reply(call=todo(items)).result()
    told = told.reply("now").reply(call=todo([("dig", "completed"), *items[1:]])).result()
    second = html(told).split(">now<")[1]
    folded = second.index('<details class="unchanged"><summary>3 items unchanged</summary>')
    assert second.index("☒ dig") < folded < second.index("☐ rake") < second.index("☐ water")


@pytest.mark.parametrize(
    ("text", "rest"), [("\n".join(map(str, range(500))), "492 more lines"), ("words " * 800, "4,099 more characters")]
)
def test_a_long_prompt_is_folded(text: str, rest: str) -> None:
    made = html(talk(step=DENSE).user(text).reply("ok"))
    assert f'<span class="more">… {rest}</span></summary>' in made and text.strip() in made
    assert 'details class="long' not in html(talk(step=DENSE).user("\n".join(map(str, range(30)))).reply("ok"))


def test_a_formatted_prompt_is_formatted_and_pasted_output_is_not() -> None:
    assert "<li>sow</li>" in html(talk(step=DENSE).user("Please:\n\n- dig\n- sow").reply("ok"))
    pasted = "# top\n\ndef x():\n    pass"
    assert f'<div class="said">{pasted}</div>' in html(talk(step=DENSE).user(pasted).reply("ok"))


def test_what_a_person_decided_stands_beside_the_call() -> None:
    question = {"question": "Which bed?", "header": "Bed", "options": [{"label": "North"}, {"label": "South"}]}
    answer = {"questions": [question], "answers": {"Which bed?": "South"}}
    told = talk(step=DENSE).user("go").reply(call=tool("AskUserQuestion", questions=[question]))
    told = told.result("South", detail=answer).reply(call=bash("rm -r beds")).deny()
    told = told.reply(call=bash("curl x")).result(
        "Permission to use Bash with command curl x has been denied.", error=True
    )
    made = html(told.interrupt())
    decisions = re.findall(r'<div class="decision(?: interrupt)?"><b>(.*?)</b>(.*?)</div>\n', made)
    assert decisions[0] == ("The user answered", '<div class="said">Which bed? → South</div>')
    assert [who for who, _ in decisions[1:]] == [
        "The user refused this call",
        "Permission denied by the rules",
        "The user interrupted",
    ]


# -- code and diffs


def test_a_diff_has_numbers_words_and_colours() -> None:
    told = talk(step=DENSE).user("go").reply(call=edit("/g/a.py", "x = 1\nreturn x", "x = 1\nreturn y")).result()
    made = html(told)
    assert '<span class="changes"><ins>+1</ins> <del>−1</del></span>' in made
    assert '<span data-n="   1    1"> x = <span class="t-number">1</span>\n</span>' in made
    assert '<del data-n="   2     ">-<span class="t-keyword">return</span> <b class="word">x</b>\n</del>' in made
    assert '<ins data-n="        2">+<span class="t-keyword">return</span> <b class="word">y</b>\n</ins>' in made


def test_the_header_of_a_diff_is_not_a_change() -> None:
    made = html(talk(step=DENSE).user("go").reply(call=write("/g/a.sql", "-- one\n")).result(), depth="full")
    assert '<span class="file">--- /dev/null\n</span><span class="file">+++ /g/a.sql\n</span>' in made
    removed = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n--- gone\n+++ come\n same"
    lines = list(parse_diff(removed.split("\n")))
    assert [line.sign for line in lines] == ["f", "f", "@", "-", "+", " "]
    assert [line.text for line in lines[3:5]] == ["-- gone", "++ come"]
    fenced = html(talk(step=DENSE).user("go").reply("```diff\n--- a\n+++ b\n-x\n+y\n```"))
    assert "<del>-" in fenced and "<del>---" not in fenced and "<ins>+++" not in fenced


def test_a_file_has_the_numbers_of_its_lines() -> None:
    told = talk(step=DENSE).user("go").reply(call=read("/g/a.py", "import os\n\nx = 1\n")).result()
    assert '<pre class="result file"><span data-n="   1"><span class="t-keyword">import</span> os\n</span>' in html(
        told
    )


def test_left_out_lines_are_a_link_if_the_page_has_them() -> None:
    class Links(RowLinks):
        def whole(self, call: str) -> str:
            return f"/x?call={call}&depth=full"

    session = Session(talk(step=DENSE).user("go").reply(call=bash("seq 9")).result("\n".join("123456789")).bytes())
    made = "".join(fragments(rows(session, session.turns, ViewOptions(lines=2, details=True)), "", Links()))
    assert re.search(r'<div class="more"><a href="/x\?call=toolu_\w+&amp;depth=full">… 7 more lines</a></div>', made)
