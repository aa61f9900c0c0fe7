"""Read a tree with plain json: which sessions have which words in one passage. No code of clew is used.

A passage is one line of a transcript: every text in it, without ids, signatures and base64.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WORD = re.compile(r"[^\W_]+")
TEXTS = ("message", "toolUseResult", "summary", "customTitle", "aiTitle", "content", "attachment", "lastPrompt")
SKIPPED = frozenset(
    ("id", "uuid", "signature", "data", "base64", "model", "role", "type", "usage", "tool_use_id", "stop_reason")
)


@dataclass(frozen=True, slots=True)
class Passage:
    """All text of one line. `spoken` is what the person or the model said in it; empty for tools and notes."""

    session: str
    number: int
    text: str
    lowered: str
    spoken: str
    is_prompt: bool
    is_result: bool


@dataclass(slots=True)
class Library:
    """The passages of a tree, and where each word is."""

    passages: list[Passage] = field(default_factory=list)
    by_session: dict[str, list[Passage]] = field(default_factory=dict)
    places: dict[str, set[int]] = field(default_factory=dict)
    projects: dict[str, str] = field(default_factory=dict)  # session: the last part of its folder
    branches: dict[str, str] = field(default_factory=dict)
    samples: set[str] = field(default_factory=set)  # the sessions that are real

    def add(self, passage: Passage) -> None:
        self.passages.append(passage)
        self.by_session.setdefault(passage.session, []).append(passage)
        for word in set(words(passage.text)):
            self.places.setdefault(word, set()).add(passage.number)

    def holders(self, groups: Iterable[Iterable[str]]) -> set[str]:
        """Return the sessions that have, in one passage, one word of each group."""
        found: set[int] | None = None
        for group in groups:
            places = set[int]().union(*(self.places.get(word, set()) for word in group))
            found = places if found is None else found & places
        return {self.passages[at].session for at in found or ()}

    def most(self, session: str, asked: list[str]) -> tuple[int, int]:
        """Return how many of some words one passage has at most: in a session, and in any other."""
        count: dict[int, int] = {}
        for word in asked:
            for at in self.places.get(word, ()):
                count[at] = count.get(at, 0) + 1
        own = max((n for at, n in count.items() if self.passages[at].session == session), default=0)
        return own, max((n for at, n in count.items() if self.passages[at].session != session), default=0)

    def holders_anywhere(self, asked: Iterable[str]) -> set[str]:
        """Return the sessions that have all words, in whichever passages."""
        every = [{self.passages[at].session for at in self.places.get(word, ())} for word in asked]
        return set.intersection(*every) if every else set()

    def holders_of_parts(self, parts: Iterable[str]) -> set[str]:
        """Return the sessions that have, in one passage, all strings as parts of its text, in any case."""
        lowered = [part.lower() for part in parts]
        return {passage.session for passage in self.passages if all(part in passage.lowered for part in lowered)}


def words(text: str) -> list[str]:
    return WORD.findall(unicodedata.normalize("NFC", text).casefold())


def fold(text: str) -> str:
    """Return a text without accents."""
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))


def read_tree(root: Path) -> Library:
    library = Library()
    for path in sorted((root / "projects").rglob("*.jsonl")):
        for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
            entry = _decode(line)
            if entry is not None:
                _read_entry(library, path, entry)
    return library


def session_of(path: Path, entry: dict[str, Any]) -> str:
    """Return the session that a line belongs to; the lines of an agent belong to the session that started it."""
    for folder in path.parents:
        if folder.name == "subagents":
            return folder.parent.name
    return str(entry.get("sessionId") or path.stem) if path.name.startswith("agent-") else path.stem


def _decode(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _read_entry(library: Library, path: Path, entry: dict[str, Any]) -> None:
    session = session_of(path, entry)
    if entry.get("cwd"):
        library.projects.setdefault(session, str(entry["cwd"]).rstrip("/").rpartition("/")[2])
        library.branches.setdefault(session, str(entry.get("gitBranch") or ""))
    if path.parts[-2].startswith("-samples-"):
        library.samples.add(session)
    text = "\n".join(piece for name in TEXTS for piece in _strings(entry.get(name)))
    if not text:
        return
    is_talk = entry.get("type") in ("user", "assistant") and not entry.get("isMeta") and not entry.get("isSidechain")
    is_talk = is_talk and not entry.get("isCompactSummary") and not path.name.startswith("agent-")
    spoken = _spoken(entry.get("message")) if is_talk else ""
    is_prompt = bool(spoken) and entry["type"] == "user"
    is_result = entry.get("type") == "user" and not spoken
    number = len(library.passages)
    library.add(Passage(session, number, text, text.lower(), spoken, is_prompt, is_result))


def _spoken(message: Any) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        said = [content]
    else:
        said = [str(b.get("text", "")) for b in content or () if isinstance(b, dict) and b.get("type") == "text"]
    return "\n".join(text for text in said if not text.lstrip().startswith(("<", "[Request", "Caveat:")))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name not in SKIPPED:
                yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
