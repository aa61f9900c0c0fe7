"""Rewind: restore files, the conversation, or both to the state before a prompt.

Modules:
    carry_out            Carry out a rewind, or undo one; callers use `Engine.plan_rewind` and `Engine.rewind`.
    command_effects      Compute what commands did to a project, from two snapshots or from the records of several
                         commands.
    file_birth           Read the birth time of a file.
    path_state           Read what exists at a path: a file, a link, a folder, or nothing.
    project_inventory    List what exists in a project besides the files in the shadow store.
    protected_paths      Define paths that a rewind never changes: the home folder itself, system folders, start-up
                         files.
    rewind_conversation  Rewind an open conversation: make the plan, and continue from before a prompt.
    rewind_plan          Plan a rewind: the files, the conversation, or both as they were before a prompt.
    rewind_report        Report what a rewind does not restore, and what was not watched.
    rewind_store         Store the state of each path before a rewind changes it, for the last rewinds of a session.
    saved_states         Find the backups of files that a transcript names, and the path that each belongs to.
    shadow_git           Record in a private git store what commands do to project files, so that a rewind can undo
                         it.
    watch_files          Watch calls that may change files without clew's tools, and record the difference.
"""
