"""Commands that serve sessions or a chat to other programs.

Modules:
    acp       `clew acp`: serve chats to an editor, over the Agent Client Protocol.
    mcp       `clew mcp`: serve sessions to models, over the Model Context Protocol.
    mock      `clew mock`: run a scripted Messages API on this machine.
    serve     `clew serve`: serve sessions to a web browser on this machine.
    skill     `clew skill`: teach Claude Code to look into earlier sessions.
"""
