"""Open the terminal browser, which `clew` without arguments starts."""

from __future__ import annotations

import importlib.util
import shlex

from clew.cli.output import print_message
from clew.system.environment import program


def browse(claude_dir: str | None = None) -> int:
    """Run the browser. If it ends with a session to resume, replace this process with `claude`."""
    if importlib.util.find_spec("textual") is None:
        print_message("The browser needs Textual: install clew[tui].")
        return 2
    from clew.browse.search_thread import SearchLocation
    from clew.tui.browser_app import Browser
    from clew.tui.external_programs import ExternalPrograms, resume_session

    outside = ExternalPrograms(
        _program_words("PAGER", "less -R"), _program_words("VISUAL", "") or _program_words("EDITOR", "vi")
    )
    app = Browser(SearchLocation(claude_dir), programs=outside)
    resume = app.run()
    if resume is None:
        return app.return_code or 0
    return resume_session(resume)


def _program_words(name: str, default: str) -> tuple[str, ...]:
    """The program that an environment variable names, split into words."""
    return tuple(shlex.split(program(name, default)))
