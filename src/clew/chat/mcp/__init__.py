"""Tools of MCP servers, external or inside an SDK program.

Modules:
    mcp_client     Connect to MCP servers and offer their tools as `mcp__<server>__<tool>`.
    mcp_resources  Resources and prompts of MCP servers: tools that list and read resources, and slash commands made
                   of prompts.
    mcp_transport  Open the connection to an MCP server: a program, or an address with streamable HTTP or server-
                   sent events.
    sdk_servers    MCP servers inside the SDK program, reached through the SDK connection.
    server_scopes  Find the MCP servers of a session where `claude mcp add` keeps them.
"""
