"""Generate session names (adjective-participle-surname) from session ids."""

from __future__ import annotations

from hashlib import sha256

_ADJECTIVES = (
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
_PARTICIPLES = (
    *("baking", "blinking", "bouncing", "climbing", "dancing", "digging", "drifting", "floating", "flying", "gliding"),
    *("growing", "humming", "jumping", "knitting", "leaping", "mending", "napping", "painting", "reading", "resting"),
    *("roaming", "rowing", "sailing", "singing", "skating", "sowing", "spinning", "strolling", "swimming", "thinking"),
    *("tumbling", "turning", "waking", "walking", "wandering", "weaving", "whistling", "writing"),
)
_SURNAMES = (
    *("backus", "boole", "cantor", "church", "curie", "dijkstra", "erdos", "euler", "faraday", "fermat", "floyd"),
    *("galois", "gauss", "germain", "hamilton", "hamming", "hertz", "hilbert", "hoare", "hopper", "kepler", "kleene"),
    *("knuth", "lamarr", "lamport", "liskov", "lovelace", "maxwell", "meitner", "milner", "naur", "noether", "pascal"),
    *("perlis", "ritchie", "shannon", "tarjan", "turing", "wirth"),
)


def session_name(session_id: str) -> str:
    """Return the name of a session; the same id always gives the same name."""
    number = int.from_bytes(sha256(session_id.encode()).digest()[:8], "big")
    parts = []
    for choice in (_ADJECTIVES, _PARTICIPLES, _SURNAMES):
        number, index = divmod(number, len(choice))
        parts.append(choice[index])
    return "-".join(parts)
