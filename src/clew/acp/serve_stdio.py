"""Serve the agent over standard input and output until the editor closes its end."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable

from acp.agent.connection import AgentSideConnection

from clew.acp.acp_agent import AcpAgent, SessionSpecFactory
from clew.acp.jsonrpc import MAX_LINE_BYTES, JsonRpcLines
from clew.wire.layout import Tree


async def serve(session_spec: SessionSpecFactory, tree: Tree, remark: Callable[[str], None]) -> None:
    reader = asyncio.StreamReader(limit=MAX_LINE_BYTES)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    agent = AcpAgent(session_spec, tree, remark)
    connection = AgentSideConnection(
        agent, JsonRpcLines(reader, sys.stdout.buffer, remark), listening=False, use_unstable_protocol=True
    )
    listening = asyncio.create_task(connection.listen())
    if sys.platform != "win32":
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, listening.cancel)
    try:
        await asyncio.gather(listening, return_exceptions=True)
    finally:
        await agent.close()
        await connection.close()
