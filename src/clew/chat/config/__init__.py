"""What configures a chat: settings, memory files, skills, agents, models, the system prompt.

Modules:
    agent_files    Definitions of agents: those that everyone has, and those that the user and the project keep in
                   files.
    agent_kind     Kinds of agents: what one is for, what it is told, and what it may use.
    frontmatter    Headers: the YAML between two lines of dashes at the head of a Markdown file.
    memory_files   Memory: what the files named CLAUDE.md tell the model, from the machine's down to the folder's,
                   with their imports.
    model_alias    Models by the short names that people use.
    repository     The repository around a folder: what each turn needs is read from its files, since git would cost
                   more than the turn.
    session_name   Names of sessions: adjective-adjective-surname, made from the id, so that people can tell
                   sessions apart.
    settings       Settings: what the person, the project and the administrator have written down, merged, with
                   where it came from.
    skill_files    Skills and slash commands: texts that people keep for the model, found in the folders of the user
                   and the project.
    system_prompt  The system prompt, and the facts that stand before the first message.
"""
