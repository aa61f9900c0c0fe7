"""Cases in which clew is known to be wrong, each with the reason: the tests expect exactly these to fail."""

from __future__ import annotations

from tests.oracle.claude import VERSIONS

# What the newest version does, and clew does not do yet
RULES: dict[str, tuple[str, ...]] = {}

# What clew will not do
LASTING: dict[str, str] = {}

# What older versions do differently: reason, case, versions
OLDER: dict[str, dict[str, tuple[str, ...]]] = {}

UNKNOWN = {name: rule for rule, names in RULES.items() for name in names} | LASTING
KNOWN = {
    version: {name: why for why, names in OLDER.items() for name, versions in names.items() if version in versions}
    for version in VERSIONS
}

# Seeds of random sessions about which the two differ: why
RANDOM: dict[int, str] = {}
