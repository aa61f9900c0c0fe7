"""Prices from a file of the user, which override the table of the package."""

from __future__ import annotations

import os

from clew.facts.prices import load
from clew.system.environment import config_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.facts.prices import Prices


def price_file() -> str:
    """Return the path of the user's price file, whether or not it exists."""
    return os.path.join(config_home(), "clew", "prices.json")


def load_prices(path: str | None = None) -> Prices:
    """Return the price table of the package, overridden by a file: `path`, or prices.json in the settings folder.

    Raises ValueError for a file that is not a price table, and OSError for one that cannot be read.
    """
    name = path or price_file()
    if path is None and not os.path.exists(name):
        return load()
    import json  # most users have no file of prices

    with open(name, encoding="utf-8") as file:
        try:
            values = json.load(file)
        except ValueError as error:
            raise ValueError(f"{name} is not a price table: {error}") from None
    return load(values, name)
