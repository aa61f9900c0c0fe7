"""Choose the title of a session, with the precedence of the official SDK."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING

from clew.conversation.speaker import prompt_text, speaker
from clew.wire.entry import Entry, Item
from clew.wire.entry_types import AiTitle, CustomTitle, LastPrompt, SummaryDetail, Tag

if TYPE_CHECKING:
    from clew.conversation.session import Session

MAX_LENGTH = 200
WINDOW = 64 << 10  # bytes at each end of a file in which titles are looked for, as the official SDK does


def session_title(*parts: Session) -> str:
    """Return the first of: the user's title, the model's title, the last prompt, an old summary, the first prompt.

    For a file that was read in parts, pass the newest part first; the first prompt comes from the oldest part with one.
    """
    titles = (title for kind in _TITLE_SOURCES for part in parts if (title := kind(part)))
    return next(titles, "") or next(filter(None, map(first_prompt, reversed(parts))), "")


def title_of_whole(session: Session) -> str:
    """Return the title of a session that was read completely: the same as lists show, which read the two ends."""
    size = session.items[-1].line.end if session.items else 0
    if size <= 2 * WINDOW:
        return session_title(session)
    items = session.items
    head = type(session)(items[: bisect_left(items, WINDOW, key=_offset)])
    tail = type(session)(items[bisect_right(items, size - WINDOW, key=_offset) :])
    return session_title(tail, head) or session_title(session)


def _offset(item: Item) -> int:
    return item.line.offset


def _custom_title(session: Session) -> str:
    return next((CustomTitle.of(e).title.strip() for e in reversed(session.entries) if e.type == "custom-title"), "")


def _ai_title(session: Session) -> str:
    return next((AiTitle.of(e).title.strip() for e in reversed(session.entries) if e.type == "ai-title"), "")


def _last_prompt(session: Session) -> str:
    """Return the newest last prompt with text: the pin of a rewind has none."""
    pins = (LastPrompt.of(e).last_prompt.split() for e in reversed(session.entries) if e.type == "last-prompt")
    return " ".join(next(filter(None, pins), ()))


def session_tag(*parts: Session) -> str:
    """Return the newest tag; empty if there is none or it was removed. Pass the newest part of a file first."""
    tags = (Tag.of(entry).tag for part in parts for entry in reversed(part.entries) if entry.type == "tag")
    return " ".join(next(tags, "").split())


def session_summary(session: Session) -> str:
    """Return the newest summary of a conversation in this file; most summaries in a file are about another one."""
    nodes = session.graph.nodes
    summaries = (e for e in reversed(session.entries) if e.type == "summary" and e.leaf in nodes)
    return next((SummaryDetail.of(e).summary for e in summaries), "")


_TITLE_SOURCES: tuple[Callable[[Session], str], ...] = (_custom_title, _ai_title, _last_prompt, session_summary)


def first_prompt(session: Session) -> str:
    """Return the first prompt, cut at 200 characters; a command only if there is no other prompt."""
    prompts = [e for e in session.prompts if prompt_text(e)]
    prompt = next((e for e in prompts if speaker(e) == "prompt"), prompts[0] if prompts else None)
    return shorten_prompt(prompt) if prompt else ""


def shorten_prompt(prompt: Entry) -> str:
    """Return the text of a prompt on one line, cut at 200 characters."""
    text = " ".join(prompt_text(prompt).split())
    return text if len(text) <= MAX_LENGTH else text[:MAX_LENGTH].rstrip() + "…"
