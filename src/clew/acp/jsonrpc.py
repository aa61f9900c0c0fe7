"""Lines: messages as JSON, one a line, in and out. What is no message is answered as such, and hurts nobody."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO

from acp.meta import AGENT_METHODS

LONGEST = 1 << 28  # bytes of one line; a prompt may hold pictures
PATIENCE = 5.0  # seconds for answers that are due when the other end closes
NO_JSON, NO_MESSAGE = -32700, -32600
_KNOWN = frozenset(AGENT_METHODS.values())


class JsonRpcLines:
    """The transport of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: BinaryIO, remark: Callable[[str], None]) -> None:
        self._reader = reader
        self._writer = writer
        self._remark = remark
        self._writing = asyncio.Lock()
        self._open: set[str | int | None] = set()  # requests that have no answer yet
        self._is_idle = asyncio.Event()
        self._is_idle.set()

    async def send(self, message: dict[str, Any]) -> None:
        """Messages go out in the order in which this is called. An editor that does not read holds up only them."""
        line = json.dumps(message, separators=(",", ":"), default=str).encode() + b"\n"
        try:
            async with self._writing:
                await asyncio.to_thread(self._write, line)
        except BrokenPipeError:  # nobody reads any more; that the other end closes is told by the reader
            pass
        if "method" not in message:
            self._open.discard(message["id"])
            if not self._open:
                self._is_idle.set()

    def _write(self, line: bytes) -> None:
        self._writer.write(line)
        self._writer.flush()

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None when the other side has closed its end."""
        while True:
            try:
                line = await self._reader.readline()
            except ValueError:
                await self._refuse(NO_JSON, f"The line has more than {LONGEST} bytes.")
                continue
            if not line:
                return None
            if not line.strip():
                continue
            try:
                said = json.loads(line)
            except (ValueError, RecursionError):
                await self._refuse(NO_JSON, "The line is no JSON.")
                continue
            if fault := _fault(said):
                await self._refuse(NO_MESSAGE, fault, said)
            elif _is_unknown(said):
                self._remark(f"clew: passed over: the notification {said['method']}")
            else:
                message: dict[str, Any] = said
                if "method" in said and "id" in said:
                    self._open.add(said["id"])
                    self._is_idle.clear()
                return message

    async def close(self) -> None:
        """Wait until what was asked is answered, if that is soon; the streams belong to others."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._is_idle.wait(), PATIENCE)

    async def _refuse(self, code: int, reason: str, said: Any = None) -> None:
        self._remark(f"clew: a line was refused. {reason}")
        number = said.get("id") if isinstance(said, dict) else None
        answered = number if isinstance(number, str | int) else None
        await self.send({"jsonrpc": "2.0", "id": answered, "error": {"code": code, "message": reason}})


def _fault(said: Any) -> str:
    """What keeps a value from being a message; empty if nothing does."""
    if not isinstance(said, dict):
        return "A message is an object."
    if not isinstance(said.get("id"), str | int | None):
        return "The id of a message is a string or a number."
    if "method" in said:
        return "" if isinstance(said["method"], str) else "The method of a message is a string."
    if "id" not in said or not ("result" in said or "error" in said):
        return "The message is no request, no notification and no response."
    return "" if isinstance(said.get("error", {}), dict | None) else "The error of a response is an object."


def _is_unknown(said: dict[str, Any]) -> bool:
    """Whether it is a notification that nobody here listens to."""
    method = said.get("method")
    return method is not None and "id" not in said and method not in _KNOWN and not method.startswith("_")
