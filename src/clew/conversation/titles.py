"""Choose the title of a session, with the precedence of the official SDK."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from clew.conversation.speaker import prompt_text, speaker
from clew.wire.entry_types import AiTitle, CustomTitle, LastPrompt, SummaryDetail

if TYPE_CHECKING:
    from clew.conversation.session import Session

MAX_LENGTH = 200


def session_title(*parts: Session) -> str:
    """Return the first of: the user's title, the model's title, the last prompt, an old summary, the first prompt.

    For a file that was read in parts, pass the newest part first; the first prompt comes from the last argument.
    """
    titles = (title for kind in _TITLE_SOURCES for part in parts if (title := kind(part)))
    return next(titles, "") or first_prompt(parts[-1])


def _custom_title(session: Session) -> str:
    return next((CustomTitle.of(e).title.strip() for e in reversed(session.entries) if e.type == "custom-title"), "")


def _ai_title(session: Session) -> str:
    return next((AiTitle.of(e).title.strip() for e in reversed(session.entries) if e.type == "ai-title"), "")


def _last_prompt(session: Session) -> str:
    """Return the newest last prompt with text: the pin of a rewind has none."""
    pins = (LastPrompt.of(e).last_prompt.split() for e in reversed(session.entries) if e.type == "last-prompt")
    return " ".join(next(filter(None, pins), ()))


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
    text = " ".join(prompt_text(prompt).split()) if prompt else ""
    return text if len(text) <= MAX_LENGTH else text[:MAX_LENGTH].rstrip() + "…"
