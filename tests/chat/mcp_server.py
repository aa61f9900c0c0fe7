"""A small MCP server on stdin and stdout, for tests: `python mcp_server.py NAME`. It needs no package."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

Json = dict[str, Any]
NAME = sys.argv[1] if len(sys.argv) > 1 else "server"
RESOURCE = {"uri": "note://one", "name": "One", "description": "The first note", "mimeType": "text/plain"}
PROMPT = {
    "name": "greet",
    "description": "Greets somebody.",
    "arguments": [{"name": "who", "required": True}, {"name": "how", "required": False}],
}
TOOLS = [
    {
        "name": "shout",
        "description": "Shouts.",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
    }
]


def answer(method: str, params: Json) -> Json | None:
    match method:
        case "initialize":
            lists = {name: {"listChanged": True} for name in ("tools", "prompts", "resources")}
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": lists,
                "serverInfo": {"name": NAME, "version": "1"},
                "instructions": f"INSTRUCTIONS OF {NAME}",
            }
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            if params["name"] == "shout" and params["arguments"].get("text") == "grow":
                TOOLS.append({"name": "whisper", "description": "Whispers.", "inputSchema": {"type": "object"}})
                send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
            said = " ".join((NAME, str(params["arguments"].get("text")), os.environ.get("FROM_ENV", "")))
            return {"content": [{"type": "text", "text": f"SHOUT {said}"}]}
        case "prompts/list":
            return {"prompts": [PROMPT]}
        case "prompts/get":
            texts = (f"GREET {json.dumps(params.get('arguments'))}", "SECOND")
            return {"messages": [{"role": "user", "content": {"type": "text", "text": text}} for text in texts]}
        case "resources/list":
            return {"resources": [RESOURCE]}
        case "resources/read":
            return {"contents": [{**RESOURCE, "uri": params["uri"], "text": f"CONTENT OF {params['uri']}"}]}
    return None


def send(message: Json) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        result = answer(request["method"], request.get("params") or {})
        failure = {"error": {"code": -32601, "message": "no such method"}}
        send({"jsonrpc": "2.0", "id": request["id"], **(failure if result is None else {"result": result})})


if __name__ == "__main__":
    main()
