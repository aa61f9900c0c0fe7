"""What the browser looks like: captures of its screens as text. `CLEW_UPDATE_PICTURES=1` writes them again."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from textual.pilot import Pilot

from clew.demo.talk import talk
from clew.tui.browser_app import Browser
from clew.tui.choice_dialog import Choice
from clew.tui.dialogs import TextDialog
from clew.tui.external_programs import ResumeCommand
from tests.tui.pilot import drive, opened, screen, search, until

CAPTURES = Path(__file__).parent / "captures"
REPLY = """\
## What changed

The **valve** closes when the *float* rises:

| part | state |
|------|-------|
| valve | closed |
| pump | `off` |

- `drip.py` has the [new rule](docs/rules.md)
- the old one is gone

```python
def close(valve, level=0.8):  # at 80 %
    return valve.level > level and "closed"
```

> It was open all night.
"""


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    root = tmp_path / "claude"
    plan = "Implement the following plan:\n\n# Plan: Close the valve in time\n\n## Context\n\nIt drips."
    first = talk(seed="valve", cwd="/home/ada/drip", branch="main").user(plan).reply(REPLY)
    first.user("Thank you, and the pump?").reply("The pump is off.").write(root)
    talk(seed="feed", cwd="/home/ada/pressroom").user("Why is the feed empty? Is the valve shut?").reply("No.").write(
        root
    )
    talk(seed="till", cwd="/srv/bakery").user("Count the loaves").reply("There are 12.").write(root)
    return root


@pytest.mark.parametrize("size", [(80, 24), (140, 40)])
def test_the_screens_look_as_captured(
    claude: Path, tmp_path: Path, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("TZ", "UTC")
    if hasattr(time, "tzset"):
        time.tzset()
    captured: dict[str, str] = {}

    async def steps(app: Browser, pilot: Pilot[ResumeCommand]) -> None:
        await until(pilot, lambda: len(app.home.hits.figures) == 3)
        await until(pilot, lambda: size[0] < 110 or "The pump is off." in screen(app))
        captured["list"] = screen(app)
        for name, keys in {
            "project": ["f2"],
            "time": ["f3"],
            "order": ["f4"],
            "copy": ["tab", "c"],
            "export": ["e"],
        }.items():
            await pilot.press(*keys)
            await until(pilot, lambda: isinstance(app.screen, Choice))
            captured[name] = screen(app)
            await pilot.press("escape")
        await pilot.press("R")
        await until(pilot, lambda: isinstance(app.screen, TextDialog))
        captured["resume"] = screen(app)
        await pilot.press("escape", "tab")
        await search(app, pilot, "valve")
        await until(pilot, lambda: size[0] < 110 or "The pump is off." in screen(app))
        captured["search"] = screen(app)
        await pilot.press("enter")
        await opened(app, pilot)
        captured["reader"] = screen(app)

    drive(claude, tmp_path / "cache", steps, size)
    text = "\n".join(f"{f' {name} ':=^{size[0]}}\n{shown}" for name, shown in captured.items()) + "\n"
    path = CAPTURES / f"browser-{size[0]}x{size[1]}.txt"
    if os.environ.get("CLEW_UPDATE_PICTURES"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
