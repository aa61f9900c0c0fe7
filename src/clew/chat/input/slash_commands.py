"""Expand slash commands and skills: fill in arguments, run allowed shell commands, collect mentioned files.

Inserted text is not expanded again: an argument or output that looks like a command stays text.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from clew.chat.config.permission_mode import Mode
from clew.chat.config.skill_files import Skill
from clew.chat.input.file_mentions import find_mentions
from clew.chat.mcp.mcp_resources import FetchPrompt
from clew.chat.permission.decide import Permissions
from clew.chat.tools.builtin.use_skill import SkillBody
from clew.chat.tools.tool import ToolFailed
from clew.errors import ClewError, Refused

Run = Callable[[str], Awaitable[str]]  # runs a shell command that is allowed and returns its output

# !`git status` in a line, or a block that starts with ```! on its own line.
_SHELL_COMMAND = re.compile(r"^```!\s*\n(.*?)\n```[ \t]*$|(?:^|(?<=\s))!`([^`\n]+)`", re.DOTALL | re.MULTILINE)
# For "/deploy prod 'two words'": $ARGUMENTS is the text after the name, $0 or $ARGUMENTS[0] is "prod", $1 is
# "two words", and $stage is "prod" if the header lists `arguments: stage`. Other names, such as $HOME, stay.
_PLACEHOLDER = re.compile(
    r"\$\{(CLAUDE_SKILL_DIR|CLAUDE_SESSION_ID)\}|\$ARGUMENTS\[(\d+)\]|\$(ARGUMENTS|\d+|[A-Za-z_]\w*)\b"
)


class Expansion(Struct, frozen=True):
    """The result of expanding a skill: the text for the model and the files that it mentions."""

    skill: Skill
    text: str
    files: tuple[str, ...] = ()
    more: tuple[str, ...] = ()  # further texts for the model


def command_tags(name: str, arguments: str) -> str:
    """Return the tags that record a slash command in the session file."""
    return f"<command-message>{name}</command-message>\n<command-name>/{name}</command-name>" + (
        f"\n<command-args>{arguments}</command-args>" if arguments else ""
    )


class SkillExpander(Struct):
    """Expands the skills of one session; every shell command that they run must be allowed."""

    skills: Mapping[str, Skill]
    permissions: Permissions
    cwd: Callable[[], Path]
    mode: Callable[[], Mode]
    run: Run
    session_id: str = ""
    fetchers: Mapping[str, FetchPrompt] = field(default_factory=dict)  # of commands that are prompts of MCP servers

    def names(self) -> Sequence[str]:
        """Return the names of the skills that the model may use."""
        return [skill.name for skill in self.skills.values() if skill.for_model]

    async def body(self, name: str, arguments: str) -> SkillBody | None:
        """Return the expanded text of a skill, for the Skill tool; None if the model may not use it."""
        skill = self.skills.get(name)
        if skill is None or not skill.for_model:
            return None
        return SkillBody((await self.expand(skill, arguments)).text, skill.folder)

    async def expand(self, skill: Skill, arguments: str) -> Expansion:
        """Expand a skill with these arguments. Raises Refused if a shell command in it may not run."""
        if fetch := self.fetchers.get(skill.name):
            return await _fetch(skill, fetch, arguments)
        values = _values(skill, arguments, self.session_id)
        parts: list[str] = []
        position = 0
        has_argument = False
        for match in _SHELL_COMMAND.finditer(skill.body):
            text, filled = _fill(skill.body[position : match.start()], values)
            command, in_command = _fill(match[1] or match[2], values)
            parts += [text, await self._run_command(skill, command.strip())]
            has_argument = has_argument or filled or in_command
            position = match.end()
        text, filled = _fill(skill.body[position:], values)
        parts.append(text)
        if arguments and not (has_argument or filled):
            parts.append(f"\n\nARGUMENTS: {arguments}")
        template = _SHELL_COMMAND.sub("", skill.body)
        return Expansion(skill, "".join(parts), tuple(find_mentions(_fill(template, values)[0])))

    async def _run_command(self, skill: Skill, command: str) -> str:
        if not skill.trusted:
            raise Refused([f"/{skill.name} would run {command!r}, and its folder is not trusted"])
        allowing = self.permissions.with_granted_rules(skill.allowed_tools)
        decision = allowing.decide("Bash", {"command": command}, self.cwd(), self.mode())
        if decision.kind != "allow":
            raise Refused([f"/{skill.name} would run {command!r}, which is not allowed: {decision.reason}"])
        return await self.run(command)


async def _fetch(skill: Skill, fetch: FetchPrompt, arguments: str) -> Expansion:
    try:
        texts = await fetch(arguments)
    except ToolFailed as failed:
        raise ClewError(f"/{skill.name} cannot be used: {failed.text}") from None
    return Expansion(skill, texts[0] if texts else "", more=tuple(texts[1:]))


def _values(skill: Skill, arguments: str, session_id: str) -> dict[str, str]:
    try:
        arguments_list = shlex.split(arguments)
    except ValueError:
        arguments_list = arguments.split()
    values = {str(index): word for index, word in enumerate(arguments_list)}
    values |= {name: arguments_list[i] if i < len(arguments_list) else "" for i, name in enumerate(skill.arguments)}
    folder = str(skill.folder or skill.path.parent)
    return {**values, "ARGUMENTS": arguments, "CLAUDE_SKILL_DIR": folder, "CLAUDE_SESSION_ID": session_id}


def _fill(text: str, values: Mapping[str, str]) -> tuple[str, bool]:
    """Replace the placeholders, and return whether an argument was among them. Unknown names are left unchanged."""
    has_argument = False

    def fill(match: re.Match[str]) -> str:
        nonlocal has_argument
        name = match[1] or match[2] or match[3]
        is_number = name.isdigit()
        if not is_number and name not in values:
            return match[0]
        has_argument = has_argument or not name.startswith("CLAUDE_")
        return values.get(name, "")

    return _PLACEHOLDER.sub(fill, text), has_argument
