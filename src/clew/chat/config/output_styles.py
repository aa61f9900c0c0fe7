"""Output styles: texts that change how the model answers, from `output-styles/` folders or built in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from clew.chat.config.frontmatter import bool_field, split_header, text_field
from clew.chat.config.plugins import Plugin

DEFAULT = "default"
_FOLDER = "output-styles"
_MAX_BYTES = 1 << 18


class OutputStyle(Struct, frozen=True):
    """One style. With `keeps_guidelines` the model also gets the usual guidelines for work on code."""

    name: str
    description: str
    text: str
    keeps_guidelines: bool = False


BUILT_IN = (
    OutputStyle(DEFAULT, "Short and plain", "", True),
    OutputStyle(
        "Explanatory",
        "Explains the choices that it makes",
        "Besides doing the work, explain it: before and after a change say in two or three points why the code is built "
        "this way, which alternatives there were, and what of this code base decided between them. Mark these points as "
        "insights, keep them in the conversation, and do not write them into the code as comments.",
        True,
    ),
    OutputStyle(
        "Learning",
        "Lets you write pieces yourself",
        "The user wants to learn by doing. Build what surrounds a decision, and leave small, meaningful pieces of five to "
        "ten lines to the user: say what the piece has to do, mark its place with TODO(human), name the trade-offs, then "
        "wait for it. Comment on what they wrote and go on. Explain choices as short insights.",
        True,
    ),
    OutputStyle(
        "Proactive",
        "Takes the next step without asking",
        "Take the next sensible step by yourself: make reasonable assumptions and state them, instead of asking. Ask only "
        "when a wrong guess would be costly or hard to undo. Finish with what you assumed and what is left.",
        True,
    ),
    OutputStyle(
        "Concise",
        "As few words as possible",
        "Answer in as few words as the answer allows. No introduction, no summary of what was asked, no list where a "
        "sentence will do. Give the result first, and details only if they change what the user does next.",
        True,
    ),
)


def load_styles(
    project: Path, claude: Path, trusted: bool, sources: Sequence[str], plugins: Sequence[Plugin] = ()
) -> tuple[dict[str, OutputStyle], list[str]]:
    """All styles by name, and a notice for each file that cannot be read. Priority, high to low: project (if it is
    trusted), user, plugin, built-in.
    """
    notices: list[str] = []
    styles = {style.name: style for style in BUILT_IN}
    for plugin in plugins:
        for folder in plugin.folders("outputStyles", _FOLDER):
            styles |= _read_folder(folder, f"{plugin.name}:", notices)
    if "user" in sources:
        styles |= _read_folder(claude / _FOLDER, "", notices)
    if "project" in sources and trusted and project / ".claude" != claude:
        styles |= _read_folder(project / ".claude" / _FOLDER, "", notices)
    return styles, notices


def choose_style(name: object, styles: Mapping[str, OutputStyle]) -> tuple[OutputStyle, str]:
    """Return the style that the settings name, and a notice if there is none of this name."""
    if not isinstance(name, str) or not name:
        return styles[DEFAULT], ""
    if name in styles:
        return styles[name], ""
    return styles[
        DEFAULT
    ], f"There is no output style {name!r}; using the default. Known are: {', '.join(sorted(styles))}."


def describe_style(style: OutputStyle, language: object) -> str:
    """Return the text for the model about style and language of its answers; empty if both are the default."""
    parts = [f"# Output Style: {style.name}\n{style.text}"] if style.text else []
    if isinstance(language, str) and language.strip():
        name = " ".join(language.split())[:100]
        parts.append(
            f"# Language\nAnswer the user in {name}, in its usual spelling with all of its letters and accents. Leave code,"
            " names and technical terms as they are."
        )
    return "\n\n".join(parts)


def _read_folder(folder: Path, prefix: str, notices: list[str]) -> dict[str, OutputStyle]:
    styles = {}
    for path in sorted(folder.glob("*.md")) if folder.is_dir() else ():
        try:
            if path.stat().st_size > _MAX_BYTES:
                raise ValueError("it is too large")
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, ValueError) as error:
            notices.append(f"{path} cannot be read: {error}.")
            continue
        fields, body = split_header(text)
        name = prefix + (text_field(fields, "name") or path.stem)
        keeps = bool_field(fields, "keep-coding-instructions")
        styles[name] = OutputStyle(name, text_field(fields, "description"), body.strip(), keeps)
    return styles
