"""Names of models on Amazon Bedrock and Google Vertex, where older ones have a date (seen in Claude Code 2.1.325)."""

from __future__ import annotations

import re

from clew.models import known_name, without_suffix

# By name in the table: the date, and the version that Bedrock appends. Newer models have neither.
_DATED = {
    "claude-3-5-haiku": ("20241022", "v1:0"),
    "claude-3-5-sonnet": ("20241022", "v2:0"),
    "claude-3-7-sonnet": ("20250219", "v1:0"),
    "claude-haiku-4-5": ("20251001", "v1:0"),
    "claude-opus-4": ("20250514", "v1:0"),
    "claude-opus-4-1": ("20250805", "v1:0"),
    "claude-opus-4-5": ("20251101", "v1:0"),
    "claude-opus-4-6": ("", "v1"),
    "claude-sonnet-4": ("20250514", "v1:0"),
    "claude-sonnet-4-5": ("20250929", "v1:0"),
}
_GROUPS = {"us-gov": "us-gov", "us": "us", "ca": "us", "eu": "eu", "ap": "apac"}  # of regions that share a model
_BEDROCK_ID = re.compile(r"arn:|(?:[\w-]+\.)?anthropic\.")


def bedrock_model(name: str, region: str) -> str:
    """Return the id of a model on Bedrock: the inference profile of the region's group, unless an id is given.

    `claude-sonnet-4-5` is `eu.anthropic.claude-sonnet-4-5-20250929-v1:0` in eu-west-1.
    """
    plain = without_suffix(name)[0]
    known = known_name(plain)
    if _BEDROCK_ID.match(plain) or not known:
        return plain
    date, version = _DATED.get(known, ("", ""))
    group = next((short for start, short in _GROUPS.items() if region.startswith(f"{start}-")), "us")
    return "-".join(part for part in (f"{group}.anthropic.{known}", date, version) if part)


def vertex_model(name: str) -> str:
    """Return the name of a model on Vertex: `claude-sonnet-4-5` is `claude-sonnet-4-5@20250929`."""
    plain = without_suffix(name)[0]
    known = known_name(plain)
    if "@" in plain or not known:
        return plain
    date = _DATED.get(known, ("", ""))[0]
    return f"{known}@{date}" if date else known
