"""What the user types: slash commands, @file mentions, shell expansions.

Modules:
    expand_prompt   Expanding: from what a person typed to what the model hears.
    file_mentions   Mentions: `@path` in a text, as people and memory files write it.
    slash_commands  Slash commands and skills at work: arguments put in, commands run if they are allowed, files
                    named.
"""
