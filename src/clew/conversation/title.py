"""Titles: what to call a session, with the precedence that the official SDK uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from clew.conversation.prompt import prompt_text, speaker
from clew.wire.detail import AiTitle, CustomTitle, LastPrompt, Summary
from clew.wire.entry import Entry

if TYPE_CHECKING:
    from clew.conversation.session import Session

LONGEST = 200


def title_of(session: Session) -> str:
    """A title given by a person, by the model, the last prompt, an old summary, or the first prompt."""
    return given_title(session) or summary_of(session) or first_prompt(session)


def given_title(session: Session) -> str:
    """The newest title line, in the order of who gave it; the last prompt stands in for one."""
    given = _newest(session, "custom-title", lambda e: CustomTitle.of(e).title)
    made = given or _newest(session, "ai-title", lambda e: AiTitle.of(e).title)
    return made or _newest(session, "last-prompt", lambda e: " ".join(LastPrompt.of(e).last_prompt.split()))


def summary_of(session: Session) -> str:
    """The newest summary whose conversation is in this file; most in a file speak of another one."""
    nodes = session.graph.nodes
    own = (e for e in reversed(session.entries) if e.type == "summary" and e.leaf in nodes)
    return next((Summary.of(e).summary for e in own), "")


def first_prompt(session: Session) -> str:
    """The first thing a person said, cut at 200 characters; commands only if there is nothing else."""
    prompts = [e for e in session.prompts if prompt_text(e)]
    if session.is_agent:
        prompts = [e for e in session.entries if speaker(e) == "prompt" and prompt_text(e)]
    said = next((e for e in prompts if speaker(e) == "prompt"), prompts[0] if prompts else None)
    text = " ".join(prompt_text(said).split()) if said else ""
    return text if len(text) <= LONGEST else text[:LONGEST].rstrip() + "…"


def _newest(session: Session, kind: str, read: Callable[[Entry], str]) -> str:
    found = next((e for e in reversed(session.entries) if e.type == kind), None)
    return read(found).strip() if found else ""
