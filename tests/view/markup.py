"""The markup of a page, taken apart by a grammar so strict that no browser can read it otherwise.

Every `<` must begin a tag of this list, with attributes of this list in double quotes; so nothing out of a transcript has
become markup.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_TAG = re.compile(r'<(/?)([a-z][a-z0-9]*)((?: [a-z-]+(?:="[^"<>]*")?)*)>')
_ATTRIBUTE = re.compile(r' ([a-z-]+)(?:="([^"<>]*)")?')
_ALONE = frozenset({"br", "hr", "img", "meta", "input", "link"})
_EVERYWHERE = frozenset({"class", "id"})
_NUMBER = re.compile(r"[ \d]{1,19}")
FRAGMENT = {
    "div": ("data-tool",),
    **dict.fromkeys(("section", "header", "h2", "h3", "h4", "h5", "h6", "p", "b", "em", "strong", "s"), ()),
    **dict.fromkeys(("pre", "code", "ul", "li", "blockquote", "br", "hr", "summary", "sup"), ()),
    **dict.fromkeys(("span", "ins", "del"), ("data-n",)),
    **dict.fromkeys(("table", "thead", "tbody", "tr", "th", "td"), ()),
    "ol": ("start",),
    "a": ("href", "rel"),
    "img": ("src", "alt", "loading"),
    "time": ("datetime",),
    "details": ("open", "data-tool"),
}
_HREF = re.compile(r"#(?:[\w-]*turn-\d+)|(?:https?://|mailto:)\S+", re.IGNORECASE)
_SRC = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+")


class Tag(NamedTuple):
    name: str
    attributes: dict[str, str]


def tags(text: str, allowed: dict[str, tuple[str, ...]] = FRAGMENT) -> list[Tag]:
    """The opening tags of a text that is nothing but allowed and balanced markup; else an AssertionError."""
    opened: list[str] = []
    found: list[Tag] = []
    end = 0
    for tag in _TAG.finditer(text):
        assert "<" not in text[end : tag.start()], text[end : tag.start()][:300]
        end = tag.end()
        close, name, rest = tag.groups()
        assert name in allowed, tag[0]
        if close:
            assert opened and opened.pop() == name, text[max(0, end - 300) : end]
            continue
        if name not in _ALONE:
            opened.append(name)
        found.append(Tag(name, dict(_ATTRIBUTE.findall(rest))))
        _check(found[-1], allowed[name])
    assert "<" not in text[end:] and not opened, (text[end:][:300], opened)
    return found


def _check(tag: Tag, allowed: tuple[str, ...]) -> None:
    for name, value in tag.attributes.items():
        assert name in allowed or name in _EVERYWHERE, tag
        if name == "href" and tag.name == "a":
            assert _HREF.fullmatch(value), tag
            assert value.startswith("#") or tag.attributes["rel"] == "noopener noreferrer nofollow", tag
        if name == "data-n":
            assert _NUMBER.fullmatch(value), tag
        if name == "src":
            assert _SRC.fullmatch(value), tag
