"""Commands that describe clew and complete its arguments.

Modules:
    complete_words  Find what can follow the words of an unfinished command line: commands, options, choices,
                    sessions, projects.
    completion      `clew completion`: print the completion script of a shell.
    help            `clew help`: describe clew or one of its commands, or print the manual page.
    man_page        Generate the manual page clew(1) from the table of commands and their parsers.
"""
