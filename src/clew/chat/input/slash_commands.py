"""Slash commands and skills at work: arguments put in, commands run if they are allowed, files named.

What is put in is never looked at again: an argument or an output that looks like a command is text.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from clew.chat.config.skill_files import Skill
from clew.chat.input.file_mentions import mentions
from clew.chat.permission.decide import Permissions
from clew.chat.permission.decision import Mode
from clew.chat.tools.builtin.use_skill import SkillBody
from clew.errors import Refused

Run = Callable[[str], Awaitable[str]]  # runs a shell command that is allowed, and gives what it said

_RUN = re.compile(r"^```!\s*\n(.*?)\n```[ \t]*$|(?:^|(?<=\s))!`([^`\n]+)`", re.DOTALL | re.MULTILINE)
_PLACE = re.compile(r"\$\{(CLAUDE_SKILL_DIR|CLAUDE_SESSION_ID)\}|\$ARGUMENTS\[(\d+)\]|\$(ARGUMENTS|\d+|[A-Za-z_]\w*)\b")
_LINE = re.compile(r"/([\w.:-]+)(?:\s+(.*))?", re.DOTALL)


class Expansion(Struct, frozen=True):
    """What a command comes to: a text for the model, the files that it mentions, and the skill with its wishes."""

    skill: Skill
    text: str
    files: tuple[str, ...]


def read_line(text: str) -> tuple[str, str] | None:
    """The name and the arguments of a line that begins with a slash; None if it is not one, or a path."""
    found = _LINE.fullmatch(text.strip())
    return (found[1], (found[2] or "").strip()) if found else None


def entry_texts(name: str, arguments: str) -> str:
    """How a command is written down in the session, before what it comes to."""
    return f"<command-message>{name}</command-message>\n<command-name>/{name}</command-name>" + (
        f"\n<command-args>{arguments}</command-args>" if arguments else ""
    )


class Workshop(Struct):
    """Puts skills to work in one session: every command that they run must be allowed."""

    skills: Mapping[str, Skill]
    permissions: Permissions
    cwd: Callable[[], Path]
    mode: Callable[[], Mode]
    run: Run
    session_id: str = ""

    def names(self) -> Sequence[str]:
        """Those that the model may use."""
        return [skill.name for skill in self.skills.values() if skill.for_model]

    async def body(self, name: str, arguments: str) -> SkillBody | None:
        """A skill for the model, as the Skill tool asks for it."""
        skill = self.skills.get(name)
        if skill is None or not skill.for_model:
            return None
        return SkillBody((await self.expand(skill, arguments)).text, skill.folder)

    async def expand(self, skill: Skill, arguments: str) -> Expansion:
        """What a skill comes to with these arguments. Raises Refused if a command in it may not be run."""
        values = _values(skill, arguments, self.session_id)
        parts: list[str] = []
        at = 0
        has_place = False
        for found in _RUN.finditer(skill.body):
            text, filled = _fill(skill.body[at : found.start()], values)
            command, in_command = _fill(found[1] or found[2], values)
            parts += [text, await self._run(skill, command.strip())]
            has_place = has_place or filled or in_command
            at = found.end()
        text, filled = _fill(skill.body[at:], values)
        parts.append(text)
        if arguments and not (has_place or filled):
            parts.append(f"\n\nARGUMENTS: {arguments}")
        template = _RUN.sub("", skill.body)
        return Expansion(skill, "".join(parts), tuple(mentions(_fill(template, values)[0])))

    async def _run(self, skill: Skill, command: str) -> str:
        if not skill.trusted:
            raise Refused([f"/{skill.name} would run {command!r}, and its folder is not trusted"])
        allowing = self.permissions.with_granted_rules(skill.allowed_tools)
        decision = allowing.decide("Bash", {"command": command}, self.cwd(), self.mode())
        if decision.kind != "allow":
            raise Refused([f"/{skill.name} would run {command!r}, which is not allowed: {decision.reason}"])
        return await self.run(command)


def _values(skill: Skill, arguments: str, session_id: str) -> dict[str, str]:
    try:
        words = shlex.split(arguments)
    except ValueError:
        words = arguments.split()
    values = {str(index): word for index, word in enumerate(words)}
    values |= {name: words[i] if i < len(words) else "" for i, name in enumerate(skill.arguments)}
    folder = str(skill.folder or skill.path.parent)
    return {**values, "ARGUMENTS": arguments, "CLAUDE_SKILL_DIR": folder, "CLAUDE_SESSION_ID": session_id}


def _fill(text: str, values: Mapping[str, str]) -> tuple[str, bool]:
    """The text with values in their places, and whether an argument was among them. Unknown names stay as they are."""
    has_argument = False

    def put(found: re.Match[str]) -> str:
        nonlocal has_argument
        name = found[1] or found[2] or found[3]
        is_number = name.isdigit()
        if not is_number and name not in values:
            return found[0]
        has_argument = has_argument or not name.startswith("CLAUDE_")
        return values.get(name, "")

    return _PLACE.sub(put, text), has_argument
