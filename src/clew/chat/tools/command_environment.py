"""Build the environment of commands: without variables that change the meaning of a plain command."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from clew.chat.permission.command_options import split_names

# Variables that make bash read a file, change its options or patterns, or lead `cd` elsewhere.
_SHELL = split_names(
    "BASH_ENV ENV BASHOPTS SHELLOPTS GLOBIGNORE EXECIGNORE CDPATH POSIXLY_CORRECT BASH_COMPAT BASH_LOADABLES_PATH"
    " BASH_XTRACEFD PS4 PROMPT_COMMAND"
)
# Variables from which read-only programs take options, or names of files and programs.
_PROGRAMS = split_names(
    "RIPGREP_CONFIG_PATH GREP_OPTIONS MAGIC LESSOPEN LESSCLOSE _POSIX2_VERSION POSIX_ME_HARDER LOCPATH NLSPATH"
)
_FUNCTION_PREFIX = "BASH_FUNC_"
# Variables that git may use in an untrusted folder.
_GIT_KEPT = (
    "GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_SSH", "GIT_ASKPASS", "GIT_TERMINAL_PROMPT", "GIT_SSL_", "GIT_HTTP_",
    "GIT_CEILING_DIRECTORIES", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
)  # fmt: skip
# Settings that override those of an untrusted repository, so that git runs no program that it configures.
GIT_OVERRIDES = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "log.showSignature": "false",
    "submodule.recurse": "false",
    "diff.autoRefreshIndex": "false",
    "safe.bareRepository": "explicit",
    "protocol.ext.allow": "never",
}


def command_environment(variables: Mapping[str, str], *, is_trusted: bool) -> dict[str, str]:
    """Return the variables for a command. In an untrusted folder, git runs neither hooks nor a file system monitor."""
    kept = {
        name: value
        for name, value in variables.items()
        if name not in _SHELL and name not in _PROGRAMS and not name.startswith(_FUNCTION_PREFIX)
    }
    if not is_trusted:
        kept = {name: value for name, value in kept.items() if _is_kept_for_git(name, value)}
        kept |= _git_overrides()
    return kept | {"GIT_EDITOR": "true", "PAGER": "cat", "GIT_PAGER": "cat"}


def _is_kept_for_git(name: str, value: str) -> bool:
    if not name.startswith("GIT_"):
        return True
    is_file = name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")
    return name.startswith(_GIT_KEPT) and (not is_file or Path(value).is_absolute())


def _git_overrides() -> dict[str, str]:
    """Return `GIT_OVERRIDES` as the variables GIT_CONFIG_COUNT, GIT_CONFIG_KEY_0, GIT_CONFIG_VALUE_0, and so on."""
    variables = {"GIT_CONFIG_COUNT": str(len(GIT_OVERRIDES)), "GIT_OPTIONAL_LOCKS": "0"}
    for index, (key, value) in enumerate(GIT_OVERRIDES.items()):
        variables |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
    return variables
