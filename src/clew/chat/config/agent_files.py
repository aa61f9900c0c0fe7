"""Definitions of agents: those that everyone has, and those that the user and the project keep in files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from clew.chat.config.agent_kind import Kind
from clew.chat.config.frontmatter import is_on, list_of, split_header, text_of
from clew.chat.config.settings import table
from clew.chat.permission.decision import MODES, Mode
from clew.wire.json_codec import Json

_READING = ("Read", "Grep", "Glob", "LS", "Bash", "WebFetch", "WebSearch", "TodoWrite")
_LARGEST = 1 << 20
_NAMED = re.compile(r"(?:Agent|Task)\((.*)\)")
_STRICT: tuple[Mode, ...] = ("default", "plan", "dontAsk")  # what a project may ask for

BUILT_IN = (
    Kind(
        "general-purpose",
        "For work of several steps that needs searching, reading and changing files, when no other agent fits.",
        "You are an agent that carries out one task on its own. Do all of it and nothing besides. Search broadly first,"
        " then read closely what matters. Change files only where the task asks for it, and prefer changing what is there"
        " to adding new files. You cannot ask anybody. End with a short report of what you found or did: it is all that"
        " whoever sent you will see, so name files by their absolute paths and quote the lines that matter.",
    ),
    Kind(
        "Explore",
        "For finding things quickly in a code base: files by pattern, code by keyword, how something works. It changes"
        " nothing. Say how thorough it should be: quick, medium or very thorough.",
        "You are an agent that finds things in a code base and changes nothing. Do not create, edit, move or delete any"
        " file, and run only shell commands that look. Search for several names a thing could have, run independent"
        " searches at once, and stop as soon as the question is answered as thoroughly as it was asked. Answer with absolute"
        " paths, line numbers and the few lines that prove it. Say plainly what you did not find.",
        tools=_READING,
        mode="plan",
    ),
    Kind(
        "Plan",
        "For working out how to build something before it is built. It reads, weighs ways to do it, and changes nothing.",
        "You are an agent that plans changes to software and makes none. Do not create, edit, move or delete any file."
        " Read the code that the task touches and the code around it, and follow the habits that you find there. Weigh"
        " the simplest way that would do against its alternatives. Answer with the steps in order, each with the files it"
        " touches, what could go wrong, and how to check that it works. End with the files that matter most.",
        tools=_READING,
        mode="plan",
    ),
)  # fmt: skip


def definitions(
    project: Path,
    home: Path,
    trusted: bool,
    sources: Sequence[str] = ("user", "project"),
    given: Mapping[str, Json] | None = None,
) -> tuple[dict[str, Kind], list[str]]:
    """All kinds of agents by name, and a sentence for each file that is none. High to low: `given` (on the command line
    or by an SDK), the project's, the user's, the built-in ones. A project cannot loosen what its
    agents may do, and untrusted it stands in for no other."""
    found = {kind.name: kind for kind in BUILT_IN}
    notices: list[str] = []
    own = project / ".claude"
    notes = {"user": home / "agent-memory", "project": own / "agent-memory", "local": own / "agent-memory-local"}
    if "user" in sources:
        found |= _of_folder(home / "agents", True, notices, notes)
    if "project" in sources and project / ".claude" != home:
        theirs = _of_folder(project / ".claude" / "agents", False, notices, notes)
        found = found | theirs if trusted else theirs | found
    for name, fields in (given or {}).items():
        found[name] = _kind(name, table(fields), str(table(fields).get("prompt") or ""), True, notes)
    return found, notices


def _of_folder(folder: Path, may_loosen: bool, notices: list[str], notes: Mapping[str, Path]) -> dict[str, Kind]:
    found: dict[str, Kind] = {}
    for path in sorted(folder.rglob("*.md")) if folder.is_dir() else ():
        try:
            text = path.read_text(encoding="utf-8") if path.stat().st_size <= _LARGEST else ""
        except (OSError, UnicodeDecodeError) as error:
            notices.append(f"{path} cannot be read: {error}.")
            continue
        fields, body = split_header(text)
        name = text_of(fields, "name") or path.stem
        if not text_of(fields, "description") or not body.strip():
            notices.append(f"{path} is no agent: it needs a description in its header and a prompt below.")
            continue
        found[name] = _kind(name, fields, body.strip(), may_loosen, notes)
    return found


def _kind(name: str, fields: Json, prompt: str, may_loosen: bool, notes: Mapping[str, Path]) -> Kind:
    tools = None if "tools" not in fields else tuple(_bare(tool) for tool in list_of(fields, "tools"))
    model = text_of(fields, "model")
    turns = fields.get("maxTurns")
    asked = text_of(fields, "permissionMode")
    mode = next((known for known in MODES if known == asked and (may_loosen or known in _STRICT)), None)
    return Kind(
        name,
        text_of(fields, "description"),
        prompt,
        None if tools is not None and "*" in tools else tools,
        tuple(_bare(tool) for tool in list_of(fields, "disallowedTools")),
        "" if model == "inherit" else model,
        mode,
        turns if isinstance(turns, int) and turns > 0 else None,
        is_on(fields, "background"),
        list_of(fields, "skills"),
        _place(name, notes.get(text_of(fields, "memory"))),
        _sent(list_of(fields, "tools")),
    )


def _place(name: str, folder: Path | None) -> Path | None:
    """The folder for the notes of a kind; its name leads nowhere else."""
    return folder / re.sub(r"[^\w-]", "-", name) if folder else None


def _sent(tools: Sequence[str]) -> tuple[str, ...] | None:
    """The kinds of agents that `Agent(one, two)` among the tools names; None if none is named."""
    found = [_NAMED.fullmatch(tool) for tool in tools]
    named = [name.strip() for match in found if match for name in match[1].split(",")]
    return tuple(named) or None


def _bare(tool: str) -> str:
    """The tool that a rule names."""
    return tool.partition("(")[0].strip()


def listing(kinds: Mapping[str, Kind]) -> str:
    """The kinds of agents, as the model is told of them."""
    lines = []
    for kind in kinds.values():
        tools = "all tools" if kind.tools is None else ", ".join(kind.tools)
        lines.append(f"- {kind.name}: {kind.description[:1_536]} (Tools: {tools})")
    return "\n".join(lines)
