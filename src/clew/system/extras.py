"""Build the command that installs an optional part of clew, for the way in which clew itself was installed.

clew is installed from its repository, so a plain `pip install 'clew[web]'` could install a package of someone else.
The command names the source that the installer recorded (a folder, a file or a repository), or the packages themselves.
"""

from __future__ import annotations

import os
import sys

from clew.system.shell_quoting import join_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.metadata import Distribution
    from typing import Any

_DISTRIBUTION = "clew"


def install_hint(extra: str) -> str:
    """Return the sentence that says how to install an extra."""
    return f"Install it with: {install_command(extra)}"


def install_command(extra: str) -> str:
    """Return a shell command that installs an extra.

    In a checkout with its own environment: `/home/ada/clew/.venv/bin/python -m pip install -e '/home/ada/clew[web]'`.
    """
    from importlib.metadata import PackageNotFoundError, distribution  # slow, and needed only here
    from importlib.util import find_spec

    try:
        installed = distribution(_DISTRIBUTION)
    except PackageNotFoundError:  # a copy of the files on the path
        return f"pip install '.[{extra}]', in the folder with clew's pyproject.toml"
    source = _read_source(installed)
    return join_command(
        _command_words(source, _list_packages(installed, extra), extra, sys.prefix, has_pip=bool(find_spec("pip")))
    )


def packages_command(*words: str) -> str:
    """Return a shell command that installs packages into the environment of clew."""
    from importlib.util import find_spec

    return join_command(_command_words({}, list(words), "", sys.prefix, has_pip=bool(find_spec("pip"))))


def _command_words(source: dict[str, Any], packages: list[str], extra: str, prefix: str, *, has_pip: bool) -> list[str]:
    """Choose the installer: the one that made the environment `prefix`, else pip, else uv."""
    requirement = _source_requirement(source, extra)
    editable = ["-e"] if requirement and source.get("dir_info", {}).get("editable") else []
    words = [*editable, requirement] if requirement else packages
    if requirement and os.path.exists(os.path.join(prefix, "uv-receipt.toml")):
        return ["uv", "tool", "install", "--force", *words]
    if requirement and os.path.exists(os.path.join(prefix, "pipx_metadata.json")):
        return ["pipx", "install", "--force", *words]
    if requirement and f"{os.sep}archive-v0{os.sep}" in prefix:  # the cache of uvx: nothing can be added to it
        return ["uvx", "--from", requirement, _DISTRIBUTION]
    start = (
        [sys.executable, "-m", "pip", "install"] if has_pip else ["uv", "pip", "install", "--python", sys.executable]
    )
    return [*start, *words]


def _read_source(installed: Distribution) -> dict[str, Any]:
    """Read where the installer found clew (`direct_url.json`); {} if it came from an index."""
    import json

    try:
        found = json.loads(installed.read_text("direct_url.json") or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _source_requirement(source: dict[str, Any], extra: str) -> str:
    """Return the source with an extra: `/home/ada/clew[web]` or `clew[web] @ git+https://…`; "" if it is unknown."""
    url = source.get("url")
    if not isinstance(url, str):
        return ""
    from urllib.parse import unquote, urlsplit

    parts = urlsplit(url)
    if parts.scheme == "file" and "dir_info" in source:
        path = unquote(parts.path)
        return f"{path[1:] if path[2:3] == ':' else path}[{extra}]"  # /C:/clew is C:/clew
    system = source.get("vcs_info", {}).get("vcs", "")
    return f"{_DISTRIBUTION}[{extra}] @ {f'{system}+' if system else ''}{url}"


def _list_packages(installed: Distribution, extra: str) -> list[str]:
    """List the requirements of an extra, as clew's metadata states them."""
    stated = (text.replace('"', "'").partition(";") for text in installed.requires or ())
    return [name.strip() for name, _, marker in stated if f"extra == '{extra}'" in marker]
