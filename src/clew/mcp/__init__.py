"""An MCP server with tools that search and read sessions.

Modules:
    file_tools      The MCP tools `file_changes` and `blame`: which session changed a file, and which prompt wrote
                    its lines.
    mcp_server      Serve the MCP tools over standard input and output, with the official package.
    quoted_text     Build answers of bounded size, in which every line from a transcript is marked as a quotation.
    search_tool     The MCP tool `search_sessions`: search by words or meaning, for a substring, or for a regular
                    expression.
    session_tools   The MCP tools: a table of names, arguments and functions.
    tool_arguments  The arguments of each MCP tool, with their descriptions and limits.
    usage_tool      The MCP tool `usage`: count the tokens of sessions by model.
"""
