"""Turn what the user types into prompts: slash commands, @file mentions and memory files.

Modules:
    expand_prompt   Expand what the user typed into a prompt: replace slash commands by their text and read
                    mentioned files.
    file_mentions   Find `@path` mentions in a text, outside code blocks and code spans.
    input_line      A line that the user typed, parsed once.
    memory_files    Load memory files (CLAUDE.md) of the machine, the user, the project and its folders, with their
                    imports.
    slash_commands  Expand slash commands and skills: fill in arguments, run allowed shell commands, collect
                    mentioned files.
"""
