"""One module for each built-in tool.

Modules:
    agent              Implement Task, also called Agent: hand a piece of work to a sub-agent.
    ask_user           Implement AskUserQuestion: ask the user multiple-choice questions.
    background         Implement BashOutput, TaskOutput, KillShell and TaskStop: read and stop background tasks by
                       id.
    bash               Implement Bash: run a command to its end, until interrupted, or in the background.
    edit_file          Implement Edit and MultiEdit: replace text in a file and keep every other byte.
    glob_files         Implement Glob: find files by name, newest first, regardless of .gitignore.
    grep_files         Implement Grep: search text in files with ripgrep, which respects .gitignore.
    notebook           Show notebooks for Read, and implement NotebookEdit; keys, their order and the indentation
                       are kept.
    plan_mode          Implement EnterPlanMode and ExitPlanMode: plan first, and show the plan before anything
                       changes.
    read_file          Implement Read: text with numbered lines, images, PDF pages and notebooks.
    structured_output  Implement StructuredOutput: the model hands in its answer as JSON that fits the schema of the
                       caller.
    todo_write         Implement TodoWrite: replace the complete to-do list.
    use_skill          Implement Skill: load the instructions of a skill when they are needed.
    web_fetch          Implement WebFetch: fetch a page as text, and let a small model answer a question about it.
    web_search         Implement WebSearch with the search engine that the user configured, or with the server tool
                       of the Messages API.
    write_file         Implement Write: create a file, or replace one that the model has read.
"""
