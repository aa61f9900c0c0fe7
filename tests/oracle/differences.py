"""Cases in which clew is known to be wrong, each with the reason: the tests expect exactly these to fail."""

from __future__ import annotations

from tests.oracle.claude import VERSIONS

# What the newest version does, and clew does not do yet
RULES: dict[str, tuple[str, ...]] = {
    "Lines that a compaction preserved are linked anew before anything is bridged": (
        "bridging/nearest_line_was_preserved",
    ),
}

# What clew will not do
LASTING: dict[str, str] = {
    "compaction/message_named_twice": "the program links preserved lines anew, which makes a cycle of one named twice",
    "damage/numbers_that_are_large": "the program has no integers beyond 2**53",
}

# What older versions do differently: reason, case, versions
OLDER: dict[str, dict[str, tuple[str, ...]]] = {
    "a string among the blocks is sent as it is": {
        "merging/odd_contents_of_prompts": ("2.1.45", "2.1.29"),
        "merging/strings_in_a_reply": ("2.1.45",),
    },
    "the program has no integers beyond 2**53": {
        "damage/numbers_that_are_large": ("2.1.45", "2.1.29"),
    },
}

UNKNOWN = {name: rule for rule, names in RULES.items() for name in names} | LASTING
KNOWN = {
    version: {name: why for why, names in OLDER.items() for name, versions in names.items() if version in versions}
    for version in VERSIONS
}

# Seeds of random sessions about which the two differ: why
RANDOM: dict[int, str] = {
    384: "not understood: a call without a result is kept and answered by an error, which clew drops",
    404: 'not understood: a reply of nothing but a block without words is passed over, clew sends it as "(no content)"',
}
