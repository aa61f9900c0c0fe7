"""Names: three words for a session, made from its id, so that people can tell sessions apart."""

from __future__ import annotations

from hashlib import sha256

_HOW = (
    *("amber", "bold", "brisk", "calm", "clear", "copper", "crisp", "deep", "dusty", "early", "fair", "fond", "gentle"),
    *(
        "golden",
        "grand",
        "green",
        "hazel",
        "honest",
        "keen",
        "kind",
        "late",
        "light",
        "lively",
        "lucid",
        "mellow",
        "mild",
    ),
    *("neat", "noble", "patient", "plain", "quick", "quiet", "rosy", "silver", "smooth", "steady", "sunny", "swift"),
)
_DOING = (
    *("baking", "blinking", "bouncing", "climbing", "dancing", "digging", "drifting", "floating", "flying", "gliding"),
    *("growing", "humming", "jumping", "knitting", "leaping", "mending", "napping", "painting", "reading", "resting"),
    *("roaming", "rowing", "sailing", "singing", "skating", "sowing", "spinning", "strolling", "swimming", "thinking"),
    *("tumbling", "turning", "waking", "walking", "wandering", "weaving", "whistling", "writing"),
)
_WHO = (
    *(
        "acorn",
        "badger",
        "beech",
        "bell",
        "brook",
        "cedar",
        "comet",
        "crane",
        "delta",
        "ember",
        "falcon",
        "fern",
        "finch",
    ),
    *(
        "fjord",
        "garden",
        "harbour",
        "heron",
        "island",
        "kettle",
        "lantern",
        "lark",
        "lynx",
        "maple",
        "meadow",
        "meteor",
    ),
    *(
        "otter",
        "pebble",
        "petal",
        "pine",
        "planet",
        "quill",
        "river",
        "rocket",
        "sparrow",
        "spruce",
        "thicket",
        "willow",
    ),
)


def name_of(session_id: str) -> str:
    """The same for the same id."""
    number = int.from_bytes(sha256(session_id.encode()).digest()[:8], "big")
    words = []
    for choice in (_HOW, _DOING, _WHO):
        number, at = divmod(number, len(choice))
        words.append(choice[at])
    return "-".join(words)
