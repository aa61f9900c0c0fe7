"""Load skills and slash commands from the folders of the user and the project."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from clew.chat.config.frontmatter import bool_field, list_field, split_header, text_field
from clew.chat.config.plugins import Plugin

Scope = Literal["managed", "user", "project"]
MAX_LISTING_LINE = 1_536  # characters of one line in the list for the model
_MAX_BYTES = 1 << 20
_NAME = re.compile(r"[\w.:-]+")


class Skill(Struct, frozen=True):
    """A skill (with a folder) or a slash command (without one)."""

    name: str
    description: str
    body: str
    path: Path
    scope: Scope
    folder: Path | None = None
    hint: str = ""  # for its arguments
    arguments: tuple[str, ...] = ()  # their names
    allowed_tools: tuple[str, ...] = ()  # rules that apply while it runs
    model: str = ""
    agent: str = ""
    is_forked: bool = False  # it runs in a subagent
    for_model: bool = True
    for_user: bool = True
    trusted: bool = True  # otherwise its shell commands are not run


def load_skills(
    project: Path, home: Path, trusted: bool, sources: Sequence[str] = ("user", "project")
) -> tuple[dict[str, Skill], list[str]]:
    """All skills and commands by name, and a notice for each that cannot be read. The user's take precedence over
    the project's, and skills over commands of the same source.
    """
    skills: dict[str, Skill] = {}
    notices: list[str] = []
    folders: list[tuple[Scope, Path]] = []
    if "user" in sources:
        folders.append(("user", home))
    if "project" in sources and project / ".claude" != home:
        folders.append(("project", project / ".claude"))
    for scope, folder in folders:
        for skill in (*_skills(folder, scope, trusted, notices), *_commands(folder, scope, trusted, notices)):
            skills.setdefault(skill.name, skill)
    return skills, notices


def load_plugin_skills(plugin: Plugin, notices: list[str]) -> dict[str, Skill]:
    """The skills and commands of a plugin by name, with the name of the plugin before their own."""
    found: list[Skill] = []
    for folder in plugin.folders("skills", "skills"):
        files = _files(folder, "*/SKILL.md") or _files(folder, "SKILL.md")
        for path in files:
            found += _read(path, path.parent.name, "user", path.parent, True, notices)
    for folder in plugin.folders("commands", "commands"):
        files = [folder] if folder.is_file() else _files(folder, "**/*.md")
        for path in files:
            name = path.stem if folder.is_file() else ":".join(path.relative_to(folder).with_suffix("").parts)
            found += _read(path, name, "user", None, True, notices)
    skills: dict[str, Skill] = {}
    for skill in found:
        name = f"{plugin.name}:{skill.name}"
        skills.setdefault(name, replace(skill, name=name, body=plugin.expand(skill.body)))
    return skills


def _skills(folder: Path, scope: Scope, trusted: bool, notices: list[str]) -> Iterator[Skill]:
    for path in _files(folder / "skills", "*/SKILL.md"):
        yield from _read(path, path.parent.name, scope, path.parent, trusted, notices)


def _commands(folder: Path, scope: Scope, trusted: bool, notices: list[str]) -> Iterator[Skill]:
    root = folder / "commands"
    for path in _files(root, "**/*.md"):
        name = ":".join(path.relative_to(root).with_suffix("").parts)
        yield from _read(path, name, scope, None, trusted, notices)


def _files(folder: Path, pattern: str) -> list[Path]:
    try:
        return sorted(path for path in folder.glob(pattern) if path.is_file())
    except OSError:
        return []


def _read(
    path: Path, name: str, scope: Scope, folder: Path | None, trusted: bool, notices: list[str]
) -> Iterator[Skill]:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ValueError("it is too large")
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        notices.append(f"{path} cannot be read: {error}.")
        return
    fields, body = split_header(text)
    name = (text_field(fields, "name") if folder else "") or name
    if not _NAME.fullmatch(name):
        notices.append(f"{path}: {name!r} is not a name for a skill.")
        return
    is_trusted = trusted or scope != "project"
    model = text_field(fields, "model")
    yield Skill(
        name,
        text_field(fields, "description") or _first_line(body),
        body.strip(),
        path,
        scope,
        folder,
        text_field(fields, "argument-hint") or " ".join(f"[{n}]" for n in list_field(fields, "arguments")),
        list_field(fields, "arguments"),
        list_field(fields, "allowed-tools") if is_trusted else (),
        "" if model == "inherit" else model,
        text_field(fields, "agent"),
        text_field(fields, "context") == "fork",
        not bool_field(fields, "disable-model-invocation"),
        bool_field(fields, "user-invocable", default=True),
        is_trusted,
    )


def _first_line(body: str) -> str:
    lines = (line.strip("# \t") for line in body.splitlines())
    return next((line for line in lines if line), "")[:200]


def describe_skills(skills: Sequence[Skill]) -> str:
    """Return the skills that the model may use, as they are listed for it; empty if there are none."""
    lines = []
    for skill in skills:
        if skill.for_model and skill.description:
            line = f"- {skill.name}: {skill.description}"
            lines.append(line if len(line) <= MAX_LISTING_LINE else line[: MAX_LISTING_LINE - 1] + "…")
    return "These skills can be used with the Skill tool:\n" + "\n".join(lines) if lines else ""
