"""Prompts of editors: texts, pictures, links and whole files, as what a person says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
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

from clew.chat.config.system_prompt import system_reminder
from clew.chat.store.live_conversation import UserPrompt
from clew.errors import Refused
from clew.wire.json_codec import Json

Given = TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock


@dataclass
class PromptContent:
    """What came in one prompt: the words, pictures and documents, and what the model is told below them."""

    text: str = ""
    blocks: list[Json] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _ends_in_link: bool = False

    def word(self, text: str) -> None:
        if self._ends_in_link and not text[:1].isspace():
            self.text += " "
        self.text, self._ends_in_link = self.text + text, False

    def link(self, text: str) -> None:
        """Something named, which stands apart from the words around it."""
        if self.text and not self.text[-1].isspace():
            self.text += " "
        self.text, self._ends_in_link = self.text + text, True

    def over(self, prompt: UserPrompt) -> UserPrompt:
        """The words as they were expanded, with all that came beside them."""
        notes = (*prompt.notes, *self.notes)
        if not self.blocks:
            return UserPrompt(prompt.content, notes)
        words = [{"type": "text", "text": prompt.text}] if prompt.text.strip() else []
        return UserPrompt([*words, *self.blocks], notes)


def said(blocks: Sequence[Given]) -> PromptContent:
    """All blocks of a prompt. Raises Refused for what was not offered."""
    found = PromptContent()
    for block in blocks:
        match block:
            case TextContentBlock():
                found.word(block.text)
            case ImageContentBlock():
                found.blocks.append(_media("image", block.mime_type, block.data))
            case ResourceContentBlock():
                found.link(_named(block.uri, block.name))
            case EmbeddedResourceContentBlock():
                _embed(block.resource, found)
            case AudioContentBlock():
                raise Refused(["sound cannot be sent to the model"])
    if not found.text.strip() and not found.blocks and not found.notes:
        raise Refused(["the prompt is empty"])
    return found


def _embed(resource: TextResourceContents | BlobResourceContents, found: PromptContent) -> None:
    """A file as the editor has it: it need not be what the disk has."""
    if isinstance(resource, TextResourceContents):
        name = path_of(resource.uri) or resource.uri
        found.link(f"[{PurePath(name).name or name}]({resource.uri})")
        found.notes.append(system_reminder(f"The user named {name}. In the editor it says:\n{resource.text}"))
    elif (resource.mime_type or "").startswith("image/"):
        found.blocks.append(_media("image", str(resource.mime_type), resource.blob))
    elif resource.mime_type == "application/pdf":
        found.blocks.append(_media("document", resource.mime_type, resource.blob))
    else:
        found.link(_named(resource.uri, resource.uri))


def _named(uri: str, name: str) -> str:
    """A link, as a person would type it: a file as a mention, which is read if it may be."""
    path = path_of(uri)
    if path is None or '"' in path or "\n" in path:
        return f"[{name}]({uri})"
    return f'@"{path}"' if any(letter.isspace() for letter in path) else f"@{path}"


def path_of(uri: str) -> str | None:
    """The path of a file's address; None for any other."""
    parts = urlsplit(uri)
    return url2pathname(parts.path) if parts.scheme == "file" and parts.netloc in ("", "localhost") else None


def _media(kind: str, media_type: str, data: str) -> dict[str, Any]:
    return {"type": kind, "source": {"type": "base64", "media_type": media_type, "data": data}}
