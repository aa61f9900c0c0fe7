"""The interactive chat in the scrollback of a terminal.

Modules:
    ask_user_dialog    Ask the user, one question at a time: for a permission, or for answers to the model's
                       questions.
    bang_command       Run a `!` command of the user, and record its output for the model as Claude Code does.
    call_result        Show the result of a call in a few rows.
    colours            Styles of the transcript, readable on every background.
    completion         Complete the text before the cursor: commands after a slash, files after an at sign.
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
    plain_ui           The face that only writes lines: for screen readers, simple terminals and pipes.
    prompt_editor      The input line: text with history, completion and folded pastes.
    question_box       Lay out a question: a box that holds everything it is about, and scrolls where the terminal
                       is too small for it.
    render             Paint: rows as text for a terminal of some width, with colours if they are welcome.
    rewind_dialog      The rewind dialogue: which prompt, what to restore, what to delete.
    screen             The screen: what is finished goes to the scrollback, and below it a few lines are drawn again
                       and again.
    scrollback         The scrollback of a session that is gone on with: its newest turns, without reading all that
                       came before them.
    send_prompt        What was typed, on its way: to the model as a prompt, and into the history that Claude Code
                       shares.
    status_bar         The status line: the mode to the left; the model, how full its window is, and the cost to the
                       right.
    styles             The look of what is drawn: its styles, and a question with its answers.
    terminal_markdown  Prose: Markdown for a terminal, plain and to the left.
    terminal_output    The terminal that is drawn on: what belongs together reaches it in one piece, so that nothing
                       flickers.
    transcript         The transcript while it grows: events become rows that are printed for good, and a few lines
                       that still change.
    ui                 Faces: how a person is shown things and asked.
"""
