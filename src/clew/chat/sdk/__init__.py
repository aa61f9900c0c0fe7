"""The control protocol of the Claude Agent SDK over stdin and stdout.

Modules:
    control            The control protocol through which an Agent SDK drives a session.
    control_messages   The messages of the control protocol: answers to requests, and what answers to ours mean.
    info_requests      Control requests that ask for information: usage of the context, cost, models, files,
                       commands, rules and hooks.
    mcp_requests       Control requests about MCP servers: list, switch on and off, connect again, replace, and call
                       a tool.
    model_requests     Control requests that ask the model outside the conversation: a title, and a question on the
                       side.
    project_requests   Control requests about the files of the project: names for mentions, and folders that belong
                       to it.
    prompt_inbox       Prompts of the SDK that wait for their turn.
    result_json        The result of a turn as JSON, for scripts and the SDKs.
    sdk_connection     What control requests need of the connection to an Agent SDK, and of the session behind it.
    sdk_frames         Convert events of an engine into the JSON messages of the Agent SDKs.
    sdk_init           What an SDK sends with `initialize`: hooks, tools, agents and system prompt.
    sdk_listing        Lists of a session's commands, agents, models and servers for the Agent SDKs.
    sdk_mirror         Send every line that is written to the SDK as well, for a separate store.
    sdk_permission     Build permission requests for an SDK and interpret its answers.
    sdk_questions      Send permission requests and questions of the model to the SDK, and set their answers.
    sdk_rewind         Rewind the files of a session for an SDK program.
    serve_sdk          Serve an Agent SDK: open a session from the user's options and what the SDK provides.
    session_requests   Control requests that change the running session: mode, model, thinking, title, tasks, files
                       and queue.
    settings_requests  Control requests about settings: read them, and change those of the session or of the local
                       settings file.
    task_frames        Frames about subagents and background commands: started, progress, updated, notification, and
                       the list of tasks.
"""
