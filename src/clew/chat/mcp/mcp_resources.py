"""Resources and prompts of MCP servers: tools that list and read resources, and slash commands made of prompts."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from clew.chat.config.skill_files import Skill
from clew.chat.mcp.mcp_client import McpServer, full_name
from clew.chat.tools.tool import CallResult, ToolContext, ToolFailed
from clew.chat.tools.tool_spec import TEXT, SpecTool, object_schema, optional_field, required_field
from clew.wire.json_codec import Json

MAX_CHARACTERS = 100_000  # of a resource that the model sees
LIST, READ = "ListMcpResourcesTool", "ReadMcpResourceTool"

FetchPrompt = Callable[[str], Awaitable[Sequence[str]]]  # takes the arguments as typed, returns the texts of the prompt


def resource_tools(servers: Sequence[McpServer]) -> list[SpecTool]:
    """Return the tools for the resources of these servers; none if no server has resources."""
    if not any(server.has_resources for server in servers):
        return []

    async def list_all(input: Json, scene: ToolContext) -> CallResult:
        name = str(input.get("server") or "")
        chosen = [find_server(servers, name)] if name else [server for server in servers if server.has_resources]
        found = [{**resource, "server": server.name} for server in chosen for resource in await server.list_resources()]
        return CallResult(json.dumps(found, ensure_ascii=False) if found else "No resources found.", found)

    async def read(input: Json, scene: ToolContext) -> CallResult:
        contents = await find_server(servers, str(input["server"])).read_resource(str(input["uri"]))
        return CallResult(json.dumps(contents, ensure_ascii=False)[:MAX_CHARACTERS], contents)

    return [
        SpecTool(
            LIST,
            "List the resources of the MCP servers: what they offer to be read, each with its server and URI.",
            object_schema(server=optional_field(TEXT, "Only those of this server")),
            list_all,
            reads=True,
        ),
        SpecTool(
            READ,
            "Read a resource of an MCP server.",
            object_schema(
                server=required_field(TEXT, "The name of the server"),
                uri=required_field(TEXT, "The URI of the resource"),
            ),
            read,
            reads=True,
        ),
    ]


def find_server(servers: Sequence[McpServer], name: str) -> McpServer:
    """Return the server of this name. Raises ToolFailed."""
    for server in servers:
        if server.name == name:
            return server
    known = ", ".join(server.name for server in servers)
    raise ToolFailed(f'Server "{name}" not found. Available servers: {known}')


async def read_mention(servers: Sequence[McpServer], mention: str) -> str | None:
    """Return the text of a resource that a prompt mentions as `@server:uri`; None if it names none."""
    name, colon, uri = mention.partition(":")
    server = next((each for each in servers if each.name == name and each.has_resources), None)
    if server is None or not colon or not uri:
        return None
    try:
        contents = (await server.read_resource(uri)).get("contents") or ()
    except ToolFailed as failed:
        return failed.text
    texts = [str(part.get("text") or f"[{part.get('mimeType') or 'binary data'}]") for part in contents]
    return "\n".join(texts)[:MAX_CHARACTERS]


def prompt_commands(servers: Sequence[McpServer]) -> tuple[dict[str, Skill], dict[str, FetchPrompt]]:
    """Return the prompts of the servers as slash commands `mcp__server__prompt`, and how each is fetched."""
    commands: dict[str, Skill] = {}
    fetchers: dict[str, FetchPrompt] = {}
    for server in servers:
        for prompt in server.prompts if server.state == "connected" else ():
            name = full_name(server.name, str(prompt["name"]))
            arguments = [argument for argument in prompt.get("arguments") or () if isinstance(argument, dict)]
            hint = " ".join(f"<{a['name']}>" if a.get("required") else f"[{a['name']}]" for a in arguments)
            description = str(prompt.get("description") or prompt.get("title") or prompt["name"])
            commands[name] = Skill(name, description, "", Path(name), "user", hint=hint, for_model=False)
            fetchers[name] = _fetcher(server, str(prompt["name"]), arguments)
    return commands, fetchers


def _fetcher(server: McpServer, prompt: str, arguments: Sequence[Json]) -> FetchPrompt:
    """Return a function that fetches a prompt. Arguments are words; the last one takes all that is left."""
    names = [str(argument["name"]) for argument in arguments]

    async def fetch(typed: str) -> list[str]:
        words = typed.split(maxsplit=max(len(names) - 1, 0))
        missing = [str(a["name"]) for a in arguments[len(words) :] if a.get("required")]
        if missing:
            raise ToolFailed(f"it needs the argument {missing[0]}.")
        answer = await server.get_prompt(prompt, dict(zip(names, words, strict=False)))
        contents = [message.get("content") for message in answer.get("messages") or ()]
        return [_prompt_text(content) for content in contents if isinstance(content, dict)]

    return fetch


def _prompt_text(content: Json) -> str:
    if content.get("type") == "resource" and isinstance(content.get("resource"), dict):
        return str(content["resource"].get("text") or f"[{content['resource'].get('uri')}]")
    return str(content.get("text") or f"[{content.get('type')}]")


def describe_servers(servers: Sequence[McpServer]) -> str:
    """Return the instructions of the servers for the model; empty if there are none."""
    parts = [f"## {server.name}\n{server.instructions}" for server in servers if server.instructions]
    head = "# MCP Server Instructions\n\nThese MCP servers say how to use what they offer:"
    return "\n\n".join((head, *parts)) if parts else ""
