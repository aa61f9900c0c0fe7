"""Write frames as one HTML page with a script that plays them.

Without scripts the page shows the complete session. It loads nothing and forbids everything except its own style and
script.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from clew.view.header import About
from clew.view.html_page import page_end, page_start
from clew.view.playback.frames import SPEEDS, Frame
from clew.view.row_html import fragments, time_tag
from clew.view.sanitize import one_line

_SCRIPT = "player.js"


def player_page(about: About, frames: Iterable[Frame]) -> Iterator[str]:
    """Yield the page in parts."""
    yield from page_start(about.title, (_SCRIPT,))
    yield _player_header(about)
    yield '<main class="player">\n'
    for number, frame in enumerate(frames):
        inner = "".join(fragments([frame.row], f"f{number}-"))
        if inner.strip():
            yield f'<div class="frame" data-at="{frame.at:g}" data-turn="{frame.turn}">\n{inner}</div>\n'
    yield "</main>\n"
    yield from page_end((_SCRIPT,))


def _player_header(about: About) -> str:
    speeds = "".join(
        f'<option value="{speed:g}"{" selected" if speed == 1 else ""}>{speed:g}×</option>' for speed in SPEEDS
    )
    facts = " · ".join(escape(one_line(value)) for _, value in about.details)
    return f"""<header>
<h1>{escape(one_line(about.title))}</h1>
<p class="about">{time_tag(about.started).strip()} · {facts}</p>
</header>
<div class="controls" hidden role="group" aria-label="Player">
<button type="button" data-does="play" aria-pressed="false">Play</button>
<button type="button" data-does="step">Step</button>
<button type="button" data-does="before">Turn before</button>
<button type="button" data-does="after">Next turn</button>
<label>Speed <select>{speeds}</select></label>
<input type="range" min="0" value="0" step="1" aria-label="Place in the recording">
<output>0</output>
</div>
"""
