"""The veil: what may not be seen, taken out of texts, entries and files.

Secrets are found by the one engine of the package, patterns are the user's own. What a match is replaced by says of what
kind it was. Ids, references, types, signatures and pictures are never touched: they are told by where they stand, not by
what they look like.
"""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from clew.errors import Refused
from clew.facts.secrets.mask_secrets import MARK, mask, mask_data
from clew.system.plural import plural
from clew.system.regex_deadline import Pattern
from clew.wire.json_codec import encode
from clew.wire.json_splice import REMOVED, patch_json
from clew.wire.rename_ids import UUID_FIELDS

PATTERN = "pattern"
_FIXED = frozenset(
    {
        *UUID_FIELDS,
        *("type", "subtype", "sessionId", "session_id", "requestId", "promptId", "agentId", "timestamp", "version"),
        *("toolUseID", "parentToolUseID", "sourceToolUseID", "toolUseId", "parentAgentId", "requestRef"),
        *("hash", "shapeHash", "requestDigest", "operation", "userType", "entrypoint", "permissionMode", "mode"),
        *("level", "promptSource", "turnOrigin", "renderedRole"),
    }
)
_NAMED = frozenset(
    {
        *("backupFileName", "headUuid", "anchorUuid", "tailUuid", "messageId", "messageUuid", "sessionId"),
        *("uuids", "allUuids", "timestamp", "backupTime"),
    }
)
_PICTURE = re.compile(r"(?:iVBORw0KGgo|/9j/|R0lGOD|UklGR|JVBERi0)[A-Za-z0-9+/]*={0,2}")


@dataclass(frozen=True, slots=True)
class Veil:
    """What to take out: secrets, what fits patterns, or both."""

    secrets: bool = True
    patterns: tuple[Pattern, ...] = ()

    def __str__(self) -> str:
        """What it is, without the patterns: they may be what is to be hidden."""
        many = len(self.patterns)
        parts = ["secrets"] if self.secrets else []
        parts += [plural(many, "pattern")] if many else []
        return " and ".join(parts)

    def text(self, text: str) -> str:
        """A text without what may not be seen; the same object if it held nothing of it."""
        return mask(_without(text, self.patterns))[0] if self.secrets else _without(text, self.patterns)

    def value(self, value: Any) -> Any:
        """Decoded JSON likewise, the names of fields included."""
        cut = _mapped(value, lambda text: _without(text, self.patterns)) if self.patterns else value
        return mask_data(cut)[0] if self.secrets else cut

    def entry(self, data: dict[str, Any]) -> dict[str, Any]:
        """A line of a transcript. Thinking is signed as a whole: where it holds something, GONE stands in its place."""
        try:
            return _matched(data, _unwrapped(self.value(_ENTRY.held(data)), self._thought))  # type: ignore[no-any-return]
        except RecursionError:
            raise Refused(["a line is nested too deeply to be looked through"]) from None

    def _thought(self, block: dict[str, Any]) -> Any:
        open_part = {name: value for name, value in block.items() if name not in ("type", "signature")}
        return block if self.value(open_part) == open_part else REMOVED

    def content(self, data: bytes) -> bytes | None:
        """The bytes of a side file; None if they are no text and hold something all the same."""
        narrow = data.decode("utf-8", "surrogateescape")
        seen = self.text(narrow)
        if b"\0" not in data:
            return data if seen is narrow else seen.encode("utf-8", "surrogateescape")
        encoding = next((name for mark, name in _UTF16.items() if data.startswith(mark) and len(data) % 2 == 0), "")
        if encoding and seen is narrow:
            text = data.decode(encoding, "surrogatepass")
            return data if (veiled := self.text(text)) is text else veiled.encode(encoding, "surrogatepass")
        joined = narrow.replace("\0", "")
        return data if seen is narrow and self.text(joined) is joined else None

    def object(self, data: bytes, value: Any) -> bytes:
        """A side file that is one JSON object: by its fields, with the ids left alone."""
        if not isinstance(value, dict):
            return self.content(data) or b""
        veiled = self.entry(value)
        return patch_json(data.strip(), value, veiled) if veiled is not value else data


def veil(secrets: bool = True, patterns: Iterable[str] = ()) -> Veil:
    """A veil by the words that a person types. Raises BadQuery."""
    return Veil(secrets, tuple(map(Pattern, patterns)))


_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def kinds(before: bytes | str, after: bytes | str) -> Counter[str]:
    """What was taken out between two states of a text, by kind: the marks that came."""
    return _marks(after) - _marks(before)


def has_repeated_names(raw: bytes, data: Any) -> bool:
    """Whether an object in a line has a field twice, so that what was decoded is not all that it says."""
    if encode(data) == raw:
        return False
    found = False

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal found
        found = found or len({name for name, _ in members}) < len(members)
        return dict(members)

    try:
        json.loads(raw.decode("utf-8", "replace"), object_pairs_hook=pairs, strict=False)
    except (ValueError, RecursionError):
        return True  # read more loosely than JSON allows
    return found


def _marks(text: bytes | str) -> Counter[str]:
    shown = text if isinstance(text, str) else text.replace(b"\0", b"").decode("utf-8", "surrogateescape")
    return Counter(mark.strip("[]").split(":")[1] for mark in MARK.compiled.findall(shown))


def _without(text: str, patterns: Iterable[Pattern]) -> str:
    """A text without what fits; what stands in a mark is no longer the text's own."""
    for pattern in patterns:
        pieces: list[str] = []
        at = 0
        for mark in MARK.compiled.finditer(text):
            pieces += (_cut(text[at : mark.start()], pattern), mark[0])
            at = mark.end()
        changed = "".join((*pieces, _cut(text[at:], pattern)))
        text = text if changed == text else changed
    return text


def _cut(text: str, pattern: Pattern) -> str:
    return pattern.sub(lambda found: f"[REDACTED:{PATTERN}]" if found[0] else "", text)


# -- what is not looked into


class _Kept:
    """A value that stays as it is."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class _Thought(_Kept):
    """A block of thinking."""


class _Frame(dict[str, Any]):
    """An object of the format itself: the names of its fields are not anybody's words."""


@dataclass(frozen=True)
class _Form:
    """What is known of an object of the format: fields that stay, objects inside it, and lists of blocks."""

    fixed: frozenset[str]
    parts: Mapping[str, _Form] = field(default_factory=dict)
    blocks: frozenset[str] = frozenset()

    def held(self, value: Mapping[str, Any]) -> _Frame:
        """The object with all that must stay held apart."""
        return _Frame((name, self._field(name, inner, value)) for name, inner in value.items())

    def _field(self, name: str, value: Any, inside: Mapping[str, Any]) -> Any:
        if name in self.fixed and isinstance(value, str):
            return _Kept(value)
        if isinstance(value, dict) and name in self.parts:
            return self.parts[name].held(value)
        if isinstance(value, dict) and name in _STRUCTURES and self is _ENTRY:
            return _structure(value)
        if isinstance(value, list) and name in self.blocks:
            return [_block(each) for each in value]
        return _quiet(value, inside, name)


_SPEECH = _Form(_FIXED | {"id", "role", "model", "stop_reason"}, blocks=frozenset({"content"}))
_SIGN = _Form(_FIXED, {"message": _Form(_FIXED, {"message": _SPEECH})})  # of life: a whole entry may be in it
_REPORT = _Form(frozenset({"type", "agentId"}))  # of a tool: the rest may be anything
_NOTE = _Form(frozenset({"type", "toolUseID"}))
_ENTRY = _Form(
    _FIXED,
    {"message": _SPEECH, "data": _SIGN, "toolUseResult": _REPORT, "attachment": _NOTE},
    frozenset({"content", "rendered"}),
)
_STRUCTURES = frozenset({"snapshot", "forkedFrom", "compactMetadata", "backup", "worktreeSession"})
_CALL = _Form(frozenset({"type", "id"}))
_RESULT = _Form(frozenset({"type", "tool_use_id"}), blocks=frozenset({"content"}))
_PLAIN = _Form(frozenset({"type"}))


def _block(block: Any) -> Any:
    if not isinstance(block, dict):
        return _quiet(block, {}, "")
    match block.get("type"):
        case "thinking":
            return _Thought(block)
        case "redacted_thinking":
            return _Kept(block)
        case "tool_use" | "server_tool_use":
            return _CALL.held(block)
        case "tool_result":
            return _RESULT.held(block)
    return _PLAIN.held(block)


def _structure(value: Any) -> Any:
    """What names other things: backups, segments, forks."""
    if isinstance(value, dict):
        return _Frame((name, _structured(name, inner)) for name, inner in value.items())
    return [_structure(each) for each in value] if isinstance(value, list) else value


def _structured(name: str, value: Any) -> Any:
    if name in _NAMED:
        return _Kept(value)
    if name == "trackedFileBackups" and isinstance(value, dict):
        return {path: _structure(backup) for path, backup in value.items()}  # under names that people gave
    return _structure(value)


def _quiet(value: Any, inside: Mapping[str, Any], name: str) -> Any:
    """A value with the pictures in it held apart."""
    if isinstance(value, str):
        is_data = name == "data" and inside.get("type") == "base64" and "media_type" in inside
        return _Kept(value) if is_data or (len(value) > _SMALLEST and _PICTURE.fullmatch(value)) else value
    if isinstance(value, dict):
        return {key: _quiet(inner, value, key) for key, inner in value.items()}
    return [_quiet(each, {}, "") for each in value] if isinstance(value, list) else value


_SMALLEST = 60


def _unwrapped(value: Any, thought: Callable[[dict[str, Any]], Any]) -> Any:
    if isinstance(value, _Thought):
        return thought(value.value)
    if isinstance(value, _Kept):
        return value.value
    if isinstance(value, dict):
        return {name: _unwrapped(inner, thought) for name, inner in value.items()}
    return [_unwrapped(each, thought) for each in value] if isinstance(value, list) else value


def _matched(old: Any, new: Any) -> Any:
    """The new value, built of the old objects wherever they say the same."""
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        made = {name: _matched(old[name], new[name]) for name in old}
        return old if all(made[name] is old[name] for name in old) else made
    if isinstance(old, list) and isinstance(new, list):
        held = [_matched(a, b) for a, b in zip(old, new, strict=True)]
        return old if all(a is b for a, b in zip(old, held, strict=True)) else held
    return old if type(old) is type(new) and old == new else new


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, _Frame):
        return _Frame((name, _mapped(inner, change)) for name, inner in value.items())
    if isinstance(value, dict):
        return _renamed({name: change(name) for name in value}, value, change)
    return [_mapped(each, change) for each in value] if isinstance(value, list) else value


def _renamed(names: Mapping[str, str], value: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """An object under new names; those that became equal are numbered."""
    made: dict[str, Any] = {}
    for old, inner in value.items():
        name, count = names[old], 1
        while name in made or (name != old and name in value):
            count += 1
            name = f"{names[old]}#{count}"
        made[name] = _mapped(inner, change)
    return made
