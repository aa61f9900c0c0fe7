"""Skills and slash commands: texts that people keep for the model, found in the folders of the user and the project."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from clew.chat.config.frontmatter import is_on, list_of, split_header, text_of

Scope = Literal["managed", "user", "project"]
LONGEST = 1_536  # characters of one line in the list for the model
_LARGEST = 1 << 20
_NAME = re.compile(r"[\w.:-]+")


class Skill(Struct, frozen=True):
    """A skill (it has a folder) or a slash command (it has none)."""

    name: str
    description: str
    body: str
    path: Path
    scope: Scope
    folder: Path | None = None
    hint: str = ""  # for its arguments
    arguments: tuple[str, ...] = ()  # their names
    allowed_tools: tuple[str, ...] = ()  # rules that hold while it is at work
    model: str = ""
    agent: str = ""
    is_forked: bool = False  # it is done by an agent of its own
    for_model: bool = True
    for_person: bool = True
    trusted: bool = True  # else its commands are not run


def discover(
    project: Path, home: Path, trusted: bool, sources: Sequence[str] = ("user", "project")
) -> tuple[dict[str, Skill], list[str]]:
    """All skills and commands by name, and a sentence for each that cannot be read. The user's own come first, so that no
    project can stand in for them; of two in one place a skill comes before a command."""
    found: dict[str, Skill] = {}
    notices: list[str] = []
    places: list[tuple[Scope, Path]] = []
    if "user" in sources:
        places.append(("user", home))
    if "project" in sources and project / ".claude" != home:
        places.append(("project", project / ".claude"))
    for scope, folder in places:
        for skill in (*_skills(folder, scope, trusted, notices), *_commands(folder, scope, trusted, notices)):
            found.setdefault(skill.name, skill)
    return found, notices


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
        if path.stat().st_size > _LARGEST:
            raise ValueError("it is too large")
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        notices.append(f"{path} cannot be read: {error}.")
        return
    fields, body = split_header(text)
    name = (text_of(fields, "name") if folder else "") or name
    if not _NAME.fullmatch(name):
        notices.append(f"{path}: {name!r} is not a name for a skill.")
        return
    is_trusted = trusted or scope != "project"
    model = text_of(fields, "model")
    yield Skill(
        name,
        text_of(fields, "description") or _first_line(body),
        body.strip(),
        path,
        scope,
        folder,
        text_of(fields, "argument-hint") or " ".join(f"[{n}]" for n in list_of(fields, "arguments")),
        list_of(fields, "arguments"),
        list_of(fields, "allowed-tools") if is_trusted else (),
        "" if model == "inherit" else model,
        text_of(fields, "agent"),
        text_of(fields, "context") == "fork",
        not is_on(fields, "disable-model-invocation"),
        is_on(fields, "user-invocable", otherwise=True),
        is_trusted,
    )


def _first_line(body: str) -> str:
    lines = (line.strip("# \t") for line in body.splitlines())
    return next((line for line in lines if line), "")[:200]


def listing(skills: Sequence[Skill]) -> str:
    """The skills that the model may use, as it is told of them; empty if there are none."""
    lines = []
    for skill in skills:
        if skill.for_model and skill.description:
            line = f"- {skill.name}: {skill.description}"
            lines.append(line if len(line) <= LONGEST else line[: LONGEST - 1] + "…")
    return "These skills can be used with the Skill tool:\n" + "\n".join(lines) if lines else ""
