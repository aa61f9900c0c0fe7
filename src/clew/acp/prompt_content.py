"""Convert the content blocks of an editor's prompt (text, images, links, files) to a user prompt."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from acp.schema import (
    AudioContentBlock,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)
from msgspec import Struct, field

from clew.chat.config.system_prompt import system_reminder
from clew.chat.store.pending_prompts import UserPrompt
from clew.errors import Refused
from clew.wire.json_codec import Json

ContentBlock = (
    TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock
)


class PromptContent(Struct):
    """The content of one prompt: its text, images and documents, and notes for the model."""

    text: str = ""
    blocks: list[Json] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _ends_in_link: bool = False

    def add_text(self, text: str) -> None:
        if self._ends_in_link and not text[:1].isspace():
            self.text += " "
        self.text, self._ends_in_link = self.text + text, False

    def add_link(self, text: str) -> None:
        """Append a link, separated by spaces from the text around it."""
        if self.text and not self.text[-1].isspace():
            self.text += " "
        self.text, self._ends_in_link = self.text + text, True

    def merge(self, prompt: UserPrompt) -> UserPrompt:
        """Return the expanded prompt with the blocks and notes of this content."""
        notes = (*prompt.notes, *self.notes)
        if not self.blocks:
            return UserPrompt(prompt.content, notes)
        words = [{"type": "text", "text": prompt.text}] if prompt.text.strip() else []
        return UserPrompt([*words, *self.blocks], notes)


def parse_blocks(blocks: Sequence[ContentBlock]) -> PromptContent:
    """Return the content of all blocks. Raises Refused for a kind that was not offered, and for an empty prompt."""
    content = PromptContent()
    for block in blocks:
        match block:
            case TextContentBlock():
                content.add_text(block.text)
            case ImageContentBlock():
                content.blocks.append(_media_block("image", block.mime_type, block.data))
            case ResourceContentBlock():
                content.add_link(_format_link(block.uri, block.name))
            case EmbeddedResourceContentBlock():
                _embed(block.resource, content)
            case AudioContentBlock():
                raise Refused(["sound cannot be sent to the model"])
    if not content.text.strip() and not content.blocks and not content.notes:
        raise Refused(["the prompt is empty"])
    return content


def _embed(resource: TextResourceContents | BlobResourceContents, content: PromptContent) -> None:
    """Add a file in the editor's version, which can differ from the one on disk."""
    if isinstance(resource, TextResourceContents):
        name = file_path(resource.uri) or resource.uri
        content.add_link(f"[{PurePath(name).name or name}]({resource.uri})")
        content.notes.append(system_reminder(f"The user named {name}. In the editor it says:\n{resource.text}"))
    elif (resource.mime_type or "").startswith("image/"):
        content.blocks.append(_media_block("image", str(resource.mime_type), resource.blob))
    elif resource.mime_type == "application/pdf":
        content.blocks.append(_media_block("document", resource.mime_type, resource.blob))
    else:
        content.add_link(_format_link(resource.uri, resource.uri))


def _format_link(uri: str, name: str) -> str:
    """Return a link as the user would type it: an `@` mention for a file, so that it is read if permitted."""
    path = file_path(uri)
    if path is None or '"' in path or "\n" in path:
        return f"[{name}]({uri})"
    return f'@"{path}"' if any(letter.isspace() for letter in path) else f"@{path}"


def file_path(uri: str) -> str | None:
    """Return the path of a `file:` URI; None for other URIs."""
    parts = urlsplit(uri)
    return url2pathname(parts.path) if parts.scheme == "file" and parts.netloc in ("", "localhost") else None


def _media_block(kind: str, media_type: str, data: str) -> dict[str, Any]:
    return {"type": kind, "source": {"type": "base64", "media_type": media_type, "data": data}}
