"""The door of the Agent SDKs: a session composed of what the person wishes and of what the SDK brings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace

from clew.chat.compose import Wishes, session
from clew.chat.control import Brought, Control, Speaking, Write
from clew.chat.event import Tell
from clew.chat.frame import Framing
from clew.chat.listing import greeting, opening
from clew.chat.mcp import configured


async def serve(
    wishes: Wishes,
    lines: AsyncIterator[bytes],
    write: Write,
    framing: Framing,
    *,
    tells_state: bool = False,
    remark: Callable[[str], None] = lambda text: None,
) -> int:
    """Until the SDK hangs up. The exit code."""
    named = configured(wishes.servers, wishes.options.cwd)
    inside = [name for name, config in named.items() if config.get("type") == "sdk"]
    async with AsyncExitStack() as stack:

        async def start(brought: Brought, tell: Tell) -> Speaking:
            made = replace(wishes, hooks=brought.hooks, further=brought.tools, agents=brought.agents)
            opened = await stack.enter_async_context(session(made, tell))
            framing.listed = {**framing.listed, **opening(opened, inside)}
            return opened

        control = Control(
            write,
            start,
            framing,
            servers=inside,
            tells_state=tells_state,
            greet=lambda brought: greeting(wishes, brought.agents),
            remark=remark,
        )
        return await control.run(lines)
