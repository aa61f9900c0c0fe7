"""Write frames as one HTML page with a script that plays them.

Without scripts the page shows the complete session. It loads nothing and forbids everything except its own style and
script.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from itertools import groupby

from msgspec import structs

from clew.view.display_time import time_tag
from clew.view.header import About
from clew.view.html_page import page_end, page_header, page_start
from clew.view.playback.frames import SPEEDS, Frame
from clew.view.row_html import fragments
from clew.view.row_types import PromptRow
from clew.view.sanitize import one_line

_SCRIPTS = ("page.js", "player.js")
_KEYS = "space play · ← → step · [ ] turn · + − speed · Home End · t light or dark"


def player_page(about: About, frames: Iterable[Frame]) -> Iterator[str]:
    """Yield the page in parts: the frames of each turn in a section, and the controls below."""
    yield from page_start(about.title, _SCRIPTS)
    yield page_header(about.title)
    facts = " · ".join(escape(one_line(value)) for _, value in about.details)
    yield f'<main class="player" id="content">\n<p class="about">{time_tag(about.started).strip()} · {facts}</p>\n'
    number = 0
    for turn, group in groupby(frames, key=lambda frame: frame.turn):
        parts = []
        for frame in group:
            number += 1
            parts.append(_frame_html(frame, number))
        if any(parts):
            name = f' id="turn-{turn}"' if turn else ""
            yield f'<section class="turn"{name} data-turn="{turn}">\n{"".join(parts)}</section>\n'
    yield "</main>\n"
    yield _CONTROLS
    yield from page_end(_SCRIPTS)


def _frame_html(frame: Frame, number: int) -> str:
    """Return a frame; the prompt of a turn has its header and can be typed."""
    row, head = frame.row, ""
    if isinstance(row, PromptRow) and row.depth == 0:
        head = f'<header><h2><a href="#turn-{frame.turn}">Turn {frame.turn}</a></h2>{time_tag(row.time)}</header>\n'
        row = structs.replace(row, depth=1)  # without a section of its own
    inner = "".join(fragments([row], f"f{number}-"))
    if not inner.strip():
        return ""
    return f'<div class="frame{" typed" if head else ""}" data-at="{frame.at:g}">\n{head}{inner}</div>\n'


_SPEED_OPTIONS = "".join(
    f'<option value="{speed:g}"{" selected" if speed == 1 else ""}>{speed:g}×</option>' for speed in SPEEDS
)
_CONTROLS = f"""<div class="controls" hidden role="group" aria-label="Player">
<div class="bar"><div class="chapters" aria-hidden="true"></div>
<input type="range" min="0" value="0" step="0.1" aria-label="Place in the recording"></div>
<div class="buttons">
<button type="button" data-does="before" aria-label="Previous turn" title="Previous turn ([)">«</button>
<button type="button" data-does="back" aria-label="Step back" title="Step back (←)">‹</button>
<button type="button" data-does="play" class="primary" aria-pressed="false" title="Play or pause (space)">Play</button>
<button type="button" data-does="step" aria-label="Step" title="Step (→)">›</button>
<button type="button" data-does="after" aria-label="Next turn" title="Next turn (])">»</button>
<label>Speed <select>{_SPEED_OPTIONS}</select></label>
<output class="clock"></output>
<span class="chapter"></span>
<span class="keys">{_KEYS}</span>
</div>
</div>
"""
