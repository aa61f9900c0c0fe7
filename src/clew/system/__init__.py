"""Access to the operating system: environment, processes, shell quoting, SQLite files.

Modules:
    control_characters    Control characters: what text may carry to a terminal, to JSON and to XML.
    credential_transport  Decide whether a credential can be sent to an address: only where others cannot read it on
                          the way.
    environment           Homes: the folders that the environment decides.
    file_errors           A fence around each file of many: one that cannot be read is reported in a line, and the
                          others are read on.
    plural                Counts in sentences: "1 line", "2 lines", "3 entries".
    regex_deadline        Regular expressions of users: Python's syntax, under a deadline.
    shell_quoting         Commands to type: every shell command that clew prints is built here, quoted for the shell
                          that will read it.
    sqlite_file           Databases: what every SQLite file of clew's needs, whether it is a cache or the archive.
    subprocesses          Start other programs without running anything from the working folder, which can be a
                          stranger's repository.
"""
