"""Hooks: commands of the user that run on events of a chat.

Modules:
    hook_events  Telling hooks: the payload that all events share, and what becomes of their answers.
    hook_output  Answers of hooks: what a hook said by its exit code and its output, and what several of them say
                 together.
    runner       Hooks: the person's own programs (or callbacks) that are told of events and may have a say.
"""
