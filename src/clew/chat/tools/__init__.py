"""The tools that a model can call, and what they share.

Modules:
    atomic_files         Files of the person's, and scratch files of commands: the one place where tools write to
                         disk.
    builtin/             One module for each built-in tool.
    closest_match        The place that was likely meant, when a text to replace is not found: which lines, and how
                         they differ.
    command_environment  The environment of commands: that of clew, without the variables that change what a plain
                         command means.
    command_output       Outputs of commands: what of them the model sees, and where the rest lies.
    exit_codes           What can be told of a command from its words: what its exit code means, which file it
                         shows.
    html_to_markdown     HTML as Markdown: what a page says, without how it looks.
    image_files          Pictures: told apart by their first bytes, and measured without being decoded.
    input_schema         Inputs held against their schemas, and the texts for calls that are wrong.
    path_arguments       Paths: what a call names, where it leads, and how a failure at it is told.
    pdf_pages            PDF files: a few pages at a time, handed to the model as a document.
    process              Processes: a shell command run to its end, with what it is told and what it says.
    process_group        Groups of processes: a command and all that it began end together, politely or at once.
    read_tracking        What the model has seen: a file is changed only as it was last read or written.
    safe_fetch           Pages of the web, fetched with care: every address is looked up, checked and then connected
                         to as it was checked.
    search_command       A web search engine that is a command of the user: the query goes to its stdin, the pages
                         come from its stdout.
    shell_command        Commands: one process each, in a group of its own, with nothing to read and all output in
                         one file.
    shell_profile        The person's own shell: aliases, functions and options out of ~/.bashrc, taken once for all
                         commands of a session.
    size_format          Sizes as people write them.
    structured_patch     Patches: what a change did, as the hunks of a unified diff without marks for a missing last
                         newline.
    text_encoding        Texts of files: bytes to text and back, with the encoding, the mark at the start and the
                         line ends kept.
    tool                 Tools: what the model may call.
    tool_spec            Tools made of their parts, and the pieces that their schemas are made of.
    toolbox              The toolbox: all tools of the client by name, made when it is asked for.
"""
