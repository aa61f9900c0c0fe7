"""The interactive chat in the scrollback of a terminal.

Modules:
    ask_user_dialog    Ask the user: may this call be made, and what does the model want to know.
    bang_command       `!`: a command that the person runs.
    call_result        Outcomes: the result of a call in a few lines.
    colours            Styles of the transcript, readable on every background.
    completion         Completion: what could stand where the person is typing.
    console_app        The console application.
    controller         The talk: one session after another, spoken to by a person.
    describe_call      Describe a call that needs the user's approval: complete, escaped, and independent of what
                       else is on the screen.
    info_commands      Commands that inform: what the session is, takes, and works with.
    input_history      The history of prompts at the console: the newest of this project first, out of the file that
                       Claude Code keeps.
    input_line         The prompt: the lines that a person is typing, with history, completion and folded pastes.
    key_bindings       Keys: what each does at the prompt, in a question, and while the model works.
    local_commands     Commands: what a slash at the prompt can do beyond prompts, skills and `/compact`.
    markdown_splitter  Streams of Markdown: which blocks of a text that still grows are finished, so that they can
                       be printed for good.
    menu               Menus: a question with numbered answers, and what it is about.
    pasted_text        Pastes: long ones are folded to a mark in the prompt, pictures are taken by their path; both
                       come back when it is sent.
    plain_ui           The face that only writes lines: for screen readers, simple terminals and pipes.
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
