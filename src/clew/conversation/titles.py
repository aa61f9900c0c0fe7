"""Titles: what to call a session, with the precedence that the official SDK uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from clew.conversation.speaker import prompt_text, speaker
from clew.wire.entry_types import AiTitle, CustomTitle, LastPrompt, SummaryDetail

if TYPE_CHECKING:
    from clew.conversation.session import Session

LONGEST = 200


def title_of(*parts: Session) -> str:
    """A title given by a person, by the model, the last prompt, an old summary, or the first prompt.

    Of a file that was read in parts the newest comes first, and the first prompt is looked for in the oldest.
    """
    given = (title for kind in _GIVEN for part in parts if (title := kind(part)))
    return next(given, "") or first_prompt(parts[-1])


def _custom_title(session: Session) -> str:
    return next((CustomTitle.of(e).title.strip() for e in reversed(session.entries) if e.type == "custom-title"), "")


def _ai_title(session: Session) -> str:
    return next((AiTitle.of(e).title.strip() for e in reversed(session.entries) if e.type == "ai-title"), "")


def _last_prompt(session: Session) -> str:
    """The newest that has words: the pin of a rewind has none."""
    pins = (LastPrompt.of(e).last_prompt.split() for e in reversed(session.entries) if e.type == "last-prompt")
    return " ".join(next(filter(None, pins), ()))


def summary_of(session: Session) -> str:
    """The newest summary whose conversation is in this file; most in a file speak of another one."""
    nodes = session.graph.nodes
    own = (e for e in reversed(session.entries) if e.type == "summary" and e.leaf in nodes)
    return next((SummaryDetail.of(e).summary for e in own), "")


_GIVEN: tuple[Callable[[Session], str], ...] = (_custom_title, _ai_title, _last_prompt, summary_of)


def first_prompt(session: Session) -> str:
    """The first thing a person said, cut at 200 characters; commands only if there is nothing else."""
    prompts = [e for e in session.prompts if prompt_text(e)]
    said = next((e for e in prompts if speaker(e) == "prompt"), prompts[0] if prompts else None)
    text = " ".join(prompt_text(said).split()) if said else ""
    return text if len(text) <= LONGEST else text[:LONGEST].rstrip() + "…"
