"""Import conversations that other programs wrote.

Modules:
    aider               aider: `.aider.chat.history.md`, one file with many chats, and beside it
                        `.aider.llm.history` with the time of each reply.
    codex               Codex CLI: rollouts, `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`.
    codex_patch         Patches in the form of Codex (`*** Begin Patch`): what a small one does, as the Write or
                        Edit that would do the same.
    conversation_steps  Steps: what was said in another program's conversation, before it becomes a session.
    formats             Formats: the table of programs whose conversations can be read, where theirs lie, and which
                        of them wrote a file.
    gemini              Gemini CLI: chats, `~/.gemini/tmp/<project>/chats/session-*.json` (0.20) and `.jsonl`
                        (0.61), checkpoints and logs.
    gptme               gptme: `conversation.jsonl` in a folder for each conversation.
    image_blocks        Pictures in messages: as blocks that the Messages API takes, or as a word in their place.
    json_values         Values out of foreign JSON: whatever stands there, what comes back has the type that was
                        asked for.
    openai_logs         Logs in the form of OpenAI's APIs: messages with `tool_calls`, items of the Responses API,
                        and ShareGPT's turns.
    opencode            OpenCode: sessions, messages and parts, in a database (`opencode.db`, 1.18) or in files
                        below `storage/` (1.1).
    responses_items     Items of OpenAI's Responses API: messages, calls and their outputs, one after another.
    session_builder     Building a session: the steps of a conversation as lines that clew and Claude Code go on
                        from.
    tool_names          Tools of other programs under the names of Claude Code's, where both mean the same.
    write_import        Writing an imported session: checked before and after, whole or not at all, and once for
                        each conversation.
"""
