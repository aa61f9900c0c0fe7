"""Tools of MCP servers, external or inside an SDK program.

Modules:
    mcp_client   Connect to MCP servers and offer their tools as `mcp__<server>__<tool>`.
    sdk_servers  MCP servers inside the SDK program, reached through the SDK connection.
"""
