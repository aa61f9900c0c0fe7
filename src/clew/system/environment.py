"""Read environment variables, and locate the folders they determine. No other module reads the environment.

It imports only `os`, because every search starts here and must answer within a few milliseconds.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

ALLOW_HTTP = "CLEW_ALLOW_HTTP"
_FOLDER_LISTS = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")
_FOLDERS = (
    *("CLAUDE_CONFIG_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"),
    *("HOME", "TMPDIR", "TEMP", "TMP"),
)
_DEFAULT_PATH = os.defpath if os.name == "nt" else "/usr/local/bin:/usr/bin:/bin"


def claude_home(override: str | os.PathLike[str] | None = None) -> str:
    """Return the folder of Claude Code: the override, else `$CLAUDE_CONFIG_DIR`, else `~/.claude`."""
    if override is not None:
        return os.path.expanduser(os.fspath(override))
    return os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")


def cache_home() -> str:
    """Return the folder for files that can be rebuilt: `$XDG_CACHE_HOME/clew`, else `~/.cache/clew`."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "clew")


def data_home() -> str:
    """Return the folder for files that cannot be rebuilt: `$XDG_DATA_HOME/clew`, else `~/.local/share/clew`."""
    base = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.path.join(base, "clew")


def state_home() -> str:
    """Return the folder for state kept between runs: `$XDG_STATE_HOME/clew`, else `~/.local/state/clew`."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(base, "clew")


def config_home() -> str:
    """Return the configuration folder of all programs: `$XDG_CONFIG_HOME`, else `~/.config`."""
    return os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")


def search_filters() -> str | None:
    """Return the default search filters from `$CLEW_SEARCH`; None if it is not set (then the settings decide)."""
    return os.environ.get("CLEW_SEARCH")


def user_home() -> str:
    """Return the home folder of the user."""
    return os.path.expanduser("~")


def login_shell() -> str:
    """Return the name of the user's shell from `$SHELL`, such as `zsh`; empty if it is not set."""
    return os.path.basename(os.environ.get("SHELL", ""))


def user_homes() -> tuple[str, ...]:
    """Return the user's home folders: the one from the environment and the one from the password database."""
    if sys.platform == "win32":  # it has no password database
        return (user_home(),)
    import pwd

    try:
        return user_home(), pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return (user_home(),)


def foreign_homes() -> dict[str, tuple[str, ...]]:
    """Return the folders in which other programs keep their conversations."""
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
    """Return True if internal errors must show a traceback: `CLEW_DEBUG` is set."""
    return bool(os.environ.get("CLEW_DEBUG"))


def current_session() -> str | None:
    """Return the id of the Claude Code session that clew runs in, or None."""
    return os.environ.get("CLAUDE_SESSION_ID") or os.environ.get("CLAUDE_CODE_SESSION_ID") or None


def entrypoint() -> str:
    """Return how the parent program says it was started (`CLAUDE_CODE_ENTRYPOINT`), or ""."""
    return os.environ.get("CLAUDE_CODE_ENTRYPOINT") or ""


def wants_session_state() -> bool:
    """Return True if the parent program wants session state events."""
    return os.environ.get("CLAUDE_CODE_SDK_READS_SESSION_STATE") == "1"


def wants_colour(is_terminal: bool = True) -> bool:
    """Return True for a terminal that is not dumb. `NO_COLOR` means never, `FORCE_COLOR` always (`0`: never)."""
    if os.environ.get("NO_COLOR"):
        return False
    if forced := os.environ.get("FORCE_COLOR"):
        return forced not in ("0", "false")
    return is_terminal and os.environ.get("TERM") != "dumb"


def terminal_colours(is_terminal: bool = True) -> int:
    """Return how many colours can be used: 0, 16, 256 or 2**24."""
    if not wants_colour(is_terminal):
        return 0
    kind = terminal_kind()
    if os.environ.get("COLORTERM") in ("truecolor", "24bit") or "WT_SESSION" in os.environ or kind.endswith("-direct"):
        return 1 << 24
    if any(name in kind for name in ("256color", "kitty", "alacritty", "ghostty")):
        return 256
    return 16 if kind or sys.platform != "win32" else 0  # an old console of Windows shows the sequences themselves


def terminal_ground() -> str:
    """Return the ground of the terminal, dark or light: as `CLEW_THEME` says, else `COLORFGBG`; "" if neither does."""
    if (theme := os.environ.get("CLEW_THEME", "").lower()) in ("dark", "light"):
        return theme
    ground = os.environ.get("COLORFGBG", "").rpartition(";")[2]  # one of the sixteen colours
    return ("dark" if int(ground) < 7 or ground == "8" else "light") if ground.isdigit() else ""


def terminal_kind() -> str:
    """Return the terminal type (`TERM`), or ""."""
    return os.environ.get("TERM") or ""


def rewraps_lines() -> bool:
    """Return True if the terminal rewraps long lines when it is resized: all do, except xterm itself."""
    return "XTERM_VERSION" not in os.environ


def program(name: str, default: str) -> str:
    """Return the program that a variable such as `PAGER` or `EDITOR` names, else `otherwise`."""
    return os.environ.get(name) or default


def api_key() -> str:
    """Return the API key that the user set, or ""."""
    return os.environ.get("ANTHROPIC_API_KEY") or ""


def api_token() -> str:
    """Return the bearer token for the Messages API that the user set, or ""."""
    return os.environ.get("ANTHROPIC_AUTH_TOKEN") or ""


def api_base() -> str:
    """Return the base URL of the Messages API that the user set, or ""."""
    return os.environ.get("ANTHROPIC_BASE_URL") or ""


def header_lines() -> dict[str, str]:
    """Return additional headers for the Messages API (`ANTHROPIC_CUSTOM_HEADERS`, one `Name: value` per line)."""
    pairs = (line.partition(":") for line in os.environ.get("ANTHROPIC_CUSTOM_HEADERS", "").splitlines())
    return {name.strip(): value.strip() for name, colon, value in pairs if colon and name.strip()}


def is_switched_on(name: str) -> bool:
    """Return True if a variable such as `CLAUDE_CODE_USE_BEDROCK` is set to something else than no."""
    return os.environ.get(name, "").strip().lower() not in ("", "0", "false", "no", "off")


def bedrock_base() -> str:
    """Return the address of Amazon Bedrock that the user set; "" for that of the region."""
    return os.environ.get("ANTHROPIC_BEDROCK_BASE_URL") or ""


def bedrock_token() -> str:
    """Return the key for Amazon Bedrock that the user set, or ""."""
    return os.environ.get("AWS_BEARER_TOKEN_BEDROCK") or ""


def aws_region() -> str:
    """Return the region of AWS that the user set, or ""."""
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or ""


def aws_profile() -> str:
    """Return the profile of AWS that the user chose, or ""."""
    return os.environ.get("AWS_PROFILE") or ""


def vertex_base() -> str:
    """Return the address of Google Vertex that the user set; "" for that of the region."""
    return os.environ.get("ANTHROPIC_VERTEX_BASE_URL") or ""


def vertex_project() -> str:
    """Return the project of Google Cloud that the user set, or ""."""
    names = ("ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT")
    return next((os.environ[name] for name in names if os.environ.get(name)), "")


def vertex_region() -> str:
    """Return the region of Google Cloud that the user set, or ""."""
    return os.environ.get("CLOUD_ML_REGION") or ""


def chosen_model() -> str:
    """Return the model that the user set for chats (`ANTHROPIC_MODEL`), or ""."""
    return os.environ.get("ANTHROPIC_MODEL") or ""


def family_model(family: str) -> str:
    """Return the model that the user set for a short name: `ANTHROPIC_DEFAULT_SONNET_MODEL` for sonnet; else ""."""
    return os.environ.get(f"ANTHROPIC_DEFAULT_{family.upper()}_MODEL") or ""


def small_model() -> str:
    """Return the model that the user set for small side requests, or ""."""
    return os.environ.get("ANTHROPIC_SMALL_FAST_MODEL") or family_model("haiku")


def positive_number(name: str) -> int:
    """Return a variable that is a whole number above 0, such as a limit or a time in milliseconds; else 0."""
    value = os.environ.get(name, "").strip()
    return int(value) if value.isascii() and value.isdigit() else 0


def is_on(name: str) -> bool:
    """Return True if a variable is set to 1, true, yes or on."""
    return os.environ.get(name, "").strip().lower() in ("1", "true", "yes", "on")


def apply_variables(variables: Mapping[str, str]) -> None:
    """Set variables in this process's environment, as if they had been exported before clew was started."""
    os.environ.update(variables)
    drop_relative_folders()


def effort_level() -> str:
    """Return the effort that the user set for all models (`CLAUDE_CODE_EFFORT_LEVEL`), or ""."""
    return os.environ.get("CLAUDE_CODE_EFFORT_LEVEL") or ""


def limit_window(tokens: int) -> int:
    """Return the size of a context window, with the long ones switched off if the user wants that."""
    return min(tokens, 200_000) if is_on("CLAUDE_CODE_DISABLE_1M_CONTEXT") else tokens


def thinking_budget() -> int | None:
    """Return the tokens of thinking that the user set (`MAX_THINKING_TOKENS`); None if it is not set or no number."""
    value = os.environ.get("MAX_THINKING_TOKENS", "").strip()
    return int(value) if value.isascii() and value.isdigit() else None


def model_home() -> str:
    """Return the folder of the embedding model that the user set; "" for the one of its package."""
    return os.environ.get("CLEW_MODEL") or ""


def unencrypted_hosts() -> frozenset[str]:
    """Return the hosts to which the user allows credentials to be sent unencrypted."""
    return frozenset(host.strip().lower() for host in os.environ.get(ALLOW_HTTP, "").split(",") if host.strip())


def postgres_host() -> str:
    """Return the PostgreSQL server that libpq uses if an address names none; "" for this machine."""
    return os.environ.get("PGHOSTADDR") or os.environ.get("PGHOST") or ""


def otlp_headers() -> str:
    """Return headers for an OpenTelemetry receiver from its standard variable, or ""."""
    return os.environ.get("OTEL_EXPORTER_OTLP_HEADERS") or ""


def named_folders() -> set[str]:
    """Return the names of the variables that move the folders of clew or of Claude Code, if they are set."""
    return {name for name in ("CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME") if os.environ.get(name)}


def unit_environment() -> dict[str, str]:
    """Return the variables that an installed collector needs; none of them is a secret."""
    names = (ALLOW_HTTP, "XDG_STATE_HOME", "XDG_CACHE_HOME", "PGHOST", "PGPORT", "PGSERVICEFILE", "PGSSLROOTCERT")
    return {name: os.environ[name] for name in (*names, "AWS_REGION", "AWS_PROFILE") if os.environ.get(name)}


def lost_credentials() -> list[str]:
    """Return the names of credentials in this environment, which an installed collector does not have."""
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "OTEL_EXPORTER_OTLP_HEADERS")
    return [name for name in names if os.environ.get(name)]


def user_name() -> str:
    """Return the name of the user, or "" if the system does not know it."""
    if sys.platform == "win32":
        return os.environ.get("USERNAME") or ""
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return os.environ.get("USER") or ""


def secret_variable(name: str) -> str:
    """Return a secret from the variable that a configuration names, or ""."""
    return os.environ.get(name) or ""


def cloud_options() -> dict[str, str]:
    """Return the `AWS_` variables, which configure object stores and their credentials."""
    return {name: value for name, value in os.environ.items() if name.startswith("AWS_")}


def child_environment(**changed: str) -> dict[str, str]:
    """Return the environment for another program, with some variables changed.

    Folders that programs and libraries are searched in are absolute: relative ones would mean the working folder.
    """
    variables = {**os.environ, **changed}
    for name in _FOLDER_LISTS:
        folders = absolute_folders(variables.get(name, ""))
        if name == "PATH":
            variables[name] = os.pathsep.join(
                folders or absolute_folders(_DEFAULT_PATH)
            )  # an empty one is the working folder
        elif folders:
            variables[name] = os.pathsep.join(folders)
        else:
            variables.pop(name, None)
    return variables


def isolated_environment() -> dict[str, str]:
    """Return the environment for a clew process that runs in another folder: no `PYTHON*`, and absolute folders."""
    variables = {name: value for name, value in child_environment().items() if not name.startswith("PYTHON")}
    return variables | {name: os.path.abspath(variables[name]) for name in _FOLDERS if variables.get(name)}


def drop_relative_folders() -> None:
    """Remove relative entries of `PATH` and similar variables from this process's environment, which libraries
    inherit.
    """
    for name in _FOLDER_LISTS:
        value = os.environ.get(name)
        if value is not None and any(not os.path.isabs(entry) for entry in value.split(os.pathsep)):
            os.environ.pop(name)
            if folders := absolute_folders(value) or (absolute_folders(_DEFAULT_PATH) if name == "PATH" else []):
                os.environ[name] = os.pathsep.join(folders)


def absolute_folders(value: str) -> list[str]:
    """Return the absolute entries of a folder list such as `PATH`."""
    return [entry for entry in value.split(os.pathsep) if os.path.isabs(entry)]


def program_folders(path: str | None = None) -> list[str]:
    """Return the folders that programs are searched in: the absolute entries of `PATH`, or of `path`."""
    return absolute_folders(os.environ.get("PATH", _DEFAULT_PATH) if path is None else path)


def program_endings(name: str) -> tuple[str, ...]:
    """Return the executable extensions on Windows; a name that already has one is also tried unchanged."""
    endings = tuple(part for part in (os.environ.get("PATHEXT") or ".COM;.EXE;.BAT;.CMD").split(os.pathsep) if part)
    return ("", *endings) if name.lower().endswith(tuple(part.lower() for part in endings)) else endings


def import_folders() -> list[str]:
    """Return the entries of `PYTHONPATH`; an empty one means the working folder."""
    value = os.environ.get("PYTHONPATH")
    return value.split(os.pathsep) if value else []


def system_folder() -> str:
    """Return the Windows folder."""
    return os.environ.get("SYSTEMROOT") or "C:\\"


def terminal_columns(fallback: int = 80) -> int:
    """Return the width of the terminal: `$COLUMNS`, else that of stdout; `fallback` if it is not a terminal."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or fallback if sys.__stdout__ else fallback
    except (OSError, ValueError):
        return fallback
