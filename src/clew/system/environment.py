"""Homes: the folders that the environment decides. No other module reads the environment.

It imports nothing but `os`, because a search begins here and has to answer within a few milliseconds.
"""

from __future__ import annotations

import os

ALLOW_HTTP = "CLEW_ALLOW_HTTP"
_FOLDER_LISTS = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")
_FOLDERS = (
    *("CLAUDE_CONFIG_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"),
    *("HOME", "TMPDIR", "TEMP", "TMP"),
)
_DEFAULT_PATH = os.defpath if os.name == "nt" else "/usr/local/bin:/usr/bin:/bin"


def claude_home(override: str | os.PathLike[str] | None = None) -> str:
    """The folder of Claude Code: as given, else `$CLAUDE_CONFIG_DIR`, else `~/.claude`."""
    if override is not None:
        return os.path.expanduser(os.fspath(override))
    return os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")


def cache_home() -> str:
    """The folder for what can be made again: `$XDG_CACHE_HOME/clew`, else `~/.cache/clew`."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "clew")


def data_home() -> str:
    """The folder for what cannot be made again: `$XDG_DATA_HOME/clew`, else `~/.local/share/clew`."""
    base = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.path.join(base, "clew")


def state_home() -> str:
    """The folder for what is kept from one run to the next: `$XDG_STATE_HOME/clew`, else `~/.local/state/clew`."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(base, "clew")


def config_home() -> str:
    """The folder of settings of all programs: `$XDG_CONFIG_HOME`, else `~/.config`."""
    return os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")


def search_filters() -> str | None:
    """The filters that `$CLEW_SEARCH` gives every search; None if it is not set, so that the settings decide."""
    return os.environ.get("CLEW_SEARCH")


def user_home() -> str:
    """The person's own folder."""
    return os.path.expanduser("~")


def user_homes() -> tuple[str, ...]:
    """The home folders of the user: that of the environment, and that of the system's list of users."""
    try:
        import pwd
    except ImportError:  # Windows has no such list
        return (user_home(),)
    try:
        return user_home(), pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return (user_home(),)


def foreign_homes() -> dict[str, tuple[str, ...]]:
    """The folders in which other programs keep their conversations."""
    home = user_home()
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    codex = os.environ.get("CODEX_HOME") or os.path.join(home, ".codex")
    return {
        "codex": (os.path.join(codex, "sessions"), os.path.join(codex, "archived_sessions")),
        "opencode": (os.path.join(data, "opencode"),),
        "gemini": (os.path.join(home, ".gemini", "tmp"),),
        "gptme": (os.environ.get("GPTME_LOGS_HOME") or os.path.join(data, "gptme", "logs"),),
        "aider": (os.getcwd(),),
    }


def is_debugging() -> bool:
    """Whether the user wants the traceback of an internal error: `CLEW_DEBUG` is set."""
    return bool(os.environ.get("CLEW_DEBUG"))


def current_session() -> str | None:
    """The session that clew is being run from, if Claude Code says so."""
    return os.environ.get("CLAUDE_SESSION_ID") or os.environ.get("CLAUDE_CODE_SESSION_ID") or None


def entrypoint() -> str:
    """By which way a program says that it started this one; empty if it says nothing."""
    return os.environ.get("CLAUDE_CODE_ENTRYPOINT") or ""


def wants_state() -> bool:
    """Whether the program that started this one wants to know when it is busy."""
    return os.environ.get("CLAUDE_CODE_SDK_READS_SESSION_STATE") == "1"


def wants_colour() -> bool:
    """Whether colour is welcome, as far as the environment says."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def terminal_kind() -> str:
    """What kind of terminal the environment says this is; empty if it says nothing."""
    return os.environ.get("TERM") or ""


def breaks_lines_anew() -> bool:
    """Whether the terminal breaks long lines anew when it is resized: all do by now, but for xterm itself."""
    return "XTERM_VERSION" not in os.environ


def program(name: str, otherwise: str) -> str:
    """The program that the environment names for a purpose (`PAGER`, `EDITOR`), else another."""
    return os.environ.get(name) or otherwise


def api_key() -> str:
    """The key of the Messages API that the user set; empty if none."""
    return os.environ.get("ANTHROPIC_API_KEY") or ""


def api_token() -> str:
    """The bearer token of the Messages API that the user set; empty if none."""
    return os.environ.get("ANTHROPIC_AUTH_TOKEN") or ""


def api_base() -> str:
    """The address of the Messages API that the user set; empty if none."""
    return os.environ.get("ANTHROPIC_BASE_URL") or ""


def api_headers() -> str:
    """Further headers for the Messages API, one `Name: value` to a line; empty if none."""
    return os.environ.get("ANTHROPIC_CUSTOM_HEADERS") or ""


def model_home() -> str:
    """The folder with the files of the embedding model that the user named; empty for that of its package."""
    return os.environ.get("CLEW_MODEL") or ""


def clear_hosts() -> frozenset[str]:
    """The hosts that may be sent credentials without encryption, as the user has decided."""
    return frozenset(host.strip().lower() for host in os.environ.get(ALLOW_HTTP, "").split(",") if host.strip())


def postgres_host() -> str:
    """The server of PostgreSQL that libpq takes if an address names none; empty for this machine."""
    return os.environ.get("PGHOSTADDR") or os.environ.get("PGHOST") or ""


def otlp_headers() -> str:
    """Headers for a receiver of OpenTelemetry, as its own variable names them; empty if none."""
    return os.environ.get("OTEL_EXPORTER_OTLP_HEADERS") or ""


def cloud_options() -> dict[str, str]:
    """What the environment says of object stores and who may use them: the variables that begin with `AWS_`."""
    return {name: value for name, value in os.environ.items() if name.startswith("AWS_")}


def surroundings(**changed: str) -> dict[str, str]:
    """The environment for another program, with some variables changed.

    Folders that programs and libraries are searched in are absolute: the others would mean the working folder.
    """
    made = {**os.environ, **changed}
    for name in _FOLDER_LISTS:
        folders = absolute_folders(made.get(name, ""))
        if name == "PATH":
            made[name] = os.pathsep.join(
                folders or absolute_folders(_DEFAULT_PATH)
            )  # an empty one is the working folder
        elif folders:
            made[name] = os.pathsep.join(folders)
        else:
            made.pop(name, None)
    return made


def own_surroundings() -> dict[str, str]:
    """The environment for a process of our own, which runs in another folder: no `PYTHON*`, and absolute folders."""
    made = {name: value for name, value in surroundings().items() if not name.startswith("PYTHON")}
    return made | {name: os.path.abspath(made[name]) for name in _FOLDERS if made.get(name)}


def drop_relative_folders() -> None:
    """Remove the relative entries of `PATH` and its like from our own environment, which libraries hand on."""
    for name in _FOLDER_LISTS:
        value = os.environ.get(name)
        if value is not None and any(not os.path.isabs(entry) for entry in value.split(os.pathsep)):
            os.environ.pop(name)
            if folders := absolute_folders(value) or (absolute_folders(_DEFAULT_PATH) if name == "PATH" else []):
                os.environ[name] = os.pathsep.join(folders)


def absolute_folders(value: str) -> list[str]:
    """The absolute entries of a list of folders such as `PATH`."""
    return [entry for entry in value.split(os.pathsep) if os.path.isabs(entry)]


def program_folders(path: str | None = None) -> list[str]:
    """The folders that programs are found in: the absolute entries of `PATH`, or of `path`."""
    return absolute_folders(os.environ.get("PATH", _DEFAULT_PATH) if path is None else path)


def program_endings(name: str) -> tuple[str, ...]:
    """The endings that Windows gives programs; a name that has one already is also tried as it is."""
    endings = tuple(part for part in (os.environ.get("PATHEXT") or ".COM;.EXE;.BAT;.CMD").split(os.pathsep) if part)
    return ("", *endings) if name.lower().endswith(tuple(part.lower() for part in endings)) else endings


def import_folders() -> list[str]:
    """The entries of `PYTHONPATH`; an empty one means the working folder."""
    value = os.environ.get("PYTHONPATH")
    return value.split(os.pathsep) if value else []


def system_folder() -> str:
    """The folder of Windows."""
    return os.environ.get("SYSTEMROOT") or "C:\\"
