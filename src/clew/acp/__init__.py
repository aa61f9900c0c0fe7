"""Chat sessions for editors, over the Agent Client Protocol.

Modules:
    acp_agent          The door: what an editor may ask of us, each answered by the official package's rules.
    editor_questions   Asking the person in the editor: may this call be made, and which answer do you choose?
    editor_session     A seat: one session that an editor talks with.
    jsonrpc            Lines: messages as JSON, one a line, in and out.
    modes              Choices: the modes and models between which a person switches in the editor.
    prompt_content     Prompts of editors: texts, pictures, links and whole files, as what a person says.
    serve_stdio        Serving: the door over standard input and output, until the editor closes its end.
    session_updates    What a session tells, in the words of the protocol: as it happens, and as its file remembers
                       it.
    tool_call_updates  Calls as editors show them: what kind, in which files, with what change, and what came of
                       them.
    unsaved_files      Buffers: what the editor has of a file and the disk has not.
    update_queue       The post: what a session tells goes out in order, without anybody waiting for it.
"""
