"""Refuse shell commands that contain control characters: no terminal, editor or log shows them as they are."""

from __future__ import annotations

from unicodedata import category

_ALLOWED = "\n\t"


def refusal(command: object) -> str:
    """Return why the model must rewrite a command, or an empty string. Newlines and tabs are allowed."""
    text = command if isinstance(command, str) else ""
    if text.isprintable():
        return ""
    characters = dict.fromkeys(
        character for character in text if category(character) == "Cc" and character not in _ALLOWED
    )
    codes = ", ".join(f"\\x{ord(character):02x}" for character in characters)
    if not codes:
        return ""
    return (
        f"The command contains control characters ({codes}). It was not run, because they cannot be shown to the user. "
        "Write it without them, for example as printf '\\033[1m' or $'\\r'."
    )
