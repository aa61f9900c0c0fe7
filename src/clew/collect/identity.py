"""Find out who collects: the developer, the machine and the team that the rows of every store name.

They are kept in the archive, so that facts made from it later, or by another program, name the same.
"""

from __future__ import annotations

import re
import socket
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import apsw

from clew.collect.config import Identity
from clew.system.environment import config_home, user_home, user_name

_HASH_DIGITS = 16
_NAMES = ("developer", "machine", "team")


class Owner(NamedTuple):
    """Who the lines of an archive belong to."""

    developer: str = ""
    machine: str = ""
    team: str = ""


def resolve_owner(identity: Identity) -> Owner:
    """Return the configured names, else the e-mail of git or the user, and the name of the machine.

    Hashed names are the same on all machines of a person. They are no secret: whoever knows a name can compare it.
    """
    developer = identity.developer or _git_email() or user_name()
    machine = identity.machine or socket.gethostname()
    if identity.is_hashed:
        developer, machine = (hash_name(name) for name in (developer, machine))
    return Owner(developer, machine, identity.team)


def hash_name(name: str) -> str:
    """Return the name that stands for a developer or a machine in a store."""
    return sha256(name.strip().lower().encode()).hexdigest()[:_HASH_DIGITS]


def save_owner(connection: apsw.Connection, owner: Owner) -> None:
    """Keep the owner in the archive."""
    if read_owner(connection) != owner:
        connection.executemany(
            "INSERT INTO about VALUES(?, ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value",
            list(zip(_NAMES, owner, strict=True)),
        )


def read_owner(connection: apsw.Connection) -> Owner:
    """Return the owner of an archive; empty names if none was kept."""
    values = {row[0]: row[1] for row in connection.execute("SELECT name, value FROM about")}
    return Owner(*(str(values.get(name, "")) for name in _NAMES))


def _git_email() -> str:
    """Return the e-mail in the user's configuration of git. That of a project is not read: it can be anybody's."""
    for path in (Path(user_home(), ".gitconfig"), Path(config_home(), "git", "config")):
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        section = re.search(r"^\s*\[user\]\s*$(.*?)(?=^\s*\[|\Z)", text, re.MULTILINE | re.DOTALL)
        email = re.search(r"^\s*email\s*=\s*\"?([^\"#;\n]+)", section[1], re.MULTILINE) if section else None
        if email and email[1].strip():
            return email[1].strip()
    return ""
