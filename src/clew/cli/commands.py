"""The table of commands: one group for each sub-package of `clew.cli`, in the order of `clew --help`.

A command `NAME` of the group `GROUP` is the module `clew.cli.GROUP.NAME` with two functions: `add_arguments(parser)`
declares its options, and `run(options)` runs it and returns the exit code.
"""

from __future__ import annotations

from keyword import iskeyword


class Group:
    """Commands of one sub-package: the heading in the help, and the purpose of each command."""

    def __init__(self, package: str, heading: str, commands: dict[str, str]) -> None:
        self.package = package
        self.heading = heading
        self.commands = commands


GROUPS = (
    Group(
        "read",
        "Read",
        {
            "ls": "list sessions, projects, agents or prompts",
            "browse": "search and read sessions in the terminal",
            "show": "print a session",
            "trace": "print the structure: branches, compactions, agents, problems",
            "compare": "compare two branches or sessions and their file changes",
            "follow": "print a session while it is written",
            "ps": "list the sessions that run or wait for an answer now",
            "check": "report damage, lost data, and what a resume would send",
            "files": "list the files that sessions changed, and the prompts that led to it",
            "blame": "print the session, turn and prompt that wrote each line of a file",
            "lineage": "list the copies and edits of a session, and its originals",
            "replay": "play a session back, record it, or run it again and compare",
        },
    ),
    Group(
        "find",
        "Find",
        {
            "search": "search all sessions",
            "recall": "save the results of a search and read them again",
        },
    ),
    Group(
        "cost",
        "Cost",
        {
            "usage": "token usage and cost",
            "statusline": "print one line for the status line of Claude Code",
        },
    ),
    Group(
        "edit",
        "Edit (the original stays as it is)",
        {
            "clone": "copy a session: whole, up to a turn, or into another project",
            "trim": "shrink a session until it fits the context window",
            "drop": "copy a session without some of its turns",
            "compact": "copy a session with turns replaced by a summary",
            "compress": "copy a session with its older replies shortened",
            "redact": "copy a session with its secrets masked",
            "merge": "join two copies of a session continued on two machines",
            "repair": "repair a damaged session",
            "rewind": "return files, conversation or both to before a prompt",
            "retitle": "set the title of a session",
            "tag": "set the tag of a session",
            "move": "let all sessions of a project follow its folder",
            "undo": "undo what clew wrote",
        },
    ),
    Group(
        "keep",
        "Keep",
        {
            "collect": "archive every session, and send them to a store",
            "restore": "restore a session from the archive or a store",
            "delete": "delete sessions that the archive has",
            "prune": "delete archived sessions that are old, large or empty",
            "sync": "make two Claude folders equal, also on another machine",
            "sql": "query the archive or a store with SQL",
        },
    ),
    Group(
        "share",
        "Share",
        {
            "export": "write a session as Markdown, HTML, JSON or another format",
            "pack": "write sessions with all their files into one file",
            "unpack": "put the sessions of a pack where Claude Code finds them",
            "import": "import transcripts of Claude Code, Codex, OpenCode, Gemini, aider",
            "demo": "create a sample ~/.claude folder to try clew on",
        },
    ),
    Group(
        "chat",
        "Chat",
        {
            "chat": "chat with a model, in sessions that Claude Code can resume",
            "resume": "resume a session, by its id or by search words",
            "race": "send one prompt to several models and compare the replies",
            "trust": "allow the settings of a folder to run commands in a chat",
        },
    ),
    Group(
        "serve",
        "Serve",
        {
            "serve": "read and search sessions in a web browser",
            "mcp": "serve sessions to models over the Model Context Protocol",
            "acp": "connect an editor to a chat over the Agent Client Protocol",
            "skill": "install a skill with which Claude Code searches sessions",
            "mock": "run a scripted Messages API to test clients and sessions",
        },
    ),
    Group(
        "help",
        "Help",
        {
            "help": "describe clew or one of its commands",
            "completion": "print the completion script for bash, zsh or fish",
        },
    ),
)
COMMANDS = {name: purpose for group in GROUPS for name, purpose in group.commands.items()}
_PACKAGES = {name: group.package for group in GROUPS for name in group.commands}


def module_name(command: str) -> str:
    """Return the module of a command: `module_name("import")` is `clew.cli.share.import_`."""
    return f"clew.cli.{_PACKAGES[command]}.{command}{'_' if iskeyword(command) else ''}"


def format_listing() -> str:
    """All commands with their purposes, group by group, for the help."""
    width = max(map(len, COMMANDS))
    groups = "\n\n".join(
        "\n".join(
            (f"{group.heading}:", *(f"    {name:<{width}}  {purpose}" for name, purpose in group.commands.items()))
        )
        for group in GROUPS
    )
    return (
        f"{groups}\n\nclew help COMMAND describes one command. clew alone opens the browser, and clew WORDS searches."
    )
