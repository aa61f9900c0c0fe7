"""Create all built-in tools by name, when needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from clew.chat.tools.tool import Tool

if TYPE_CHECKING:
    from clew.chat.tools.builtin.use_skill import Skills
    from clew.chat.tools.builtin.web_search import Search
    from clew.chat.tools.safe_fetch import Network

# Names of tools in other versions: calls are answered, but the names are not offered to the model.
ALIASES: Mapping[str, str] = {"Agent": "Task", "BashOutput": "TaskOutput", "KillShell": "TaskStop"}


def create_tools(
    *, skills: Skills | None = None, search: Search | None = None, network: Network | None = None
) -> dict[str, Tool]:
    """Return all tools in the order in which they are offered. A tool whose dependency is None fails with a clear
    message.
    """
    from clew.chat.tools.builtin import (
        agent,
        ask_user,
        background,
        edit_file,
        glob_files,
        grep_files,
        notebook,
        plan_mode,
        read_file,
        todo_write,
        use_skill,
        web_fetch,
        write_file,
    )
    from clew.chat.tools.builtin import web_search as web
    from clew.chat.tools.builtin.bash import BASH

    tools: tuple[Tool, ...] = (
        agent.TASK,
        agent.AGENT,
        BASH,
        background.BASH_OUTPUT,
        background.TASK_OUTPUT,
        background.KILL_SHELL,
        background.TASK_STOP,
        glob_files.GLOB,
        grep_files.GREP,
        read_file.READ,
        edit_file.EDIT,
        edit_file.MULTI_EDIT,
        write_file.WRITE,
        notebook.NOTEBOOK_EDIT,
        web_fetch.create_web_fetch(network),
        web.create_web_search(search),
        todo_write.TODO_WRITE,
        ask_user.ASK_USER_QUESTION,
        plan_mode.ENTER_PLAN_MODE,
        plan_mode.EXIT_PLAN_MODE,
        use_skill.create_skill_tool(skills),
    )
    return {tool.name: tool for tool in tools}


def select_offered(tools: Iterable[Tool]) -> list[Tool]:
    """Return the tools that a request lists: one name for each tool, without aliases."""
    return [tool for tool in tools if tool.name not in ALIASES]
