"""The browser in the terminal, which a bare `clew` opens."""

from __future__ import annotations

import importlib.util
import shlex

from clew.cli.output import remark
from clew.system.environment import program


def browse(claude_dir: str | None = None) -> int:
    """Run the browser; when it ends with a session to resume, become `claude`."""
    if importlib.util.find_spec("textual") is None:
        remark("The browser needs Textual: install clew[tui].")
        return 2
    from clew.tui.browser_app import Browser
    from clew.tui.external_programs import Outside, go_on
    from clew.tui.search_thread import SearchLocation

    outside = Outside(_words("PAGER", "less -R"), _words("VISUAL", "") or _words("EDITOR", "vi"))
    app = Browser(SearchLocation(claude_dir), outside=outside)
    resume = app.run()
    if resume is None:
        return app.return_code or 0
    return go_on(resume)


def _words(name: str, otherwise: str) -> tuple[str, ...]:
    """The program that the environment names, as words."""
    return tuple(shlex.split(program(name, otherwise)))
