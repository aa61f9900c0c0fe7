"""Permissions: decide whether a tool call is allowed, asked for, or denied.

Modules:
    bash_rules                 Decide whether a shell command may run: every part must be allowed, and any
                               uncertainty prompts the user.
    command_options            Parse command-line options by a grammar of harmless options; an unknown option is not
                               harmless.
    decide                     Decide tool calls by rules, permission mode and the paths that they use.
    decision                   The decision about a tool call.
    file_commands              List the paths that a file-changing command changes (mkdir, touch, rm, rmdir, mv, cp,
                               sed -i), for the mode acceptEdits.
    folder_trust               Store which folders the user trusts; only a trusted folder's own settings can run
                               commands.
    git_commands               Recognize git commands that only read.
    git_config                 Find the repository that git would use in a folder, and check whether its
                               configuration is harmless.
    known_commands             Names of all commands that permission rules know; a shell alias must not replace
                               them.
    path_scope                 Resolve paths, and decide which are inside the working folders, protected, or secret.
    permission_context         Decide whether a file may be read or written, given rules, folders and mode at the
                               moment of a call.
    permission_rules           Parse permission rules, `Tool` or `Tool(spec)`, and match them against calls.
    refuse_control_characters  Refuse shell commands that contain control characters: no terminal, editor or log
                               shows them as they are.
    safe_commands              Recognize read-only commands that run without a prompt; any command that is not in
                               the table prompts the user.
    search_excludes            Translate Read deny rules and secret files into ripgrep excludes, so that a search
                               does not show them.
    secret_exposure            Check whether a command that reads many files would show one that prompts the user
                               when read alone.
    shell_globs                Predict which file names bash substitutes for a glob pattern.
    shell_lexer                Tokenize the simple subset of the shell language; anything else is uncertain.
    shell_parse                Parse a shell command with two parsers, our strict lexer and tree-sitter; where they
                               differ, the command is uncertain.
    suggest_rules              Suggest rules that would allow a call without a prompt next time, no wider than the
                               call.
    wrappers                   Find the command inside wrappers such as `timeout 5 CMD`: strictly for allow rules,
                               broadly for deny and ask rules.
"""
