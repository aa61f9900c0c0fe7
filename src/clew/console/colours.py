"""Styles of the transcript, readable on every background.

No colour is readable on every terminal, so text keeps the terminal's own foreground, or brings a background along. Colour
alone is used only for signs (`●`, `❯`, `⎿`), in a luminance between black and white; words repeat what they say.
"""

from __future__ import annotations

RED, GREEN, CYAN, MAGENTA, YELLOW, GREY = "#e71b1b", "#008914", "#008383", "#c431c4", "#897400", "#757575"

# Colours of code on the backgrounds of added and removed lines: all are light, since both backgrounds are dark.
CODE = {"keyword": "#ffd1ff", "string": "#ffe9a8", "number": "#b8f4ff", "comment": "italic #dcdcdc", "name": "#cfe3ff"}


def _diff_styles(name: str, background: str) -> dict[str, str]:
    code = {f"{name}.{token}": f"{colour} on {background}" for token, colour in CODE.items()}
    return {name: f"#ffffff on {background}", **code}


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
    **_diff_styles("added", "#1b5e20"),
    **_diff_styles("removed", "#8b1a1a"),
    "todo.completed": "strike",
    "todo.in_progress": "bold",
    "markdown.code": "bold",
    "markdown.item.number": "bold",
    "markdown.hr": "none",
}
