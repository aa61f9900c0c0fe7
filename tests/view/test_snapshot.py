"""The three printers on the demo tree, as people see them. `CLEW_UPDATE_SNAPSHOTS=1` writes the files anew."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import pytest

from clew.conversation.session import Session
from clew.demo.demo_tree import write_demo
from clew.view.header import describe_session
from clew.view.mask_rows import MaskCount, mask_rows
from clew.view.row_html import fragments
from clew.view.row_markdown import markdown_document
from clew.view.row_terminal import print_rows
from clew.view.row_types import Row
from clew.view.rows import ViewOptions, preamble_rows, rows

FOLDER = Path(__file__).with_name("snapshots")
STORIES = ("sensor", "bad-day", "moved", "images", "research", "secrets", "languages", "planned", "agents", "workflow")
OPTIONS = ViewOptions(thinking=True, lines=8, details=True)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> list[Session]:
    root = tmp_path_factory.mktemp("demo") / "claude"
    made = write_demo(root, datetime(2026, 6, 1, 12, tzinfo=UTC))
    return [Session(next(root.rglob(f"{made.sessions[story]}.jsonl"))) for story in STORIES]


def told(session: Session) -> Iterator[Row]:
    return mask_rows(chain(preamble_rows(session, OPTIONS), rows(session, session.turns, OPTIONS)))


def terminal(session: Session) -> str:
    file = io.StringIO()
    print_rows(told(session), file)
    return f"{'=' * 60}\n{session.title}\n{file.getvalue()}\n"


def as_markdown(session: Session) -> str:
    return "".join(markdown_document(describe_session(session, MaskCount()), told(session)))


def as_html(session: Session) -> str:
    return f"<h1>{describe_session(session, MaskCount()).title}</h1>\n" + "".join(fragments(told(session)))


@pytest.mark.parametrize(
    ("name", "printer"), [("demo.txt", terminal), ("demo.md", as_markdown), ("demo.html", as_html)]
)
@pytest.mark.req("R230")
def test_a_printer_prints_as_it_did(demo: list[Session], name: str, printer: Callable[[Session], str]) -> None:
    made = "".join(map(printer, demo))
    path = FOLDER / name
    if os.environ.get("CLEW_UPDATE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(made, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == made, f"{name} has changed: look at it, then CLEW_UPDATE_SNAPSHOTS=1"
