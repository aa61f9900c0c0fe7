"""Configuration of a chat: settings, permission modes, skills, models, names and the repository.

Modules:
    frontmatter         Read the YAML header between two `---` lines at the start of a Markdown file.
    host_policy         Restrictions that a program around clew sets with `--managed-settings`; what would widen
                        anything is left out.
    model_alias         Resolve short model names such as `opus`.
    output_styles       Output styles: texts that change how the model answers, from `output-styles/` folders or
                        built in.
    permission_mode     The permission modes, and how their names are read.
    plugins             Find plugins: folders with commands, skills, agents, hooks, MCP servers and output styles
                        under one name.
    reasoning_settings  Thinking and effort as settings and environment variables ask for them.
    repository          Facts about the git repository of a folder, read from its files because running git each
                        turn is slow.
    session_name        Generate session names (adjective-participle-surname) from session ids.
    setting_keys        The keys of settings files: which clew uses, which mean nothing here, and which it does not
                        support.
    settings            Load and merge settings of the user, the project, the command line and the administrator.
    skill_files         Load skills and slash commands from the folders of the user and the project.
    system_prompt       The system prompt, and the session facts that precede the first message.
"""
