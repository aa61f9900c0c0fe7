"""Commands that serve sessions or a chat to other programs.

Modules:
    acp       `clew acp`: chats in an editor, over the Agent Client Protocol.
    mcp       `clew mcp`: sessions for models, over the Model Context Protocol.
    mock      `clew mock`: a Messages API on this machine that says what a script says.
    serve     `clew serve`: sessions in a browser, on this machine alone.
    skill     `clew skill`: teach Claude Code to look into earlier sessions.
"""
