"""Import conversations that other programs wrote.

Modules:
    aider               Read aider chats: `.aider.chat.history.md`, with times from `.aider.llm.history`.
    codex               Read Codex CLI rollouts: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`.
    codex_patch         Translate small Codex patches (`*** Begin Patch`) into an equivalent Write or Edit.
    codex_rollout       Write a conversation as a Codex CLI rollout, which `codex resume` continues and `clew
                        import` reads back.
    conversation_steps  The steps of another program's conversation, before it becomes a session.
    formats             The table of supported programs: where their conversations are, and how a file is
                        recognized.
    gemini              Read Gemini CLI chats (`.json` of 0.20, `.jsonl` of 0.61), checkpoints and prompt logs.
    gptme               Read gptme conversations: one folder with a `conversation.jsonl` each.
    image_blocks        Convert images to blocks that the Messages API accepts, or to a text placeholder.
    json_values         Read typed values from untrusted JSON, with defaults for missing or wrong types.
    openai_logs         Read logs in the form of OpenAI's APIs: chat messages, Responses items and ShareGPT turns.
    opencode            Read OpenCode sessions from a database (`opencode.db`, 1.18) or from files below `storage/`
                        (1.1).
    outgoing            Prepare a session for another program: the messages that a resume would send, and what
                        cannot go along.
    responses_items     Convert items of OpenAI's Responses API (messages, calls, outputs) to steps.
    session_builder     Build session lines from the steps of a conversation, so that clew and Claude Code can
                        resume it.
    targets             The table of programs to which a session can be exported: how its file is written, and where
                        it belongs.
    tool_names          Translate tool calls of other programs to Claude Code tools with the same meaning.
    write_import        Write an imported session atomically, verified before and after, once per conversation.
"""
