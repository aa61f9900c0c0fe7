"""One turn: stream the reply, run its tool calls, compact when the context window is full.

Modules:
    compaction       Compaction: a long conversation goes on from a summary of itself.
    loop_guard       The guard: notices a model that makes the same call again and again and always gets the same
                     answer.
    repair_messages  Mending: messages that the API would refuse, made so that it takes them.
    side_request     Small requests beside the conversation: a question about a text, asked of a small model.
    stream_reply     One reply: a request is made of the conversation, sent, and what comes back is written down as
                     it comes.
    tool_calls       Calls: from what the model asked for to what it is told.
    until_stopped    Racing: something that is waited for until the person breaks off.
"""
