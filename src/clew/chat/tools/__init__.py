"""The tools that a model can call, and what they share.

Modules:
    atomic_files         Write files of the user and scratch files of commands; tools write to disk only here.
    builtin/             One module for each built-in tool.
    closest_match        Find the text that was probably meant when a text to replace does not occur in a file.
    command_environment  Build the environment of commands: without variables that change the meaning of a plain
                         command.
    command_output       Shorten the output of commands for the model, and save the complete output.
    exit_codes           Interpret a command line: the meaning of its exit code, and the file that it shows.
    html_to_markdown     Convert HTML to Markdown: the text of a page without its layout.
    image_files          Recognize images by their first bytes, measure them without decoding, and make large ones
                         smaller.
    input_schema         Validate the input of a call against the schema of its tool, and build the error texts.
    path_arguments       Resolve the path argument of a call, and describe errors about it.
    pdf_pages            Read pages of a PDF file as a document block for the model.
    process              Run a shell command to its end with input and captured output, and kill its process group
                         afterwards.
    process_group        Terminate a process group: SIGTERM, then SIGKILL after a grace period.
    read_tracking        Track which files the model has read: a file can be changed only if it is as last read or
                         written.
    safe_fetch           Fetch web pages from the public network only: resolve, check, then connect to the checked
                         address.
    search_command       Run a search command of the user: the query goes to its stdin, the results come from its
                         stdout.
    shell_command        Run a command in a process group of its own, without stdin and with all output in one file.
    shell_profile        Read aliases, functions and options of the user's shell once for all commands of a session.
    size_format          Format sizes in bytes for people.
    structured_patch     Compute the hunks of a unified diff, without marks for a missing final newline.
    text_encoding        Decode and encode file texts, keeping the encoding, the byte order mark and the line ends.
    tool                 Define the interface of tools: a value with a name, a schema and one function.
    tool_spec            Build tools from their parts, and the fields of their input schemas.
    toolbox              Create all built-in tools by name, when needed.
"""
