"""Tools of MCP servers, external or inside an SDK program.

Modules:
    mcp_client   MCP servers: programs and addresses that bring tools of their own, called `mcp__<server>__<tool>`.
    sdk_servers  MCP servers that live in the SDK's own process: spoken to through the SDK.
"""
