"""An MCP server with tools that search and read sessions.

Modules:
    mcp_server      The server: the tools over standard input and output, by the official package.
    quoted_text     Answers: text of bounded size, in which every line out of a transcript is marked as a quotation.
    session_tools   The tools: what a model may ask for.
    tool_arguments  Questions: the arguments of each tool as one value, which also says how they are to be written.
    usage_tool      The MCP tool `usage`: count the tokens of sessions by model.
"""
