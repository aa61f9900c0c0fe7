"""Permissions: decide whether a tool call is allowed, asked for, or denied.

Modules:
    bash_rules                 Bash: whether a shell command may be run.
    command_options            Options of commands: a small grammar of which are known to be harmless.
    decide                     Permissions: decides calls by the rules, the mode and the places that they touch.
    decision                   Decisions: the answer to "may this call be made?", and the modes in which it is
                               asked.
    file_commands              Commands that change files, as the mode acceptEdits lets them: mkdir, touch, rm,
                               rmdir, mv, cp, sed -i.
    folder_trust               Trust: the folders whose own settings may run things, as the user decided.
    git_commands               Git commands that only look.
    git_config                 The repository that git would obey in a folder: where it is, and whether its own
                               settings are known to be harmless.
    known_commands             Plain names: the commands that permissions know by their names.
    path_scope                 Places: where a path leads once links are followed, which places are the project's
                               own, and which are protected.
    permission_context         The ground that decisions stand on: rules, folders and mode at the moment of a call.
    permission_rules           Rules: `Tool` or `Tool(spec)`, as the settings hold them, each with where it stands.
    refuse_control_characters  Refuse shell commands that contain control characters: no terminal, editor or log
                               shows them as they are.
    safe_commands              Harmless commands: they only look, and run unasked.
    search_excludes            Blindness: a search must not show what a deny rule keeps from being read, nor keys
                               and logins; it leaves them out.
    secret_exposure            Exposure: whether a command that reads many files would show one that is asked about
                               when it is read by itself.
    shell_globs                Patterns for file names: which of them stand for names that can be predicted, and the
                               names that bash puts there.
    shell_lexer                The lexer: reads the plain part of the shell's language, and nothing else.
    shell_parse                Shell commands, read twice: by our strict lexer and by tree-sitter.
    suggest_rules              Suggestions: the rules that would spare a question next time, no wider than what was
                               asked about.
    wrappers                   Wrappers: commands that run another one.
"""
