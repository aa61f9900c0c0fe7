"""The toolbox: all tools of the client by name, made when it is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from clew.chat.tools.tool import Tool

if TYPE_CHECKING:
    from clew.chat.tools.builtin.use_skill import Skills
    from clew.chat.tools.builtin.web_search import Search
    from clew.chat.tools.safe_fetch import Network

# Names by which other versions know a tool: a call to one is answered, but the model is not told of it.
ALIASES: Mapping[str, str] = {"Agent": "Task", "BashOutput": "TaskOutput", "KillShell": "TaskStop"}


def toolbox(
    *, skills: Skills | None = None, search: Search | None = None, network: Network | None = None
) -> dict[str, Tool]:
    """All tools, in the order in which they are offered; what is None is answered with a clear word that it is not there."""
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

    made: tuple[Tool, ...] = (
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
        web_fetch.web_fetch(network),
        web.web_search(search),
        todo_write.TODO_WRITE,
        ask_user.ASK_USER_QUESTION,
        plan_mode.ENTER_PLAN_MODE,
        plan_mode.EXIT_PLAN_MODE,
        use_skill.skill(skills),
    )
    return {tool.name: tool for tool in made}


def offered(tools: Iterable[Tool]) -> list[Tool]:
    """The tools that a request names: of two names for the same thing, one."""
    return [tool for tool in tools if tool.name not in ALIASES]
