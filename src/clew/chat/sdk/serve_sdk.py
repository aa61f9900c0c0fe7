"""Serve an Agent SDK: open a session from the user's options and what the SDK provides."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

from msgspec.structs import replace

from clew.chat.events import Emit
from clew.chat.mcp.mcp_client import read_configs
from clew.chat.sdk.control import Control, Write
from clew.chat.sdk.sdk_connection import SdkSession
from clew.chat.sdk.sdk_frames import FrameBuilder
from clew.chat.sdk.sdk_init import SdkInit
from clew.chat.sdk.sdk_listing import init_response
from clew.chat.sdk.sdk_mirror import mirror_writes
from clew.chat.session_factory import open_session
from clew.chat.session_spec import SessionSpec


def complete_with(spec: SessionSpec, init: SdkInit) -> SessionSpec:
    """Return the spec with the hooks, tools, agents and plugins that the SDK brings."""
    return replace(
        spec,
        hooks=init.hooks,
        extra_tools=init.tools,
        agents=init.agents,
        plugins=(*spec.plugins, *init.plugins),
        offered_skills=init.skills,
        tool_aliases=init.tool_aliases,
        title=spec.title or init.title,
    )


async def serve_sdk(
    spec: SessionSpec,
    lines: AsyncIterator[bytes],
    write: Write,
    framing: FrameBuilder,
    *,
    tells_state: bool = False,
    may_bypass: bool = False,
    mirrors: bool = False,
    prompt_tool: str = "",
    warn: Callable[[str], None] = lambda text: None,
) -> int:
    """Serve until the SDK closes its end. Return the exit code."""
    named = read_configs(spec.servers, spec.cwd)
    sdk_servers = [name for name, config in named.items() if config.get("type") == "sdk"]
    async with AsyncExitStack() as stack:

        async def start(init: SdkInit, emit: Emit) -> SdkSession:
            completed = complete_with(spec, init)
            if init.system is not None or init.added_system:
                added = init.added_system or spec.added_system
                completed = replace(completed, system=init.system, added_system=added)
            if init.output_schema is not None:
                completed = replace(completed, output_schema=init.output_schema)
            if init.plan_instructions and completed.mode == "plan":
                added = "\n\n".join(filter(None, (completed.added_system, init.plan_instructions)))
                completed = replace(completed, added_system=added)
            if mirrors:
                completed = replace(completed, write=mirror_writes(spec.write, write, warn))
            opened = await stack.enter_async_context(open_session(completed, emit))
            return opened

        control = Control(
            write,
            start,
            framing,
            servers=sdk_servers,
            tells_state=tells_state,
            may_bypass=may_bypass or spec.mode == "bypassPermissions",
            greet=lambda init: init_response(complete_with(spec, init)),
            prompt_tool=prompt_tool,
            warn=warn,
        )
        return await control.run(lines)
