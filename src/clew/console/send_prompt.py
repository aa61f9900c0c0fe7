"""Turn typed input into a prompt for the model, and append it to the prompt history shared with Claude Code."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from clew.chat.session_factory import ChatSession
from clew.chat.session_spec import SessionSpec
from clew.chat.store.live_conversation import blocks_of
from clew.chat.store.pending_prompts import UserPrompt
from clew.chat.tools.image_files import image_result
from clew.chat.tools.tool import ToolFailed
from clew.console.pasted_text import history_record
from clew.console.ui import UserInput
from clew.wire.json_codec import Json
from clew.wire.prompt_history import append_prompt


async def build_prompt(typed: UserInput, session: ChatSession) -> UserPrompt:
    """Return the prompt with commands and mentions expanded, and pasted images after the text. Raises Refused."""
    prompt = await session.prompt(typed.line)
    pictures = [block for pasted in typed.pasted if pasted.picture for block in _picture(pasted.picture)]
    return UserPrompt([*blocks_of(prompt.content), *pictures], prompt.notes) if pictures else prompt


def is_prompt(typed: UserInput) -> bool:
    """Return whether a line is for the model: neither a slash command nor a shell command."""
    return not typed.line.command and not typed.full_text.startswith("!")


def _picture(path: Path) -> list[Json]:
    try:
        content = image_result(path, path.read_bytes()).content
    except (OSError, ToolFailed) as error:
        return [{"type": "text", "text": f"({path} could not be read: {error})"}]
    return blocks_of(content)


def append_to_history(typed: UserInput, spec: SessionSpec, session_id: str) -> None:
    """Append input to the prompt history. A history that cannot be written is not an error."""
    with suppress(OSError):
        path = spec.claude / "history.jsonl"
        append_prompt(path, typed.shown, history_record(typed.pasted), str(spec.cwd), session_id)
