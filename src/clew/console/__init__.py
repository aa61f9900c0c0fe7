"""The interactive chat in the scrollback of a terminal.

Modules:
    ask_user_dialog    Ask the user, one question at a time: for a permission, or for answers to the model's
                       questions.
    bang_command       Run a `!` command of the user, and record its output for the model as Claude Code does.
    call_result        Show the result of a call in a few rows.
    colours            Styles of the transcript, readable on every background.
    console_app        Run the console.
    controller         Run sessions one after another for a user.
    describe_call      Describe a call that needs the user's approval: complete, escaped, and independent of what
                       else is on the screen.
    info_commands      Slash commands that show information about the session.
    input_history      Load earlier prompts of this project from the history file of Claude Code.
    key_bindings       Bind keys: at the prompt, in a question, and while the model works.
    local_commands     Slash commands of the console, besides skills and `/compact`.
    markdown_splitter  Split Markdown that arrives in chunks into finished blocks, which can be printed and never
                       change.
    menu               Define menus: a question with numbered options.
    pasted_text        Fold long pastes into marks and recognize pasted image paths; both are restored when the
                       prompt is sent.
    plain_ui           A console without drawing, for screen readers, simple terminals and pipes: every row is
                       written once, as lines of text.
    prompt_completion  Complete the text before the cursor: commands after a slash, files after an at sign.
    prompt_editor      The input line: text with history, completion and folded pastes.
    question_box       Lay out a question in a box that shows its whole subject, and scrolls if the terminal is too
                       small.
    questionnaire      Ask several questions of the model: each has a tab, answers can be revisited, and the last
                       tab submits them.
    render             Render rows as text for a terminal of a given width, with or without colours.
    rewind_dialog      Ask the user which prompt to rewind to, what to restore and what to delete, and let the
                       engine do it.
    screen             Draw the console: finished rows go to the scrollback, and a few lines below them are redrawn.
    scrollback         Show the last turns of a resumed session without reading the whole file.
    send_prompt        Turn typed input into a prompt for the model, and append it to the prompt history shared with
                       Claude Code.
    setup_commands     Slash commands about the set-up: settings, folders, a check of everything, and the prompt
                       that describes a project.
    status_bar         Format the status line: the mode on the left; model, context use and cost on the right.
    status_command     Run the user's status line command (`statusLine` of the settings) and format what it prints.
    styles             Styles of the screen, and the lines of its search menu and completions.
    terminal_output    Write to the terminal in synchronized updates, so that nothing flickers, and keep the screen
                       in place on a resize.
    transcript         Turn the events of a session into rows that are printed once, and a few live lines that still
                       change.
    ui                 Define the interface between the console and its two user interfaces: `Screen` draws,
                       `PlainUi` writes lines.
"""
