"""Access to the operating system: environment, processes, shell quoting, SQLite files.

Modules:
    control_characters    Remove or escape control characters in text for terminals, JSON and XML.
    credential_transport  Decide whether credentials can be sent to an address without others reading them in
                          transit.
    design_tokens         The colours, sizes and fonts of clew: one set for web pages, exports, charts and
                          terminals. docs/web.md explains them.
    environment           Read environment variables, and locate the folders they determine.
    extras                Build the command that installs an optional part of clew, for the way in which clew itself
                          was installed.
    file_errors           Collect errors of single files, so that one unreadable file does not stop a pass over
                          many.
    file_lock             Lock an open file for one process.
    plural                Format counts with their nouns: "1 line", "2 lines", "3 entries".
    private_file          Files of clew's own that only the user may read.
    record                Values that need no library: for modules that list files before anything is decoded.
    regex_deadline        Run regular expressions of users with a time limit.
    scratch_folder        Create a temporary folder that is removed afterwards, by the next run if this process is
                          killed.
    shell_quoting         Build the shell commands that clew prints, quoted for the shell that will run them.
    spreadsheet           Cells of CSV files that no spreadsheet runs.
    sqlite_file           Share the SQLite basics of all caches and of the archive: transactions, pragmas, reset.
    subprocesses          Start programs without executing anything from the working folder, which can be an
                          untrusted repository.
    table_layout          Lay out tables of text: the only code that pads cells to the width of their column.
    terminal_style        Paint text for a terminal with the design tokens, on dark and light grounds.
    usable_cores          Count the processor cores that this process may use: fewer than the machine has, in a
                          container or under `taskset`.
    worker_processes      Run a function over many items in several processes, one for each core.
"""
