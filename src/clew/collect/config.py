"""Read the configuration of the collector: the sinks it sends to, each with its own credentials, filters and pace.

The file is `collect.toml` in the configuration folder of clew. `TEMPLATE` documents every key.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from msgspec import Struct

from clew.errors import Refused
from clew.system.environment import config_home, secret_variable

Send = Literal["all", "lines", "facts"]
SENDS: tuple[Send, ...] = ("all", "lines", "facts")
_KEYS: dict[str, type] = {
    "name": str,
    "to": str,
    "token-file": str,
    "token-env": str,
    "send": str,
    "contents": bool,
    "projects": list,
    "except": list,
    "reveal": bool,
    "max-line": int,
    "every": int,
}
_IDENTITY_KEYS: dict[str, type] = {"developer": str, "machine": str, "team": str, "hash-developer": bool}

TEMPLATE = """\
# Where clew sends what it archives. Check it with: clew collect test

# [identity]                     # the columns developer, machine and team of every view
# developer = "ada@example.com"  # default: the e-mail of git, else the name of the user
# hash-developer = true          # send a hash of it instead of the name
# machine = "laptop"             # default: the name of this machine
# team = "payments"

# [[sink]]
# name = "team"                  # what status calls it; default: the address
# # the address, as for --to: s3://…, delta:FOLDER, landing+s3://…, landing:FOLDER, parquet:FOLDER, otlp+https://…,
# # https://…, FILE.jsonl
# to = "postgresql://ada@db.example.com/sessions"
# token-file = "~/.config/clew/team.token"         # its own secret: a password, a token, or KEY:SECRET for s3://…
# token-env = "CLEW_TEAM_TOKEN"                    # or a variable of the environment
# send = "all"                   # "lines": what is in the files; "facts": the tables of clew sql; "all": both
# contents = true                # false: facts without prompts, replies, errors and titles
# projects = ["~/work/*"]        # send these projects alone …
# except = ["~/work/private"]    # … and never these; with either, history and statistics are not sent
# reveal = false                 # true: do not mask secrets
# max-line = 10485760            # send no line longer than this many bytes
# every = 60                     # seconds between two deliveries while watching
"""


class Identity(Struct, frozen=True):
    """Who collects, as far as the user configured it; empty for the default."""

    developer: str = ""
    machine: str = ""
    team: str = ""
    is_hashed: bool = False


class SinkConfig(Struct, frozen=True):
    """One sink: its address, its secret, what it is sent, and how often."""

    to: str
    name: str = ""
    token_file: str = ""
    token_env: str = ""
    send: Send = "all"
    contents: bool = True
    projects: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    reveal: bool = False
    max_line: int = 0
    every: float = 0.0

    @property
    def label(self) -> str:
        """Return the name, or the address without credentials."""
        return self.name or public_address(self.to)

    def read_secret(self) -> str:
        """Return the secret of this sink; empty if it needs none. Raises Refused if it is missing."""
        if self.token_env:
            if not (secret := secret_variable(self.token_env)):
                raise Refused([f"{self.label} takes its secret from ${self.token_env}, which is not set"])
            return secret
        if not self.token_file:
            return ""
        try:
            return Path(self.token_file).expanduser().read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise Refused([f"the token file {self.token_file} of {self.label} cannot be read: {reason}"]) from None

    @property
    def has_project_filter(self) -> bool:
        return bool(self.projects or self.denied)

    def allows(self, project: str) -> bool:
        """Return whether a project may be sent. `project` is the name of its folder in that of Claude Code.

        With a filter, what belongs to no project (the history of prompts, statistics) is not sent.
        """
        if not self.has_project_filter:
            return True
        if not project or any(_matches(project, pattern, below=True) for pattern in self.denied):
            return False
        return not self.projects or any(_matches(project, pattern) for pattern in self.projects)


class CollectConfig(Struct, frozen=True):
    """The configuration file: its path, the sinks in order, and who collects."""

    path: Path
    sinks: tuple[SinkConfig, ...] = ()
    identity: Identity = Identity()


def config_path(override: str | None = None) -> Path:
    """Return the path of the configuration file, whether or not it exists."""
    return Path(override).expanduser().absolute() if override else Path(config_home(), "clew", "collect.toml")


def load_config(override: str | None = None) -> CollectConfig:
    """Read the configuration; an empty one if the default file does not exist. Raises Refused if it is invalid."""
    path = config_path(override)
    try:
        value = tomllib.loads(path.read_text())
    except FileNotFoundError:
        if override:
            raise Refused([f"there is no configuration file {path}"], hint="Write one: clew collect init") from None
        return CollectConfig(path)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Refused([f"{path} cannot be read: {error}"]) from None
    _check_keys(value, ("sink", "identity"), str(path))
    tables = value.get("sink", [])
    identity = value.get("identity", {})
    if not isinstance(tables, list) or not isinstance(identity, dict):
        raise Refused([f"{path}: write [[sink]] for each sink, and one [identity]"])
    sinks = tuple(_read_sink(table, f"{path}: sink {number}") for number, table in enumerate(tables, 1))
    check_secrets(sinks)
    _check_values(identity, _IDENTITY_KEYS, f"{path}: identity")
    developer, machine, team = (str(identity.get(key, "")) for key in ("developer", "machine", "team"))
    return CollectConfig(path, sinks, Identity(developer, machine, team, bool(identity.get("hash-developer"))))


def check_secrets(sinks: Sequence[SinkConfig]) -> None:
    """Refuse sinks at different servers that name the same secret: it would be sent to a place it is not meant for."""
    owners: dict[tuple[str, str], SinkConfig] = {}
    for sink in sinks:
        for source in (("variable", sink.token_env), ("file", sink.token_file)):
            if not source[1]:
                continue
            other = owners.setdefault(source, sink)
            if urlsplit(other.to).hostname != urlsplit(sink.to).hostname:
                raise Refused(
                    [f"{other.label} and {sink.label} would be sent the same secret ({source[1]})"],
                    hint="Give each its own in the configuration: clew collect init",
                )


def public_address(address: str) -> str:
    """Return an address without user, password and query."""
    if "://" not in address:
        return address
    parts = urlsplit(address)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def _read_sink(table: object, place: str) -> SinkConfig:
    if not isinstance(table, dict):
        raise Refused([f"{place}: write it as [[sink]]"])
    _check_values(table, _KEYS, place)
    send = table.get("send", "all")
    if not table.get("to"):
        raise Refused([f"{place}: `to` is missing, which is the address"])
    if send not in SENDS:
        raise Refused([f"{place}: `send` is one of {', '.join(SENDS)}"])
    if table.get("token-file") and table.get("token-env"):
        raise Refused([f"{place}: give one of `token-file` and `token-env`"])
    return SinkConfig(
        table["to"],
        table.get("name", ""),
        table.get("token-file", ""),
        table.get("token-env", ""),
        cast(Send, send),
        table.get("contents", True),
        tuple(table.get("projects", ())),
        tuple(table.get("except", ())),
        table.get("reveal", False),
        table.get("max-line", 0),
        float(table.get("every", 0)),
    )


def _check_values(table: dict[str, Any], keys: dict[str, type], place: str) -> None:
    _check_keys(table, keys, place)
    for key, value in table.items():
        is_valid = type(value) is keys[key]
        if isinstance(value, list):
            is_valid = is_valid and all(isinstance(each, str) for each in value)
        elif isinstance(value, int):
            is_valid = is_valid and value >= 0
        if not is_valid:
            kind = {str: "a text", bool: "true or false", list: "a list of texts", int: "a number"}[keys[key]]
            raise Refused([f"{place}: `{key}` must be {kind}"])


def _check_keys(table: Iterable[str], known: Iterable[str], place: str) -> None:
    for key in table:
        if key not in known:
            near = get_close_matches(key, list(known), 1)
            raise Refused([f"{place}: `{key}` is not a key" + (f"; did you mean `{near[0]}`?" if near else "")])


def _matches(project: str, pattern: str, *, below: bool = False) -> bool:
    """Compare the name of a project's folder with a path that may contain `*` and `?`.

    Claude Code writes every character of the path but letters and digits as `-`. A pattern that does not begin with
    `/`, `~` or `*` matches the end of the path: `shop` matches `/home/ada/shop`. With `below`, folders below it match
    too, and so do names that cannot be told from them: `shop` matches `shop/api` and `shop-api`.
    """
    path = str(Path(pattern).expanduser()) if pattern.startswith("~") else pattern.rstrip("/")
    encoded = re.sub(r"[^A-Za-z0-9*?]", "-", path)
    if not path.startswith(("/", "*")) and not re.match(r"[A-Za-z]:", path):
        encoded = f"*-{encoded}"
    return fnmatchcase(project, encoded) or (below and fnmatchcase(project, f"{encoded}-*"))
