"""Chat sessions for editors, over the Agent Client Protocol.

Modules:
    acp_agent          Answer the requests of an editor (Agent Client Protocol): open, list, resume, fork and prompt
                       sessions.
    editor_questions   Ask the user in the editor for a permission, or to answer questions of the model.
    editor_session     One editor session.
    jsonrpc            Read and write JSON-RPC messages, one per line.
    modes              List the modes, models and commands that the user can choose in the editor.
    prompt_content     Convert the content blocks of an editor's prompt (text, images, links, files) to a user
                       prompt.
    serve_stdio        Serve the agent over standard input and output until the editor closes its end.
    session_updates    Convert events of a session, and the history in its file, to session updates of the protocol.
    tool_call_updates  Convert tool calls to updates of the protocol: kind, files, changes and result.
    unsaved_files      Let file tools see the unsaved text of files that are open in the editor.
    update_queue       Send session updates to the editor in order, without blocking the session.
"""
