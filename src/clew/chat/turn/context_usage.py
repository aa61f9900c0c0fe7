"""How the context window of a conversation is used: by the system prompt, tools, memory and messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from clew.api.token_estimate import estimate_tokens
from clew.chat.deps import Deps
from clew.chat.store.live_conversation import LiveConversation
from clew.chat.tools.tool import Tool
from clew.chat.tools.toolbox import select_offered
from clew.chat.turn.compaction import threshold

GRID_COLUMNS, GRID_ROWS = 20, 10


class ContextShare(Struct, frozen=True):
    """A part of the context window, in tokens."""

    id: str
    name: str
    tokens: int
    kind: Literal["used", "buffer", "free"] = "used"


class ContextUsage(Struct, frozen=True):
    """The shares of the context window, which add up to its size."""

    shares: tuple[ContextShare, ...]
    total: int  # tokens of the next request
    window: int
    mcp_tools: tuple[tuple[str, int], ...]  # each tool of an MCP server, and its tokens

    @property
    def percentage(self) -> int:
        return round(100 * self.total / self.window) if self.window else 0

    def grid(self) -> list[ContextShare]:
        """Return the share that each square of a grid stands for: the used ones have at least one square each."""
        squares: list[ContextShare] = []
        size = self.window / (GRID_COLUMNS * GRID_ROWS) if self.window else 1
        used = [share for share in self.shares if share.kind == "used"]
        buffers = [share for share in self.shares if share.kind == "buffer"]
        for share in used:
            squares += [share] * max(1, round(share.tokens / size))
        ends = [share for share in buffers for _ in range(max(1, round(share.tokens / size)))]
        room = GRID_COLUMNS * GRID_ROWS - len(ends)
        free = [share for share in self.shares if share.kind == "free"]
        squares = squares[:room] + free[:1] * max(0, room - len(squares))
        return squares + ends


def measure_usage(conversation: LiveConversation, deps: Deps) -> ContextUsage:
    """Return how the next request would use the context window. What the API reported is exact, the parts are
    estimated: they are scaled so that they add up to it.
    """
    window = deps.limits.window or conversation.window
    offered = select_offered(deps.tools.values())
    own = [tool for tool in offered if not tool.name.startswith("mcp__")]
    mcp_tools = tuple((tool.name, _tokens([tool])) for tool in offered if tool.name.startswith("mcp__"))
    estimated = {
        ("system_prompt", "System prompt"): estimate_tokens(list(deps.system)),
        ("system_tools", "System tools"): _tokens(own),
        ("mcp_tools", "MCP tools"): sum(tokens for _, tokens in mcp_tools),
        ("memory_files", "Memory, skills and agents"): estimate_tokens([deps.context()]),
        ("messages", "Messages"): estimate_tokens(conversation.messages),
    }
    total = conversation.size
    if not conversation.known_tokens:  # the API has not counted anything yet
        total = sum(estimated.values())
    shares = _scale(estimated, total)
    buffer = max(0, window - threshold(window)) if deps.limits.auto_compact else 0
    buffer = min(buffer, max(0, window - total))
    rest = [
        ContextShare("free_space", "Free space", max(0, window - total - buffer), "free"),
        ContextShare("autocompact_buffer", "Autocompact buffer", buffer, "buffer"),
    ]
    return ContextUsage((*shares, *(share for share in rest if share.tokens)), total, window, mcp_tools)


def _scale(estimated: dict[tuple[str, str], int], total: int) -> list[ContextShare]:
    """Return the used shares; their tokens add up to `total`."""
    known = sum(estimated.values())
    parts = {key: round(tokens * total / known) for key, tokens in estimated.items()} if known else {}
    if parts:
        largest = max(parts, key=lambda key: parts[key])
        parts[largest] += total - sum(parts.values())
    return [ContextShare(*key, tokens) for key, tokens in parts.items() if tokens > 0]


def _tokens(tools: Iterable[Tool]) -> int:
    return sum(
        estimate_tokens([{"name": tool.name, "description": tool.description, "input_schema": tool.schema}])
        for tool in tools
    )
