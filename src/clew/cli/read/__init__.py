"""Commands that print sessions.

Modules:
    blame            `clew blame`: print the session, turn and prompt that wrote each line of a file.
    browse           `clew browse`: search and read sessions in the terminal; `clew` without a command starts it
                     too.
    check            `clew check`: report damage, lost data, and what each version would resume.
    check_drift      `clew check --drift`: list names in session files that this version of clew does not know.
    check_index      `clew check --all`: compare the sessions-index.json of each project with its files.
    check_inventory  `clew check --inventory`: count the content of sessions in one table, with a total.
    check_print      Print the reports of `clew check`: tables and colours on a terminal.
    check_run        Run `clew check`: report on one session, or on all.
    check_workers    Run a part of `clew check` over many session files, in several processes.
    compare          `clew compare`: compare two branches, two points of a session, or two sessions.
    files            `clew files`: list the files that sessions changed, with the prompts that led to it.
    follow           `clew follow`: watch a session as it is written.
    follow_run       Run `clew follow`: print what is written to a session and its agents.
    gone_folders     Suggest `clew move` when the folder of a listed project no longer exists.
    lineage          `clew lineage`: list the copies and edits of a session, and its originals.
    ls               `clew ls`: list sessions, projects, agents, prompts, todo lists or plans.
    ls_masking       Mask the secrets in the rows of a list.
    ls_messages      Messages of `clew ls`: why a list is empty, and which sessions Claude Code deletes soon.
    ls_run           Run `clew ls`: collect the rows of a kind and print them.
    ls_work_files    `clew ls todos` and `clew ls plans`: todo lists, tasks and plans with their sessions.
    prompt_rounds    The round that a prompt of the history began, found in the transcript of its session.
    ps               `clew ps`: list the sessions that run or wait for an answer now.
    replay           `clew replay`: play a session in the terminal, record it, or run it again and compare.
    replay_check     `clew replay --check` and `--live`: run a session again and report the differences.
    show             `clew show`: print a session.
    show_rounds      `clew show --rounds`: the rounds of a session, with their kinds, features and complexity.
    show_run         Run `clew show`: print the selected part of a session.
    show_todos       `clew show --todos`: the todo lists, tasks and plans of a session.
    trace            `clew trace`: draw the shape of a session.
    trace_run        Run `clew trace`: draw the shape of a session.
"""
