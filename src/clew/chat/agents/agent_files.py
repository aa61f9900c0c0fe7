"""Load the types of subagents: built-in ones, and those in files of the user and the project."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from clew.api.reasoning import EFFORTS
from clew.chat.agents.agent_kind import AgentKind
from clew.chat.config.frontmatter import bool_field, list_field, split_header, text_field
from clew.chat.config.permission_mode import MODES, Mode
from clew.chat.config.plugins import Plugin
from clew.chat.config.settings import as_object
from clew.wire.json_codec import Json

_READ_ONLY_TOOLS = ("Read", "Grep", "Glob", "LS", "Bash", "WebFetch", "WebSearch", "TodoWrite")
_MAX_BYTES = 1 << 20
_AGENT_RULE = re.compile(r"(?:Agent|Task)\((.*)\)")
_STRICT_MODES: tuple[Mode, ...] = ("default", "plan", "dontAsk")  # modes that a project may set

BUILT_IN = (
    AgentKind(
        "general-purpose",
        "For work of several steps that needs searching, reading and changing files, when no other agent fits.",
        "You are an agent that carries out one task on its own. Do all of it and nothing besides. Search broadly first,"
        " then read closely what matters. Change files only where the task asks for it, and prefer changing what is there"
        " to adding new files. You cannot ask anybody. End with a short report of what you found or did: it is all that"
        " whoever sent you will see, so name files by their absolute paths and quote the lines that matter.",
    ),
    AgentKind(
        "Explore",
        "For finding things quickly in a code base: files by pattern, code by keyword, how something works. It changes"
        " nothing. Say how thorough it should be: quick, medium or very thorough.",
        "You are an agent that finds things in a code base and changes nothing. Do not create, edit, move or delete any"
        " file, and run only shell commands that look. Search for several names a thing could have, run independent"
        " searches at once, and stop as soon as the question is answered as thoroughly as it was asked. Answer with absolute"
        " paths, line numbers and the few lines that prove it. Say plainly what you did not find.",
        tools=_READ_ONLY_TOOLS,
        mode="plan",
    ),
    AgentKind(
        "Plan",
        "For working out how to build something before it is built. It reads, weighs ways to do it, and changes nothing.",
        "You are an agent that plans changes to software and makes none. Do not create, edit, move or delete any file."
        " Read the code that the task touches and the code around it, and follow the habits that you find there. Weigh"
        " the simplest way that would do against its alternatives. Answer with the steps in order, each with the files it"
        " touches, what could go wrong, and how to check that it works. End with the files that matter most.",
        tools=_READ_ONLY_TOOLS,
        mode="plan",
    ),
)  # fmt: skip


def load_agent_kinds(
    project: Path,
    home: Path,
    trusted: bool,
    sources: Sequence[str] = ("user", "project"),
    extra: Mapping[str, Json] | None = None,
    plugins: Sequence[Plugin] = (),
) -> tuple[dict[str, AgentKind], list[str]]:
    """All kinds by name, and a notice for each file that cannot be used. Priority, high to low: `extra` (from the
    command line or an SDK), project, user, plugins, built-in. A project cannot loosen what its agents may do; an untrusted
    project cannot replace other kinds.
    """
    kinds = {kind.name: kind for kind in BUILT_IN}
    notices: list[str] = []
    project_folder = project / ".claude"
    notes = {
        "user": home / "agent-memory",
        "project": project_folder / "agent-memory",
        "local": project_folder / "agent-memory-local",
    }
    for plugin in plugins:
        kinds |= _read_plugin(plugin, notices, notes)
    if "user" in sources:
        kinds |= _read_folder(home / "agents", True, notices, notes)
    if "project" in sources and project / ".claude" != home:
        project_kinds = _read_folder(project / ".claude" / "agents", False, notices, notes)
        kinds = kinds | project_kinds if trusted else project_kinds | kinds
    for name, fields in (extra or {}).items():
        kinds[name] = _build_kind(name, as_object(fields), str(as_object(fields).get("prompt") or ""), True, notes)
    return kinds, notices


def _read_plugin(plugin: Plugin, notices: list[str], notes: Mapping[str, Path]) -> dict[str, AgentKind]:
    """Return the kinds of a plugin, with its name before theirs. It cannot loosen what its agents may do."""
    kinds: dict[str, AgentKind] = {}
    for folder in plugin.folders("agents", "agents"):
        for name, kind in _read_folder(folder, False, notices, notes).items():
            full = f"{plugin.name}:{name}"
            kinds[full] = replace(kind, name=full, prompt=plugin.expand(kind.prompt))
    return kinds


def _read_folder(folder: Path, may_loosen: bool, notices: list[str], notes: Mapping[str, Path]) -> dict[str, AgentKind]:
    kinds: dict[str, AgentKind] = {}
    for path in [folder] if folder.is_file() else sorted(folder.rglob("*.md")) if folder.is_dir() else ():
        try:
            text = path.read_text(encoding="utf-8") if path.stat().st_size <= _MAX_BYTES else ""
        except (OSError, UnicodeDecodeError) as error:
            notices.append(f"{path} cannot be read: {error}.")
            continue
        fields, body = split_header(text)
        name = text_field(fields, "name") or path.stem
        if not text_field(fields, "description") or not body.strip():
            notices.append(
                f"{path} is not an agent definition: it needs a description in its header and a prompt below it."
            )
            continue
        kinds[name] = _build_kind(name, fields, body.strip(), may_loosen, notes)
    return kinds


def _build_kind(name: str, fields: Json, prompt: str, may_loosen: bool, notes: Mapping[str, Path]) -> AgentKind:
    tools = None if "tools" not in fields else tuple(_tool_name(tool) for tool in list_field(fields, "tools"))
    model = text_field(fields, "model")
    turns = fields.get("maxTurns")
    mode_name = text_field(fields, "permissionMode")
    mode = next((known for known in MODES if known == mode_name and (may_loosen or known in _STRICT_MODES)), None)
    return AgentKind(
        name,
        text_field(fields, "description"),
        prompt,
        None if tools is not None and "*" in tools else tools,
        tuple(_tool_name(tool) for tool in list_field(fields, "disallowedTools")),
        "" if model == "inherit" else model,
        mode,
        effort if (effort := text_field(fields, "effort").lower()) in EFFORTS else "",
        turns if isinstance(turns, int) and turns > 0 else None,
        bool_field(fields, "background"),
        list_field(fields, "skills"),
        _notes_folder(name, notes.get(text_field(fields, "memory"))),
        _allowed_kinds(list_field(fields, "tools")),
        text_field(fields, "isolation") == "worktree",
    )


def _notes_folder(name: str, folder: Path | None) -> Path | None:
    """Return the notes folder of a kind; its name cannot lead to another folder."""
    return folder / re.sub(r"[^\w-]", "-", name) if folder else None


def _allowed_kinds(tools: Sequence[str]) -> tuple[str, ...] | None:
    """Return the kinds that `Agent(one, two)` among the tools names; None if there is no such entry."""
    matches = [_AGENT_RULE.fullmatch(tool) for tool in tools]
    names = [name.strip() for match in matches if match for name in match[1].split(",")]
    return tuple(names) or None


def _tool_name(tool: str) -> str:
    """Return the tool name of a rule such as `Bash(git *)`."""
    return tool.partition("(")[0].strip()


def describe_kinds(kinds: Mapping[str, AgentKind]) -> str:
    """Return the kinds as they are listed for the model."""
    lines = []
    for kind in kinds.values():
        tools = "all tools" if kind.tools is None else ", ".join(kind.tools)
        lines.append(f"- {kind.name}: {kind.description[:1_536]} (Tools: {tools})")
    return "\n".join(lines)
