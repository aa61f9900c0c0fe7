"""Serve an Agent SDK: open a session from the user's options and what the SDK provides."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace

from clew.chat.events import Emit
from clew.chat.mcp.mcp_client import read_configs
from clew.chat.sdk.control import Control, SdkSession, Write
from clew.chat.sdk.sdk_frames import FrameBuilder
from clew.chat.sdk.sdk_init import SdkInit
from clew.chat.sdk.sdk_listing import init_lists, init_response
from clew.chat.sdk.sdk_mirror import mirror_writes
from clew.chat.session_factory import Wishes, session


async def serve_sdk(
    wishes: Wishes,
    lines: AsyncIterator[bytes],
    write: Write,
    framing: FrameBuilder,
    *,
    tells_state: bool = False,
    may_bypass: bool = False,
    mirrors: bool = False,
    warn: Callable[[str], None] = lambda text: None,
) -> int:
    """Serve until the SDK closes its end. Return the exit code."""
    named = read_configs(wishes.servers, wishes.options.cwd)
    sdk_servers = [name for name, config in named.items() if config.get("type") == "sdk"]
    async with AsyncExitStack() as stack:

        async def start(brought: SdkInit, tell: Emit) -> SdkSession:
            options = wishes.options
            if brought.system is not None or brought.added_system:
                added = brought.added_system or options.added_system
                options = replace(options, system=brought.system, added_system=added)
            wished = replace(wishes, options=options, hooks=brought.hooks, further=brought.tools, agents=brought.agents)
            if mirrors:
                wished = replace(wished, write=mirror_writes(wished.write, write, warn))
            framing.shows_agents = framing.shows_agents or brought.forwards_agent_text
            opened = await stack.enter_async_context(session(wished, tell))
            framing.listed = {**framing.listed, **init_lists(opened, brought.servers)}
            return opened

        control = Control(
            write,
            start,
            framing,
            servers=sdk_servers,
            tells_state=tells_state,
            may_bypass=may_bypass or wishes.options.mode == "bypassPermissions",
            greet=lambda brought: init_response(wishes, brought.agents),
            warn=warn,
        )
        return await control.run(lines)
