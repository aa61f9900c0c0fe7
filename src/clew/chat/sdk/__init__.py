"""The control protocol of the Claude Agent SDK over stdin and stdout.

Modules:
    control         The control protocol through which an Agent SDK drives a session.
    result_json     The result of a turn as JSON, for scripts and the SDKs.
    sdk_frames      Convert events of an engine into the JSON messages of the Agent SDKs.
    sdk_init        What an SDK sends with `initialize`: hooks, tools, agents and system prompt.
    sdk_listing     Lists of a session's commands, agents, models and servers for the Agent SDKs.
    sdk_mirror      Send every line that is written to the SDK as well, for a separate store.
    sdk_permission  Build permission requests for an SDK and interpret its answers.
    sdk_rewind      Rewind the files of a session for an SDK program.
    serve_sdk       Serve an Agent SDK: open a session from the user's options and what the SDK provides.
"""
