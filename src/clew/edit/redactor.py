"""Redact secrets and patterns in texts, entries and side files.

Secrets are found by `facts.secrets`; patterns are the user's own. A match is replaced by a mark that names its kind.
Ids, references, types, signatures and images are never changed: they are recognised by their position, not by their
form.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from clew.errors import Refused
from clew.facts.secrets.mask_secrets import MARK, mask, mask_data, may_contain_secrets
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


class Redactor(Struct, frozen=True, eq=False):
    """What to remove: secrets, matches of patterns, or both."""

    secrets: bool = True
    patterns: tuple[Pattern, ...] = ()
    _clean: set[bytes] = field(default_factory=set)  # digests of side files

    def __str__(self) -> str:
        """Describe the redactor without its patterns, which may be secret themselves."""
        many = len(self.patterns)
        parts = ["secrets"] if self.secrets else []
        parts += [plural(many, "pattern")] if many else []
        return " and ".join(parts)

    def text(self, text: str) -> str:
        """Return a text without matches; the same object if there are none."""
        return (
            mask(_replace_patterns(text, self.patterns))[0] if self.secrets else _replace_patterns(text, self.patterns)
        )

    def value(self, value: Any) -> Any:
        """Return decoded JSON without matches, including field names."""
        cut = _map_texts(value, lambda text: _replace_patterns(text, self.patterns)) if self.patterns else value
        return mask_data(cut)[0] if self.secrets else cut

    @property
    def searches_together(self) -> bool:
        """Whether many entries are searched at once; patterns are searched in each text."""
        return self.secrets and not self.patterns

    def may_match(self, entries: Iterable[dict[str, Any]]) -> list[bool]:
        """Return for the data of each entry whether something in it could be redacted; many are checked together."""
        if not self.searches_together:
            return [True for _ in entries]
        return may_contain_secrets(map(_without_protected, entries))

    def entry(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the data of a transcript line without matches. Thinking is signed as a whole: GONE replaces a block
        with a match.
        """
        try:
            return _reuse_unchanged(data, _unwrap(self.value(_ENTRY_FORM.held(data)), self._redact_thinking))  # type: ignore[no-any-return]
        except RecursionError:
            raise Refused(["a line is nested too deeply to be searched"]) from None

    def _redact_thinking(self, block: dict[str, Any]) -> Any:
        open_part = _open_part(block)
        return block if self.value(open_part) == open_part else REMOVED

    def content(self, data: bytes) -> bytes | None:
        """Return the bytes of a side file without matches; None if it is binary and has one.

        A file is searched before it is counted, written and read back: content without a match is searched once.
        """
        from hashlib import sha256

        digest = sha256(data).digest()
        if digest in self._clean:
            return data
        redacted = self._redact_content(data)
        if redacted is data:
            self._clean.add(digest)
        return redacted

    def _redact_content(self, data: bytes) -> bytes | None:
        narrow = data.decode("utf-8", "surrogateescape")
        redacted = self.text(narrow)
        if b"\0" not in data:
            return data if redacted is narrow else redacted.encode("utf-8", "surrogateescape")
        encoding = next((name for mark, name in _UTF16.items() if data.startswith(mark) and len(data) % 2 == 0), "")
        if encoding and redacted is narrow:
            text = data.decode(encoding, "surrogatepass")
            return (
                data if (redacted_text := self.text(text)) is text else redacted_text.encode(encoding, "surrogatepass")
            )
        joined = narrow.replace("\0", "")
        return data if redacted is narrow and self.text(joined) is joined else None

    def object(self, data: bytes, value: Any) -> bytes:
        """Return the bytes of a side file that is one JSON object, with ids unchanged."""
        if not isinstance(value, dict):
            return self.content(data) or b""
        redacted = self.entry(value)
        return patch_json(data.strip(), value, redacted) if redacted is not value else data


def make_redactor(secrets: bool = True, patterns: Iterable[str] = ()) -> Redactor:
    """Return a redactor for the user's patterns. Raises BadQuery."""
    return Redactor(secrets, tuple(map(Pattern, patterns)))


_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def count_kinds(before: bytes | str, after: bytes | str) -> Counter[str]:
    """Count the marks that were added between two states of a text, by kind."""
    return _marks(after) - _marks(before)


def has_repeated_names(raw: bytes, data: Any) -> bool:
    """Return whether an object in a line repeats a field, so that the decoded data is incomplete."""
    if encode(data) == raw:
        return False
    is_repeated = False

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal is_repeated
        is_repeated = is_repeated or len({name for name, _ in members}) < len(members)
        return dict(members)

    from json import loads

    try:
        loads(raw.decode("utf-8", "replace"), object_pairs_hook=pairs, strict=False)
    except (ValueError, RecursionError):
        return True  # not strict JSON
    return is_repeated


def _marks(text: bytes | str) -> Counter[str]:
    shown = text if isinstance(text, str) else text.replace(b"\0", b"").decode("utf-8", "surrogateescape")
    return Counter(mark.strip("[]").split(":")[1] for mark in MARK.compiled.findall(shown))


def _replace_patterns(text: str, patterns: Iterable[Pattern]) -> str:
    """Replace matches of patterns; text inside a mark is skipped."""
    for pattern in patterns:
        pieces: list[str] = []
        at = 0
        for mark in MARK.compiled.finditer(text):
            pieces += (_replace_pattern(text[at : mark.start()], pattern), mark[0])
            at = mark.end()
        changed = "".join((*pieces, _replace_pattern(text[at:], pattern)))
        text = text if changed == text else changed
    return text


def _replace_pattern(text: str, pattern: Pattern) -> str:
    return pattern.sub(lambda found: f"[REDACTED:{PATTERN}]" if found[0] else "", text)


# -- protected values


class _Protected:
    """A value that must not change."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class _Thought(_Protected):
    """A block of thinking."""


class _Frame(dict[str, Any]):
    """An object of the format itself: its field names are not user text."""


class _Form(Struct, frozen=True):
    """The known structure of an object: protected fields, nested objects, and lists of blocks."""

    fixed: frozenset[str]
    parts: Mapping[str, _Form] = field(default_factory=dict)
    blocks: frozenset[str] = frozenset()

    def held(self, value: Mapping[str, Any]) -> _Frame:
        """Return the object with everything that must not change wrapped."""
        return _Frame((name, self._field(name, inner, value)) for name, inner in value.items())

    def without_fixed(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return the object without its protected texts."""
        return {name: inner for name, inner in value.items() if name not in self.fixed or type(inner) is not str}

    def _field(self, name: str, value: Any, inside: Mapping[str, Any]) -> Any:
        if name in self.fixed and isinstance(value, str):
            return _Protected(value)
        if isinstance(value, dict) and name in self.parts:
            return self.parts[name].held(value)
        if isinstance(value, dict) and name in _STRUCTURES and self is _ENTRY_FORM:
            return _protect_references(value)
        if isinstance(value, list) and name in self.blocks:
            return [_protect_block(item) for item in value]
        return _protect_images(value, inside, name)


_MESSAGE_FORM = _Form(_FIXED | {"id", "role", "model", "stop_reason"}, blocks=frozenset({"content"}))
_PROGRESS_FORM = _Form(_FIXED, {"message": _Form(_FIXED, {"message": _MESSAGE_FORM})})  # may contain a whole entry
_TOOL_RESULT_FORM = _Form(frozenset({"type", "agentId"}))  # the other fields depend on the tool
_ATTACHMENT_FORM = _Form(frozenset({"type", "toolUseID"}))
_ENTRY_FORM = _Form(
    _FIXED,
    {
        "message": _MESSAGE_FORM,
        "data": _PROGRESS_FORM,
        "toolUseResult": _TOOL_RESULT_FORM,
        "attachment": _ATTACHMENT_FORM,
    },
    frozenset({"content", "rendered"}),
)
_STRUCTURES = frozenset({"snapshot", "forkedFrom", "compactMetadata", "backup", "worktreeSession"})
_CALL_FORM = _Form(frozenset({"type", "id"}))
_RESULT_FORM = _Form(frozenset({"type", "tool_use_id"}), blocks=frozenset({"content"}))
_BLOCK_FORM = _Form(frozenset({"type"}))


def _protect_block(block: Any) -> Any:
    if not isinstance(block, dict):
        return _protect_images(block, {}, "")
    match block.get("type"):
        case "thinking":
            return _Thought(block)
        case "redacted_thinking":
            return _Protected(block)
        case "tool_use" | "server_tool_use":
            return _CALL_FORM.held(block)
        case "tool_result":
            return _RESULT_FORM.held(block)
    return _BLOCK_FORM.held(block)


def _without_protected(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data of an entry without most of the texts that must not change, which need not be searched: ids, times,
    signatures.
    """
    rest = _ENTRY_FORM.without_fixed(data)
    message = data.get("message")
    if isinstance(message, dict):
        rest["message"] = open_message = _MESSAGE_FORM.without_fixed(message)
        blocks = message.get("content")
        if isinstance(blocks, list) and any(isinstance(block, dict) and "signature" in block for block in blocks):
            open_message["content"] = [_open_part(block) if _is_thinking(block) else block for block in blocks]
    return rest


def _is_thinking(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "thinking"


def _open_part(thinking: dict[str, Any]) -> dict[str, Any]:
    """Return what of a block of thinking is searched."""
    return {name: value for name, value in thinking.items() if name not in ("type", "signature")}


def _protect_references(value: Any) -> Any:
    """Protect objects that refer to others: backups, segments, forks."""
    if isinstance(value, dict):
        return _Frame((name, _protect_reference(name, inner)) for name, inner in value.items())
    return [_protect_references(item) for item in value] if isinstance(value, list) else value


def _protect_reference(name: str, value: Any) -> Any:
    if name in _NAMED:
        return _Protected(value)
    if name == "trackedFileBackups" and isinstance(value, dict):
        return {path: _protect_references(backup) for path, backup in value.items()}  # file paths can contain a match
    return _protect_references(value)


def _protect_images(value: Any, parent: Mapping[str, Any], name: str) -> Any:
    """Wrap the images inside a value."""
    if isinstance(value, str):
        is_data = name == "data" and parent.get("type") == "base64" and "media_type" in parent
        return _Protected(value) if is_data or (len(value) > _SMALLEST and _PICTURE.fullmatch(value)) else value
    if isinstance(value, dict):
        return {key: _protect_images(inner, value, key) for key, inner in value.items()}
    return [_protect_images(item, {}, "") for item in value] if isinstance(value, list) else value


_SMALLEST = 60


def _unwrap(value: Any, thought: Callable[[dict[str, Any]], Any]) -> Any:
    if isinstance(value, _Thought):
        return thought(value.value)
    if isinstance(value, _Protected):
        return value.value
    if isinstance(value, dict):
        return {name: _unwrap(inner, thought) for name, inner in value.items()}
    return [_unwrap(item, thought) for item in value] if isinstance(value, list) else value


def _reuse_unchanged(old: Any, new: Any) -> Any:
    """Return the new value, built of the old objects wherever they are equal."""
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        fields = {name: _reuse_unchanged(old[name], new[name]) for name in old}
        return old if all(fields[name] is old[name] for name in old) else fields
    if isinstance(old, list) and isinstance(new, list):
        items = [_reuse_unchanged(a, b) for a, b in zip(old, new, strict=True)]
        return old if all(a is b for a, b in zip(old, items, strict=True)) else items
    return old if type(old) is type(new) and old == new else new


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, _Frame):
        return _Frame((name, _map_texts(inner, change)) for name, inner in value.items())
    if isinstance(value, dict):
        return _map_fields({name: change(name) for name in value}, value, change)
    return [_map_texts(item, change) for item in value] if isinstance(value, list) else value


def _map_fields(names: Mapping[str, str], value: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """Return an object with changed field names; names that became equal are numbered."""
    result: dict[str, Any] = {}
    for old, inner in value.items():
        name, count = names[old], 1
        while name in result or (name != old and name in value):
            count += 1
            name = f"{names[old]}#{count}"
        result[name] = _map_texts(inner, change)
    return result
