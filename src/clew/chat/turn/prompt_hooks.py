"""Run the hooks of a prompt: they can refuse it, add to it, and name the session."""

from __future__ import annotations

from uuid import uuid4

from msgspec import Struct

from clew.chat.store.pending_prompts import UserPrompt
from clew.chat.turn.tool_calls import CallRunner
from clew.wire.json_codec import Json


class PromptVerdict(Struct, frozen=True):
    """What hooks say about a prompt."""

    refusal: str = ""
    context: tuple[str, ...] = ()  # texts for the model
    title: str = ""  # for the session


async def run_prompt_hooks(prompt: UserPrompt, runner: CallRunner) -> PromptVerdict:
    """Run UserPromptSubmit, and UserPromptExpansion for what a command made of the prompt."""
    runner.conversation.prompt_id = prompt.uuid or str(uuid4())
    payloads: list[tuple[str, Json]] = [("UserPromptSubmit", {"prompt": prompt.spoken})]
    if prompt.expansion is not None:
        payloads.append(("UserPromptExpansion", {**prompt.expansion, "prompt": prompt.spoken}))
    context: tuple[str, ...] = ()
    title = ""
    for name, payload in payloads:
        outcome = await runner.run_hooks(name, None, payload)
        if outcome.block or outcome.stop:
            return PromptVerdict(f"A hook refused the prompt: {outcome.reason}")
        context, title = (*context, *outcome.context), outcome.title or title
    return PromptVerdict(context=context, title=title)
