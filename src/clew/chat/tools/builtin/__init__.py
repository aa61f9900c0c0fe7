"""One module for each built-in tool.

Modules:
    agent       Task, also called Agent: a piece of work handed to another conversation.
    ask_user    AskUserQuestion: questions put to the person, with answers to choose from.
    background  What goes on beside the conversation: commands and agents, looked at and stopped by their ids.
    bash        Bash: a command run to its end, broken off, or sent to the background.
    edit_file   Edit and MultiEdit: some text of a file replaced by another, and every other byte left as it is.
    glob_files  Glob: files by their names, the newest first.
    grep_files  Grep: texts in files, by ripgrep.
    notebook    Notebooks: how Read shows them, and NotebookEdit.
    plan_mode   EnterPlanMode and ExitPlanMode: think first, and show the plan before anything changes.
    read_file   Read: a file as the model sees it.
    todo_write  TodoWrite: the list of what is to be done, replaced as a whole.
    use_skill   Skill: instructions for a kind of work, read when they are needed.
    web_fetch   WebFetch: a page of the web as text, and what a small model finds in it.
    web_search  WebSearch: asks the search engine that the user has set up, or answers how to set one up.
    write_file  Write: a whole file, new or over one that was read before.
"""
