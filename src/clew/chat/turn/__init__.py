"""One turn: stream the reply, run its tool calls, compact when the context window is full.

Modules:
    background_tasks  Wait for background commands and subagents, and report their end to the conversation that
                      started them.
    compaction        Compact a long conversation: replace it by a summary, or first leave old tool results out of
                      requests.
    context_usage     How the context window of a conversation is used: by the system prompt, tools, memory and
                      messages.
    cost_report       Describe the cost of a session for the user.
    hook_events       Run the hooks of an event with the payload fields that all events share.
    hook_results      Apply what hooks after a call say to its result: another output, and texts for the model.
    loop_guard        Detect a model that repeats the same tool call and keeps getting the same result.
    model_switch      Change the model of a conversation.
    prompt_hooks      Run the hooks of a prompt: they can refuse it, add to it, and name the session.
    repair_messages   Repair messages that the API would refuse.
    side_request      Requests outside the conversation: a question about a text, a title, a question on the side.
    stop_hooks        Run the hooks at the end of a turn: they see its last text, and can let the model continue.
    stream_reply      Request one reply, stream it, and write it to the session file as it arrives.
    tool_calls        Run the tool calls of a reply: check, ask for permission, run hooks, call.
    turn_limits       End a turn early: when the budget is used up, and when the answer must have the form of a
                      schema.
    until_stopped     Await something until an event is set.
"""
