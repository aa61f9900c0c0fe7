"""Read clew's own settings, `clew/config.toml` in the configuration folder.

Environment variables take precedence.

[search] default = "in:talk" # filters of every search that sets none itself; $CLEW_SEARCH
"""

from __future__ import annotations

import os

from clew.errors import ClewError
from clew.system.environment import config_home, search_filters

FILE_NAME = "config.toml"


def search_default() -> str:
    """Return the default search filters. Raises ClewError if the settings cannot be read."""
    chosen = search_filters()
    if chosen is not None:
        return chosen
    path = os.path.join(config_home(), "clew", FILE_NAME)
    if not os.path.isfile(path):
        return ""
    import tomllib

    try:
        with open(path, "rb") as file:
            section = tomllib.load(file).get("search", {})
    except (OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or str(error)
        raise ClewError(f"Cannot read the settings in {path}: {reason}.") from None
    value = section.get("default", "") if isinstance(section, dict) else None
    if not isinstance(value, str):
        raise ClewError(
            f'The search default in {path} is not a string. Write [search] and below it default = "in:talk".'
        )
    return value
