"""Change the model of a conversation. Hooks are told before, and can refuse, and after, and can add to the next request."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Literal

from clew.chat.config.model_alias import model_in_mode
from clew.chat.deps import Deps
from clew.chat.store.live_conversation import LiveConversation
from clew.chat.turn.hook_events import run_hooks
from clew.errors import ClewError
from clew.facts.prices import STEP, cost, micros
from clew.models import default_model
from clew.wire.json_codec import Json

Source = Literal["command", "picker", "sdk"]
Confirm = Callable[[str], Awaitable[bool]]  # takes the reason of a hook, returns whether the user agrees
CACHE_SECONDS = 300.0  # that the API keeps a prompt in its cache


class ModelSwitchBlocked(ClewError):
    """A hook does not allow the change of the model."""


async def switch_model(
    choice: str,
    requested: str | None,
    source: Source,
    conversation: LiveConversation,
    deps: Deps,
    confirm: Confirm | None = None,
) -> None:
    """Set the model of the next requests. Raises ModelSwitchBlocked if a hook forbids it, or if a hook wants the user to
    be asked and `confirm` is missing or returns False.

    `choice` is a full name or `opusplan`, `requested` what the user named, or None for the default. Hooks run only if
    the next request has another model.
    """
    target = model_in_mode(choice, conversation.mode)
    if target == conversation.model:
        conversation.choice = choice
        return
    payload: Json = {
        "from_model": conversation.model,
        "to_model": target,
        "requested_model": requested,
        "source": source,
        "context_tokens": conversation.known_tokens,
        "prompt_cache_warm": time.monotonic() - conversation.replied_at < CACHE_SECONDS,
        "cache_ttl": "5m",
        **_cache_price(target, conversation.known_tokens, deps),
    }
    outcome = await run_hooks("PreModelSwitch", payload, conversation, deps)
    is_asked = outcome.decision == "ask" and not outcome.block and not outcome.stop
    if outcome.block or outcome.stop or (is_asked and not (confirm and await confirm(outcome.reason))):
        reason = outcome.reason or "it gives no reason"
        raise ModelSwitchBlocked(f"Model switch blocked by a PreModelSwitch hook: {reason}")
    conversation.choice = choice
    after = await run_hooks("PostModelSwitch", payload, conversation, deps)
    conversation.hook_context += after.context


def _cache_price(model: str, tokens: int, deps: Deps) -> Json:
    """Return what it costs to write the conversation into the cache of a model, rounded as in Claude Code."""
    steps = -(-tokens // STEP)
    stated = deps.cost.prices.rate(model, "", steps)
    rate = stated or deps.cost.prices.rate(default_model(), "", steps)
    dollars = micros(cost(rate, (0, 0, tokens))) / 1e6 if rate else 0.0
    return {"estimated_cache_write_usd": round(dollars, 4), "pricing": "catalog" if stated else "default"}
