"""The door of the Agent SDKs: a session composed of what the person wishes and of what the SDK brings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace

from clew.chat.events import Tell
from clew.chat.mcp.mcp_client import configured
from clew.chat.sdk.control import Control, Speaking, Write
from clew.chat.sdk.sdk_frames import Framing
from clew.chat.sdk.sdk_init import Brought
from clew.chat.sdk.sdk_listing import greeting, opening
from clew.chat.sdk.sdk_mirror import mirrored
from clew.chat.session_factory import Wishes, session


async def serve(
    wishes: Wishes,
    lines: AsyncIterator[bytes],
    write: Write,
    framing: Framing,
    *,
    tells_state: bool = False,
    may_bypass: bool = False,
    mirrors: bool = False,
    remark: Callable[[str], None] = lambda text: None,
) -> int:
    """Until the SDK hangs up. The exit code."""
    named = configured(wishes.servers, wishes.options.cwd)
    inside = [name for name, config in named.items() if config.get("type") == "sdk"]
    async with AsyncExitStack() as stack:

        async def start(brought: Brought, tell: Tell) -> Speaking:
            options = wishes.options
            if brought.system is not None or brought.added_system:
                added = brought.added_system or options.added_system
                options = replace(options, system=brought.system, added_system=added)
            made = replace(wishes, options=options, hooks=brought.hooks, further=brought.tools, agents=brought.agents)
            if mirrors:
                made = replace(made, write=mirrored(made.write, write, remark))
            framing.shows_agents = framing.shows_agents or brought.hears_agents
            opened = await stack.enter_async_context(session(made, tell))
            framing.listed = {**framing.listed, **opening(opened, brought.servers)}
            return opened

        control = Control(
            write,
            start,
            framing,
            servers=inside,
            tells_state=tells_state,
            may_bypass=may_bypass or wishes.options.mode == "bypassPermissions",
            greet=lambda brought: greeting(wishes, brought.agents),
            remark=remark,
        )
        return await control.run(lines)
