"""The toolbox: all tools of the client by name, made when it is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from clew.chat.tool import Tool

if TYPE_CHECKING:
    from clew.chat.tools.network import Network
    from clew.chat.tools.search import Search
    from clew.chat.tools.skill import Skills

# Names by which other versions know a tool: a call to one is answered, but the model is not told of it.
ALIASES: Mapping[str, str] = {"Agent": "Task", "BashOutput": "TaskOutput", "KillShell": "TaskStop"}


def toolbox(
    *, skills: Skills | None = None, search: Search | None = None, network: Network | None = None
) -> dict[str, Tool]:
    """All tools, in the order in which they are offered; what is None is answered with a clear word that it is not there."""
    from clew.chat.tools import (
        agent,
        ask,
        background,
        edit,
        fetch,
        glob,
        grep,
        notebook,
        plan,
        read,
        skill,
        todo,
        write,
    )
    from clew.chat.tools import search as web
    from clew.chat.tools.bash import BASH

    made: tuple[Tool, ...] = (
        agent.TASK,
        agent.AGENT,
        BASH,
        background.BASH_OUTPUT,
        background.TASK_OUTPUT,
        background.KILL_SHELL,
        background.TASK_STOP,
        glob.GLOB,
        grep.GREP,
        read.READ,
        edit.EDIT,
        edit.MULTI_EDIT,
        write.WRITE,
        notebook.NOTEBOOK_EDIT,
        fetch.web_fetch(network),
        web.web_search(search),
        todo.TODO_WRITE,
        ask.ASK_USER_QUESTION,
        plan.ENTER_PLAN_MODE,
        plan.EXIT_PLAN_MODE,
        skill.skill(skills),
    )
    return {tool.name: tool for tool in made}


def offered(tools: Iterable[Tool]) -> list[Tool]:
    """The tools that a request names: of two names for the same thing, one."""
    return [tool for tool in tools if tool.name not in ALIASES]
