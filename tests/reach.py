"""Whether what `requirements.tsv` says about how a user reaches a requirement is true.

A `reach` is one or several of these, divided by `;`:

- `clew show --full`: a command, the words that one of its arguments accepts, and its options;
- `python Session.turns`: a name in the reference of docs/python.md, and what the reference says it has, or a module that
  it or a page that it links to names;
- `file transcript by clew chat`: a kind of file, and a command that writes it.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser
from collections.abc import Iterable

from tests.generate_docs import DOCS, _commands
from tests.requirements import Requirement

EDITS = ("clone", "trim", "drop", "compact", "compress", "redact", "merge", "repair")
FILES = {
    "transcript": ("chat", "race", "import", "restore", "demo", *EDITS),
    "sessions-index.json": ("repair",),
    "recalls": ("recall",),
    "state": ("collect",),
    "archive": ("collect",),
    "records": ("collect",),
}


def unreachable(known: Iterable[Requirement]) -> dict[str, str]:
    """What is wrong with the `reach` or `departs` of each, by number."""
    parsers = dict(_commands())
    pages = ("python.md", "rounds.md", "seeds.md")  # the first links to the second for names that it does not list
    reference = documented("\n".join((DOCS / page).read_text(encoding="utf-8") for page in pages))
    sentences = " ".join((DOCS / "seeds.md").read_text(encoding="utf-8").split())
    found = {}
    for each in known:
        for way in filter(None, map(str.strip, each.reach.split(";"))):
            if wrong := problem(way, parsers, reference):
                found[each.number] = wrong
        if each.departs and " ".join(each.departs.split()) not in sentences:
            found[each.number] = "docs/seeds.md does not hold the sentence of its departure"
    return found


def problem(way: str, parsers: dict[str, ArgumentParser], reference: dict[str, str]) -> str:
    """Why nobody reaches anything in this way; empty if one does."""
    kind, _, rest = way.partition(" ")
    if kind == "clew":
        return _command_problem(rest, parsers)
    if kind == "python":
        return _name_problem(rest, reference)
    if kind == "file" and (parts := re.fullmatch(r"(\S+) by clew (\S+)", rest)):
        return "" if parts[2] in FILES.get(parts[1], ()) and parts[2] in parsers else f"no command writes: {way}"
    return f"not a way to reach anything: {way}"


def documented(page: str) -> dict[str, str]:
    """The names in the reference of docs/python.md, each with what the reference says about it."""
    found: dict[str, str] = {}
    for names, text in re.findall(r"^\| (`.+?`) \| (.+) \|$", page, re.MULTILINE):
        found |= {name.partition("(")[0]: text for name in re.findall(r"`([^`]+)`", names)}
    others = re.findall(r"`(clew\.[\w.]+)`", page)
    return found | dict.fromkeys(others, "")


def _command_problem(words: str, parsers: dict[str, ArgumentParser]) -> str:
    name, *rest = words.split()
    if name not in parsers:
        return f"there is no command clew {name}"
    actions = parsers[name]._actions
    for word in rest:
        options = {option for action in actions for option in action.option_strings}
        values = {str(value) for action in actions for value in action.choices or ()}
        if word not in (options if word.startswith("-") else values):
            return f"clew {name} has no {word}"
    return ""


def _name_problem(name: str, reference: dict[str, str]) -> str:
    owner, _, part = name.partition(".") if not name.startswith("clew.") else (name, "", "")
    if owner not in reference:
        return f"no page documents {owner}"
    if part and not re.search(rf"\b{re.escape(part)}\b", reference[owner]):
        return f"docs/python.md does not say that {owner} has {part}"
    return ""
