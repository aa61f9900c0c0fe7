"""clew's own settings: `clew/config.toml` in the user's folder of settings. A variable of the environment goes before it.

[search]
default = "in:talk"     # filters of every search that does not choose them itself; $CLEW_SEARCH
"""

from __future__ import annotations

import os

from clew.errors import ClewError
from clew.system.environment import config_home, search_filters

NAME = "config.toml"


def search_default() -> str:
    """The filters that a search has by default. Raises ClewError if the settings cannot be read."""
    chosen = search_filters()
    if chosen is not None:
        return chosen
    path = os.path.join(config_home(), "clew", NAME)
    if not os.path.isfile(path):
        return ""
    import tomllib

    try:
        with open(path, "rb") as file:
            section = tomllib.load(file).get("search", {})
    except (OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or str(error)
        raise ClewError(f"The settings in {path} cannot be read: {reason}.") from None
    value = section.get("default", "") if isinstance(section, dict) else None
    if not isinstance(value, str):
        raise ClewError(f'In {path}, write the search default as text: [search] and below it default = "in:talk".')
    return value
