"""Rewind: restore files, the conversation, or both to the state before a prompt.

Modules:
    carry_out            Carry out a rewind, and undo one.
    command_effects      Effects of commands on a project: what two looks at it differ in, and what the records of
                         several commands add up to.
    file_birth           The birth time of a file: when its inode was made.
    path_state           What exists at a path: a file, a link, a folder, or nothing.
    project_inventory    List what exists in a project beside the files that the shadow store keeps.
    protected_paths      Places that a rewind never changes, whatever a transcript says: the home folder itself,
                         system folders, start-up files.
    rewind_conversation  Rewind an open conversation: the plan, and the dialogue as it was before a prompt.
    rewind_plan          Plan a rewind: the files, the conversation, or both as they were before a prompt.
    rewind_report        What a rewind reports beside its changes: what is not restored, and what was not watched.
    rewind_store         Store of rewinds: the state of each path before a rewind changed it.
    saved_states         Saved states of files: the backups that a transcript names, and which path each of them
                         belongs to.
    shadow_git           Shadow store: what commands do to the files of a project, kept in a git store of clew, so
                         that it can be undone.
    watch_files          Watch calls that may change files without clew's tools: examine the project before and
                         after, record the difference.
"""
