"""What was typed, on its way: to the model as a prompt, and into the history that Claude Code shares."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from clew.chat.session_factory import ChatSession
from clew.chat.session_spec import SessionSpec
from clew.chat.store.live_conversation import UserPrompt, blocks_of
from clew.chat.tools.image_files import image_result
from clew.chat.tools.tool import ToolFailed
from clew.console.pasted_text import history_record
from clew.console.ui import Typed
from clew.wire.json_codec import Json
from clew.wire.prompt_history import append_prompt


async def prompt_of(typed: Typed, session: ChatSession) -> UserPrompt:
    """The prompt: commands and mentions understood, pictures behind the words. Raises Refused."""
    prompt = await session.prompt(typed.line)
    pictures = [block for pasted in typed.pasted if pasted.picture for block in _picture(pasted.picture)]
    return UserPrompt([*blocks_of(prompt.content), *pictures], prompt.notes) if pictures else prompt


def _picture(path: Path) -> list[Json]:
    try:
        content = image_result(path, path.read_bytes()).content
    except (OSError, ToolFailed) as error:
        return [{"type": "text", "text": f"({path} could not be read: {error})"}]
    return blocks_of(content)


def note_down(typed: Typed, spec: SessionSpec, session_id: str) -> None:
    """Write down what was typed; a history that cannot be written stops nobody."""
    with suppress(OSError):
        path = spec.claude / "history.jsonl"
        append_prompt(path, typed.shown, history_record(typed.pasted), str(spec.cwd), session_id)
