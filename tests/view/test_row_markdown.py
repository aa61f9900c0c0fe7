"""Markdown: what it looks like, and that it holds no HTML but its own."""

from __future__ import annotations

import re
from base64 import b64encode
from typing import Any

import pytest
from markdown_it import MarkdownIt

from clew.conversation.session import Session
from clew.demo.talk import DENSE, Talk, bash, edit, plan, talk, task, todo
from clew.demo.tool_inputs import read as file
from clew.view.attachments import Picture
from clew.view.header import describe_session
from clew.view.row_markdown import MAX_PICTURE, defuse_markdown, fence_text, markdown_document, markdown_pieces
from clew.view.row_types import PictureRow
from clew.view.rows import ViewOptions, rows
from tests.view.markup import FRAGMENT, tags
from tests.view.payloads import PAYLOADS, everywhere

PIXEL = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
PIXEL_DATA = b64encode(PIXEL + b"\x00\x00").decode()
WHOLE = ViewOptions(depth="full", thinking=True, meta=True, lines=None, diff_lines=None, details=True)
RENDERED = {**FRAGMENT, "h1": (), "a": ("href", "title"), "code": ("class",), "img": ()}
READER = MarkdownIt("commonmark", {"html": True, "xhtmlOut": False}).enable(["table", "strikethrough"])


def text(said: Talk | Session, **wish: Any) -> str:
    session = said if isinstance(said, Session) else Session(said.bytes())
    return "".join(markdown_pieces(rows(session, session.turns, ViewOptions(**{"details": True, **wish}))))


def read(made: str) -> list[str]:
    """The elements that a reader with HTML switched on makes of it."""
    html = re.sub(
        r' href="(?!https?:|mailto:|#)[^"]*"', "", READER.render(made)
    )  # where a link goes is up to the reader
    html = re.sub(r'<a(?: title="[^"]*")?>|<a href="[^"]*"(?: title="[^"]*")?>', '<a href="#turn-1">', html)
    return [tag.name for tag in tags(html, RENDERED)]


@pytest.mark.parametrize("number", range(len(PAYLOADS)))
def test_no_payload_becomes_html_in_any_place(number: int, tmp_path: Any) -> None:
    session = Session(everywhere(PAYLOADS[number], number).write(tmp_path))
    made = "".join(
        markdown_document(describe_session(session, None), rows(session, session.turns, WHOLE), front_matter=False)
    )
    assert {"details", "summary", "h1", "h2"} <= set(read(made))
    assert "img" not in read(made)


@pytest.mark.req("R237")
def test_a_turn_reads_well() -> None:
    told = talk(step=DENSE).user("dig\nthe beds").reply("**Now.**", call=bash("ls")).result("a\n```\nb").reply("Two.")
    assert text(told) == (
        "## 1 · dig the beds\n\n*2026-01-05 09:00 · 4s · 54 output tokens · 14.3k in context · round 1 · first*\n\n"
        "> dig  \n> the beds  \n\n**Now.**\n\n"
        "<details><summary><b>Bash</b> <code>ls</code> · 1s</summary>\n\n"
        "````text\na\n```\nb\n````\n\n</details>\n\nTwo.\n\n"
    )


def test_edits_todos_and_plans_are_shown_as_such() -> None:
    told = (
        talk(step=DENSE).user("go").reply(call=todo([("dig", "completed"), ("sow", "in_progress"), "eat *"])).result()
    )
    made = text(told.reply(call=plan("# Beds")).result().reply(call=edit("/g/x", "a", "b")).result())
    assert "- [x] dig\n- [ ] sow *(in progress)*\n- [ ] eat \\*\n" in made
    assert "<b>ExitPlanMode</b> · 1s</summary>\n\n**Plan**\n\n### Beds\n" in made and made.count("Beds") == 1
    assert "<details open><summary><b>Edit</b>" in made and "```diff\n@@ -1,1 +1,1 @@\n-a\n+b\n```" in made


def test_an_agent_is_folded_inside_its_call(tmp_path: Any) -> None:
    child = talk(seed=2, step=DENSE).user("count").reply("inner")
    told = talk(step=DENSE).user("go").reply(call=task("Count", "count")).agent(0, child).reply("after")
    made = text(Session(told.write(tmp_path)))
    assert made.index("<b>Agent</b> Count") < made.index("inner") < made.index("</details>") < made.index("after")
    assert made.count("<details") == made.count("</details>") == 2


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("a <b>bold</b> move", "a &lt;b>bold&lt;/b> move"),
        ("`Vec<String>` and 1 < 2", "`Vec<String>` and 1 < 2"),
        ("see <https://example.org/x>", "see <https://example.org/x>"),
        ("open ` <b>\nand ` closed", "open ` &lt;b>\nand ` closed"),
        ("\\`<b>` x`", "\\`&lt;b>` x`"),
        ("```\n<b>\n```\n<b>", "```\n<b>\n```\n&lt;b>"),
        ("```py\nx = 1", "```py\nx = 1\n```"),
        ("> ```\n<b>", "> ```\n&lt;b>"),
        ("![x](https://e.example/p.png)", "\\![x](https://e.example/p.png)"),
        ("`![x]`", "`![x]`"),
    ],
)
def test_raw_html_is_escaped_and_code_is_not(said: str, shown: str) -> None:
    assert defuse_markdown(said) == shown


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("# One", "### One"),
        ("### Three #", "##### Three #"),
        ("###### Six", "###### Six"),
        ("  # Two spaces", "  ### Two spaces"),
        ("> # Quoted", "> ### Quoted"),
        ("- # In a list\n  1. ## deeper", "- ### In a list\n  1. #### deeper"),
        ("One\n===\ntext", "### One\ntext"),
        ("> One\n> more\n> ---", "> #### One more"),
        ("C#\n=", "### C# #"),
        ("#hashtag and # no heading", "#hashtag and # no heading"),
        ("```\n# a comment\n```", "```\n# a comment\n```"),
        ("    # code", "    # code"),
        ("a\n\n---\n\nb", "a\n\n---\n\nb"),
    ],
)
def test_headings_of_replies_are_below_those_of_turns(said: str, shown: str) -> None:
    assert defuse_markdown(said) == shown


def headings(made: str) -> list[str]:
    return [token.tag for token in READER.parse(made) if token.type == "heading_open"]


def test_the_headings_of_a_document_are_in_order() -> None:
    hostile = "# A\n\nB\n=\n\n> # C\n\n- # D\n\n1. E\n   ---\n\n~~~\n# F"
    told = talk(step=DENSE).user(hostile).reply(hostile, thinking=hostile, call=plan(hostile)).result(hostile)
    session = Session(told.compact(hostile).user("next").reply(hostile).bytes())
    made = "".join(markdown_document(describe_session(session, None), rows(session, session.turns, WHOLE)))
    found = headings(made)
    assert found[:2] == ["h1", "h2"] and found.count("h1") == 1 and found.count("h2") == len(session.turns) > 1
    assert set(found) == {"h1", "h2", "h3", "h4"}


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("/g/x.py", "python"),
        ("/g/X.YML", "yaml"),
        ("/g/Makefile", "make"),
        ("/g/a.`b", "text"),
        ("/g/none", "text"),
    ],
)
def test_a_file_is_shown_in_its_language_without_numbers(path: str, language: str) -> None:
    told = talk(step=DENSE).user("go").reply(call=file(path)).result("     9→\ta = 1\n    10→\n\n<note>")
    assert f"*from line 9*\n\n```{language}\n\ta = 1\n\n\n<note>\n```" in text(told)


@pytest.mark.parametrize(
    ("output", "language"),
    [("diff --git a/x b/x", "diff"), ('{"a": 1}', "json"), ("1\tone", "text"), ("[image]", "text")],
)
def test_other_output_has_the_language_that_it_looks_like(output: str, language: str) -> None:
    told = talk(step=DENSE).user("go").reply(call=bash("echo 1 &&\necho 2")).result(output)
    assert f"```bash\necho 1 &&\necho 2\n```\n\n```{language}\n{output}\n```" in text(told)


def test_pictures_are_embedded_or_named_with_the_reason() -> None:
    told = talk(step=DENSE).user("see", images=[PIXEL])
    session = Session(told.bytes())
    shown = list(rows(session, session.turns, ViewOptions(details=True)))
    assert "![image 1](data:image/png;base64,iVBOR" in "".join(markdown_pieces(shown, pictures=True))
    assert "data:" not in "".join(markdown_pieces(shown)) and "[image image/png, " in "".join(markdown_pieces(shown))
    others = [PictureRow("x", picture=Picture("document", "application/pdf", "JVBERi0="))]
    assert "not a picture that can be shown" in "".join(markdown_pieces(others, pictures=True))
    large = [PictureRow("x", picture=Picture("image", "image/png", PIXEL_DATA + "A" * MAX_PICTURE))]
    assert "too large to embed, an HTML export has it" in "".join(markdown_pieces(large, pictures=True))


def test_a_fence_is_longer_than_any_inside() -> None:
    assert fence_text("````\nx") == "`````\n````\nx\n`````\n\n"


def test_front_matter_is_a_property_a_line() -> None:
    session = Session(talk(branch='x"\n- y').user("go").reply("ok").title('A: "b"\n---').bytes())
    made = "".join(markdown_document(describe_session(session, None), (), front_matter=True))
    head = made.split("---\n")[1].splitlines()
    assert head[0] == 'title: "A: \\"b\\" ---"' and head[1] == 'created: "2026-01-05T09:00:00.000Z"'
    assert all(re.fullmatch(r'[a-z]+: (?:".*"|\[claude-code\])', line) for line in head)


@pytest.mark.req("R234")
def test_compactions_are_marked() -> None:
    made = text(talk(step=DENSE).user("go").reply("ok").compact("So far.", pre_tokens=171_200).user("on").reply("yes"))
    assert "**Compacted** (auto, 171.2k tokens before" in made
    assert "<details><summary>Summary</summary>\n\nSo far.\n\n</details>" in made
