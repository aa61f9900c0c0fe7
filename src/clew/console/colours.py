"""Styles of the transcript, readable on every background.

No colour is readable on every terminal, so text keeps the terminal's own foreground, or brings a background along. Colour
alone is used only for signs (`●`, `❯`, `⎿`), in a luminance between black and white; words repeat what they say.
"""

from __future__ import annotations

RED, GREEN, CYAN, MAGENTA, YELLOW, GREY = "#e71b1b", "#008914", "#008383", "#c431c4", "#897400", "#757575"

TRANSCRIPT_STYLES = {
    "sign": GREY,
    "sign.open": GREY,
    "sign.done": GREEN,
    "sign.failed": RED,
    "sign.prompt": f"bold {MAGENTA}",
    "sign.agent": MAGENTA,
    "sign.plan": CYAN,
    "sign.error": RED,
    "sign.warning": YELLOW,
    "quiet": "none",
    "hint": "italic",
    "thought": "italic",
    "strong": "bold",
    "added": "#ffffff on #1b5e20",
    "removed": "#ffffff on #8b1a1a",
    "todo.completed": "strike",
    "todo.in_progress": "bold",
    "markdown.code": "bold",
    "markdown.item.number": "bold",
    "markdown.hr": "none",
}
