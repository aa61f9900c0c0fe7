"""Variables that hooks set for later commands: they write `export` lines into the file that `CLAUDE_ENV_FILE` names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from clew.chat.tools.process import run_shell

VARIABLE = "CLAUDE_ENV_FILE"
EVENTS = ("SessionStart", "CwdChanged")  # at which hooks get the file
_SECONDS = 10.0
_SCRIPT = f'set -a; . "${VARIABLE}" >/dev/null 2>&1; env -0'
_OWN = ("_", "PWD", "OLDPWD", "SHLVL", VARIABLE)  # variables of the shell that reads the file


async def read_env_file(path: Path, cwd: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the file sets or changes; none if no hook has written it.

    The shell reads it, because `export PATH="$PATH:/opt/bin"` needs one. Only hooks that may run have written it.
    """
    if not path.is_file():
        return {}
    ended = await run_shell(_SCRIPT, cwd, {**variables, VARIABLE: str(path)}, b"", _SECONDS)
    pairs = (entry.partition("=") for entry in ended.stdout.split("\0"))
    found = {name: value for name, equals, value in pairs if equals and name not in _OWN}
    return {name: value for name, value in found.items() if variables.get(name) != value}
