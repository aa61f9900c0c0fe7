"""The reader: folding, finding, branches, and what can be done with a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from textual.pilot import Pilot
from textual.widgets import Input

from clew.conversation.session import Session
from clew.demo.demo_tree import DemoSummary
from clew.tui.browser_app import Browser
from clew.tui.choice_dialog import Choice
from clew.tui.dialogs import Branches, TextDialog
from clew.tui.external_programs import ExternalPrograms, ResumeCommand, resume_session
from clew.tui.load_rows import session_rows
from clew.tui.reader_screen import ReaderScreen
from clew.view.rows import ViewOptions
from clew.wire.json_codec import encode
from tests.tui.pilot import drive, lines, opened, said, screen, search, until


async def read(app: Browser, pilot: Pilot[ResumeCommand], query: str = "") -> ReaderScreen:
    """Open the first session for a query."""
    if query:
        await search(app, pilot, query)
    await pilot.press("enter")
    return await opened(app, pilot)


async def reloaded(pilot: Pilot[ResumeCommand], reader: ReaderScreen, key: str) -> None:
    before = reader._number
    await pilot.press(key)
    await until(pilot, lambda: reader._number > before and not reader._is_loading)
    await pilot.pause()


def test_calls_are_folded_and_open(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        await read(app, pilot)
        assert "▸ Read src/orders/pricing.py" in screen(app)
        assert "Prices of orders" not in screen(app)
        assert "FAILED" in screen(app)
        await pilot.press("down", "down", "enter")
        await pilot.pause()
        assert "▾ Read src/orders/pricing.py" in screen(app)
        assert "Prices of orders" in screen(app)
        assert "more lines" in screen(app)
        await pilot.press("down", "space")
        await pilot.pause()
        assert "more lines" not in screen(app)
        await pilot.press("up", "enter")
        await pilot.pause()
        assert "Prices of orders" not in screen(app)
        await pilot.press("x")
        await pilot.pause()
        assert "▸" not in screen(app)
        await pilot.press("q")
        assert app.screen is app.home

    drive(demo.root, cache, steps)


def test_depth_goes_round(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        reader = await read(app, pilot)
        seen = []
        for _ in range(4):
            await reloaded(pilot, reader, "d")
            seen.append((said(reader).split(" · ")[1], len(reader.view.rows)))
        assert [name for name, _ in seen] == ["full", "prompts", "replies", "calls"]
        assert seen[1][1] < seen[2][1] < seen[3][1] <= seen[0][1]

    drive(demo.root, cache, steps)


def test_thinking_and_agents(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        reader = await read(app, pilot, "lettuce")
        assert "Reading the valve first" not in screen(app)
        await pilot.press("g", "a")
        await pilot.pause()
        assert "│ ▾ agent Survey the valves" in screen(app)
        assert "│ │ ▾ agent List writers" in screen(app)
        await pilot.press("a")
        await pilot.pause()
        assert "│" not in screen(app)
        await reloaded(pilot, reader, "t")
        assert "thinking" in said(reader)
        await reloaded(pilot, reader, "m")
        assert "meta" in said(reader)

    drive(demo.root, cache, steps)


def test_find_goes_from_match_to_match_and_into_folds(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        reader = await read(app, pilot)
        await pilot.press("slash", *"def", "enter")
        await pilot.pause()
        assert "match 1 of" in said(reader)
        assert "def line_total" in screen(app)
        rows = set()
        for _ in range(3):
            await pilot.press("n")
            rows.add(reader.view.row_index)
        assert len(rows) == 3
        await pilot.press("N")
        assert reader.view.row_index in rows
        await pilot.press("slash")
        reader.query_one("#find", Input).value = "nowhere at all"
        await pilot.press("enter")
        await pilot.pause()
        assert "no match" in said(reader)
        await pilot.press("slash", "escape")
        assert app.screen is reader
        assert reader.view.pattern is None

    drive(demo.root, cache, steps)


def test_a_search_opens_at_what_was_found(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        reader = await read(app, pilot, "tax office")
        await until(pilot, lambda: "match " in said(reader))
        assert reader.view.row is not None
        assert reader.view.pattern is not None
        assert reader.view.pattern.search(reader.view.row.text)
        assert reader.view.cursor > 0

    drive(demo.root, cache, steps)


def test_prompts_and_ends(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        reader = await read(app, pilot)
        for key, turn in (("]", 2), ("]", 3), ("]", 3), ("[", 2), ("G", 3), ("g", 1)):
            await pilot.press({"]": "right_square_bracket", "[": "left_square_bracket"}.get(key, key))
            await pilot.pause()
            assert f"turn {turn} of 3" in said(reader), key

    drive(demo.root, cache, steps)


def test_branches_are_switched(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        reader = await read(app, pilot, "exactly closing time")
        assert "default of None" not in screen(app)
        await pilot.press("b")
        await until(pilot, lambda: isinstance(app.screen, Branches))
        await pilot.pause()
        assert "Add public holidays. Read them from a YAML file." in screen(app)
        assert "2 prompts, active" in screen(app)
        await pilot.press("up", "enter")
        await until(pilot, lambda: "default of None" in screen(app))
        assert "branch 2" in said(reader)
        await pilot.press("b", "escape")
        assert app.screen is reader

    drive(demo.root, cache, steps)


def test_one_branch_is_no_choice(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        reader = await read(app, pilot)
        await pilot.press("b")
        await pilot.pause()
        assert app.screen is reader

    drive(demo.root, cache, steps)


def test_secrets_are_masked_until_they_are_asked_for(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        reader = await read(app, pilot, "payments staging 401")
        await pilot.press("x")
        assert "[REDACTED:" in reader.text()
        assert "ghp_" not in reader.text()
        await reloaded(pilot, reader, "S")
        assert "ghp_" in reader.text()
        assert "secrets shown" in said(reader)

    drive(demo.root, cache, steps)


def test_copy(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        await read(app, pilot)
        await pilot.press("y")
        assert app.clipboard.startswith("The till says 2.68")
        await pilot.press("Y")
        assert app.clipboard.startswith("## 1 · The till says 2.68")
        assert "<b>Read</b> <code>src/orders/pricing.py</code>" in app.clipboard
        assert "use Decimal" not in app.clipboard

    drive(demo.root, cache, steps)


def test_pager_and_editor(demo: DemoSummary, cache: Path) -> None:
    asked: list[tuple[Sequence[str], str | None]] = []

    def run(words: Sequence[str], text: str | None) -> int:
        asked.append((words, text))
        return 0

    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        await pilot.press("tab", "o")
        await read(app, pilot)
        await pilot.press("o", "O")

    drive(demo.root, cache, steps, outside=ExternalPrograms(("less", "-R"), ("vi",), run))
    path = next(demo.root.glob(f"projects/*/{demo.sessions['rounding']}.jsonl"))
    assert [list(words) for words, _ in asked] == [["less", "-R"], ["less", "-R"], ["vi", str(path)]]
    assert all("❯ The till says 2.68" in (text or "") for _, text in asked[:2])


@pytest.mark.parametrize("key", ["ctrl+r", "r"])
def test_resume_ends_with_the_session(demo: DemoSummary, cache: Path, key: str) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        if key == "r":
            await read(app, pilot)
        await pilot.press(key)

    app = drive(demo.root, cache, steps)
    assert app.return_value == ResumeCommand(demo.sessions["rounding"], "/home/ada/work/bakery-orders")


def test_resume_becomes_claude_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, list[str], str]] = []
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "a project"
    place.mkdir()
    resume = ResumeCommand("8abbce1f", str(place))

    def execute(file: str, words: Sequence[str], variables: Mapping[str, str]) -> None:
        asked.append((file, list(words), str(Path.cwd())))

    assert resume_session(resume, execute, lambda _: "/bin/claude") == 0
    assert asked == [("/bin/claude", ["claude", "-r", "8abbce1f"], str(place.resolve()))]
    assert resume_session(resume, execute, lambda _: None) == 2
    assert resume_session(ResumeCommand("8abbce1f", str(tmp_path / "gone")), execute, lambda _: "/bin/claude") == 2
    assert len(asked) == 1
    told = capsys.readouterr()
    assert f"cd '{place}' && claude -r 8abbce1f" in told.out
    assert "claude is not on the path." in told.err
    assert "gone is gone." in told.err


@pytest.mark.parametrize(
    ("typed", "suffix", "expected"),
    [("json lines", ".json", '"kind":"turn"'), ("markdown", ".md", "# Fix one-cent"), ("html", ".html", "<title>Fix")],
)
def test_export_writes_a_new_file(
    demo: DemoSummary, cache: Path, tmp_path: Path, typed: str, suffix: str, expected: str
) -> None:
    made = tmp_path / f"made{suffix}"

    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        for _ in range(2):  # the second time the file exists, and is not overwritten
            await pilot.press("tab", "e")
            await until(pilot, lambda: isinstance(app.screen, Choice))
            await pilot.press(*("space" if key == " " else key for key in typed), "enter")
            await until(pilot, lambda: isinstance(app.screen, TextDialog))
            assert app.screen.query_one(Input).value.endswith(suffix)
            app.screen.query_one(Input).value = str(made)
            await pilot.press("enter", "tab")
            await until(pilot, lambda: made.exists() and app.screen is app.home)

    drive(demo.root, cache, steps)
    assert expected in made.read_text(encoding="utf-8")


def test_the_file_as_it_is_is_exported_only_with_its_secrets(demo: DemoSummary, cache: Path, tmp_path: Path) -> None:
    made = tmp_path / "made.jsonl"

    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        await pilot.press("tab", "e", *"jsonl", "enter")
        await until(pilot, lambda: app.screen is app.home)
        await pilot.press("S", "e", *"jsonl", "enter")
        await until(pilot, lambda: isinstance(app.screen, TextDialog))
        app.screen.query_one(Input).value = str(made)
        await pilot.press("enter")
        await until(pilot, lambda: made.exists())
        assert made.read_bytes() == Path(app.home.hits.hits[0].path).read_bytes()

    drive(demo.root, cache, steps)


def copied(app: Browser, text: str) -> bool:
    return app.clipboard == text


def test_id_path_command_and_text_are_copied(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        hit = app.home.hits.hits[0]
        await pilot.press("tab")
        for place in range(2):
            for typed, expected in (("id", hit.session), ("path", hit.path), ("resumes", hit.command)):
                await pilot.press("c", *typed, "enter")
                await until(pilot, partial(copied, app, expected))
            await pilot.press("c", *"text", "enter")
            await until(pilot, lambda: app.clipboard.startswith("# Fix one-cent"))
            if not place:
                await pilot.press("enter")
                await opened(app, pilot)

    drive(demo.root, cache, steps)


def test_resume_with_flags(demo: DemoSummary, cache: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        await pilot.press("tab", "R")
        await until(pilot, lambda: isinstance(app.screen, TextDialog))
        app.screen.query_one(Input).value = "--model 'opus"
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is app.home)
        await pilot.press("R")
        await until(pilot, lambda: isinstance(app.screen, TextDialog))
        app.screen.query_one(Input).value = "--model opus 'go on'"
        await pilot.press("enter")

    resume = drive(demo.root, cache, steps).return_value
    assert resume and resume.arguments[3:] == ["--model", "opus", "go on"]
    assert resume._replace(config="/c").command.endswith(
        f"CLAUDE_CONFIG_DIR=/c claude -r {resume.session} --model opus 'go on'"
    )


@pytest.mark.parametrize("size", [(80, 24), (40, 12), (200, 60)])
def test_every_line_fits(demo: DemoSummary, cache: Path, size: tuple[int, int]) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        for query in ("", "slug"):
            if app.screen is not app.home:
                await pilot.press("q")
            await read(app, pilot, query)
            await pilot.press("x")
            for key in ("g", "pagedown", "down", "right_square_bracket", "G", "question_mark"):
                await pilot.press(key)
                await pilot.pause()
                assert {cell_len(line) for line in lines(app)} == {size[0]}
            await pilot.press("escape")
        if size[0] >= 80:
            assert "q Back" in lines(app)[-1]

    drive(demo.root, cache, steps, size)


def test_a_file_that_is_gone(demo: DemoSummary, cache: Path, tmp_path: Path) -> None:
    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        from msgspec.structs import replace

        app.home.hits.hits = [replace(hit, path=str(tmp_path / "gone.jsonl")) for hit in app.home.hits.hits]
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ReaderScreen) and not app.screen._is_loading)
        await pilot.press("enter", "d", "b", "y", "n", "G", "o", "q")
        assert app.screen is app.home

    drive(demo.root, cache, steps)


SESSION = "0b0b0b0b-1111-4222-8333-444444444444"
HOSTILE = "[bold]x[/] [@click=app.quit]y[/] \x1b[2J\x1b]0;pwned\x07 \u202egnp.exe $foreground"


def hostile(root: Path, text: str, replies: int = 1) -> None:
    folder = root / "projects" / "-home-ada"
    folder.mkdir(parents=True)
    common: dict[str, Any] = {
        "sessionId": SESSION,
        "timestamp": "2026-03-01T10:00:00.000Z",
        "cwd": "/home/[red]ada",
        "version": "2.1.0",
    }
    common |= {"isSidechain": False, "gitBranch": "[b]"}
    values = [
        {**common, "type": "user", "uuid": "u1", "parentUuid": None, "message": {"role": "user", "content": text}},
    ]
    for n in range(replies):
        block = {"type": "text", "text": f"{text} {n}"}
        message = {"role": "assistant", "id": f"m{n}", "type": "message", "model": "[x]", "content": [block]}
        parent = f"a{n - 1}" if n else "u1"
        values.append({**common, "type": "assistant", "uuid": f"a{n}", "parentUuid": parent, "message": message})
    (folder / f"{SESSION}.jsonl").write_bytes(b"".join(encode(value) + b"\n" for value in values))


def test_hostile_text_is_shown_as_it_is(tmp_path: Path) -> None:
    hostile(tmp_path / "claude", HOSTILE)

    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        await until(pilot, lambda: "• [bold]" in screen(app))
        await read(app, pilot)
        text = screen(app)
        assert "[bold]x[/] [@click=app.quit]y[/]" in text
        assert "[red]ada" in text
        assert "\x1b" not in text
        assert "pwned" not in text
        assert "\u202e" not in text

    drive(tmp_path / "claude", tmp_path / "cache", steps, (140, 40))


def test_a_large_session_opens_with_its_beginning(tmp_path: Path) -> None:
    hostile(tmp_path / "claude", "word " * 200, replies=6000)
    session = Session(next(tmp_path.glob("claude/projects/*/*.jsonl")))
    first = next(iter(session_rows(session, ViewOptions(), None, False)))
    assert first.text.startswith("word")
    assert "items" not in vars(session), "the file was read before the first row was there"

    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ReaderScreen) and app.screen.view.rows)
        reader = app.screen
        assert isinstance(reader, ReaderScreen)
        await until(pilot, lambda: len(reader.view.rows) == 6001)
        await pilot.press("G")
        await pilot.pause()
        assert "5999" in screen(app)

    drive(tmp_path / "claude", tmp_path / "cache", steps)
